"""Proofs that no node of a record's lattice is better; else a lower bound (see :mod:`near_bounds`).

Boxes of nodes are cut down to what may hold one no worse than the best, and split. Of nodes above a corner
below which b of the entities lie, every one has b consistent entities at least: those with b exactly are a
knapsack of the least sensitivity, the others have b + 1. And by one entity: x is at or above its τ, or it is
not among those counted. Where the knapsack is exact too and nothing was cut off, the best is found and
proved.
"""

from __future__ import annotations

import heapq
import itertools
import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Longs
from app.domain.search.budget import Budget, Halted
from app.domain.search.large_lattices.exchanges import Work
from app.domain.search.large_lattices.least_weights import Goal, LeastWeights, Rated, Units
from app.domain.search.large_lattices.near_bounds import NearBounds
from app.domain.search.large_lattices.near_entities import NearRows
from app.domain.search.selection import Criteria
from app.domain.tables.numbers import tie_margin

BOXES = 32
EFFORT = 20_000
"""Entities looked at, and pairs in sixty-fours: some 40 ms."""
TIED_WEIGHT = 1e-13
HALVINGS = 10


@dataclass(frozen=True)
class Proof:
    """``bound`` of the first criterion, to be least; ``best`` the optimum if ``is_proved``, else no worse.

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
        self._bounds = NearBounds(goal, units, near, best)
        self._offered = [best]
        self._work = work
        self._numbers = itertools.count()

    def prove(self, low: Longs, budget: Budget, halted: Halted) -> Proof:
        """Search boxes from ``low`` up, the most promising first, as many as the budget has nodes.

        Without such a budget the proof ends after ``BOXES`` boxes or an ``EFFORT`` of entities and pairs.
        """
        most_boxes = BOXES if budget.max_nodes is None else budget.max_nodes
        most_effort = EFFORT if budget.max_nodes is None else math.inf
        heap: list[_Box] = []
        self._push(heap, low, np.arange(self._near.size), 1)
        leaves: list[_Box] = []
        open_ = math.inf
        done, stopped = 0, False
        while heap:
            box = heapq.heappop(heap)
            if self._bounds.is_hopeless(box.bound):
                break
            stopped = halted()
            is_spent = done >= most_boxes or self._bounds.effort > most_effort
            if is_spent or stopped or budget.suffices(self._bounds.value, box.bound):
                open_ = min(open_, box.bound)
                break
            done += 1
            self._work.visited += 1
            if self._split(heap, box):
                leaves.append(box)
        if open_ < math.inf:
            return Proof(self._best_offered(), min(open_, self._bounds.value), False, stopped)
        # What all boxes amount to; every node that ties with the best value is in one of the
        # ``leaves``
        if self._units.is_exact:
            for leaf in leaves:
                self._offer_ties(leaf)
        lowest = self._bounds.value - tie_margin(self._bounds.value)
        bound = min((leaf.bound for leaf in leaves), default=self._bounds.value)
        if self._units.is_exact and bound >= lowest:
            return Proof(self._best_offered(), self._bounds.value, True)
        return Proof(self._best_offered(), min(bound, self._bounds.value), False)

    def _split(self, heap: list[_Box], box: _Box) -> bool:
        """Replace a box by its parts; True if it is a knapsack of its own, which is tried."""
        inside = (self._near.thresholds[box.rows] <= box.low).all(axis=1)
        base = int(inside.sum())
        if box.most <= base:
            self._settle(box)
            return True
        if box.least <= base:
            self._keep(heap, box.low, box.rows, box.curve, base, base)
            self._push(heap, box.low, box.rows, base + 1, box.curve)
            return False
        # The undecided entity that costs most utility: it splits the box most
        outside = box.rows[~inside]
        reached = np.maximum(self._near.thresholds[outside], box.low)
        row = int(outside[self._units.totals(reached).argmin()])
        self._push(heap, np.maximum(box.low, self._near.thresholds[row]), box.rows, box.least)
        self._push(heap, box.low, box.rows[box.rows != row], box.least, box.curve)
        return False

    def _best_offered(self) -> Rated:
        """The best of the nodes that were tried and have the best value (Definitions: order of ties)."""
        tied = [one for one in self._offered if one.first <= self._bounds.limit]
        runner = min(one.second for one in tied)
        tied = [one for one in tied if one.second <= runner + tie_margin(runner)]
        return min(tied, key=lambda one: one.levels)

    # --- boxes ---------------------------------------------------------------------------------------

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
            curve = self._bounds.curve_above(low)
        while curve is not None:
            least = max(least, self._bounds.least_count(curve, len(rows)))
            rows, most = self._bounds.kept(low, rows, least)
            if most < least:
                return
            raised = self._bounds.raised(low, rows, least)
            if (raised == low).all():
                self._keep(heap, low, rows, curve, least, most)
                return
            low, curve = raised, self._bounds.curve_above(raised)

    def _keep(
        self,
        heap: list[_Box],
        low: Longs,
        rows: npt.NDArray[np.int64],
        curve: LeastWeights,
        least: int,
        most: int,
    ) -> None:
        """Put a box on the heap unless it is hopeless."""
        bound = self._bounds.bound_of(curve, most)
        if not self._bounds.is_hopeless(bound):
            heapq.heappush(heap, _Box(bound, next(self._numbers), low, rows, curve, least, most))

    # --- boxes in which every entity is decided ------------------------------------------------------

    def _settle(self, box: _Box) -> None:
        """Try the best node of a box whose entities are all consistent with its corner."""
        held, criteria = self._judged(box)
        first = np.where(criteria.feasible, criteria.first, np.inf)
        if not np.isfinite(first).any():
            return
        lost = int(held[first.argmin()])
        levels = box.curve.first_node(lost, _slightly_more(float(box.curve.least[lost])))
        if levels is not None:
            self._offer(levels)

    def _judged(self, box: _Box) -> tuple[Longs, Criteria]:
        """Numbers of units that nodes of a box may give up, and the criteria of the lightest with each."""
        weights = box.curve.least
        held = np.flatnonzero(np.isfinite(weights))
        counts = np.full(len(held), float(box.most))
        return held, self._goal.criteria(weights[held], counts, box.curve.utility[held])

    def _offer(self, levels: tuple[int, ...]) -> None:
        self._work.evaluated += 1
        rated = self._goal.rate(levels, self._near.count(levels))
        if rated is None:
            return
        self._bounds.value = min(self._bounds.value, rated.first)
        self._offered = [one for one in self._offered if one.first <= self._bounds.limit]
        if rated.first <= self._bounds.limit:
            self._offered.append(rated)

    def _offer_ties(self, box: _Box) -> None:
        """Try the first node of a box among those of the best second criterion of the best value."""
        held, criteria = self._judged(box)
        tied = criteria.feasible & (criteria.first <= self._bounds.limit)
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
            """Whether a rule of this weight ties with the best in both criteria."""
            criteria = self._goal.criteria(np.array([weight]), count, utility)
            within = criteria.first[0] <= self._bounds.limit and criteria.second[0] <= runner + tie_margin(
                runner
            )
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


def _slightly_more(weight: float) -> float:
    """Sums in another order may differ in their last digits."""
    return weight + 1e-14 * max(1.0, abs(weight))
