"""Halves of some attributes at all of their levels, and pairs of these."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from app.domain.criteria.judging import JudgedRecords, failing_any
from app.domain.distinct import Ints, Longs
from app.domain.losses.loss import Floats
from app.domain.search.recoding.cells import Bools, Cells
from app.domain.search.recoding.demands import Demands, numbered

MOST_KEPT: Final = 8_000_000
"""Costs of a side that are kept."""

Levels = tuple[int, ...]


class Side:
    """Some attributes: their distinct combinations of values, what these become at levels and cost there.

    Attributes
    ----------
    of
        (d,) combination of each distinct record.
    size
        How many combinations there are.
    top
        The most general levels.
    """

    def __init__(self, cells: Cells, attributes: Sequence[int], weights: Floats) -> None:
        self._weights = weights
        self.n_weights = len(weights)
        self._paid: dict[Levels, Floats] = {}
        self._trees = [cells.table.hierarchies[cells.attributes[i]] for i in attributes]
        self._costs = [cells.loss.costs[i] for i in attributes]
        self.top: Levels = tuple(tree.height for tree in self._trees)
        self.of: Longs = np.zeros(cells.size, dtype=np.int64)
        self.size = 1
        for i in attributes:
            keys = self.of * cells.sizes[i] + cells.raw[:, i]
            self.of, self.size = numbered(keys, self.size * cells.sizes[i])
        first = np.empty(self.size, dtype=np.int64)
        first[self.of] = np.arange(cells.size)
        self._raw: list[Ints] = [cells.raw[first, i] for i in attributes]
        self._groups: dict[Levels, tuple[Longs, int]] = {}

    def rules(self) -> Iterator[Levels]:
        """All levels of the attributes, each after all more specific ones."""
        return itertools.product(*(range(height + 1) for height in self.top))

    def groups(self, levels: Levels) -> tuple[Longs, int]:
        """(c,) number of what each combination becomes, and how many numbers there are."""
        if levels not in self._groups:
            found, size = np.zeros(self.size, dtype=np.int64), 1
            for tree, raw, level in zip(self._trees, self._raw, levels, strict=True):
                keys = found * tree.n_nodes + tree.ancestors_at(level)[raw]
                found, size = numbered(keys, size * tree.n_nodes)
            self._groups[levels] = found, size
        return self._groups[levels]

    def costs(self, levels: Levels) -> Floats:
        """(w, c) weighted costs of the combinations at the levels beyond those as they are."""
        known = self._paid.get(levels)
        if known is not None:
            return known
        found = np.zeros((len(self._weights), self.size))
        for i, (tree, raw, level) in enumerate(zip(self._trees, self._raw, levels, strict=True)):
            beyond = self._costs[i].of(raw, tree.ancestors_at(level)[raw]) - self._costs[i].of(raw, raw)
            found += self._weights[:, i : i + 1] * beyond
        if found.size * (len(self._paid) + 1) <= MOST_KEPT:
            self._paid[levels] = found
        return found

    def of_nodes(self, levels: Levels, worth: Sequence[Floats]) -> Floats:
        """(c,) what the nodes of each combination are worth together, ``worth`` (nodes,) per attribute."""
        found = np.zeros(self.size)
        for tree, raw, level, own in zip(self._trees, self._raw, levels, worth, strict=True):
            found += own[tree.ancestors_at(level)[raw]]
        return found


class Pairs:
    """The distinct pairs of a group of the left side, at some levels, and a combination of the right one.

    Attributes
    ----------
    of
        (d,) pair of each distinct record.
    size
        How many pairs there are.
    right
        (p,) combination of each pair.
    """

    def __init__(self, cells: Cells, demands: Demands, left: tuple[Side, Levels], right: Side) -> None:
        groups, self._n_groups = left[0].groups(left[1])
        ours = groups[left[0].of]
        self.of, self.size = numbered(ours * right.size + right.of, self._n_groups * right.size)
        self._left = np.empty(self.size, dtype=np.int64)
        self.right = np.empty(self.size, dtype=np.int64)
        self._left[self.of], self.right[self.of] = ours, right.of
        self._side = right
        self._necessary = demands.necessary
        self._records = JudgedRecords(cells.table, self.of[cells.table.reduced.inverse].astype(np.int32))

    def groups(self, levels: Levels) -> tuple[Longs, int]:
        """(p,) number of the nodes of each pair with the right side at the levels, and how many there are."""
        groups, size = self._side.groups(levels)
        return numbered(self._left * size + groups[self.right], self._n_groups * size)

    def fit(self, of: Longs, n_groups: int) -> Bools:
        """(g,) whether the records of each group of pairs meet what is necessary."""
        return ~failing_any(self._records.judged(of, n_groups), self._necessary)
