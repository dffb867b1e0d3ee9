"""What nodes that are no worse than the best one found can be, from the entities near a record.

Such a node x has a utility of at least some c, and at least some number n of consistent entities, n following
from the least sensitivity that leaves c. With τ(t) the least levels from which entity t is consistent:

1. t ∈ ρ(x) implies τ(t) ≤ x, hence u(τ(t)) ≥ u(x) ≥ c: only entities *near* the record count.
2. t, t′ ∈ ρ(x) imply max(τ(t), τ(t′)) ≤ x, hence u(max(τ(t), τ(t′))) ≥ c: ρ(x) is a clique of the graph
   that joins such pairs. A clique of n has n entities of degree n − 1 or more among themselves: entities with
   fewer neighbours are peeled off, again and again.
3. If fewer than n of them are consistent on level s of an attribute, x is above s there.
4. t ∈ ρ(x) implies that x weighs at least the least w(t) of all nodes at or above τ(t) that leave c; n of
   them imply at least the n-th least of these.

Near a record are the entities that a node no worse than the best one can be consistent with. Entity t shares
with the record the node τ(t), and every node that t is consistent with is at or above it. So t is near only
if τ(t) has the utility that is needed: a sum over attributes, taken for all entities at once by the bits of
the nodes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Longs
from app.domain.counting.bitsets import at_least, members_of, size_of, sum_planes
from app.domain.search.large_lattices.chains import Chains
from app.domain.search.large_lattices.least_weights import Goal, LeastWeights, Rated, Units, least_above_each
from app.domain.search.large_lattices.near_entities import NearRows, Steps
from app.domain.tables.numbers import tie_margin

CELLS_AHEAD = 2**11
"""Entities times units of utility to spare up to which each entity is looked at for itself."""
CLIQUE_ROWS = 512
"""Entities up to which pairs are compared."""
PRICES = (1.0, 8.0, 64.0)
ONE_THREAD = 2**18

Single = npt.NDArray[np.float32]

FEW_NEAR = 4096
"""Entities near a record up to which pairs of them and boxes are looked at."""
MANY_NEAR = 2**15
"""Entities near a record up to which the least weight with each of them is bounded."""
SUMS_COUNTED = 24
"""Utilities for which the entities that share them with a record are counted."""


class NearBounds:
    """Bounds for one record; ``near`` are all entities near it for ``best``.

    Attributes
    ----------
    value
        The best first criterion so far.
    effort
        Entities looked at, twice, and pairs in sixty-fours.
    """

    def __init__(self, goal: Goal, units: Units, near: NearRows, best: Rated) -> None:
        self._goal = goal
        self._units = units
        self._near = near
        self.value = best.first
        self.effort = 0
        self._needed = units.needed(goal.least_utility(best))
        of, steps = units.of, near.steps
        gains = of[steps.attribute, steps.level] - of[steps.attribute, steps.level + 1]
        self._gains = gains.astype(np.float32)
        self._at_top = int(of[:, -1].sum())

    @property
    def limit(self) -> float:
        """The first criterion up to which a node is no worse."""
        return self.value + tie_margin(self.value)

    def is_hopeless(self, bound: float) -> bool:
        """Whether nothing above a bound of the first criterion can be as good as the best."""
        return bound > self.limit

    def bound_of(self, curve: LeastWeights, most: int | Longs) -> float:
        """What the first criterion cannot fall below with so many entities at most, of each utility."""
        weights = curve.least
        counts = np.zeros(len(weights)) + most
        held = np.flatnonzero(np.isfinite(weights) & (counts >= 1))
        if not len(held):
            return math.inf
        criteria = self._goal.criteria(weights[held], counts[held], curve.utility[held])
        feasible = criteria.first[criteria.feasible]
        return float(feasible.min()) if len(feasible) else math.inf

    def least_count(self, curve: LeastWeights, most: int) -> int:
        """Entities that a node no worse than the best one has at least; more than ``most`` if none has."""
        if not self.is_hopeless(self.bound_of(curve, 1)):
            return 1
        low, high = 2, most + 1
        while low < high:
            middle = (low + high) // 2
            if self.is_hopeless(self.bound_of(curve, middle)):
                low = middle + 1
            else:
                high = middle
        return low

    def curve_above(self, low: Longs) -> LeastWeights | None:
        """The least weights at or above ``low``; None if nothing there has the utility that is needed."""
        budget = self._units.total(low) - self._needed
        return None if budget < 0 else self._units.least_above(low, budget)

    def kept(self, low: Longs, rows: npt.NDArray[np.int64], least: int) -> tuple[npt.NDArray[np.int64], int]:
        """The entities that may be among ``least`` that a node of the box has, and the most it can have."""
        self.effort += 2 * len(rows)
        reached = np.maximum(self._near.thresholds[rows], low)
        units = self._units.totals(reached)
        near = units >= self._needed
        if least > 1:
            near[near] = self._may_hold(reached[near], units[near], int(near.sum()))
        rows, reached, units = rows[near], reached[near], units[near]
        if len(rows) > CLIQUE_ROWS or len(rows) < least:
            return rows, len(rows)
        self.effort += len(rows) ** 2 // 64
        steps = self._near.steps
        hits = (reached[:, steps.attribute] <= steps.level).astype(np.float32)
        # The products of all pairs of rows; whole numbers below 2^24 are exact in single precision.
        # In pieces that the linear algebra library does not spread over threads, which cost more than
        # they save
        left = hits * self._gains
        found = np.empty((len(left), len(hits)), dtype=np.float32)
        at_once = max(1, ONE_THREAD // max(1, hits.size))
        for start in range(0, len(left), at_once):
            np.matmul(left[start : start + at_once], hits.T, out=found[start : start + at_once])
        pairs = found + self._at_top >= self._needed
        while True:
            alive, most = core(pairs, least)
            if most < least or least < 2:
                return rows[alive], most
            rows, reached, units = rows[alive], reached[alive], units[alive]
            pairs = pairs[np.ix_(alive, alive)]
            near = self._may_hold(reached, units, np.minimum(pairs.sum(axis=1), most))
            if near.all():
                return rows, most
            rows, reached, units = rows[near], reached[near], units[near]
            pairs = pairs[np.ix_(near, near)]

    def _may_hold(
        self, reached: Longs, units: Longs, most: int | npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Whether a node no worse than the best may have each entity among ``most`` at most.

        Such a node is at or above the levels ``reached`` by the entity, which leave so many ``units``: it has
        their least weight and their utility at most.
        """
        spare = 1 + int(units.max(initial=0)) - self._needed
        if len(reached) * spare > CELLS_AHEAD:
            weights = self.linear_bounds(reached)
        else:
            weights = least_above_each(self._units, reached, self._needed)
        return self.may_share(weights, units, most)[0]

    def linear_bounds(self, lows: Longs) -> Floats:
        """What the sum of weights at or above each of some corners (r, k) is at least.

        For every price of utility μ ≥ 0 a node of at least the units needed weighs no less than its weight
        less μ times what it has of them to spare: that splits into attributes.
        """
        units, chains = self._units, self._goal.chains
        prices = self._prices
        found = np.full(len(lows), -math.inf)
        at = np.arange(lows.shape[1])
        for price in prices:
            terms = np.where(np.isfinite(chains.weights), chains.weights, np.inf) - price * units.of
            least = np.minimum.accumulate(terms[:, ::-1], axis=1)[:, ::-1]
            found = np.maximum(found, least[at, lows].sum(axis=1) + price * self._needed)
        # Sums in another order may differ in their last digits.
        bounds: Floats = found - 1e-12 * np.abs(found)
        return bounds

    @cached_property
    def _prices(self) -> list[float]:
        """Weights per unit, from what the last unit needed costs at its least up."""
        whole = self._units.least_above(
            self._goal.chains.low, max(0, self._units.total(self._goal.chains.low) - self._needed)
        )
        weights = np.minimum.accumulate(whole.least)
        last = float(weights[-2] - weights[-1]) if len(weights) > 1 else 0.0
        return [last * factor for factor in PRICES] if math.isfinite(last) else [0.0]

    def may_share(
        self, weights: Floats, units: Longs, most: int | npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.bool_], float]:
        """Which entities a node no worse than the best may have, and what its first criterion is at least.

        ``weights`` are at most, ``units`` at least those of every node that has the entity. Of n entities the
        one with the n-th least weight, at least, bounds the weight of the node that has them all.
        """
        held = np.isfinite(weights)
        if not held.any():
            return held, math.inf
        utility = self._units.utility(np.full(int(held.sum()), units[held].max(), dtype=np.int64))
        together = np.arange(1.0, len(utility) + 1)
        criteria = self._goal.criteria(np.sort(weights[held]), together, utility)
        first = np.where(criteria.feasible, criteria.first, np.inf)
        hopeful = np.flatnonzero(first <= self.limit)
        greatest = int(hopeful[-1]) + 1 if len(hopeful) else 0
        counts = np.minimum(np.asarray(most, dtype=np.float64), greatest) + np.zeros(len(weights))
        if not greatest:
            return np.zeros(len(weights), dtype=bool), float(first.min())
        criteria = self._goal.criteria(weights[held], counts[held], self._units.utility(units[held]))
        held[held] = criteria.feasible & (criteria.first <= self.limit)
        return held, float(first.min())

    def raised(self, low: Longs, rows: npt.NDArray[np.int64], needed: int) -> Longs:
        """The most specific corner without levels on which too few of the entities are consistent."""
        thresholds = np.partition(self._near.thresholds[rows], needed - 1, axis=0)
        corner: Longs = np.maximum(low, thresholds[needed - 1])
        return corner


