"""Proposals of a dialect and of a schema from a sample; nothing is ever applied unasked."""

from __future__ import annotations

import asyncio
import codecs
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from app.domain.arrays import Ints
from app.domain.errors import InvalidInput, TooLarge
from app.domain.hierarchies.cell_formats import CellFormat
from app.domain.hierarchies.hierarchy_definitions import MadeOfLeaves
from app.services.datasets.dataset_schema import AttributeDeclaration, OnUnreadable, Role
from app.services.datasets.ingest import faults
from app.services.datasets.ingest.column_names import index_note, with_index
from app.services.datasets.ingest.column_types import TypeProposal, is_read, propose_type
from app.services.datasets.ingest.csv_reader import CsvReader
from app.services.datasets.ingest.dialect import (
    BLANKS,
    CALLED,
    DELIMITERS,
    Dialect,
    UploadFormat,
    UploadLimits,
    check_dialect,
    delimiter_note,
)
from app.services.datasets.ingest.doubts import (
    Doubt,
    first_line,
    markers_of,
    may_be_trimmed,
)
from app.services.datasets.ingest.file_kinds import HEAD_BYTES, require_kind
from app.services.datasets.ingest.pieces import read_piece
from app.services.datasets.ingest.role_proposals import RoleProposal, propose_role
from app.services.datasets.person_signs import signs_of
from app.services.datasets.text_columns import columns_of

_ID_NAME: Final = re.compile(r"(^|[_\W])(id|uuid|key|ssn|nr|no|number)$", re.IGNORECASE)
_SCHEMA_ROWS: Final = 10_000
_PERSON: Final = (
    "It repeats and fixes other columns in these rows, so that it seems to say whom a row is about."
)
_USUAL: Final = {
    CellFormat.POINT: r"^[+-]?[0-9]+(\.[0-9]+)?$",
    CellFormat.ISO_DATE: r"^[0-9]{4}-[01][0-9]-[0-3][0-9]$",
}
"""How nearly all cells are written: they are not looked at one by one. Nor is a day that no calendar has."""
_INDEX: Final = "It has no name of its own: pandas writes its index so, which numbers the rows."
_PLAIN: Final = {"date": CellFormat.ISO_DATE, "number": CellFormat.POINT}


@dataclass(frozen=True)
class DialectProposal:
    """The dialect that fits the sample best, and what it would read.

    ``notes`` say what is taken for granted, ``doubts`` what is not to be: they are settled by saying that
    part of the dialect. ``index`` is a column of record numbers that has no name of its own.
    """

    dialect: Dialect
    columns: tuple[str, ...]
    rows_in_sample: int
    notes: tuple[str, ...]
    doubts: tuple[Doubt, ...] = ()
    index: str | None = None


