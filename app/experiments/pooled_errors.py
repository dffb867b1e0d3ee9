"""Errors of counts of a table: expected ones, and those of releases that are drawn, kept cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Floats, Ints, Longs
from app.domain.classes.reconstruction_groups import GroupsUnderTest
from app.domain.mechanisms.balanced_samples import copies, expanded, sampled_counts
from app.domain.mechanisms.coin_samples import coin_copies, coin_limits, coin_sampled_counts
from app.domain.mechanisms.drawing import replaced
from app.domain.mechanisms.expected_errors import PooledCounts, sample_sizes
from app.domain.mechanisms.mechanism import Bits
from app.domain.mechanisms.query_pool import GroupedValues, PoolQuestion, QueryPool, query_pool
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.experiments.cells import Cells, data_hash
from app.experiments.reconstruction_grid import DEFAULT, Setting
from app.experiments.stand_in_census import words_of_pool

Computable = Literal["plain", "balanced", "balanced_fixed"]
"""Releases of which errors are expected without drawing any."""
Kind = Literal["plain", "balanced", "balanced_fixed", "paper"]
COMPUTABLE: Final[tuple[Computable, ...]] = ("plain", "balanced", "balanced_fixed")
KINDS: Final[tuple[Kind, ...]] = (*COMPUTABLE, "paper")
_BOUND: Final = "chernoff_simple"


@dataclass(frozen=True, eq=False)
class _Asked:
    """The queries that name the same columns: (q,) each its combination, its value, its answer, how often.

    ``row_of_group`` (G,) is the combination of these columns that each group has.
    """

    row_of_group: Ints
    rows: Longs
    values: Longs
    answers: Longs
    often: Longs


@dataclass(frozen=True, eq=False)
class PooledErrors:
    """A table with its pool of queries, for the cells of an experiment."""

    table: GroupedValues
    experiment: str
    cells: Cells

    @cached_property
    def pool(self) -> QueryPool:
        """The queries, the same whenever they are drawn."""
        return query_pool(self.table, PoolQuestion(), words_of_pool())

    @cached_property
    def counts(self) -> PooledCounts:
        """What they count."""
        return PooledCounts(self.table, self.pool)

    @cached_property
    def hash(self) -> str:
        """Of the records."""
        return data_hash(self.table)

    def samples(self, setting: Setting, kind: Computable) -> Longs:
        """(G,) records to draw of each group: all, as many as its shares allow, or alike of larger ones."""
        if kind == "plain":
            return self.table.counts.sizes
        return sample_sizes(self.table.counts, setting.question(self.table.n_values), _BOUND, kind)

    def expected(self, setting: Setting) -> tuple[float, ...]:
        """Errors of plain perturbation and of both balanced modes, and the ratios of these to it."""

        def expect() -> tuple[float, ...]:
            question = setting.question(self.table.n_values)
            plain, *cut = (self.counts.error(question, self.samples(setting, kind)) for kind in COMPUTABLE)
            return plain, *cut, *(own / plain for own in cut)

        asked = {**setting.asked(self.experiment), "of": "expected errors"}
        return self.cells.of(asked, self.hash, 2 * len(COMPUTABLE) - 1, expect)

    def drawn(self, setting: Setting, kind: Kind, release: int) -> tuple[float, ...]:
        """The mean error of the pool in a release, and the mean of its square, of a kind of samples.

        Each release is drawn by words of its own, so that any of them can be drawn by itself. Plain ones
        are the same for every ε and δ.
        """
        own = setting
        if kind == "plain":
            own = replace(setting, epsilon=DEFAULT.epsilon, delta=DEFAULT.delta)

        def draw() -> tuple[float, float]:
            seed = np.random.SeedSequence((KINDS.index(kind) + 1, release))
            bits = np.random.Generator(np.random.PCG64(seed)).bytes
            counts, m = self.table.counts, self.table.n_values
            taken, times = self._sampled(own, kind, bits)
            owners, values = expanded(counts, taken)
            shown = replaced(values, TransitionMatrix(np.full(m, own.p)), bits)
            amounts = np.bincount(owners * m + shown, times(owners), counts.n_classes * m)
            return self._errors(np.asarray(amounts.reshape(counts.n_classes, m)), own.p)

        asked = {**own.asked(self.experiment), "of": kind, "release": release}
        return self.cells.of(asked, self.hash, 2, draw)

    def expectations(self, setting: Setting, kind: Computable) -> tuple[float, ...]:
        """What the mean error of the pool is expected to be, and exactly its square."""

        def expect() -> tuple[float, float]:
            question, samples = setting.question(self.table.n_values), self.samples(setting, kind)
            return self.counts.error(question, samples), self.counts.squared_error(question, samples)

        asked = {**setting.asked(self.experiment), "of": f"expectations of {kind}"}
        return self.cells.of(asked, self.hash, 2, expect)

    def _sampled(self, setting: Setting, kind: Kind, bits: Bits) -> tuple[Longs, Callable[[Longs], Longs]]:
        """(E,) records taken of each entry, and how often those of some groups are published."""
        counts = self.table.counts
        if kind == "paper":
            question = setting.question(self.table.n_values)
            limits = coin_limits(GroupsUnderTest(counts, question).tops, counts.sizes, question, _BOUND)
            taken = coin_sampled_counts(counts, limits, bits)
            return taken, lambda owners: coin_copies(owners, counts.sizes, bits)
        samples = self.samples(setting, kind)
        taken = sampled_counts(counts, samples, bits)
        return taken, lambda owners: copies(owners, counts.sizes, samples, bits)

    @cached_property
    def _asked(self) -> list[_Asked]:
        by_columns: dict[tuple[int, ...], list[tuple[tuple[int, ...], int, int, int]]] = {}
        for query, answer in self.pool.answers.items():
            columns, places, value = query
            by_columns.setdefault(columns, []).append((places, value, answer, self.pool.often[query]))
        found: list[_Asked] = []
        for columns, asked in by_columns.items():
            rows = self.table.by(columns)
            place = {own: i for i, own in enumerate(map(tuple, rows.codes.tolist()))}
            of, values, answers, often = zip(*asked, strict=True)
            at, asked_values = np.array([place[own] for own in of]), np.array(values)
            found.append(_Asked(rows.inverse, at, asked_values, np.array(answers), np.array(often)))
        return found

    def _errors(self, published: Floats, p: float) -> tuple[float, float]:
        """The means of |estimate − answer| / answer and of its square, of published counts (G, m)."""
        m, found, weights = self.table.n_values, [], []
        groups, values = np.nonzero(published)
        amounts = published[groups, values]
        for own in self._asked:
            cells = own.row_of_group[groups].astype(np.int64) * m + values
            size = int(own.row_of_group.max()) + 1
            shown = np.bincount(cells, amounts, size * m).reshape(size, m)[own.rows]
            with_value = shown[np.arange(len(own.rows)), own.values]
            estimates = (with_value - shown.sum(axis=1) * (1 - p) / m) / p
            found.append(np.abs(estimates - own.answers) / own.answers)
            weights.append(own.often)
        errors, often = np.concatenate(found), np.concatenate(weights)
        return float(np.average(errors, weights=often)), float(np.average(errors**2, weights=often))