def core(pairs: npt.NDArray[np.bool_], least: int) -> tuple[npt.NDArray[np.bool_], int]:
    """Who may be in a clique of at least ``least``, and how many the greatest can have.

    ``pairs`` joins everybody to itself, so that a degree counts its owner.
    """
    degrees = pairs.sum(axis=1)
    alive = np.ones(len(pairs), dtype=bool)
    first, most = alive, 0
    bar = least
    while alive.any():
        weak = alive & (degrees < bar)
        if weak.any():
            alive = alive & ~weak
            degrees = degrees - pairs[:, weak].sum(axis=1)
            continue
        if bar == least:
            first = alive
        most = int(min(degrees[alive].min(), alive.sum()))
        bar = most + 1
    return (first, most) if most else (alive, 0)


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
        # Units of the node that each entity and the record share above ``low``. As bit planes of what
        # the linked attributes add to the rest, which is the same for all
        of = units.of
        sets = []
        for q, j in enumerate(chains.linked):
            for level in range(int(low[j]), chains.heights[j]):
                gain = int(of[j, level] - of[j, level + 1])
                if gain:
                    sets.append((chains.index.of(q, int(chains.nodes[j, level])), gain))
        unlinked = sorted(set(range(chains.n_attributes)) - set(chains.linked))
        free = int(of[:, -1].sum() + of[unlinked, low[unlinked]].sum())
        planes = sum_planes(sets, chains.index.n_words)
        words = at_least(planes, self._needed - free, chains.index.n_entities)
        size, bound = size_of(words) + self._own, -math.inf
        if size <= MANY_NEAR:
            rows = NearRows.of(chains, self._steps, members_of(words))
            if size <= FEW_NEAR:
                return Surroundings(size, low, bound, rows)
            reached = np.maximum(rows.thresholds, low)
            held, bound = rough.may_share(rough.linear_bounds(reached), units.totals(reached), size)
            if held.sum() <= FEW_NEAR:
                return Surroundings(int(held.sum()), low, bound, rows.only(held))
        raised = rough.curve_above(low)
        by_number = math.inf
        if raised is not None:
            left = units.total(low) - np.arange(len(raised.least))
            # At most how many entities reach each of some descending sums: exact for a few of them
            sums = left - free
            chosen = np.unique(np.linspace(0, len(sums) - 1, SUMS_COUNTED).astype(np.int64))
            n = self._chains.index.n_entities
            counts = np.array([size_of(at_least(planes, int(sums[i]), n)) for i in chosen], dtype=np.int64)
            found: Longs = counts[np.searchsorted(chosen, np.arange(len(sums)))]
            by_number = rough.bound_of(raised, found + self._own)
        return Surroundings(size, low, min(self._best.first, max(bound, by_number)), None)

    def _popular(self, needed: int) -> Longs:
        """The least levels on which enough entities are consistent, attribute by attribute."""
        chains = self._chains
        enough = chains.sizes + self._own >= needed
        found: Longs = np.maximum(chains.low, np.minimum(enough.argmax(axis=1), chains.top))
        return found
