"""How far counts are expected to be off before anything is drawn (Wang et al. (2012), section 6).

The estimate of a count is nearly normal around the true one, with the variance V that draws give it, so that
it is off by about √(2/π)·√V on average. Whatever its law, that is at most √V, a quarter more; where hardly
any record is expected to change it is less. Groups that are suppressed are counted as if nobody was in them:
by b records too few, so that the mean of |b + √V·z| is expected.
"""

from __future__ import annotations

import math
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.reconstruction import Bound
from app.domain.classes.reconstruction_groups import GroupsUnderTest, ReconstructionQuestion
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.mechanisms.balanced_samples import balanced_sizes, fixed_size
from app.domain.mechanisms.count_variances import count_variances
from app.domain.mechanisms.query_pool import GroupedValues, QueryPool

Balanced = Literal["balanced_fixed", "balanced"]
MEAN_DEVIATION: Final = math.sqrt(2 / math.pi)
"""Of the standard normal law from 0."""


def sample_sizes(
    groups: SensitiveCounts, question: ReconstructionQuestion, bound: Bound, mode: Balanced
) -> Longs:
    """(G,) records to draw of each group, 0 for one that is suppressed or has no values."""
    if mode == "balanced_fixed":
        return np.minimum(groups.sizes, fixed_size(question, bound))
    found, occupied = np.zeros(groups.n_classes, dtype=np.int64), np.flatnonzero(groups.distinct)
    tops = GroupsUnderTest(groups, question).tops
    found[occupied] = balanced_sizes(tops[occupied], groups.sizes[occupied], question, bound)
    return found


class PooledCounts:
    """The groups and entries that each query of a pool counts, found once for all settings.

    Each distinct query is a cell: a combination of values in some columns, and a sensitive value.
    """

    def __init__(self, groups: GroupedValues, pool: QueryPool) -> None:
        self._counts = groups.counts
        often = pool.often
        self._weights = np.array([often[query] for query in pool.answers], dtype=np.float64)
        self._answers = np.array(list(pool.answers.values()), dtype=np.float64)
        self._row_of_cell = np.zeros(len(self._answers), dtype=np.int64)
        by_columns: dict[tuple[int, ...], list[int]] = {}
        queries = list(pool.answers)
        for cell, (columns, _, _) in enumerate(queries):
            by_columns.setdefault(columns, []).append(cell)
        number = np.full(groups.n_values, -1, dtype=np.int64)
        number[groups.value_of] = np.arange(len(groups.value_of))
        parts = []
        n_rows = 0
        for columns, cells in by_columns.items():
            rows = groups.by(columns)
            place = {own: i for i, own in enumerate(map(tuple, rows.codes.tolist()))}
            wanted = np.array([place[queries[cell][1]] for cell in cells])
            asked, local = np.unique(wanted, return_inverse=True)
            self._row_of_cell[cells] = n_rows + local
            position = np.full(rows.size, -1, dtype=np.int64)
            position[asked] = np.arange(len(asked))
            keys = local * self._counts.n_values + number[[queries[cell][2] for cell in cells]]
            order = np.argsort(keys)
            of_group = position[rows.inverse]
            inside = np.flatnonzero(of_group >= 0)
            of_entry = of_group[self._counts.of_entry]
            entries = np.flatnonzero(of_entry >= 0)
            of_entries = of_entry[entries] * self._counts.n_values + self._counts.values[entries]
            found = np.searchsorted(keys[order], of_entries).clip(max=len(keys) - 1)
            counted = keys[order][found] == of_entries
            own_cell = np.array(cells)[order][found[counted]]
            parts.append((inside, n_rows + of_group[inside], entries[counted], own_cell))
            n_rows += len(asked)
        self._n_rows = n_rows
        self._groups, self._rows, self._entries, self._cells = map(np.concatenate, zip(*parts, strict=True))

    def variances(self, question: ReconstructionQuestion, samples: Longs) -> Floats:
        """(cells,) of the counts, if so many records (G,) of each group are drawn."""
        counts, of = self._counts, self._counts.of_entry
        nobody = np.zeros(counts.n_classes, dtype=np.int64)
        without = count_variances(nobody, counts.sizes, samples, question.replacement)
        having = count_variances(counts.counts, counts.sizes[of], samples[of], question.replacement)
        of_rows = np.bincount(self._rows, without[self._groups], self._n_rows)
        more = (having - without[of])[self._entries]
        return np.asarray(of_rows[self._row_of_cell] + self._of_cells(more))

    def error(self, question: ReconstructionQuestion, samples: Longs) -> float:
        """Mean over the pool of the expected |estimate − answer| / answer."""
        deviations = np.sqrt(np.maximum(self.variances(question, samples), 0.0))
        expected = MEAN_DEVIATION * deviations
        if (samples == 0).any():
            expected = np.array(list(map(_folded, self._lost(samples), deviations)))
        return float(np.average(expected / self._answers, weights=self._weights))

    def squared_error(self, question: ReconstructionQuestion, samples: Longs) -> float:
        """Mean over the pool of the expected ((estimate − answer) / answer)², whatever its law."""
        expected = self.variances(question, samples) + self._lost(samples) ** 2
        return float(np.average(expected / self._answers**2, weights=self._weights))

    def _lost(self, samples: Longs) -> Floats:
        """(cells,) records that are counted in groups which are suppressed."""
        counts = self._counts
        return self._of_cells(np.where(samples[counts.of_entry] == 0, counts.counts, 0)[self._entries])

    def _of_cells(self, amounts: Floats | Longs) -> Floats:
        return np.asarray(np.bincount(self._cells, amounts, len(self._answers)), dtype=np.float64)


def _folded(shift: float, deviation: float) -> float:
    """The mean of |shift + deviation·z| for standard normal z."""
    if not deviation:
        return abs(shift)
    ratio = shift / deviation
    return deviation * MEAN_DEVIATION * math.exp(-(ratio**2) / 2) + shift * math.erf(ratio / math.sqrt(2))