@dataclass(frozen=True)
class AttributeProposal:
    """A type and a role that would fit one column, and why; a hierarchy, and why, once one was looked for.

    ``format`` and ``on_unreadable`` are what to declare where the cells are not written as datasets have
    them; ``unreadable_in_sample``, ``_rows`` and ``_shapes`` tell which cells of the sample are of another
    type. ``other_hierarchy`` suits amounts that are sensitive, or are not, against the proposal.
    ``is_unsure`` says that a person should look: the role is a guess, or the cells are not all of the type,
    or can be read in two ways. ``definition`` is the hierarchy as it is made.
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
    other_hierarchy: Mapping[str, Any] | None = None
    is_unsure: bool = False
    definition: MadeOfLeaves | None = None


@dataclass(frozen=True)
class SchemaProposal:
    """One proposal per column, from the first ``rows_in_sample`` rows, and what is doubtful of them."""

    rows_in_sample: int
    attributes: tuple[AttributeProposal, ...]
    notes: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()


def propose_dialect(sample: bytes, said: Mapping[str, Any] = MappingProxyType({})) -> DialectProposal:
    """The dialect under which the strict reader accepts the sample with the most columns.

    What is ``said`` of the dialect holds, and is no matter of doubt. Raises InvalidInput if the sample is
    accepted under no dialect or holds no records, TooLarge if it has too many columns.
    """
    if not sample.strip():
        raise faults.empty_file()
    require_kind(sample[:HEAD_BYTES], UploadFormat.CSV)
    asked = replace(Dialect(encoding=encoding_of(sample)), **said)
    check_dialect(asked)
    text = sample.decode(asked.encoding, errors="ignore")
    end = text.rfind("\n")
    text = text if end < 0 else text[: end + 1]
    delimiters = (asked.delimiter,) if "delimiter" in said else DELIMITERS
    quotes = (asked.quote,) if "quote" in said else ('"', None)
    likely = max(delimiters, key=lambda own: (text.partition("\n")[0].count(own), text.count(own)))
    refused = _read(text, Dialect(likely, quotes[0], header=said.get("header", True)))[1]
    read = [(own, _read(text, Dialect(*own, header=False))[0]) for own in product(delimiters, quotes)]
    tables = [(own, table) for own, table in read if table is not None]
    if not tables or isinstance(refused, TooLarge):
        raise refused or faults.damaged("csv")
    (delimiter, quote), table = max(tables, key=lambda own: own[1].num_columns)
    columns = [_texts(column) for column in table.columns]
    header, of_header = (asked.header, None) if "header" in said else first_line(columns)
    if table.num_rows == header:
        raise faults.only_a_header()
    names, index = [f"column_{place}" for place in range(1, len(columns) + 1)], None
    first, below = [column[0] or "" for column in columns], [column[header:] for column in columns]
    has_blanks = any(cell and cell != cell.strip(BLANKS) for column in columns for cell in column)
    trim = asked.trim if "trim" in said else has_blanks and all(map(may_be_trimmed, below))
    if header:
        names, index = with_index([own.strip(BLANKS) if trim else own for own in first])
    cells = {
        name: [cell and cell.strip(BLANKS) for cell in column]
        for name, column in zip(names, below, strict=True)
    }
    markers, markers_told, of_markers = ((), (), ()) if "missing" in said else markers_of(cells)
    doubts = [] if "delimiter" in said else list(_of_delimiter(first, tables, delimiter, refused))
    found = replace(asked, delimiter=delimiter, quote=quote, header=header, trim=trim)
    return DialectProposal(
        found if "missing" in said else replace(found, missing=("", *markers)),
        tuple(names),
        table.num_rows - header,
        (*_notes(found, said, len(columns), index, has_blanks), *markers_told),
        (*doubts, *filter(None, (of_header,)), *of_markers),
        index,
    )


def encoding_of(sample: bytes) -> str:
    """The encoding that a text seems to be in, by its first bytes, which may end within a letter."""
    for mark, name in ((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")):
        if sample.startswith(mark):
            return name
    # Of letters that Western languages write, one of the two bytes is zero; text of one byte has none.
    zeros = [sample[start::2].count(0) for start in (0, 1)]
    if 2 * max(zeros) > len(sample) // 2 and 4 * min(zeros) < max(zeros):
        return "utf-16-be" if zeros[0] > zeros[1] else "utf-16-le"
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(sample)
    except UnicodeDecodeError:
        # Bytes 0x80 to 0x9f are control characters in latin-1 and typographic ones in cp1252.
        return "cp1252" if any(0x80 <= byte <= 0x9F for byte in sample) else "latin-1"
    return "utf-8"


def _read(text: str, dialect: Dialect) -> tuple[pa.Table | None, InvalidInput | TooLarge | None]:
    """The sample as the strict reader takes it under a dialect; else None, and why it does not."""
    reader = CsvReader(dialect, UploadLimits())
    try:
        tables = [*reader.feed(text.encode()), *reader.finish()]
    except (InvalidInput, TooLarge) as error:
        return None, error
    return (pa.concat_tables(tables) if tables else None), None


def _of_delimiter(
    names: Sequence[str],
    tables: Sequence[tuple[tuple[str, str | None], pa.Table]],
    chosen: str,
    refused: InvalidInput | TooLarge | None,
) -> Iterator[Doubt]:
    """The doubt about the delimiter of a table of one column, or of several under another delimiter, too."""
    widest = max(table.num_columns for _, table in tables)
    if widest == 1:
        why = delimiter_note(names[:1]) or "Only one column was found, and tables usually have more."
        so = "" if refused is None else f" Read so: {getattr(refused, 'faults', [refused])[0].message}"
        yield Doubt("delimiter", f"{why}{so}")
    others = {own for (own, _), table in tables if table.num_columns > 1} - {chosen}
    if widest > 1 and others:
        signs = " or ".join(CALLED[own] for own in sorted({chosen, *others}))
        yield Doubt("delimiter", f"Cells may be separated by {signs}: each gives several columns.")


def _notes(
    dialect: Dialect, said: Mapping[str, Any], n_columns: int, index: str | None, has_blanks: bool
) -> Iterator[str]:
    """What is taken for granted of a table's file, in sentences."""
    blanks = "left out" if dialect.trim else "kept, since values differ in nothing else"
    notes = (
        ("delimiter", n_columns > 1 and dialect.delimiter != ",",
         f"Cells are taken to be separated by {CALLED.get(dialect.delimiter)}."),
        ("encoding", dialect.encoding != "utf-8",
         f"The characters are taken to be encoded in {dialect.encoding}."),
        ("header", not dialect.header,
         "The first line does not look like column names, and is read as a record."),
        ("trim", has_blanks, f"Some cells begin or end with blanks, which are {blanks}."),
    )  # fmt: skip
    yield from (note for part, is_so, note in notes if part not in said and is_so)
    yield from () if index is None else [index_note(index)]


