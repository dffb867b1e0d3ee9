"""A table with one row per person, made of an upload in which persons have several."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.domain.classes.libraries import Library
from app.domain.errors import Fault, InvalidInput, TooLarge, joined, refuse
from app.services.datasets.dataset_schema import OnMissing, unknown_column
from app.services.datasets.ingest.faults import ROWS_NAMED, in_rows
from app.services.datasets.persons import person_warnings, persons_of
from app.services.datasets.text_columns import MISSING, TextColumn
from app.services.resources import Stored

if TYPE_CHECKING:
    import pandas as pd
else:
    pd = Library("pandas")

Kept = Literal["most_frequent", "first", "last", "mean", "sum"]
"""What of the present cells of a person's rows stands for the person; of none it is a missing cell."""
MOST_CELLS: Final = 100_000_000
"""Of an upload that is reduced: it takes four bytes of memory for each, and its columns' different texts."""
MEAN_DIGITS: Final = 6
"""Means have so many digits behind the point, or as many as the column's cells if those have more."""
_NUMBER: Final = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?", re.ASCII)
_EXACT: Final = 100
"""Digits that hold every sum of so many numbers, and tell a mean from the half between two others."""


@dataclass(frozen=True)
class OneRowPerPerson:
    """How the rows of one person become one, in an upload to be made.

    Of columns that are not named the most frequent value is kept. First and last are by ``order_by``, numbers
    or ISO dates, or else by the table. Rows that name nobody are refused, or each its own person.
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


def one_row_table(
    upload: Stored, asked: OneRowPerPerson, columns: Mapping[str, TextColumn]
) -> tuple[pa.Table, tuple[str, ...]]:
    """The upload's columns of text with a row per person in the order of their first rows, and what was done.

    InvalidInput, naming rows, for cells that do not fit.
    """
    column = columns[asked.person]
    persons = persons_of(column, "/person" if asked.on_missing == "refuse" else None)
    rows = pd.DataFrame({"person": pd.factorize(persons.numbers)[0]})
    ordered = rows if asked.order_by is None else rows.iloc[_order(columns[asked.order_by], asked.order_by)]
    named = column.positions.copy()
    named[persons.nobody - 1] = MISSING
    made = {}
    for name in upload.summary["columns"]:
        own, how = columns[name], asked.columns.get(name, "most_frequent")
        frame = ordered if how in ("first", "last") else rows
        if name == asked.person:
            own, how = TextColumn(own.values, named), "first"  # in the table, whatever the order
        if how in ("mean", "sum"):
            is_wrong = np.array([_NUMBER.fullmatch(text) is None for text in own.values], dtype=bool)
            remedy = "Keep another of its cells, or write numbers like 1234.5, of 30 digits a side at most."
            _refuse(own.rows_of(is_wrong), joined("/columns", name), f"{name!r} is no number", remedy)
        cells = frame.assign(cell=own.positions[frame.index])
        kept = _kept(cells[cells["cell"] != MISSING], own.values, how).reindex(range(persons.n_persons))
        made[name] = pa.array(kept, pa.string(), from_pandas=True)
    n, order = persons.n_persons, f"{asked.order_by}, then " if asked.order_by else ""
    ways = "".join(f"{name} by {how}, " for name, how in asked.columns.items())
    return pa.table(made), (
        f"One row per person by column {asked.person}: {len(rows):,} rows became {n:,} persons.",
        f"Made of {upload.name}: {ways}every other column by most_frequent, rows ordered by {order}place.",
        *person_warnings(asked.person, persons),
    )


def _kept(cells: pd.DataFrame, values: Sequence[str], how: Kept) -> pd.Series[str]:
    """By person what is kept of present cells, which are positions among texts, in their order.

    Of several most frequent texts it is the one that comes first. Sums are exact, means rounded half to even.
    """
    if how in ("mean", "sum"):
        with localcontext(prec=_EXACT):
            numbers = np.array([Decimal(text) for text in values], dtype=object)
            grouped = pd.Series(numbers[cells["cell"]]).groupby(cells["person"].to_numpy())
            totals = grouped.sum()
            if how == "mean":
                digits = max([MEAN_DIGITS, *(len(text.partition(".")[2]) for text in values)])
                unit = Decimal(1).scaleb(-digits)
                totals = (totals / grouped.size()).map(lambda mean: mean.quantize(unit))
            return totals.map(lambda own: f"{own.normalize() + 0:f}")
    if how == "most_frequent":
        counts = cells.groupby(["person", "cell"], sort=False).size()
        cells = counts.sort_values(ascending=False, kind="stable").reset_index()
    found = cells.drop_duplicates("person", keep="last" if how == "last" else "first")
    return pd.Series(np.array(values, dtype=object)[found["cell"]], found["person"], dtype=object)


def _order(column: TextColumn, name: str) -> npt.NDArray[np.int64]:
    """The rows from the first to the last by numbers, or else by ISO dates and times; equal ones stay."""
    texts = column.values
    if all(map(_NUMBER.fullmatch, texts)):
        ranks = pd.factorize(np.array([Decimal(text) for text in texts], dtype=object), sort=True)[0]
    else:
        dates = pd.Series(texts, dtype=object)
        dates = dates.where(dates.str.match(r"\d"))  # since today is a date to pandas
        moments = pd.to_datetime(dates, format="ISO8601", errors="coerce", utc=True)
        ranks = pd.factorize(moments, sort=True)[0]
    found = np.append(ranks, MISSING)[column.positions]
    said = f"{name!r} is no number and no ISO date"
    remedy = "Take a column without gaps of numbers, or of dates like 2026-01-31 or 2026-01-31 13:30."
    _refuse(np.flatnonzero(found == MISSING) + 1, "/order_by", said, remedy)
    return np.argsort(found, kind="stable")


def _refuse(rows: npt.NDArray[np.int64], pointer: str, said: str, remedy: str) -> None:
    """Raise InvalidInput that names the first of the rows from 1, if there are any."""
    if len(rows):
        where = in_rows(rows[:ROWS_NAMED].tolist(), len(rows))
        raise InvalidInput.of(pointer, "unreadable-cell", f"{said} {where}.", remedy)
