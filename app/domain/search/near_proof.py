"""Proofs that no node is better, from the entities near a record; else a lower bound.

A node x that is no worse than the best one found has a utility of at least some c, and at least some number n
of consistent entities, n following from the least sensitivity that leaves c. With τ(t) the least levels from
which entity t is consistent:

1. t ∈ ρ(x) implies τ(t) ≤ x, hence u(τ(t)) ≥ u(x) ≥ c: only entities *near* the record count.
2. t, t′ ∈ ρ(x) imply max(τ(t), τ(t′)) ≤ x, hence u(max(τ(t), τ(t′))) ≥ c: ρ(x) is a clique of the graph
   that joins such pairs. A clique of n has n entities of degree n − 1 or more among themselves: entities with
   fewer neighbours are peeled off, again and again.
3. If fewer than n of them are consistent on level s of an attribute, x is above s there.
4. t ∈ ρ(x) implies that x weighs at least the least w(t) of all nodes at or above τ(t) that leave c; n of
   them imply at least the n-th least of these.

What remains is split. Of nodes above a corner below which b of the entities lie, every one has b consistent
entities at least: those with b exactly are a knapsack of the least sensitivity, the others have b + 1. And by
one entity: x is at or above its τ, or it is not among those counted. Where the knapsack is exact too and
nothing was cut off, the D-2 best is found and proved.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.numbers import tie_margin
from app.domain.search.budget import Budget, Halted
from app.domain.search.chains import Floats
from app.domain.search.exchange_search import Work
from app.domain.search.goal import Goal, Rated
from app.domain.search.least_weights import LeastWeights, Longs, Units, least_above_each
from app.domain.search.near_rows import NearRows

BOXES = 48
ENTITIES = 10_000
TIED_WEIGHT = 1e-13
HALVINGS = 10
CELLS_AHEAD = 2**11
"""Entities times units of utility to spare up to which each entity is looked at for itself."""
PRICES = (1.0, 8.0, 64.0)
CLIQUE_ROWS = 512
"""Entities up to which pairs are compared and boxes split."""


@dataclass(frozen=True)
class Proof:
    """``bound`` of the first criterion, to be least; ``best`` the D-2 best if ``is_proved``, else no worse.

    ``is_proved`` includes ties: no other node comes before ``best``.
    """

    best: Rated
    bound: float
    is_proved: bool
    halted: bool = False


@dataclass(order=True)
class _Box:
    """Nodes at or above ``low`` whose consistent entities are among ``rows``; no better than ``bound``.

    They have ``least`` to ``most`` of them.
    """

    bound: float
    number: int
    low: Longs = field(compare=False)
    rows: npt.NDArray[np.int64] = field(compare=False)
    curve: LeastWeights = field(compare=False)
    least: int = field(compare=False)
    most: int = field(compare=False)


class NearProof:
    """Proves one record's best node, or bounds it; ``near`` are all entities near it for ``best``."""

    def __init__(self, goal: Goal, units: Units, near: NearRows, best: Rated, work: Work) -> None:
        self._goal = goal
        self._units = units
        self._near = near
        self._value = best.first
        self._offered = [best]
        self._work = work
        self._numbers = itertools.count()
        self._looked_at = 0
        self._needed = units.needed(goal.least_utility(best))
        steps = near.steps
        of = units.of
        self._gains = (of[steps.attribute, steps.level] - of[steps.attribute, steps.level + 1]).astype(
            np.float32
        )
        self._at_top = int(of[:, -1].sum())

    def prove(self, low: Longs, budget: Budget, halted: Halted) -> Proof:
        """Search boxes from ``low`` up, the most promising first, as many as the budget has nodes.

        Without such a budget the proof ends after ``BOXES`` boxes or ``ENTITIES`` entities looked at in them.
        """
        most_boxes = BOXES if budget.max_nodes is None else budget.max_nodes
        most_entities = ENTITIES if budget.max_nodes is None else math.inf
        heap: list[_Box] = []
        self._push(heap, low, np.arange(self._near.size), 1)
        leaves: list[_Box] = []
        open_ = math.inf
        done, stopped = 0, False
        while heap:
            box = heapq.heappop(heap)
            if self._is_hopeless(box.bound):
                break
            stopped = halted()
            is_spent = done >= most_boxes or self._looked_at > most_entities
            if is_spent or stopped or budget.suffices(self._value, box.bound):
                open_ = min(open_, box.bound)
                break
            done += 1
            self._work.visited += 1
            if self._split(heap, box):
                leaves.append(box)
        if open_ < math.inf:
            return Proof(self._best_offered(), min(open_, self._value), False, stopped)
        return self._proof(leaves)

    def _split(self, heap: list[_Box], box: _Box) -> bool:
        """Replace a box by its parts; True if it is a knapsack of its own, which is tried."""
        inside = (self._near.thresholds[box.rows] <= box.low).all(axis=1)
        base = int(inside.sum())
        if box.most <= base:
            self._settle(box)
            return True
        if box.least <= base:
            bound = self.bound_of(box.curve, base)
            if not self._is_hopeless(bound):
                number = next(self._numbers)
                heapq.heappush(heap, _Box(bound, number, box.low, box.rows, box.curve, base, base))
            self._push(heap, box.low, box.rows, base + 1, box.curve)
            return False
        row = self._pivot(box, box.rows[~inside])
        self._push(heap, np.maximum(box.low, self._near.thresholds[row]), box.rows, box.least)
        self._push(heap, box.low, box.rows[box.rows != row], box.least, box.curve)
        return False

    def _proof(self, leaves: list[_Box]) -> Proof:
        """What all boxes amount to; every node that ties with the best value is in one of the ``leaves``."""
        if self._units.is_exact:
            for leaf in leaves:
                self._offer_ties(leaf)
        lowest = self._value - tie_margin(self._value)
        bound = min((leaf.bound for leaf in leaves), default=self._value)
        if self._units.is_exact and bound >= lowest:
            return Proof(self._best_offered(), self._value, True)
        return Proof(self._best_offered(), min(bound, self._value), False)

    def _best_offered(self) -> Rated:
        """The D-2 best of the nodes that were tried, ties being those of the best value."""
        tied = [one for one in self._offered if one.first <= self._limit]
        runner = min(one.second for one in tied)
        tied = [one for one in tied if one.second <= runner + tie_margin(runner)]
        return min(tied, key=lambda one: one.levels)

    # --- boxes ---------------------------------------------------------------------------------------

    @property
    def _limit(self) -> float:
        return self._value + tie_margin(self._value)

    def _is_hopeless(self, bound: float) -> bool:
        return bound > self._limit

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
        if not self._is_hopeless(self.bound_of(curve, 1)):
            return 1
        low, high = 2, most + 1
        while low < high:
            middle = (low + high) // 2
            if self._is_hopeless(self.bound_of(curve, middle)):
                low = middle + 1
            else:
                high = middle
        return low

    def curve_above(self, low: Longs) -> LeastWeights | None:
        """The least weights at or above ``low``; None if nothing there has the utility that is needed."""
        budget = self._units.total(low) - self._needed
        return None if budget < 0 else self._units.least_above(low, budget)

    def _push(
        self,
        heap: list[_Box],
        low: Longs,
        rows: npt.NDArray[np.int64],
        least: int,
        curve: LeastWeights | None = None,
    ) -> None:
        """Cut a box down to what may hold a node no worse than the best, and put what is left on the heap."""
        if curve is None:
            curve = self.curve_above(low)
        while curve is not None:
            least = max(least, self.least_count(curve, len(rows)))
            rows, most = self._kept(low, rows, least)
            if most < least:
                return
            raised = self._raised(low, rows, least)
            if (raised == low).all():
                bound = self.bound_of(curve, most)
                if not self._is_hopeless(bound):
                    number = next(self._numbers)
                    heapq.heappush(heap, _Box(bound, number, low, rows, curve, least, most))
                return
            low, curve = raised, self.curve_above(raised)

    def _kept(self, low: Longs, rows: npt.NDArray[np.int64], least: int) -> tuple[npt.NDArray[np.int64], int]:
        """The entities that may be among ``least`` that a node of the box has, and the most it can have."""
        self._looked_at += len(rows)
        reached = np.maximum(self._near.thresholds[rows], low)
        units = self._units.of[np.arange(reached.shape[1]), reached].sum(axis=1)
        near = units >= self._needed
        if least > 1:
            near[near] = self._may_hold(reached[near], units[near], int(near.sum()))
        rows, reached, units = rows[near], reached[near], units[near]
        if len(rows) > CLIQUE_ROWS or len(rows) < least:
            return rows, len(rows)
        steps = self._near.steps
        hits = (reached[:, steps.attribute] <= steps.level).astype(np.float32)
        # Whole numbers below 2^24 are exact in single precision.
        pairs = (hits * self._gains) @ hits.T + self._at_top >= self._needed
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
        whole = self._units.least_above(self._goal.chains.low, self._spare_units)
        weights = np.minimum.accumulate(whole.least)
        last = float(weights[-2] - weights[-1]) if len(weights) > 1 else 0.0
        return [last * factor for factor in PRICES] if math.isfinite(last) else [0.0]

    @property
    def _spare_units(self) -> int:
        return max(0, self._units.total(self._goal.chains.low) - self._needed)

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
        utility = np.full(int(held.sum()), self._units.utility(units[held].max()))
        together = np.arange(1.0, len(utility) + 1)
        criteria = self._goal.criteria(np.sort(weights[held]), together, utility)
        first = np.where(criteria.feasible, criteria.first, np.inf)
        hopeful = np.flatnonzero(first <= self._limit)
        greatest = int(hopeful[-1]) + 1 if len(hopeful) else 0
        counts = np.minimum(np.asarray(most, dtype=np.float64), greatest) + np.zeros(len(weights))
        if not greatest:
            return np.zeros(len(weights), dtype=bool), float(first.min())
        criteria = self._goal.criteria(weights[held], counts[held], self._units.utility(units[held]))
        held[held] = criteria.feasible & (criteria.first <= self._limit)
        return held, float(first.min())

    def _raised(self, low: Longs, rows: npt.NDArray[np.int64], needed: int) -> Longs:
        """The most specific corner without levels on which too few of the entities are consistent."""
        thresholds = np.partition(self._near.thresholds[rows], needed - 1, axis=0)
        raised: Longs = np.maximum(low, thresholds[needed - 1])
        return raised

    def _pivot(self, box: _Box, outside: npt.NDArray[np.int64]) -> int:
        """The undecided entity that costs most utility: it splits the box most."""
        reached = np.maximum(self._near.thresholds[outside], box.low)
        at = np.arange(len(box.low))
        return int(outside[self._units.of[at, reached].sum(axis=1).argmin()])

    # --- boxes in which every entity is decided ------------------------------------------------------

    def _settle(self, box: _Box) -> None:
        """Try the best node of a box whose entities are all consistent with its corner."""
        weights = box.curve.least
        held = np.flatnonzero(np.isfinite(weights))
        counts = np.full(len(held), float(box.most))
        criteria = self._goal.criteria(weights[held], counts, box.curve.utility[held])
        first = np.where(criteria.feasible, criteria.first, np.inf)
        if not np.isfinite(first).any():
            return
        lost = int(held[first.argmin()])
        levels = box.curve.first_node(lost, _slightly_more(float(weights[lost])))
        if levels is not None:
            self._offer(levels)

    def _offer(self, levels: tuple[int, ...]) -> None:
        self._work.evaluated += 1
        rated = self._goal.rate(levels, self._near.count(levels))
        if rated is None:
            return
        self._value = min(self._value, rated.first)
        self._offered = [one for one in self._offered if one.first <= self._limit]
        if rated.first <= self._limit:
            self._offered.append(rated)

    def _offer_ties(self, box: _Box) -> None:
        """Try the first node of a box among those of the best second criterion of the best value."""
        weights = box.curve.least
        held = np.flatnonzero(np.isfinite(weights))
        counts = np.full(len(held), float(box.most))
        criteria = self._goal.criteria(weights[held], counts, box.curve.utility[held])
        tied = criteria.feasible & (criteria.first <= self._limit)
        if not tied.any():
            return
        second = np.where(tied, criteria.second, np.inf)
        runner = float(second.min())
        for place in np.flatnonzero(second <= runner + tie_margin(runner)).tolist():
            lost = int(held[place])
            most = self._most_weight(box, lost, runner)
            levels = box.curve.first_node(lost, most)
            if levels is not None:
                self._offer(levels)

    def _most_weight(self, box: _Box, lost: int, runner: float) -> float:
        """The greatest weight at which so much lost utility still ties in both criteria."""
        count, utility = np.array([float(box.most)]), box.curve.utility[lost : lost + 1]

        def ties(weight: float) -> bool:
            criteria = self._goal.criteria(np.array([weight]), count, utility)
            within = criteria.first[0] <= self._limit and criteria.second[0] <= runner + tie_margin(runner)
            return bool(criteria.feasible[0] and within)

        least = float(box.curve.least[lost])
        whole = self._goal.chains.weight_of(box.low.tolist())
        step = TIED_WEIGHT * max(1.0, least)
        while least + step < whole and ties(least + step):
            step *= 2
        if least + step >= whole and ties(whole):
            return math.inf
        low, high = least, least + step
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if ties(middle) else (low, middle)
        return _slightly_more(low)


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


def _slightly_more(weight: float) -> float:
    """Sums in another order may differ in their last digits."""
    return weight + 1e-14 * max(1.0, abs(weight))
