"""One row per person of a table in which persons have several: which cell, or number, stands for a person.

Columns are given as distinct texts and the position of each cell among them, −1 where it is missing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Context, Decimal
from enum import StrEnum
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Ints, Longs
from app.domain.hierarchies.cell_formats import CellFormat, read_cell
from app.domain.tables.distinct import sort_with_positions, starts_of_runs

MISSING: Final = -1
MEAN_DIGITS: Final = 6
"""Means have so many digits behind the point, or as many as the column's cells if those have more."""
_EXACT: Final = Context(prec=100)
_NUMBER: Final = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII)


class Kept(StrEnum):
    """What of the present cells of a person's rows stands for the person; of none it is a missing cell."""

    FIRST = "first"
    LAST = "last"
    MOST_FREQUENT = "most_frequent"
    MEAN = "mean"
    SUM = "sum"


def person_numbers(texts: Sequence[str]) -> Ints:
    """(len(texts),) number from 0 of the person whom each distinct text names, −1 where it names nobody.

    Spellings of one person are one: numbers by value (1000, 1000.0), other texts without regard to case,
    Unicode form, invisible signs, and blanks but for one between words.
    """
    numbers = {"": MISSING}
    return np.array([numbers.setdefault(_folded(text), len(numbers) - 1) for text in texts], dtype=np.int32)


def _folded(text: str) -> str:
    if not text.isascii():
        visible = (sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")
        text = unicodedata.normalize("NFKC", "".join(visible).casefold())
    text = " ".join(text.casefold().split())
    return read_cell(text, CellFormat.POINT) or text


def ranks(texts: Sequence[str]) -> Ints:
    """(len(texts),) rank of each text among numbers, or else among ISO dates and times; −1 of what is none.

    Equal ones have the same rank. A date is its midnight; times have no offset.
    """
    values: list[Any] = decimals(texts)
    if None in values:
        values = [_moment(text) for text in texts]
    place = {value: rank for rank, value in enumerate(sorted({own for own in values if own is not None}))}
    return np.array([place.get(own, MISSING) for own in values], dtype=np.int32)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def decimals(texts: Sequence[str]) -> list[Decimal | None]:
    """What each text says exactly; None if it is no number like 1200 or 0.5, of at most 30 digits a side."""
    return [Decimal(text) if _NUMBER.fullmatch(text) else None for text in texts]


@dataclass(frozen=True, eq=False)
class PersonRows:
    """The rows of a table by person.

    Attributes
    ----------
    numbers
        int32 (n,): the person of each row, from 0 in the order of their first rows.
    first
        int64 (persons,): the first row of each.
    order
        int64 (n,): the rows from the first to the last, where that is asked for.
    """

    numbers: Ints
    first: Longs
    order: Longs

    @classmethod
    def of(cls, persons: Ints, ranks: Ints | None) -> Self:
        """Of (n,) numbers of persons, −1 where a row is a person, and ranks of rows, or the table's order."""
        is_own = persons == MISSING
        distinct = np.where(is_own, persons.max(initial=MISSING) + np.cumsum(is_own), persons)
        _, first, numbers = np.unique(distinct, return_index=True, return_inverse=True)
        place = np.empty(len(first), dtype=np.int32)
        place[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
        order = np.arange(len(persons)) if ranks is None else np.argsort(ranks, kind="stable")
        return cls(place[numbers], np.sort(first), order)

    def at_end(self, positions: Ints, *, is_last: bool) -> Ints:
        """(persons,) position of each person's first, or last, present cell in the order of rows."""
        rows = self.order[positions[self.order] != MISSING]
        rows = rows if is_last else rows[::-1]
        found = np.full(len(self.first), MISSING, dtype=np.int32)
        found[self.numbers[rows]] = positions[rows]  # of a person's rows the last assignment holds
        return found

    def most_frequent(self, positions: Ints, n_values: int) -> tuple[Ints, int]:
        """(persons,) position of each one's most frequent text, and how many persons have several such.

        Of several it is the one that comes first in the table.
        """
        found = np.full(len(self.first), MISSING, dtype=np.int32)
        rows = np.flatnonzero(positions != MISSING)
        keys = self.numbers[rows].astype(np.int64) * n_values + positions[rows]
        ordered, places = sort_with_positions(keys, len(found) * n_values)
        starts = starts_of_runs(ordered)
        counts, persons = np.diff(starts, append=len(rows)), ordered[starts] // n_values
        heads = starts_of_runs(persons)
        most = np.repeat(np.maximum.reduceat(counts, heads), np.diff(heads, append=len(persons)))
        earliest = np.minimum.reduceat(np.where(counts == most, rows[places[starts]], len(positions)), heads)
        found[persons[heads]] = positions[earliest]
        return found, int((np.add.reduceat(counts == most, heads, dtype=np.int64) > 1).sum())

    def total(
        self, positions: Ints, values: Sequence[Decimal], *, is_mean: bool
    ) -> tuple[tuple[str, ...], Ints]:
        """Exact sums, or means rounded half to even, as distinct texts and (persons,) positions among them.

        ``values`` are the numbers that the positions stand for. They are counted in units of the last digit,
        in 64 bits where these hold all sums, else in Python's whole numbers.
        """
        digits = max((-int(own.as_tuple().exponent) for own in values), default=0)
        digits = max(digits, MEAN_DIGITS) if is_mean else digits
        units = [int(_EXACT.scaleb(own, digits)) for own in values]
        fits = max(map(abs, units), default=0) * len(positions) < 2**62
        sums: npt.NDArray[Any] = np.zeros(len(self.first), dtype=np.int64 if fits else object)
        rows = np.flatnonzero(positions != MISSING)
        np.add.at(sums, self.numbers[rows], np.array(units, dtype=sums.dtype)[positions[rows]])
        counts = np.bincount(self.numbers[rows], minlength=len(sums))
        if is_mean:
            n = np.maximum(counts, 1)
            sums, rest = sums // n, 2 * (sums % n)
            sums = sums + ((rest > n) | ((rest == n) & (sums % 2 == 1)))
        distinct, found = np.unique(sums, return_inverse=True)
        numbers = (format(_EXACT.scaleb(Decimal(own), -digits), "f") for own in distinct.tolist())
        texts = tuple(read_cell(number, CellFormat.POINT) or number for number in numbers)
        return texts, np.where(counts > 0, found, MISSING).astype(np.int32)
