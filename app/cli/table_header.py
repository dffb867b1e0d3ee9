"""The columns of a table of text, read from its head before a service is started for it."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from app.cli.described_columns import Attribute
from app.cli.journey import TableFile
from app.domain.errors import Fault, InvalidInput, TooLarge, joined
from app.services.datasets.ingest.decoding import GZIP
from app.services.datasets.ingest.dialect import delimiter_note
from app.services.datasets.ingest.faults import compressed_twice
from privacy_risk.columns import meant

SAMPLE_BYTES: Final = 1 << 20
"""How much of a file a dialect is proposed from."""

TEXT_FORMATS: Final = ("csv", "csv.gz")


def head_of(path: Path, format: str) -> bytes:
    """The first bytes of a table in a format of text; InvalidInput if they cannot be decompressed."""
    try:
        with path.open("rb") as file:
            head = (gzip.GzipFile(fileobj=file) if format == "csv.gz" else file).read(SAMPLE_BYTES)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InvalidInput.of(
            str(path),
            "damaged-file",
            "The file is damaged, cut off or not gzip.",
            "Write or send it again; name another --format if it is not compressed.",
        ) from None

    if format == "csv.gz" and head.startswith(GZIP):
        raise compressed_twice()
    return head


def with_encoding(table: TableFile) -> TableFile:
    """The table with the encoding that its head is in, unless one is declared; of other formats as it is."""
    if table.format not in TEXT_FORMATS or "encoding" in table.dialect:
        return table
    from app.services.datasets.ingest.proposals import encoding_of

    found = encoding_of(head_of(table.path, table.format))
    return table if found == "utf-8" else replace(table, dialect={**table.dialect, "encoding": found})


def require_columns(
    path: Path,
    format: str,
    dialect: Mapping[str, Any],
    names: Iterable[str],
    *,
    places: Mapping[str, str] | None = None,
) -> None:
    """InvalidInput if the table lacks any of these columns; every one is named.

    Of its dialect ``dialect`` is known; the rest is usual. What cannot be told from the table's head is left
    to the service: other formats, and tables that are not read so.
    ``places`` says where a column is named; it is told by its own name otherwise.
    """
    # The service takes truth in other words, too.
    are_written = all(isinstance(dialect.get(key, True), bool) for key in ("header", "trim"))
    if format not in TEXT_FORMATS or not are_written:
        return
    # Imported here: a library for tables, which most commands never load.
    from app.services.datasets.ingest.csv_reader import CsvReader
    from app.services.datasets.ingest.dialect import Dialect, UploadLimits, check_dialect

    try:
        head = head_of(path, format)
    except OSError:
        return
    try:
        said: dict[str, Any] = {
            key: (value or None) if key == "quote" else value for key, value in dialect.items()
        }
        asked = replace(Dialect(), **said)
        check_dialect(asked)
        reader = CsvReader(asked, UploadLimits())
        reader.feed(head)
        if len(head) < SAMPLE_BYTES:
            reader.finish()
    except (InvalidInput, TooLarge, TypeError):
        return
    columns = reader.columns
    unknown = [name for name in dict.fromkeys(names) if columns and name not in columns]
    if unknown:
        raise unknown_columns(unknown, columns or (), places or {})


def require_described(table: TableFile, attributes: Iterable[Attribute]) -> None:
    """InvalidInput if the dataset lacks a column that its description names; as :func:`require_columns`."""
    identifier = () if table.identifier is None else (table.identifier,)
    places = {own.name: own.place for own in attributes if own.place is not None}
    if table.identifier is not None and table.place is not None:
        places[table.identifier] = joined(table.place, "identifier")
    names = (*identifier, *(own.name for own in attributes))
    read = with_encoding(table)
    require_columns(read.path, read.format, read.dialect, names, places=places)


def unknown_columns(
    names: Iterable[str], columns: Sequence[str], places: Mapping[str, str] = MappingProxyType({})
) -> InvalidInput:
    """The refusal of columns that a table does not have, each by the place that names it."""
    note = delimiter_note(columns)
    remedy = f"{note} Say which it is, as delimiter." if note else f"Its columns are: {', '.join(columns)}."
    return InvalidInput(
        [
            Fault(
                places.get(name, name),
                "unknown-column",
                f"The table has no column {name!r}.",
                remedy if note else meant(name, columns) + remedy,
            )
            for name in names
        ]
    )
