"""A pool of COUNT queries drawn at random, with their true answers (Wang et al. (2012), section 6).

A query asks for one value each of up to so many quasi-identifiers, and for one sensitive value. It is kept if
it counts at least a share of the records, and drawn again else; the same query may be kept more than once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.classes.sensitive_counts import SensitiveCounts, count_values
from app.domain.errors import InvalidInput
from app.domain.tables.distinct import DistinctRows, distinct_rows

WORD_BITS: Final = 32
DRAWS_PER_TICK: Final = 10_000
Tick = Callable[[int], None]
Words = Iterator[int]
"""Random whole numbers below 2^32: u stands for the number ⌊u·k / 2^32⌋ below k."""

Query = tuple[tuple[int, ...], tuple[int, ...], int]
"""Columns, ascending, the place of the value of each among those of its column, and the sensitive value."""


class GroupedValues:
    """Groups of records by what they show, and how often each sensitive value occurs in each.

    Parameters
    ----------
    codes
        (G, columns) what each group shows of each quasi-identifier.
    counts
        Of the groups' sensitive values.
    n_values, value_of
        m: how many values may be drawn, and which of them each value is that occurs.
    """

    def __init__(self, codes: Ints, counts: SensitiveCounts, n_values: int, value_of: Longs) -> None:
        self.codes, self.counts, self.n_values, self.value_of = codes, counts, n_values, value_of
        shown = [np.unique(codes[:, j], return_inverse=True) for j in range(codes.shape[1])]
        self.sizes = tuple(len(nodes) for nodes, _ in shown)
        """How many values of each column are shown."""
        self._places = [places.astype(np.int32) for _, places in shown]

    def feed(self, update: Callable[[bytes], object]) -> None:
        """Give all that is told of the records to a hash."""
        for own in (self.codes, self.counts.starts, self.counts.values, self.counts.counts):
            update(np.ascontiguousarray(own).tobytes())

    @property
    def n_records(self) -> int:
        """Records that have a sensitive value."""
        return int(self.counts.sizes.sum())

    def by(self, columns: tuple[int, ...]) -> DistinctRows:
        """Combinations of the places of values in some columns, of the groups."""
        own = [self._places[j] for j in columns]
        return distinct_rows(own, [self.sizes[j] for j in columns], self.counts.n_classes)

    def frequent(self, columns: tuple[int, ...], least: float) -> Mapping[tuple[tuple[int, ...], int], int]:
        """How many records have a combination and a value, of those that at least so many have."""
        counts, rows = self.counts, self.by(columns)
        of_row = rows.inverse[counts.of_entry].astype(np.int64)
        starts, values, amounts = count_values(
            of_row, counts.values, counts.counts, rows.size, counts.n_values
        )
        cells = np.flatnonzero(amounts >= least)
        owners = np.searchsorted(starts, cells, side="right") - 1
        combinations = map(tuple, rows.codes[owners].tolist())
        named = self.value_of[values[cells]].tolist()
        return dict(zip(zip(combinations, named, strict=True), amounts[cells].tolist(), strict=True))


@dataclass(frozen=True)
class PoolQuestion:
    """How many queries, on how many quasi-identifiers at most, that count which share of records at least.

    ``least_count`` is how many records a query counts at least, whatever the share.
    """

    queries: int = 5000
    predicates: int = 3
    least_share: float = 0.001
    most_draws: int = 200_000
    least_count: int = 1


@dataclass(frozen=True)
class QueryPool:
    """The queries in the order that they were drawn in, their true answers, and how many were drawn."""

    queries: tuple[Query, ...]
    answers: Mapping[Query, int]
    draws: int

    @property
    def often(self) -> Mapping[Query, int]:
        """How often each query is in the pool."""
        return Counter(self.queries)


def query_pool(
    groups: GroupedValues, question: PoolQuestion, words: Words, tick: Tick | None = None
) -> QueryPool:
    """Draw a pool.

    Each query takes a word for how many columns it asks for, from 1 on, one for each column out of those that
    are left, one for the value of each in that order, and one for the sensitive value. ``tick`` is told each
    :data:`DRAWS_PER_TICK` draws how often it was. InvalidInput if the pool is not full after the most draws
    that are allowed, or there is no record. How many queries were kept is not said then: with the records
    unknown, it would tell of single counts whether they are large enough.
    """
    n_columns, n = len(groups.sizes), groups.n_records
    most = min(question.predicates, n_columns)
    least = max(question.least_share * n, question.least_count)
    if not n:
        raise InvalidInput.of(
            "/measure",
            "nothing-to-ask",
            "No record has all values that are asked for.",
            "Ask about other attributes, or take missing values for a category of their own.",
        )
    known: dict[tuple[int, ...], Mapping[tuple[tuple[int, ...], int], int]] = {}
    queries: list[Query] = []
    answers: dict[Query, int] = {}
    for draw in range(1, question.most_draws + 1):
        if tick is not None and not draw % DRAWS_PER_TICK:
            tick(draw // DRAWS_PER_TICK)
        left = list(range(n_columns))
        chosen = [left.pop(_below(next(words), len(left))) for _ in range(1 + _below(next(words), most))]
        values = {j: _below(next(words), groups.sizes[j]) for j in chosen}
        value = _below(next(words), groups.n_values)
        columns = tuple(sorted(chosen))
        if columns not in known:
            known[columns] = groups.frequent(columns, least)
        places = tuple(values[j] for j in columns)
        answer = known[columns].get((places, value))
        if answer is not None:
            query = (columns, places, value)
            queries.append(query)
            answers[query] = answer
            if len(queries) == question.queries:
                return QueryPool(tuple(queries), answers, draw)
    raise InvalidInput.of(
        "/measure/most_draws",
        "pool-not-full",
        f"Of {question.most_draws:,} queries drawn fewer than the {question.queries:,} asked for count at "
        f"least {question.least_share:.6g} of the records and {question.least_count:,} of them.",
        "Ask for fewer queries, a smaller least_share, or more draws.",
    )


def _below(word: int, k: int) -> int:
    return word * k >> WORD_BITS
