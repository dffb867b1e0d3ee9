"""One row per person of a table in which persons have several: which cell, or number, stands for a person.

Columns are given as distinct texts and the position of each cell among them, −1 where it is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Ints, Longs
from app.domain.tables.distinct import sort_with_positions, starts_of_runs

MISSING: Final = -1
MEAN_DIGITS: Final = 6
"""Means have so many digits behind the point, or as many as the column's cells if those have more."""
_NUMBER: Final = re.compile(r"[+-]?\d{1,30}(?:\.\d{1,30})?", re.ASCII)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?)?", re.ASCII)


class Kept(StrEnum):
    """What of the present cells of a person's rows stands for the person; of none it is a missing cell."""

    FIRST = "first"
    LAST = "last"
    MOST_FREQUENT = "most_frequent"
    MEAN = "mean"
    SUM = "sum"


def ranks(texts: Sequence[str]) -> Ints:
    """(len(texts),) rank of each text among numbers, or else among ISO dates and times; −1 of what is none.

    Equal ones have the same rank. A date is its midnight; times have no offset.
    """
    reads: Callable[[str], Any] = Decimal if are_numbers(texts).all() else _moment
    values = [reads(text) for text in texts]
    place = {value: rank for rank, value in enumerate(sorted({own for own in values if own is not None}))}
    return np.array([place.get(own, MISSING) for own in values], dtype=np.int32)


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def are_numbers(texts: Sequence[str]) -> npt.NDArray[np.bool_]:
    """(len(texts),) whether each can be added: a number like 1200 or 0.5, of at most 30 digits a side."""
    return np.array([_NUMBER.fullmatch(text) is not None for text in texts], dtype=bool)


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
        """Of (n,) numbers of persons, and ranks of the rows; None: they are in order."""
        _, first, numbers = np.unique(persons, return_index=True, return_inverse=True)
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

    def total(self, positions: Ints, values: Sequence[str], *, is_mean: bool) -> tuple[tuple[str, ...], Ints]:
        """Exact sums, or means rounded half to even, as distinct texts and (persons,) positions among them.

        ``values`` are the numbers that the positions stand for. They are counted in units of the last digit,
        in 64 bits where these hold all sums, else in Python's whole numbers.
        """
        digits = max((len(text.partition(".")[2]) for text in values), default=0)
        digits = max(digits, MEAN_DIGITS) if is_mean else digits
        parts = (text.partition(".") for text in values)
        units = [int(whole + behind.ljust(digits, "0")) for whole, _, behind in parts]
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
        texts = tuple(_written(own, digits) for own in distinct.tolist())
        return texts, np.where(counts > 0, found, MISSING).astype(np.int32)


def _written(units: int, digits: int) -> str:
    """The number of so many units of the digit at this place behind the point."""
    whole, behind = divmod(abs(units), 10**digits)
    sign, part = "-" if units < 0 else "", f"{behind:0{digits}d}".rstrip("0")
    return f"{sign}{whole}.{part}" if part else f"{sign}{whole}"
