"""The search for one record's rule on a lattice too large to be enumerated: first rule, local optimum, proof.

1. A first rule on a way from ⊥ to the record (:mod:`first_rules`).
2. A local optimum: no exchange of the levels of two attributes improves it (:mod:`exchange_search`).
3. The entities near the record, those that a node no worse can be consistent with, by sums over bits.
4. From these a proof that nothing is better, or a lower bound (:mod:`near_proof`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from app.domain.counting.bit_sums import at_least, sum_planes
from app.domain.counting.bitsets import Words, members_of, size_of
from app.domain.numbers import highest_accepted, lowest_accepted
from app.domain.search.boxes import Levels
from app.domain.search.budget import UNLIMITED, Budget, Halted, never
from app.domain.search.chains import Chains
from app.domain.search.exchange_search import ExchangeSearch, Work
from app.domain.search.first_rules import first_rule
from app.domain.search.goal import Goal, Rated
from app.domain.search.least_weights import Longs, Units
from app.domain.search.near_proof import NearProof
from app.domain.search.near_rows import NearRows, Steps
from app.domain.search.problem import Problem
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED

FEW_NEAR = 4096
"""Entities near a record up to which pairs of them and boxes are looked at."""
MANY_NEAR = 2**15
"""Entities near a record up to which the least weight with each of them is bounded."""

SUMS_COUNTED = 24
"""Utilities for which the entities that share them with a record are counted."""


@dataclass(frozen=True)
class Solved:
    """What was found for one record.

    ``code`` as in :mod:`app.domain.search.selection`; ``bound`` of the objective as it is minimised.
    ``is_proved``: no other node is better, ties by D-2 included. ``is_local``: no exchange improves it.
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


@dataclass(frozen=True, eq=False)
class _Surroundings:
    """``rows`` near a record, None where their number ``size`` is too large; ``bound`` follows from that."""

    size: int
    low: Longs
    bound: float
    rows: NearRows | None


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
        if first is None or math.isinf(first.risk):
            return self._solved(None, PROHIBITED)
        units = Units.of_record(self._chains)
        lightest = self._lightest(units)
        if lightest is not None and self._goal.is_better(lightest, first):
            first = lightest
        return self._improved(units, first)

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
        surroundings = self._surroundings(units, first)
        if surroundings.rows is None:
            # With a better node fewer entities are near.
            first, is_local = search.improve(first)
            surroundings = self._surroundings(units, first)
            if surroundings.rows is None:
                return self._solved(
                    first, bound=surroundings.bound, is_local=is_local, near=surroundings.size
                )
        best, is_local = search.improve(first, surroundings.rows)
        proof = NearProof(goal, units, surroundings.rows, best, self._work).prove(
            surroundings.low, self._budget, self._halted
        )
        if goal.is_better(proof.best, best) and not proof.is_proved:
            best, is_local = search.improve(proof.best, surroundings.rows)
        else:
            best = proof.best
        return self._solved(
            best,
            bound=min(proof.bound, best.first),
            is_proved=proof.is_proved,
            is_local=is_local or proof.is_proved,
            near=surroundings.size,
            halted=proof.halted,
        )

    def _surroundings(self, units: Units, best: Rated) -> _Surroundings:
        """The entities that nodes no worse than ``best`` can be consistent with, or a bound."""
        chains, goal = self._chains, self._goal
        nobody = NearRows(chains, self._steps, np.zeros((0, chains.n_attributes), dtype=np.uint8))
        rough = NearProof(goal, units, nobody, best, self._work)
        curve = rough.curve_above(chains.low)
        own = int(chains.own is not None)
        most = chains.index.n_entities + own
        low = chains.low if curve is None else self._popular(rough.least_count(curve, most))
        planes, free = self._sums(units, low)
        needed = units.needed(goal.least_utility(best))
        words = at_least(planes, needed - free, chains.index.n_entities)
        n_near = size_of(words) + own
        bound = -math.inf
        if n_near <= MANY_NEAR:
            rows = NearRows.of(chains, self._steps, members_of(words))
            if n_near <= FEW_NEAR:
                return _Surroundings(n_near, low, bound, rows)
            reached = np.maximum(rows.thresholds, low)
            held, bound = rough.may_share(
                rough.linear_bounds(reached), units.of[np.arange(len(low)), reached].sum(axis=1), n_near
            )
            if held.sum() <= FEW_NEAR:
                return _Surroundings(int(held.sum()), low, bound, rows.only(held))
        raised = rough.curve_above(low)
        rough_bound = math.inf
        if raised is not None:
            left = units.total(low) - np.arange(len(raised.least))
            rough_bound = rough.bound_of(raised, self._most_at(planes, left - free) + own)
        return _Surroundings(n_near, low, min(best.first, max(bound, rough_bound)), None)

    def _popular(self, needed: int) -> Longs:
        """The least levels on which enough entities are consistent, attribute by attribute."""
        chains = self._chains
        low = chains.low.copy()
        own = int(chains.own is not None)
        for q, j in enumerate(chains.linked):
            while low[j] < chains.heights[j]:
                if chains.index.size(q, int(chains.nodes[j, low[j]])) + own >= needed:
                    break
                low[j] += 1
        return low

    def _sums(self, units: Units, low: Longs) -> tuple[list[Words], int]:
        """Units of the least common node, above ``low``, of each entity and the record.

        As bit planes of what the linked attributes add to the rest, which is the same for all.
        """
        chains = self._chains
        sets, free = [], int(units.of[:, -1].sum())
        unlinked = set(range(chains.n_attributes)) - set(chains.linked)
        free += sum(int(units.of[j, low[j]]) for j in unlinked)
        for q, j in enumerate(chains.linked):
            for level in range(int(low[j]), chains.heights[j]):
                gain = int(units.of[j, level] - units.of[j, level + 1])
                if gain:
                    sets.append((chains.index.of(q, int(chains.nodes[j, level])), gain))
        return sum_planes(sets, chains.index.n_words), free

    def _most_at(self, planes: list[Words], sums: Longs) -> Longs:
        """At most how many entities reach each of some descending sums: exact for a few of them."""
        chosen = np.unique(np.linspace(0, len(sums) - 1, SUMS_COUNTED).astype(np.int64))
        n = self._chains.index.n_entities
        counts = np.array([size_of(at_least(planes, int(sums[i]), n)) for i in chosen], dtype=np.int64)
        found: Longs = counts[np.searchsorted(chosen, np.arange(len(sums)))]
        return found

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
