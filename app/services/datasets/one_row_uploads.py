"""A table with one row per person, made of an upload in which persons have several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.domain.arrays import Ints
from app.domain.errors import Fault, InvalidInput, TooLarge, joined, refuse
from app.domain.tables.one_row import MISSING, Kept, PersonRows, are_numbers, ranks
from app.services.datasets.arrow_arrays import text_array
from app.services.datasets.dataset_schema import OnMissing, unknown_column
from app.services.datasets.ingest.faults import ROWS_NAMED, in_rows
from app.services.datasets.persons import person_warnings, persons_of
from app.services.datasets.table_streams import blocks
from app.services.datasets.text_columns import TextColumn
from app.services.resources import JsonObject, Stored

MOST_CELLS: Final = 100_000_000
"""Of an upload that is reduced: it takes four bytes of memory for each, and its columns' different texts."""


@dataclass(frozen=True)
class OneRowPerPerson:
    """How the rows of one person become one, in an upload to be made.

    Of columns that are not named the most frequent value is kept. First and last are by ``order_by``, numbers
    or ISO dates, or else by the table. Rows that name nobody are refused, or each its own
    person.
    """

    name: str
    person: str
    columns: Mapping[str, Kept] = field(default_factory=dict)
    order_by: str | None = None
    on_missing: OnMissing = "refuse"

    def check(self, upload: Stored) -> None:
        """Raise InvalidInput or TooLarge unless the upload can be reduced so."""
        columns, rows = upload.summary["columns"], upload.summary["rows"]
        named = {"/person": self.person} | ({"/order_by": self.order_by} if self.order_by else {})
        named |= {joined("/columns", name): name for name in self.columns}
        refuse([unknown_column(place, name, upload) for place, name in named.items() if name not in columns])
        if self.person in self.columns:
            said = "The column of persons stays as it is."
            refuse([Fault(joined("/columns", self.person), "person-column", said, "Leave it out here.")])
        if not rows:
            refuse([Fault("/person", "no-person", "The upload has no rows.", "Take one that has.")])
        if rows * len(columns) > MOST_CELLS:
            said = f"One row per person is made of at most {MOST_CELLS:,} cells."
            raise TooLarge(said, "Upload the columns that are needed, or make it before.", MOST_CELLS)


@dataclass(frozen=True, eq=False)
class OneRowTable:
    """A column of text per name, with a cell per person; how it was made, and that in sentences."""

    columns: Mapping[str, pa.LargeStringArray]
    rows: int
    made_from: JsonObject
    notes: tuple[str, ...]

    def parts(self) -> Iterator[pa.Table]:
        """Its rows in parts, of which none has too many bytes for one array."""
        for rows in blocks(self.rows):
            yield pa.table({name: own[rows].cast(pa.string()) for name, own in self.columns.items()})


def one_row_table(upload: Stored, asked: OneRowPerPerson, columns: Mapping[str, TextColumn]) -> OneRowTable:
    """The table of the upload's columns; InvalidInput, naming rows, for cells that do not fit."""
    column, order = columns[asked.person], None
    persons = persons_of(column, "/person" if asked.on_missing == "refuse" else None)
    if asked.order_by is not None:
        own = columns[asked.order_by]
        order = np.append(ranks(own.values), np.int32(MISSING))[own.positions]
        remedy = "Take a column without gaps of numbers, or of dates like 2026-01-31 or 2026-01-31 13:30."
        _refuse(order == MISSING, "/order_by", f"{asked.order_by!r} is no number and no ISO date", remedy)
    rows, named = PersonRows.of(persons.numbers, order), column.positions.copy()
    named[persons.nobody - 1] = MISSING
    made, kept, ties = {asked.person: _texts(column.values, named[rows.first])}, {}, []
    for name in (name for name in upload.summary["columns"] if name != asked.person):
        kept[name] = asked.columns.get(name, Kept.MOST_FREQUENT)
        made[name], tied = _reduced(rows, columns[name], kept[name], name)
        ties += [f"{name} ({tied:,})"] if tied else []
    n_rows, n = len(persons.numbers), persons.n_persons
    told = [f"One row per person by column {asked.person}: {n_rows:,} rows became {n:,} persons."]
    chosen = {how: [name for name, own in kept.items() if own is how] for how in Kept}
    told.append(
        " ".join(f"{how.replace('_', ' ').capitalize()}: {_few(own)}." for how, own in chosen.items() if own)
    )
    if chosen[Kept.FIRST] or chosen[Kept.LAST]:
        told.append(f"Rows are ordered by {f'{asked.order_by}, then ' if asked.order_by else ''}their place.")
    if ties:
        told.append(f"Of equally frequent values the first is kept, in persons: {_few(ties)}.")
    told += person_warnings(asked.person, persons)
    source = {"upload": upload.name, "sha256": upload.sha256, "rows": n_rows, "person": asked.person}
    source |= {"columns": kept, "order_by": asked.order_by, "on_missing": asked.on_missing}
    in_place = {name: made[name] for name in upload.summary["columns"]}
    return OneRowTable(in_place, n, source, tuple(filter(None, told)))


def _reduced(rows: PersonRows, column: TextColumn, how: Kept, name: str) -> tuple[pa.LargeStringArray, int]:
    """The column with a cell per person, and how many persons have several most frequent values."""
    if how is Kept.MOST_FREQUENT:
        positions, ties = rows.most_frequent(column.positions, len(column.values))
        return _texts(column.values, positions), ties
    if how in (Kept.FIRST, Kept.LAST):
        return _texts(column.values, rows.at_end(column.positions, is_last=how is Kept.LAST)), 0
    wrong = np.append(~are_numbers(column.values), False)[column.positions]
    remedy = (
        "Keep the first, last or most_frequent, or write numbers like 1234.5, of 30 digits a side at most."
    )
    _refuse(wrong, joined("/columns", name), f"{name!r} is no number", remedy)
    return _texts(*rows.total(column.positions, column.values, is_mean=how is Kept.MEAN)), 0


def _refuse(is_wrong: npt.NDArray[np.bool_], pointer: str, said: str, remedy: str) -> None:
    """Raise InvalidInput that names the first rows that are wrong, if any is."""
    rows = np.flatnonzero(is_wrong) + 1
    if len(rows):
        where = in_rows(rows[:ROWS_NAMED].tolist(), len(rows))
        raise InvalidInput.of(pointer, "unreadable-cell", f"{said} {where}.", remedy)


def _texts(values: Sequence[str], positions: Ints) -> pa.LargeStringArray:
    """The text at each position, null at −1."""
    is_there = pa.py_buffer(np.packbits(positions != MISSING, bitorder="little"))
    buffers = [is_there, pa.py_buffer(np.maximum(positions, 0))]
    return text_array(values).take(pa.Array.from_buffers(pa.int32(), len(positions), buffers))


def _few(names: Sequence[str], most: int = 10) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
