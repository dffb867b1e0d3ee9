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

from app.domain.numbers import highest_accepted, lowest_accepted, tie_margin
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.problem import Problem
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED

Levels = tuple[int, ...]


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


@dataclass(frozen=True)
class Weighing:
    """``risk_share`` · risk − ``utility_share`` · utility, to be minimised or limited."""

    risk_share: float
    utility_share: float


RISK = Weighing(1.0, 0.0)
UTILITY = Weighing(0.0, 1.0)
Limit = tuple[Weighing, float]


class _EndedError(Exception):
    """The search has to end here; carries the smallest open bound of the pass."""

    def __init__(self, bound: float, halted: bool = False) -> None:
        super().__init__()
        self.bound = bound
        self.halted = halted


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


class _BoxSearch:
    def __init__(
        self,
        lattice: Lattice,
        problem: Problem,
        budget: Budget,
        tick: Callable[[int], None] | None,
        halted: Halted,
    ) -> None:
        self._lattice = lattice
        self._problem = problem
        self._budget = budget
        self._tick = tick
        self._halted = halted
        self._value_counters: tuple[int, int, int] | None = None
        self._incumbent: Levels | None = None
        self._risks: dict[Levels, tuple[float, float]] = {}
        self._utilities: dict[Levels, float] = {}
        self._visited = 0
        self._root = (tuple(0 for _ in lattice.heights), lattice.heights)

    # --- evaluations, each node once -----------------------------------------------------------------

    def _risk(self, levels: Levels) -> tuple[float, float]:
        if levels not in self._risks:
            self._risks[levels] = self._lattice.risks(levels)
            if self._tick is not None:
                self._tick(1)
        return self._risks[levels]

    def _utility(self, levels: Levels) -> float:
        if levels not in self._utilities:
            self._utilities[levels] = self._lattice.utility(levels)
        return self._utilities[levels]

    def _value(self, goal: Weighing, levels: Levels) -> float:
        value = goal.risk_share * self._risk(levels)[0] if goal.risk_share else 0.0
        return value - goal.utility_share * self._utility(levels) if goal.utility_share else value

    def _bound(self, goal: Weighing, lo: Levels, hi: Levels) -> float:
        value = goal.risk_share * self._risk(hi)[1] if goal.risk_share else 0.0
        return value - goal.utility_share * self._utility(lo) if goal.utility_share else value

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
        threshold = self._problem.threshold
        if self._problem.objective == "min_risk":
            limits: list[Limit] = [(UTILITY, -lowest_accepted(threshold))]
            return self._solve_in_order(limits, RISK, UTILITY)
        if self._problem.objective == "max_utility":
            return self._solve_in_order([(RISK, highest_accepted(threshold))], UTILITY, RISK)
        return self._solve_in_order([], Weighing(1.0, threshold), UTILITY)

    def _solve_in_order(self, limits: list[Limit], first: Weighing, second: Weighing) -> Found:
        best: tuple[float, Levels] | None = None
        try:
            best = self._least(first, limits)
            if best is None:
                return self._infeasible()
            if best[0] == math.inf:
                return self._found(PROHIBITED, None, best[0])
            value = best[0]
            self._value_counters = self._counters
            limits = [*limits, (first, value + tie_margin(value))]
            best = self._least(second, limits) or best
            runner_up = self._value(second, best[1])
            limits = [*limits, (second, runner_up + tie_margin(runner_up))]
            node = self._first(limits, *self._root) or best[1]
            return self._found(OPTIMAL, node, value)
        except _EndedError as spent:
            if (
                best is None
                and self._problem.objective == "min_risk"
                and not self._admits(limits, self._root[0])
            ):
                return self._infeasible()
            node_so_far = best[1] if best is not None else self._incumbent
            if node_so_far is not None and self._risk(node_so_far)[0] == math.inf:
                node_so_far = None
            bound = value if best is not None else spent.bound
            return self._found(OPTIMAL, node_so_far, bound, truncated=True, halted=spent.halted)

    def _infeasible(self) -> Found:
        identity, _ = self._root
        if self._problem.objective == "min_risk":
            return self._found(INFEASIBLE, None, math.inf, reach=self._utility(identity))
        try:
            least = self._least(RISK, [])
        except _EndedError as spent:
            return self._found(INFEASIBLE, None, math.inf, halted=spent.halted)
        return self._found(INFEASIBLE, None, math.inf, reach=math.inf if least is None else least[0])

    @property
    def _counters(self) -> tuple[int, int, int]:
        return self._visited, len(self._risks), len(self._utilities)

    def _found(
        self,
        code: int,
        node: Levels | None,
        bound: float,
        truncated: bool = False,
        reach: float = math.nan,
        halted: bool = False,
    ) -> Found:
        risk = math.inf if node is None else self._risk(node)[0]
        utility = -math.inf if node is None else self._utility(node)
        return Found(
            code, node, risk, utility, bound, truncated, reach, *self._counters, halted,
            *(self._value_counters or self._counters),
        )  # fmt: skip

    def _visit(self, bound: float) -> None:
        """Count a box, unless the search has to end before it."""
        if self._halted():
            raise _EndedError(bound, halted=True)
        if self._budget.max_nodes is not None and self._visited >= self._budget.max_nodes:
            raise _EndedError(bound)
        self._visited += 1

    def _least(self, goal: Weighing, limits: Sequence[Limit]) -> tuple[float, Levels] | None:
        """Best first over boxes: the least value of ``goal`` within the limits, and a node with it."""
        lo, hi = self._root
        best = self._dive(goal, limits)
        self._incumbent = best[1] if best is not None else None
        heap = [(self._bound(goal, lo, hi), lo, hi)]
        while heap:
            bound, lo, hi = heapq.heappop(heap)
            if best is not None and bound >= best[0]:
                break
            if best is not None and self._value_counters is None and self._budget.suffices(best[0], bound):
                raise _EndedError(bound)
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
            for half_lo, half_hi in _halves(lo, hi):
                heapq.heappush(heap, (max(bound, self._bound(goal, half_lo, half_hi)), half_lo, half_hi))
        return best

    def _dive(self, goal: Weighing, limits: Sequence[Limit]) -> tuple[float, Levels] | None:
        """A node within the limits that no single step towards ``goal`` improves: the heuristic's start."""
        lo, hi = self._root
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


def _halves(lo: Levels, hi: Levels) -> tuple[tuple[Levels, Levels], tuple[Levels, Levels]]:
    """The two halves of a box along its widest side."""
    widest = max(range(len(lo)), key=lambda j: hi[j] - lo[j])
    middle = (lo[widest] + hi[widest]) // 2
    left_hi = (*hi[:widest], middle, *hi[widest + 1 :])
    right_lo = (*lo[:widest], middle + 1, *lo[widest + 1 :])
    return (lo, left_hi), (right_lo, hi)
