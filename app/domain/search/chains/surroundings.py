"""Which entities are near a record: those that a node no worse than the best one can be consistent with.

Entity t shares with the record the node τ(t), and every node that t is consistent with is at or above it. So
t is near only if τ(t) has the utility that is needed: a sum over attributes, taken for all entities at once
by the bits of the nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.domain.counting.bit_sums import at_least, sum_planes
from app.domain.counting.bitsets import Words, members_of, size_of
from app.domain.search.chains.chains import Chains
from app.domain.search.chains.goal import Goal, Rated
from app.domain.search.chains.least_weights import Longs, Units
from app.domain.search.chains.near_bounds import NearBounds
from app.domain.search.chains.near_rows import NearRows, Steps

FEW_NEAR = 4096
"""Entities near a record up to which pairs of them and boxes are looked at."""
MANY_NEAR = 2**15
"""Entities near a record up to which the least weight with each of them is bounded."""
SUMS_COUNTED = 24
"""Utilities for which the entities that share them with a record are counted."""


@dataclass(frozen=True, eq=False)
class Surroundings:
    """``rows`` near a record, None where their number ``size`` is too large; ``bound`` follows from that.

    No node no worse than the best one is below ``low``.
    """

    size: int
    low: Longs
    bound: float
    rows: NearRows | None


def surroundings(goal: Goal, steps: Steps, units: Units, best: Rated) -> Surroundings:
    """The entities near a record for the best node known, or a bound of the first criterion."""
    return _Around(goal, steps, units, best).find()


class _Around:
    def __init__(self, goal: Goal, steps: Steps, units: Units, best: Rated) -> None:
        self._chains: Chains = goal.chains
        self._steps = steps
        self._units = units
        self._best = best
        nobody = NearRows(self._chains, steps, np.zeros((0, self._chains.n_attributes), dtype=np.uint8))
        self._rough = NearBounds(goal, units, nobody, best)
        self._needed = units.needed(goal.least_utility(best))
        self._own = int(self._chains.own is not None)

    def find(self) -> Surroundings:
        chains, units, rough = self._chains, self._units, self._rough
        curve = rough.curve_above(chains.low)
        most = chains.index.n_entities + self._own
        low = chains.low if curve is None else self._popular(rough.least_count(curve, most))
        planes, free = self._sums(low)
        words = at_least(planes, self._needed - free, chains.index.n_entities)
        size, bound = size_of(words) + self._own, -math.inf
        if size <= MANY_NEAR:
            rows = NearRows.of(chains, self._steps, members_of(words))
            if size <= FEW_NEAR:
                return Surroundings(size, low, bound, rows)
            reached = np.maximum(rows.thresholds, low)
            held, bound = rough.may_share(rough.linear_bounds(reached), self._reached(reached), size)
            if held.sum() <= FEW_NEAR:
                return Surroundings(int(held.sum()), low, bound, rows.only(held))
        raised = rough.curve_above(low)
        by_number = math.inf
        if raised is not None:
            left = units.total(low) - np.arange(len(raised.least))
            by_number = rough.bound_of(raised, self._most_at(planes, left - free) + self._own)
        return Surroundings(size, low, min(self._best.first, max(bound, by_number)), None)

    def _popular(self, needed: int) -> Longs:
        """The least levels on which enough entities are consistent, attribute by attribute."""
        chains = self._chains
        enough = chains.sizes + self._own >= needed
        found: Longs = np.maximum(chains.low, np.minimum(enough.argmax(axis=1), chains.top))
        return found

    def _reached(self, levels: Longs) -> Longs:
        """Units of nodes (r, k)."""
        found: Longs = self._units.of[np.arange(levels.shape[1]), levels].sum(axis=1)
        return found

    def _sums(self, low: Longs) -> tuple[list[Words], int]:
        """Units of the node that each entity and the record share above ``low``.

        As bit planes of what the linked attributes add to the rest, which is the same for all.
        """
        chains, of = self._chains, self._units.of
        sets = []
        for q, j in enumerate(chains.linked):
            for level in range(int(low[j]), chains.heights[j]):
                gain = int(of[j, level] - of[j, level + 1])
                if gain:
                    sets.append((chains.index.of(q, int(chains.nodes[j, level])), gain))
        unlinked = sorted(set(range(chains.n_attributes)) - set(chains.linked))
        free = int(of[:, -1].sum() + of[unlinked, low[unlinked]].sum())
        return sum_planes(sets, chains.index.n_words), free

    def _most_at(self, planes: list[Words], sums: Longs) -> Longs:
        """At most how many entities reach each of some descending sums: exact for a few of them."""
        chosen = np.unique(np.linspace(0, len(sums) - 1, SUMS_COUNTED).astype(np.int64))
        n = self._chains.index.n_entities
        counts = np.array([size_of(at_least(planes, int(sums[i]), n)) for i in chosen], dtype=np.int64)
        found: Longs = counts[np.searchsorted(chosen, np.arange(len(sums)))]
        return found
