"""The search for one record's rule on a lattice too large to be enumerated: first rule, local optimum, proof.

1. A first rule on a way from ⊥ to the record (:mod:`first_rules`).
2. A local optimum: no exchange of the levels of two attributes improves it (:mod:`exchange_search`).
3. The entities near the record, that a node no worse can be consistent with (:mod:`surroundings`).
4. From these a proof that nothing is better, or a lower bound (:mod:`near_proof`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from app.domain.numbers import highest_accepted, lowest_accepted
from app.domain.search.boxes import Levels
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.chains.chains import Chains
from app.domain.search.chains.exchange_search import ExchangeSearch, Work
from app.domain.search.chains.first_rules import first_rule
from app.domain.search.chains.goal import Goal, Rated
from app.domain.search.chains.least_weights import Units
from app.domain.search.chains.near_proof import NearProof
from app.domain.search.chains.near_rows import Steps
from app.domain.search.chains.surroundings import surroundings
from app.domain.search.problem import Problem
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED


@dataclass(frozen=True)
class Solved:
    """What was found for one record.

    ``code`` as in :mod:`app.domain.search.selection`; ``bound`` of the objective as it is minimised.
    ``is_proved``: no other node is better, by the order of ties. ``is_local``: no exchange improves it.
    ``reach`` as in :class:`app.domain.search.boxes.Found`. ``near`` is the number of entities that the
    bound rests on.
    """

    code: int
    levels: Levels | None
    risk: float
    bound: float
    is_proved: bool
    is_local: bool
    halted: bool
    is_absent: bool
    reach: float
    near: int
    visited: int
    risk_evaluations: int


def solve(chains: Chains, problem: Problem, budget: Budget = UNLIMITED, halted: Halted = never) -> Solved:
    """Solve ``problem``, its threshold a utility, for one record; ``budget`` is for it alone."""
    return _Search(Goal(problem, chains), budget, halted).solve()


class _Search:
    def __init__(self, goal: Goal, budget: Budget, halted: Halted) -> None:
        self._goal = goal
        self._chains = goal.chains
        self._budget = budget
        self._halted = halted
        self._work = Work()
        self._steps = Steps.of(goal.chains)

    def solve(self) -> Solved:
        chains, zero = self._chains, (0,) * self._chains.n_attributes
        listed = chains.listed(zero)
        self._work.evaluated += 1
        if not listed and chains.own is None and (best := self._goal.rate(zero, 0)) is not None:
            # Risk 0 at the greatest utility: nothing comes before it, nor ties with it at lesser levels.
            return self._solved(best, is_proved=True, is_absent=True)
        found = self._infeasible(zero) or self._among_finite()
        return replace(found, is_absent=listed == 0)

    def _infeasible(self, zero: Levels) -> Solved | None:
        problem, chains = self._goal.problem, self._chains
        if problem.objective == "min_risk":
            reach = chains.utility_of(zero)
            if reach < lowest_accepted(problem.threshold):
                return self._solved(None, INFEASIBLE, reach=reach)
        if problem.objective == "max_utility":
            reach = chains.risk_of(chains.heights)
            if reach > highest_accepted(problem.threshold):
                return self._solved(None, INFEASIBLE, reach=reach)
        return None

    def _among_finite(self) -> Solved:
        """Search the nodes of finite weights; the record as it is has someone consistent with it."""
        first, rated = first_rule(self._goal)
        self._work.evaluated += rated
        if first is None:
            # It is of the nodes of finite risk alone.
            low = tuple(self._chains.low.tolist())
            first = self._goal.rate(low, self._chains.count(low))
        if first is None or (math.isinf(first.risk) and not self._is_beyond_numbers(first)):
            return self._solved(None, PROHIBITED)
        units = Units.of_record(self._chains)
        lightest = self._lightest(units)
        if lightest is not None and self._goal.is_better(lightest, first):
            first = lightest
        if math.isinf(first.risk):
            return replace(self._solved(None), bound=0.0, is_proved=False)
        return self._improved(units, first)

    def _is_beyond_numbers(self, node: Rated) -> bool:
        """Whether finite weights make a Φ that is greater than any number: lighter nodes may not."""
        chains = self._chains
        held = chains.weights[np.arange(chains.n_attributes), np.array(node.levels, dtype=np.int64)]
        return chains.harm.sensitivity.family != "constant" and bool(np.isfinite(held).all())

    def _lightest(self, units: Units) -> Rated | None:
        """The node of least weight that has the utility: best where counts hardly differ."""
        goal = self._goal
        if goal.problem.objective != "min_risk":
            return None
        low = self._chains.low
        budget = units.total(low) - units.needed(goal.problem.threshold)
        if budget < 0:
            return None
        curve = units.least_above(low, budget)
        lost = int(curve.least.argmin())
        levels = curve.first_node(lost, float(curve.least[lost]) * (1 + 1e-14))
        if levels is None:
            return None
        self._work.evaluated += 1
        return goal.rate(levels, self._chains.count(levels))

    def _improved(self, units: Units, first: Rated) -> Solved:
        """Improve the first node, and prove or bound what comes of it."""
        goal = self._goal
        search = ExchangeSearch(goal, self._steps, self._work, self._halted)
        around = surroundings(goal, self._steps, units, first)
        if around.rows is None:
            # With a better node fewer entities are near.
            first, is_local = search.improve(first)
            around = surroundings(goal, self._steps, units, first)
            if around.rows is None:
                return self._solved(first, bound=around.bound, is_local=is_local, near=around.size)
        best, is_local = search.improve(first, around.rows)
        proof = NearProof(goal, units, around.rows, best, self._work).prove(
            around.low, self._budget, self._halted
        )
        if goal.is_better(proof.best, best) and not proof.is_proved:
            best, is_local = search.improve(proof.best, around.rows)
        else:
            best = proof.best
        return self._solved(
            best,
            bound=min(proof.bound, best.first),
            is_proved=proof.is_proved,
            is_local=is_local or proof.is_proved,
            near=around.size,
            halted=proof.halted,
        )

    def _solved(
        self,
        best: Rated | None,
        code: int = OPTIMAL,
        *,
        bound: float | None = None,
        is_proved: bool = False,
        is_local: bool = False,
        is_absent: bool = False,
        halted: bool = False,
        reach: float = math.nan,
        near: int = 0,
    ) -> Solved:
        if best is None:
            return Solved(
                code, None, math.inf, math.inf, True, False, halted, is_absent, reach, near,
                self._work.visited, self._work.evaluated,
            )  # fmt: skip
        least = best.first if is_proved else (-math.inf if bound is None else bound)
        return Solved(
            code, best.levels, best.risk, least, is_proved, is_local, halted, is_absent, reach, near,
            self._work.visited, self._work.evaluated,
        )  # fmt: skip
