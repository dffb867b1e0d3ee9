"""What is asked of one record's lattice, as criteria of nodes given by weight, |ρ| and utility."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from app.domain.numbers import tie_margin
from app.domain.search.boxes import Levels
from app.domain.search.chains.chains import Chains, Floats
from app.domain.search.problem import Problem
from app.domain.search.selection import Criteria


@dataclass(frozen=True, order=True)
class Rated:
    """A feasible node with its two criteria, both to be least, and what they rest on."""

    first: float
    second: float
    levels: Levels
    risk: float
    utility: float


@dataclass(frozen=True, eq=False)
class Goal:
    """A problem on one record; its threshold is a utility, not a loss."""

    problem: Problem
    chains: Chains

    def criteria(self, weights: Floats, counts: Floats, utility: Floats) -> Criteria:
        """The criteria of nodes, arrays of one shape."""
        return Criteria.of(self.chains.harm.risks(weights, counts), utility, self.problem)

    def rate(self, levels: Levels, count: int) -> Rated | None:
        """A node with its criteria, None if it is not feasible."""
        weight = np.array([self.chains.weight_of(levels)])
        utility = np.array([self.chains.utility_of(levels)])
        risk = self.chains.harm.risks(weight, np.array([float(count)]))
        found = Criteria.of(risk, utility, self.problem)
        if not found.feasible[0]:
            return None
        return Rated(float(found.first[0]), float(found.second[0]), levels, float(risk[0]), float(utility[0]))

    def is_better(self, one: Rated, other: Rated | None) -> bool:
        """Whether a node comes before another, ties within their margin (Definitions: order of ties)."""
        if other is None:
            return True
        margin = tie_margin(other.first)
        if abs(one.first - other.first) > margin:
            return one.first < other.first
        margin = tie_margin(other.second)
        if abs(one.second - other.second) > margin:
            return one.second < other.second
        return one.levels < other.levels

    def least_utility(self, best: Rated | None) -> float:
        """Utility that every node has that is feasible and no worse than ``best`` (None: unknown).

        A risk is at least 0: where risk − λ · utility is at most v, the utility is at least −v / λ.
        """
        problem = self.problem
        if problem.objective == "min_risk":
            return problem.threshold
        if best is None:
            return -math.inf
        most = best.first + tie_margin(best.first)
        if problem.objective == "max_utility":
            return -most
        return -most / problem.threshold if problem.threshold > 0 else -math.inf
