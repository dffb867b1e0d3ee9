"""Exact branch and bound over boxes of a lattice (Definitions: branch and bound, order of ties).

A lattice is a box ∏{0..h_j} of level vectors. Utility never rises under generalisation, so on a box it lies
between its values at the two corners; risk has a lower bound at the general corner, which the instance gives
(the risk itself where monotonicity holds for every record, the part of it that is monotone elsewhere).

The pre-checks and stop rules fix only the optimal value. Three passes find the rule: the optimal value of the
first goal; among the nodes that tie with it the best second goal; among those the lexicographically
smallest levels. Hence no attribute is suppressed for nothing.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.arrays import Levels
from app.domain.search.budget import UNLIMITED, Budget, EndedError, Halted, never
from app.domain.search.problem import Problem
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED
from app.domain.tables.numbers import tie_margin


class Lattice(Protocol):
    """What searches of one lattice ask of an instance.

    Evaluations may be costly: a search asks once for a node and counts what it asked for.
    """

    @property
    def heights(self) -> Levels:
        """Largest level of each attribute."""

    def risks(self, levels: Levels) -> tuple[float, float]:
        """Risk of a node, and a lower bound of the risk of every node at or below it."""

    def utility(self, levels: Levels) -> float:
        """Utility of a node; must not rise under generalisation."""


@dataclass(frozen=True)
class Found:
    """What one search found.

    ``code`` as in :mod:`app.domain.search.selection`; ``truncated`` if it ended before the optimum was
    proved, then ``bound`` is the smallest open bound of the objective (as it is minimised), else the optimal
    value. ``reach`` is, for an infeasible problem, the best utility (or risk, for ``max_utility``) there is,
    NaN if the search ended too early to find it. ``halted`` if a callback ended it, not its budget.

    The ``value_…`` counters are what had been counted when the optimal value was known, which is where the
    papers' pseudo-code ends; what comes after it settles ties.
    """

    code: int
    node: Levels | None
    risk: float
    utility: float
    bound: float
    truncated: bool
    reach: float
    visited_nodes: int
    risk_evaluations: int
    utility_evaluations: int
    halted: bool = False
    value_nodes: int = 0
    value_risks: int = 0
    value_utilities: int = 0


class EvaluatedLattice:
    """A lattice as one search of a problem sees it: every node is evaluated once, and that is counted.

    ``tick`` takes the number of nodes whose risk was evaluated since its last call.
    """

    n_visited = 0
    """Nodes or boxes that were visited."""

    def __init__(
        self,
        lattice: Lattice,
        problem: Problem,
        budget: Budget = UNLIMITED,
        tick: Callable[[int], None] | None = None,
        halted: Halted = never,
    ) -> None:
        self.lattice = lattice
        self.problem = problem
        self.budget = budget
        self.halted = halted
        self.heights = lattice.heights
        self.identity: Levels = tuple(0 for _ in self.heights)
        self._tick = tick
        self._risks: dict[Levels, tuple[float, float]] = {}
        self._utilities: dict[Levels, float] = {}
        self._at_value: tuple[int, int, int] | None = None

    def risks(self, levels: Levels) -> tuple[float, float]:
        """Risk of a node, and a lower bound of the risk of every node at or below it."""
        found = self._risks.get(levels)
        if found is None:
            found = self._risks[levels] = self.lattice.risks(levels)
            if self._tick is not None:
                self._tick(1)
        return found

    def utility(self, levels: Levels) -> float:
        """Utility of a node."""
        found = self._utilities.get(levels)
        if found is None:
            found = self._utilities[levels] = self.lattice.utility(levels)
        return found

    @property
    def is_spent(self) -> bool:
        """Whether the budget allows no more visits."""
        return self.budget.max_nodes is not None and self.n_visited >= self.budget.max_nodes

    @property
    def counters(self) -> tuple[int, int, int]:
        """Visits, risks and utilities evaluated."""
        return self.n_visited, len(self._risks), len(self._utilities)

    def value_is_known(self) -> None:
        """Note the counters: what follows only settles ties."""
        if self._at_value is None:
            self._at_value = self.counters

    def found(
        self,
        code: int,
        node: Levels | None,
        bound: float,
        truncated: bool = False,
        reach: float = math.nan,
        halted: bool = False,
    ) -> Found:
        """The result with the counters so far."""
        risk = math.inf if node is None else self.risks(node)[0]
        utility = -math.inf if node is None else self.utility(node)
        return Found(
            code, node, risk, utility, bound, truncated, reach, *self.counters, halted,
            *(self._at_value or self.counters),
        )  # fmt: skip


@dataclass(frozen=True)
class Weighing:
    """``risk_share`` · risk − ``utility_share`` · utility, to be minimised or limited."""

    risk_share: float
    utility_share: float


RISK = Weighing(1.0, 0.0)
UTILITY = Weighing(0.0, 1.0)

Limit = tuple[Weighing, float]


def search_boxes(
    lattice: Lattice,
    problem: Problem,
    budget: Budget = UNLIMITED,
    tick: Callable[[int], None] | None = None,
    halted: Halted = never,
) -> Found:
    """Solve ``problem`` on ``lattice`` exactly, or as well as the budget of visited boxes allows.

    ``tick`` is called with the number of nodes whose risk was evaluated since its last call.
    """
    return _BoxSearch(lattice, problem, budget, tick, halted).solve()


class _BoxSearch(EvaluatedLattice):
    _incumbent: Levels | None = None

    def _value(self, goal: Weighing, levels: Levels) -> float:
        value = goal.risk_share * self.risks(levels)[0] if goal.risk_share else 0.0
        return value - goal.utility_share * self.utility(levels) if goal.utility_share else value

    def _bound(self, goal: Weighing, lo: Levels, hi: Levels) -> float:
        value = goal.risk_share * self.risks(hi)[1] if goal.risk_share else 0.0
        return value - goal.utility_share * self.utility(lo) if goal.utility_share else value

    def _admits(self, limits: Sequence[Limit], levels: Levels) -> bool:
        return all(self._value(goal, levels) <= limit for goal, limit in limits)

    def _excludes(self, limits: Sequence[Limit], lo: Levels, hi: Levels) -> bool:
        return any(self._bound(goal, lo, hi) > limit for goal, limit in limits)

    def _tightened(self, limits: Sequence[Limit], lo: Levels, hi: Levels) -> Levels:
        """The general corner without levels that no node of the box can have within the utility limits."""
        corner = list(hi)
        for goal, limit in limits:
            if goal.risk_share:
                continue
            for j in range(len(lo)):
                while corner[j] > lo[j] and self._value(goal, (*lo[:j], corner[j], *lo[j + 1 :])) > limit:
                    corner[j] -= 1
        return tuple(corner)

    # --- the passes ----------------------------------------------------------------------------------

    def solve(self) -> Found:
        objective = self.problem.objective
        if objective.kind == "min_risk":
            return self._solve_in_order([(UTILITY, -objective.lowest_utility)], RISK, UTILITY)
        if objective.kind == "max_utility":
            return self._solve_in_order([(RISK, objective.highest_risk)], UTILITY, RISK)
        return self._solve_in_order([], Weighing(1.0, objective.threshold), UTILITY)

    def _solve_in_order(self, limits: list[Limit], first: Weighing, second: Weighing) -> Found:
        best: tuple[float, Levels] | None = None
        try:
            best = self._least(first, limits)
            if best is None:
                return self._infeasible()
            if best[0] == math.inf:
                return self.found(PROHIBITED, None, best[0])
            value = best[0]
            self.value_is_known()
            limits = [*limits, (first, value + tie_margin(value))]
            best = self._least(second, limits) or best
            runner_up = self._value(second, best[1])
            limits = [*limits, (second, runner_up + tie_margin(runner_up))]
            node = self._first(limits, self.identity, self.heights) or best[1]
            return self.found(OPTIMAL, node, value)
        except EndedError as spent:
            if (
                best is None
                and self.problem.objective.kind == "min_risk"
                and not self._admits(limits, self.identity)
            ):
                return self._infeasible()
            node_so_far = best[1] if best is not None else self._incumbent
            if node_so_far is not None and self.risks(node_so_far)[0] == math.inf:
                node_so_far = None
            bound = value if best is not None else spent.bound
            return self.found(OPTIMAL, node_so_far, bound, truncated=True, halted=spent.halted)

    def _infeasible(self) -> Found:
        if self.problem.objective.kind == "min_risk":
            return self.found(INFEASIBLE, None, math.inf, reach=self.utility(self.identity))
        try:
            least = self._least(RISK, [])
        except EndedError as spent:
            return self.found(INFEASIBLE, None, math.inf, halted=spent.halted)
        return self.found(INFEASIBLE, None, math.inf, reach=math.inf if least is None else least[0])

    def _visit(self, bound: float) -> None:
        """Count a box, unless the search has to end before it."""
        if self.halted():
            raise EndedError(bound, halted=True)
        if self.is_spent:
            raise EndedError(bound)
        self.n_visited += 1

    def _least(self, goal: Weighing, limits: Sequence[Limit]) -> tuple[float, Levels] | None:
        """Best first over boxes: the least value of ``goal`` within the limits, and a node with it."""
        lo, hi = self.identity, self.heights
        best = self._dive(goal, limits)
        self._incumbent = best[1] if best is not None else None
        heap = [(self._bound(goal, lo, hi), lo, hi)]
        while heap:
            bound, lo, hi = heapq.heappop(heap)
            if best is not None and bound >= best[0]:
                break
            if best is not None and self._at_value is None and self.budget.suffices(best[0], bound):
                raise EndedError(bound)
            self._visit(bound)
            if self._excludes(limits, lo, hi):
                continue
            hi = self._tightened(limits, lo, hi)
            candidate = hi if goal.risk_share and not goal.utility_share else lo
            bound = self._bound(goal, lo, hi)
            value = self._value(goal, candidate)
            if self._admits(limits, candidate):
                if best is None or value < best[0]:
                    best = (value, candidate)
                    self._incumbent = candidate
                if value <= bound:
                    continue
            if lo == hi:
                continue
            # The two halves of a box along its widest side
            widest = max(range(len(lo)), key=lambda j: hi[j] - lo[j])
            middle = (lo[widest] + hi[widest]) // 2
            left_hi = (*hi[:widest], middle, *hi[widest + 1 :])
            right_lo = (*lo[:widest], middle + 1, *lo[widest + 1 :])
            for half_lo, half_hi in ((lo, left_hi), (right_lo, hi)):
                heapq.heappush(heap, (max(bound, self._bound(goal, half_lo, half_hi)), half_lo, half_hi))
        return best

    def _dive(self, goal: Weighing, limits: Sequence[Limit]) -> tuple[float, Levels] | None:
        """A node within the limits that no single step towards ``goal`` improves: the heuristic's start."""
        lo, hi = self.identity, self.heights
        upwards = bool(goal.risk_share)
        node, step = (list(lo), 1) if upwards else (list(hi), -1)
        if not self._admits(limits, tuple(node)):
            return None
        for j in range(len(lo)):
            while node[j] != (hi if upwards else lo)[j]:
                node[j] += step
                if not self._admits(limits, tuple(node)):
                    node[j] -= step
                    break
        return self._value(goal, tuple(node)), tuple(node)

    def _first(self, limits: Sequence[Limit], lo: Levels, hi: Levels) -> Levels | None:
        """The lexicographically smallest node of the box within the limits."""
        self._visit(-math.inf)
        if self._excludes(limits, lo, hi):
            return None
        free = next((j for j in range(len(lo)) if lo[j] < hi[j]), None)
        if free is None:
            return lo if self._admits(limits, lo) else None
        for level in range(lo[free], hi[free] + 1):
            fixed = (level,)
            found = self._first(
                limits, lo[:free] + fixed + lo[free + 1 :], hi[:free] + fixed + hi[free + 1 :]
            )
            if found is not None:
                return found
        return None
