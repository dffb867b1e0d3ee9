"""Proposals of a dialect and of a schema from a sample; nothing is ever applied unasked."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final

import pyarrow as pa

from app.domain.errors import InvalidInput, TooLarge
from app.domain.hierarchies.cell_formats import CellFormat
from app.services.datasets.dataset_schema import OnUnreadable
from app.services.datasets.ingest import faults
from app.services.datasets.ingest.column_types import TypeProposal, propose_type
from app.services.datasets.ingest.csv_reader import CsvReader
from app.services.datasets.ingest.dialect import DELIMITERS, Dialect, UploadLimits, delimiter_note
from app.services.datasets.ingest.pieces import read_piece
from app.services.datasets.ingest.role_proposals import RoleProposal, propose_role
from app.services.datasets.person_signs import signs_of
from app.services.datasets.text_columns import columns_of

USUAL_MARKERS: Final = ("?", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "-")
_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_ID_NAME: Final = re.compile(r"(^|[_\W])(id|uuid|key|ssn|nr|no|number)$", re.IGNORECASE)
_SCHEMA_ROWS: Final = 10_000
_PERSON: Final = (
    "It repeats and fixes other columns in these rows, so that it seems to say whom a row is about."
)
_PLAIN: Final = {"date": CellFormat.ISO_DATE, "number": CellFormat.POINT}


@dataclass(frozen=True)
class DialectProposal:
    """The dialect that fits the sample best, what it would read, and what is doubtful about it."""

    dialect: Dialect
    columns: tuple[str, ...]
    rows_in_sample: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class AttributeProposal:
    """A type and a role that would fit one column, and why; a hierarchy, and why, once one was looked for.

    ``format`` and ``on_unreadable`` are what to declare where the cells are not written as datasets have
    them; ``unreadable_in_sample``, ``_rows`` and ``_shapes`` tell which
    cells of the sample are of another type. ``is_unsure`` says that a person should look: the role is a
    guess, or the cells are not all of the type, or can be read in two ways.
    """

    name: str
    type: str
    role: str
    distinct_in_sample: int
    missing_in_sample: int
    reason: str
    format: CellFormat | None = None
    on_unreadable: OnUnreadable | None = None
    unreadable_in_sample: int = 0
    unreadable_rows: tuple[int, ...] = ()
    unreadable_shapes: tuple[str, ...] = ()
    hierarchy: Mapping[str, Any] | None = None
    hierarchy_reason: str | None = None
    is_unsure: bool = False


@dataclass(frozen=True)
class SchemaProposal:
    """One proposal per column, from the first ``rows_in_sample`` rows, and what is doubtful of all."""

    rows_in_sample: int
    attributes: tuple[AttributeProposal, ...]
    notes: tuple[str, ...] = ()


def propose_dialect(sample: bytes) -> DialectProposal:
    """The dialect under which the strict reader accepts the sample with the most columns.

    Raises InvalidInput if it accepts it under none.
    """
    if not sample.strip():
        raise faults.empty_file()
    encoding = encoding_of(sample)
    text = sample.decode(encoding, errors="ignore")
    end = text.rfind("\n")
    readings = list(_readings(text if end < 0 else text[: end + 1], encoding))
    if not readings:
        raise faults.content_fault(
            "no-dialect",
            "The sample is not a regular table under any delimiter among comma, semicolon, tab and bar.",
            "Send the head of a CSV file, with complete lines.",
        )
    dialect, table = max(readings, key=lambda reading: len(reading[1].column_names))
    columns = [_texts(column) for column in table.columns]
    cells = [cell for column in columns for cell in column[1:] if cell is not None]
    trim = any(cell != cell.strip(" \t") for cell in cells)
    present = {cell.strip(" \t") for cell in cells}
    markers = tuple(marker for marker in USUAL_MARKERS if marker in present)
    header = _has_header(columns)
    notes = _notes(header=header, markers=markers, trim=trim, n_columns=len(columns))
    proposal = replace(dialect, header=header, trim=trim, missing=("", *markers))
    names = [column[0] or "" for column in columns]
    return DialectProposal(
        proposal,
        tuple(names) if header else tuple(f"column_{index + 1}" for index in range(len(columns))),
        table.num_rows - header,
        notes,
    )


def encoding_of(sample: bytes) -> str:
    """The encoding that a text seems to be in, by its first bytes, which may end within a letter."""
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if sample.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(sample)
    except UnicodeDecodeError:
        # Bytes 0x80 to 0x9f are control characters in latin-1 and typographic ones in cp1252.
        return "cp1252" if any(0x80 <= byte <= 0x9F for byte in sample) else "latin-1"
    return "utf-8"


def _readings(text: str, encoding: str) -> Iterator[tuple[Dialect, pa.Table]]:
    """The sample, header included, under every dialect that the strict reader accepts."""
    for delimiter, quote in product(DELIMITERS, ('"', None)):
        dialect = Dialect(delimiter=delimiter, quote=quote, encoding="utf-8", header=False)
        reader = CsvReader(dialect, UploadLimits())
        try:
            tables = [*reader.feed(text.encode()), *reader.finish()]
        except (InvalidInput, TooLarge):
            continue
        if tables:
            yield replace(dialect, encoding=encoding), pa.concat_tables(tables)


def _has_header(columns: Sequence[Sequence[str | None]]) -> bool:
    """Whether the first line looks like names: present, distinct, no numbers, and new in their columns."""
    names = [column[0] for column in columns]
    if None in names or len(set(names)) < len(names):
        return False
    if any(_NUMBER.fullmatch(name or "") for name in names):
        return False
    return all(column[0] not in column[1:] for column in columns)


def _notes(*, header: bool, markers: Sequence[str], trim: bool, n_columns: int) -> tuple[str, ...]:
    notes = []
    if n_columns == 1:
        notes.append("Only one column was found; check the delimiter.")
    if not header:
        notes.append("The first line does not look like column names.")
    if markers:
        notes.append("Some cells look like markers of missing values: " + ", ".join(markers) + ".")
    if trim:
        notes.append("Some cells begin or end with blanks.")
    return tuple(notes)


def propose_schema(piece: bytes, dialect: Dialect | None = None) -> SchemaProposal:
    """A type and a role per column from the first rows of an upload's first piece.

    A schema has one identifier, so that of several columns that could be it one is proposed, and the others
    as ``other``: neither is released. Signs of several rows per person are looked for in these rows only.
    """
    table = read_piece(piece).slice(0, _SCHEMA_ROWS)
    columns = columns_of([table], dialect)
    person = next((own.columns[0] for own in signs_of(columns).signs if own.kind == "fixes_others"), None)
    proposals = [_attribute(name, columns[name].cells(), name == person) for name in table.column_names]
    notes = tuple(filter(None, [delimiter_note(table.column_names)]))
    return SchemaProposal(table.num_rows, tuple(_with_one_identifier(proposals)), notes)


def _with_one_identifier(proposals: Sequence[AttributeProposal]) -> Iterator[AttributeProposal]:
    """The proposals, all identifiers but one as ``other``; the one kept is called so, or the first."""
    identifiers = [own.name for own in proposals if own.role == "identifier"]
    kept = next((name for name in identifiers if _ID_NAME.search(name)), next(iter(identifiers), None))
    for own in proposals:
        if own.role == "identifier" and own.name != kept:
            reason = f"{own.reason} A schema has one identifier, and another column is proposed for it."
            yield replace(own, role="other", reason=reason)
        else:
            yield own


def _attribute(name: str, cells: Sequence[str | None], is_person: bool) -> AttributeProposal:
    present = [cell for cell in cells if cell is not None]
    type_ = propose_type(cells)
    role = RoleProposal("person", _PERSON, is_guess=True) if is_person else propose_role(name, cells, type_)
    if role.role in ("identifier", "person"):
        type_ = TypeProposal("text")
    elif role.is_code and type_.type == "number":
        type_ = TypeProposal("categorical")
    return AttributeProposal(
        name,
        type_.type,
        role.role,
        len(set(present)),
        len(cells) - len(present),
        " ".join(filter(None, (role.reason, _sentence(type_), type_.note))),
        # Leaves of a hierarchy leave the same cells out as the attribute, which takes a format to say so.
        type_.format or (_PLAIN.get(type_.type) if type_.unreadable else None),
        OnUnreadable.MISSING if type_.unreadable else None,
        type_.unreadable,
        type_.unreadable_rows,
        type_.unreadable_shapes,
        is_unsure=role.is_guess or bool(type_.unreadable or type_.note),
    )


def _sentence(type_: TypeProposal) -> str:
    """How many cells are of another type than the column, in a sentence, or nothing."""
    if not type_.unreadable:
        return ""
    cells = "1 cell is" if type_.unreadable == 1 else f"{type_.unreadable:,} cells are"
    written = "" if type_.format is None else f" written like {type_.format.value}"
    return f"{cells} no {type_.type}{written}: to be mapped to values or taken as missing."


def _texts(column: Any) -> list[str | None]:  # noqa: ANN401 - a column of pyarrow
    texts: list[str | None] = column.to_pylist()
    return texts
