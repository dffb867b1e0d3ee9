"""Which files can be judged as releases: those of which all that a reader sees was looked at.

A file is a table of the disclosed attributes, in any order. It may lack some; an additional one is refused,
since nothing would be said of it, and so is what leaves with the file but was not read as it is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.domain.errors import InvalidInput
from app.services.datasets.csv_text import neutralised
from app.services.datasets.dataset_schema import Role, column_of, declarations_of
from app.services.datasets.ingest.dialect import UploadFormat
from app.services.resources import Stored

BINARY: Final = {
    UploadFormat.PARQUET.value: "Parquet",
    UploadFormat.ARROW.value: "Arrow",
    UploadFormat.XLSX.value: "an Excel workbook",
}
"""Formats of files that hold more than cells."""
COLUMNS_SHOWN: Final = 50


def columns_of_release(dataset: Stored, upload: Stored, key: str | None, pointer: str) -> dict[str, str]:
    """The file's column of each disclosed attribute that it has; InvalidInput if it has others, or no row."""
    _require_read_as_written(upload, pointer)
    declared = declarations_of(dataset)
    attributes = {neutralised(own.name): own.name for own in declared if own.role.is_disclosed}
    attributes |= {name: name for name in attributes.values()}
    present: Sequence[str] = upload.summary["columns"]
    if key is not None and key not in present:
        raise InvalidInput.of(
            f"{pointer}/key",
            "unknown-column",
            f"The release file {upload.name!r} has no column {key!r}.",
            "Its columns are: " + _listed(present),
        )
    names: dict[str, str] = {}
    for column in present:
        if column in attributes:
            names.setdefault(attributes[column], column)
    more = [column for column in present if column not in names.values() and column != key]
    if more:
        identifier = column_of(Role.IDENTIFIER, declared)
        hint = (
            f" If {identifier!r} says whose row is whose, name it as the key." if identifier in more else ""
        )
        raise InvalidInput.of(
            f"{pointer}/upload",
            "columns-not-judged",
            f"The release file has columns that the dataset does not disclose: {_listed(more)}",
            f"Leave them out, or declare them in the dataset: a verdict would say nothing of them.{hint}",
        )
    if not names or not upload.summary["rows"]:
        what = "rows" if names else "disclosed attributes"
        raise InvalidInput.of(
            f"{pointer}/upload",
            "empty-release",
            f"The release file has no {what}.",
            "Name the upload of a table with disclosed attributes of the dataset.",
        )
    return names


def _require_read_as_written(upload: Stored, pointer: str) -> None:
    """Refuse an upload of which more leaves than was looked at.

    What a binary file holds beside its cells leaves with it, and Parquet has places that no reader shows.
    """
    binary = BINARY.get(upload.summary["format"])
    if binary is not None:
        raise InvalidInput.of(
            f"{pointer}/upload",
            "not-read-as-written",
            f"The release file {upload.name!r} is {binary}, which may hold more "
            "than its cells show: metadata, values that no row has any more, and values below empty cells.",
            "Judge and publish it as CSV; or name a rule, for the service writes releases from cells alone.",
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:COLUMNS_SHOWN]) + (", …" if len(names) > COLUMNS_SHOWN else ".")
