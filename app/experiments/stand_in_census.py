"""A census that stands in for the one of Wang et al. (2012), section 6, which is not supplied.

It has the domains' sizes, skew and correlation in kind (Definitions: stand-in census), and is computed from
the records' numbers by a hash: the same everywhere. What is found on it says nothing of the paper's own data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Ints, Longs
from app.domain.classes.sensitive_counts import SensitiveCounts, count_values
from app.domain.errors import InvalidInput
from app.domain.mechanisms.query_pool import GroupedValues, Words
from app.domain.tables.distinct import distinct_rows
from app.experiments.census import Census
from app.experiments.report import Effort

ATTRIBUTES: Final = ("age", "gender", "education", "marital", "race", "work", "occupation")
SIZES: Final = (77, 2, 14, 6, 9, 7, 50)
EDUCATION: Final = 2
OCCUPATION: Final = 6
RECORDS_PER_ENTITY: Final = 125
STEPS: Final = 5
"""Sizes of the table that are looked at: fifths of all."""

_AGE: Final = tuple(77 - abs(v - 20) for v in range(77))
_GENDER: Final = (52, 48)
_MARITAL: Final = (50, 25, 12, 7, 4, 2)
_RACE: Final = (75, 10, 6, 3, 2, 1, 1, 1, 1)
_WORK: Final = (70, 10, 7, 5, 4, 3, 1)
_EDUCATION: Final = (30, 20, 14, 10, 7, 5, 4, 3, 2, 1, 1, 1, 1, 1)
_FALLBACK: Final = tuple(50 - v for v in range(50))
_LINKED: Final = 45
_POOL: Final = 10**12
_WORDS_AT_ONCE: Final = 2**14

_Hashes = npt.NDArray[np.uint64]


def hashed(numbers: _Hashes) -> _Hashes:
    """The upper 32 bits of the hash splitmix64 of each number."""
    z = numbers + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(32))


def words_of_pool() -> Words:
    """The words that queries are drawn by."""

    def drawn() -> Iterator[int]:
        start = _POOL
        while True:
            yield from hashed(np.arange(start, start + _WORDS_AT_ONCE, dtype=np.uint64)).tolist()
            start += _WORDS_AT_ONCE

    return drawn()


def stand_in(records: int) -> Census:
    """The first so many records, in the order of :data:`ATTRIBUTES`."""
    numbers = np.uint64(16) * np.arange(records, dtype=np.uint64)

    def picked(draw: int, weights: Sequence[int]) -> Longs:
        upper = np.cumsum(np.array(weights, dtype=np.uint64))
        below = (hashed(numbers + np.uint64(draw)) * upper[-1]) >> np.uint64(32)
        return np.asarray(np.searchsorted(upper, below, side="right"), dtype=np.int64)

    age, gender, marital = picked(0, _AGE), picked(1, _GENDER), picked(2, _MARITAL)
    race, work, education = picked(3, _RACE), picked(4, _WORK), picked(5, _EDUCATION)
    linked, fallback = picked(6, [1] * 100) < _LINKED, picked(7, _FALLBACK)
    occupation = np.where(linked, (7 * education + 3 * gender + 11 * work) % 50, fallback)
    columns = (age, gender, education, marital, race, work, occupation)
    return Census(tuple((own + 1).astype(np.int32) for own in columns), SIZES)


def base_table(census: Census, sensitive: int, records: Ints) -> GroupedValues:
    """The records of these numbers, grouped by all attributes but the sensitive one."""
    n, m = len(records), census.sizes[sensitive]
    known = [j for j in range(len(census.columns)) if j != sensitive]
    columns = [census.columns[j].take(records) - 1 for j in known]
    rows = distinct_rows(columns, [census.sizes[j] for j in known], n)
    values = census.columns[sensitive].take(records) - 1
    ones: Longs = np.ones(n, dtype=np.int64)
    own = count_values(rows.inverse.astype(np.int64), values, ones, rows.size, m)
    totals = np.bincount(values, minlength=m).astype(np.int64)
    counts = SensitiveCounts(*own, totals, np.arange(1, m + 1, dtype=np.int32))
    return GroupedValues(rows.codes, counts, m, np.arange(m, dtype=np.int64))


def base_tables(effort: Effort, sensitive: int) -> tuple[GroupedValues, ...]:
    """Nested tables of a fifth, two fifths and so on of all records, of the reader's own census if given.

    The stand-in's are its first records, the own one's a random order's.
    """
    if effort.census is None:
        census = stand_in(RECORDS_PER_ENTITY * effort.entities)
        order = np.arange(len(census.columns[0]), dtype=np.int32)
    else:
        census = effort.census
        order = np.random.default_rng(1).permutation(len(census.columns[0])).astype(np.int32)
    n = len(order)
    if n < STEPS:
        raise InvalidInput.of(
            "/census",
            "too-few-records",
            f"The extract has {n} records, and tables of a fifth of them and more are looked at.",
            "Give one of many records: the experiments are about groups of them.",
        )
    if census.sizes[sensitive] < 2:
        name = ATTRIBUTES[sensitive]
        raise InvalidInput.of(
            f"/census/{name}",
            "single-value",
            f"All records have the same {name}: there is nothing to perturb.",
            "Give an extract in which it has several values.",
        )
    return tuple(base_table(census, sensitive, order[: n * step // STEPS]) for step in range(1, STEPS + 1))


def named(effort: Effort) -> str:
    """What the records are, for the setting of a report."""
    return "stand-in census" if effort.census is None else "the reader's census"