def propose_schema(piece: bytes, dialect: Dialect | None = None, index: str | None = None) -> SchemaProposal:
    """A type and a role per column from the first rows of an upload's first piece.

    A schema has one identifier, so that of several columns that could be it one is proposed, and the others
    as ``other``: neither is released. Signs of several rows per person are looked for in these rows only.
    ``index`` is a column that had no name.
    """
    table = read_piece(piece).slice(0, _SCHEMA_ROWS)
    columns = columns_of([table], dialect)
    person = next((own.columns[0] for own in signs_of(columns).signs if own.kind == "fixes_others"), None)
    cells = {name: columns[name].cells() for name in table.column_names}
    types = {name: propose_type(own) for name, own in cells.items()}
    proposals = [
        replace(own, role="other", reason=_INDEX, is_unsure=False) if own.name == index else own
        for own in (_attribute(name, cells[name], types[name], name == person) for name in cells)
    ]
    notes = tuple(filter(None, [delimiter_note(table.column_names)]))
    doubts = tuple(
        Doubt("format", f"{name}: {own.note}", tuple(reading.value for reading in own.readings), name)
        for name, own in types.items()
        if own.readings
    )
    return SchemaProposal(table.num_rows, tuple(_with_one_identifier(proposals)), notes, doubts)


async def proposed_types(
    read: Callable[[], AsyncIterator[bytes]], summary: Mapping[str, Any], dialect: Dialect
) -> SchemaProposal:
    """Types and roles by the first piece of an upload, once all others have been looked at for strays.

    ``read`` begins to read the upload's pieces; ``summary`` has its ``rows`` and ``index``.
    """
    first = await anext(read())
    proposal = await asyncio.to_thread(propose_schema, first, dialect, summary.get("index"))
    strays: dict[str, list[int]] = {}
    row = 1
    if proposal.rows_in_sample < summary["rows"]:
        async for piece in read():
            found, rows = await asyncio.to_thread(strays_of, proposal, piece, dialect)
            for name, places in found.items():
                strays.setdefault(name, []).extend((places + row).tolist())
            row += rows
    return with_categories(proposal, strays)


def strays_of(proposal: SchemaProposal, piece: bytes, dialect: Dialect) -> tuple[dict[str, Ints], int]:
    """Column → places in a piece of cells not of its type, where the sample has none; and how many rows."""
    formats = {
        own.name: own.format or _PLAIN[own.type]
        for own in proposal.attributes
        if own.type in _PLAIN and not own.unreadable_in_sample
    }
    table = read_piece(piece, tuple(formats))
    found: dict[str, Ints] = {}
    for name, format_ in formats.items():
        column = table.column(name).combine_chunks()
        usual = pc.match_substring_regex(column.dictionary, _USUAL.get(format_, "a^"))
        # Of a million prices each is another text.
        others = pc.indices_nonzero(pc.invert(usual)).to_pylist()
        texts = {place: dialect.meaning_of(column.dictionary[place].as_py()) for place in others}
        wrong = [place for place, text in texts.items() if text is not None and not is_read(text, format_)]
        if wrong:
            places = np.flatnonzero(np.isin(column.indices.fill_null(-1).to_numpy(), wrong))
            found[name] = places.astype(np.int32)
    return found, table.num_rows


def with_categories(proposal: SchemaProposal, strays: Mapping[str, Sequence[int]]) -> SchemaProposal:
    """The proposal, columns with stray cells in rows beyond the sample as categories: they may be codes."""
    attributes = list(proposal.attributes)
    for place, own in enumerate(attributes):
        if own.name in strays:
            where = faults.in_rows(strays[own.name])
            reason = f"{own.reason} Cells {where} are no {own.type}: its values are taken as categories."
            attributes[place] = replace(own, type="categorical", format=None, reason=reason, is_unsure=True)
    doubts = tuple(own for own in proposal.doubts if own.column not in strays)
    return replace(proposal, attributes=tuple(attributes), doubts=doubts)


def with_declared(
    proposal: SchemaProposal, declared: Sequence[AttributeDeclaration], *, rows_are_persons: bool
) -> SchemaProposal:
    """The proposal with what is declared; no other column gets a role of it that at most one has."""
    said = {own.name: own for own in declared}
    single = {own.role for own in declared} & {Role.IDENTIFIER, Role.PERSON, Role.WEIGHT}
    single |= {Role.PERSON} if rows_are_persons else set()
    attributes = []
    for own in proposal.attributes:
        if (as_said := said.get(own.name)) is not None:
            is_refused = as_said.on_unreadable is OnUnreadable.REFUSE
            own = replace(
                own,
                type=as_said.type.value,
                role=as_said.role.value,
                format=as_said.format,
                on_unreadable=None if is_refused else as_said.on_unreadable,
                reason="It is declared so.",
                is_unsure=False,
            )
        elif own.role in single:
            own = replace(own, role="other", reason=f"{own.reason} What is declared leaves no room for that.")
        attributes.append(own)
    doubts = tuple(own for own in proposal.doubts if own.column not in said)
    return replace(proposal, attributes=tuple(attributes), doubts=doubts)


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


def _attribute(
    name: str, cells: Sequence[str | None], type_: TypeProposal, is_person: bool
) -> AttributeProposal:
    present = [cell for cell in cells if cell is not None]
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
