"""Choosing the best node when the risk and utility of every node are known.

The optimum is the best among all feasible nodes whose objective lies within the tie margin of the optimal
value: the second criterion first (higher utility, or lower risk for ``max_utility``), then the
lexicographically smallest levels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Longs
from app.domain.search.objectives import ScoredObjective
from app.domain.tables.numbers import tie_margin, tie_margins

OPTIMAL, INFEASIBLE, PROHIBITED = 0, 1, 2

MOST_NODES = 2**12
SLACK = 4e-12
"""More than a tie (1e-12) and the rounding of two risks (1e-12 each at 4,096 nodes), also relative."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What was chosen in each of B independent lattices.

    ``node`` (row of the chosen node; 0 where there is none), ``code``
    (OPTIMAL, INFEASIBLE or PROHIBITED), ``value`` of the objective, number of ``ties`` (nodes within the
    tie margin, the chosen one included) and ``reach``, the best utility (``min_risk``) or risk
    (``max_utility``) that any node attains.
    """

    node: npt.NDArray[np.int64]
    code: npt.NDArray[np.int8]
    value: Floats
    ties: npt.NDArray[np.int64]
    reach: Floats


@dataclass(frozen=True, eq=False)
class Criteria:
    """What nodes are judged by: ``feasible``, then ``first`` and ``second``, both to be least."""

    feasible: npt.NDArray[np.bool_]
    first: Floats
    second: Floats

    @classmethod
    def of(cls, risk: Floats, utility: Floats, objective: ScoredObjective) -> Criteria:
        """The criteria of nodes of a risk and a utility, arrays of one shape."""
        is_capped = objective.kind == "max_utility"
        feasible = risk <= objective.highest_risk if is_capped else utility >= objective.lowest_utility
        return cls(feasible, *objective.key(risk, utility))


def choose(risk: Floats, utility: Floats, objective: ScoredObjective) -> Choice:
    """The best node for ``objective`` of each of B lattices.

    ``risk`` and ``utility`` have shape (nodes, B), nodes in lexicographic order of their levels. Infinite
    risks are allowed, NaN is not.
    """
    reach = risk.min(axis=0) if objective.kind == "max_utility" else utility.max(axis=0)
    choice = choose_by(Criteria.of(risk, utility, objective), reach)
    return replace(choice, value=-choice.value) if objective.is_maximised else choice


def choose_by(criteria: Criteria, reach: Floats) -> Choice:
    """The best of each column of (nodes, B), of equal nodes the first; ``value`` is that of ``first``."""
    masked = np.where(criteria.feasible, criteria.first, np.inf)
    best = masked.min(axis=0)
    tied = (masked <= best + tie_margins(best)) & criteria.feasible
    masked = np.where(tied, criteria.second, np.inf)
    runner = masked.min(axis=0)
    node = (tied & (masked <= runner + tie_margins(runner))).argmax(axis=0)
    code = np.full(best.shape, OPTIMAL, dtype=np.int8)
    code[np.isposinf(best)] = PROHIBITED
    code[~criteria.feasible.any(axis=0)] = INFEASIBLE
    return Choice(node.astype(np.int64), code, best, tied.sum(axis=0), reach)


def frontier(risk: Floats, utility: Floats) -> npt.NDArray[np.int64]:
    """Positions of the non-dominated nodes, by ascending utility; of equal nodes the first.

    No other node has at most their risk and at least their utility, one of them strictly.
    """
    order = np.lexsort((np.arange(len(risk)), risk, -utility))
    least = np.minimum.accumulate(risk[order])
    keep = np.ones(len(order), dtype=bool)
    keep[1:] = risk[order[1:]] < least[:-1]
    return order[keep][::-1]


def proper_frontier(risk: Floats, utility: Floats) -> npt.NDArray[np.int64]:
    """:func:`frontier` without points of infinite risk and without those that only rounding keeps apart."""
    finite = np.flatnonzero(np.isfinite(risk))
    chosen = finite[frontier(risk[finite], utility[finite])]
    kept: list[int] = []
    # From the greatest utility down: a step must lower both by more than a tie.
    for point in chosen[::-1].tolist():
        if kept and utility[kept[-1]] - utility[point] <= tie_margin(float(utility[point])):
            kept[-1] = point
        elif not kept or risk[kept[-1]] - risk[point] > tie_margin(float(risk[point])):
            kept.append(point)
    return np.array(kept[::-1], dtype=np.int64)


class LeastTwo:
    """The least and the second least of what is written to ``risk`` (rows,), all at least 0, and the node.

    The node's number takes the place of the last bits, so that one minimum finds both; non-negative doubles
    are ordered as the integers of their bits. Several may share one array.
    """

    def __init__(self, risk: Floats, n_nodes: int) -> None:
        self._bits = risk.view(np.int64)
        self._last = (1 << max(1, (n_nodes - 1).bit_length())) - 1
        most = np.iinfo(np.int64).max
        self._least, self._second = np.full(len(risk), most), np.full(len(risk), most)
        self._larger = np.empty(len(risk), dtype=np.int64)

    def take(self, node: int) -> None:
        """Take what was written to ``risk`` as that of a node."""
        np.bitwise_and(self._bits, ~self._last, out=self._bits)
        np.bitwise_or(self._bits, node, out=self._bits)
        np.maximum(self._least, self._bits, out=self._larger)
        np.minimum(self._second, self._larger, out=self._second)
        np.minimum(self._least, self._bits, out=self._least)

    def found(self) -> tuple[Floats, Floats, Longs]:
        """Least and second least, ∞ where there is none, and the node of the least."""
        return self._value(self._least), self._value(self._second), self._least & self._last

    def _value(self, bits: Longs) -> Floats:
        infinite = np.float64(np.inf).view(np.int64)
        value: Floats = np.minimum(bits & ~self._last, infinite).view(np.float64)
        return value
