"""The least sum of weights at every utility: a lower bound of the sensitivity, and where it is attained.

A multiple-choice knapsack over the levels of one record, solved by dynamic programming over the
utility in whole units. Where all utilities are multiples of one unit it is exact. Elsewhere the utility of
every level is rounded up, so that every node has at least its utility in units: what it gives is then a
bound only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from app.domain.arrays import Floats, Levels, Longs
from app.domain.search.large_lattices.chains import Chains
from app.domain.search.problem import Problem
from app.domain.search.selection import Criteria
from app.domain.tables.numbers import lowest_accepted, tie_margin

UNITS = 1000
"""Units that the utility is cut into where no common one is found, and at most 4 times as many if one is."""
SAME_UNIT = 1e-12
ROUNDING = 1e-9
"""Units that sums of utilities may be off by."""


@dataclass(frozen=True, eq=False)
class Units:
    """The utilities of one record in whole units above ⊥.

    ``of`` int64 (k, levels); ``is_exact`` if they are the utilities, not only no less.
    """

    chains: Chains
    unit: float
    of: Longs
    is_exact: bool

    @classmethod
    def of_record(cls, chains: Chains) -> Units:
        """The largest common unit if there is one that gives few, else a thousandth of the whole."""
        gains = chains.utility - chains.utility[:, -1:]
        whole = float(gains[:, 0].sum()) if len(gains) else 0.0
        if whole <= 0:
            return cls(chains, 1.0, np.zeros(gains.shape, dtype=np.int64), True)
        steps = gains[:, :-1] - gains[:, 1:]
        least = float(np.where(steps > SAME_UNIT * whole, steps, math.inf).min())
        for parts in (1, 2, 3):
            unit = least / parts
            rounded = np.rint(gains / unit)
            if whole / unit <= 4 * UNITS and (np.abs(gains / unit - rounded) <= SAME_UNIT).all():
                return cls(chains, unit, rounded.astype(np.int64), True)
        unit = whole / UNITS
        return cls(chains, unit, np.ceil(gains / unit - SAME_UNIT).astype(np.int64), False)

    @cached_property
    def at_top(self) -> float:
        """Utility of ⊥."""
        return self.chains.utility_of(self.chains.heights)

    def total(self, levels: Longs) -> int:
        """Units of a node."""
        return int(self.totals(levels))

    def totals(self, levels: Longs) -> Longs:
        """Units of nodes (…, k)."""
        found: Longs = self.of[np.arange(levels.shape[-1]), levels].sum(axis=-1)
        return found

    def needed(self, floor: float) -> int:
        """Units that every node of at least the utility ``floor``, less its tolerance, has."""
        if not math.isfinite(floor):
            return 0
        return max(0, math.ceil((lowest_accepted(floor) - self.at_top) / self.unit - ROUNDING))

    @cached_property
    def _tables(self) -> dict[tuple[bytes, int], Floats]:
        return {}

    def least_above(self, low: Longs, budget: int) -> LeastWeights:
        """The least weights at or above ``low``, giving up at most ``budget`` units; solved once."""
        key = low.tobytes(), budget
        if key not in self._tables:
            self._tables[key] = LeastWeights.above(self, low, budget).tables
        return LeastWeights(self, low, self._tables[key])

    def utility(self, units: Longs) -> Floats:
        """Utility of so many units: that of the nodes that have them, or no less."""
        spare = 0.0 if self.is_exact else ROUNDING
        found: Floats = self.at_top + (units.astype(np.float64) + spare) * self.unit
        return found


@dataclass(frozen=True, eq=False)
class LeastWeights:
    """The least sum of weights of the nodes at or above ``low``, per unit of utility given up from there.

    ``tables`` float64 (k + 1, budget + 1): of the attributes from j on, with exactly so many units given up;
    +∞ where no node does.
    """

    units: Units
    low: Longs
    tables: Floats

    @classmethod
    def above(cls, units: Units, low: Longs, budget: int) -> LeastWeights:
        """Solve for nodes that are at least as general as ``low`` and give up at most ``budget`` units."""
        k = len(low)
        tables = np.full((k + 1, budget + 1), math.inf)
        tables[k, 0] = 0.0
        weights, of = units.chains.weights.tolist(), units.of.tolist()
        for j in range(k - 1, -1, -1):
            table, rest, first = tables[j], tables[j + 1], int(low[j])
            for level in range(first, units.chains.heights[j] + 1):
                lost = of[j][first] - of[j][level]
                if lost > budget:
                    break
                left = rest[: budget + 1 - lost] + weights[j][level]
                np.minimum(table[lost:], left, out=table[lost:])
        return cls(units, low, tables)

    @property
    def least(self) -> Floats:
        """Per number of units given up, the least sum of weights (budget + 1,)."""
        found: Floats = self.tables[0]
        return found

    @cached_property
    def utility(self) -> Floats:
        """Utility that is left, per number of units given up."""
        return self.units.utility(self.units.total(self.low) - np.arange(self.tables.shape[1]))

    def first_node(self, lost: int, most_weight: float) -> Levels | None:
        """The lexicographically smallest node that gives up exactly so many units within a weight.

        None if there is none.
        """
        if self.tables[0, lost] > most_weight:
            return None
        found, so_far = [], 0.0
        weights, of = self.units.chains.weights, self.units.of
        for j in range(len(self.low)):
            first = int(self.low[j])
            for level in range(first, self.units.chains.heights[j] + 1):
                left = lost - int(of[j, first] - of[j, level])
                if left >= 0 and so_far + weights[j, level] + self.tables[j + 1, left] <= most_weight:
                    found.append(level)
                    so_far, lost = so_far + float(weights[j, level]), left
                    break
            else:
                return None
        return tuple(found)


def least_above_each(units: Units, lows: Longs, needed: int) -> Floats:
    """The least sum of weights at or above each of some corners (r, k) with at least ``needed`` units (r,).

    +∞ for corners that have fewer units. The tables of :class:`LeastWeights` for all corners at a time.
    """
    at = np.arange(lows.shape[1])
    budgets = units.of[at, lows].sum(axis=1) - needed
    width = 1 + max(0, int(budgets.max(initial=0)))
    tables = np.full((len(lows), width), math.inf)
    tables[:, 0] = 0.0
    weights, of = units.chains.weights.tolist(), units.of.tolist()
    for j, top in enumerate(units.chains.heights):
        for first in range(top):
            rows = np.flatnonzero(lows[:, j] == first)
            if len(rows):
                rest = tables[rows]
                table = np.full(rest.shape, math.inf)
                for level in range(first, top + 1):
                    lost = of[j][first] - of[j][level]
                    if lost >= width:
                        break
                    left = rest[:, : width - lost] + weights[j][level]
                    np.minimum(table[:, lost:], left, out=table[:, lost:])
                tables[rows] = table
        if weights[j][top]:
            tables[lows[:, j] >= top] += weights[j][top]
    tables[np.arange(width) > budgets[:, None]] = math.inf
    found: Floats = tables.min(axis=1)
    return found


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
        return Criteria.of(self.chains.harm.risks(weights, counts), utility, self.problem.objective)

    def rate(self, levels: Levels, count: int) -> Rated | None:
        """A node with its criteria, None if it is not feasible."""
        weight = np.array([self.chains.weight_of(levels)])
        utility = np.array([self.chains.utility_of(levels)])
        risk = self.chains.harm.risks(weight, np.array([float(count)]))
        found = Criteria.of(risk, utility, self.problem.objective)
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
        objective = self.problem.objective
        if objective.kind == "min_risk":
            return objective.threshold
        if best is None:
            return -math.inf
        most = best.first + tie_margin(best.first)
        if objective.kind == "max_utility":
            return -most
        return -most / objective.threshold if objective.threshold > 0 else -math.inf
