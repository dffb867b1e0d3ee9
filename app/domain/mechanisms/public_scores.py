"""What a generalisation is worth, from declarations alone: f(x) = λ·|ρ(x)| / Φ(x) + u(x)^κ.

This is the aggregate objective (Definitions: aggregate objective) with a sensitivity Φ that is a sum of
weights by depth plus a constant above 0, so that it is bounded away from 0 by what is declared: no record has
a part in φ_l, φ_u or ν. Only |ρ(x)|, how many records are below x, is counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Ints, Longs
from app.domain.errors import Fault
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.hierarchies.node_values import DERIVED_VALUES, DerivedUtility

PLAIN_WEIGHTS: Final = (0.0, 1.0)
"""Of an attribute that is not named: nothing where it is suppressed, else 1."""
LARGEST_NUMBER: Final = 1e12


@dataclass(frozen=True, eq=False)
class PublicScores:
    """The objective of one table's hierarchies.

    Parameters
    ----------
    weights, utilities
        Per attribute float64 (nodes,), at least 0 and never more for a more general node.
    trade_off, kappa
        λ and κ.
    offset
        What is added to every Φ.
    """

    weights: tuple[Floats, ...]
    utilities: tuple[Floats, ...]
    trade_off: float
    kappa: int
    offset: float

    @property
    def least_phi(self) -> float:
        """φ_l: of what is wholly suppressed."""
        return float(self.phi(_places(self.weights, np.argmin))[0])

    @property
    def greatest_phi(self) -> float:
        """φ_u."""
        return float(self.phi(_places(self.weights, np.argmax))[0])

    @property
    def greatest_utility(self) -> float:
        """ν: no generalisation is of more use."""
        return float(self.utility(_places(self.utilities, np.argmax))[0])

    @property
    def greatest_gain(self) -> float:
        """ν^κ."""
        return float(self._gain(self.utility(_places(self.utilities, np.argmax)))[0])

    def per_record(self, records: int) -> float:
        """R = λ/φ_l + ν^κ/m: no score is above R·m in a table of m records, m at least this number."""
        return self.trade_off / self.least_phi + self.greatest_gain / records

    def least_score(self) -> float:
        """No score that counts among entities, of which one at least is below, is less."""
        gain = self._gain(self.utility(_places(self.utilities, np.argmin)))
        return float(self.trade_off / self.greatest_phi + gain[0])

    def greatest_score(self, entities: int) -> float:
        """No score that counts among so many entities is greater."""
        return self.trade_off * max(entities, 1) / self.least_phi + self.greatest_gain

    def width(self, entities: int) -> float:
        """Scores that count among so many entities differ by no more.

        That is so of the numbers that are drawn with, not only of real ones: scores and their bounds are
        made by the same roundings of sums, products and quotients, none of which turns an order round.
        """
        return self.greatest_score(entities) - self.least_score()

    def phi(self, nodes: Sequence[Ints]) -> Floats:
        """Φ of generalisations that are given by their node of each attribute, (n,) each."""
        return _summed(self.weights, nodes, self.offset)

    def utility(self, nodes: Sequence[Ints]) -> Floats:
        """U of the same."""
        return _summed(self.utilities, nodes, 0.0)

    def _gain(self, utility: Floats) -> Floats:
        """U^κ of what is of so much use, 1 where κ is 0: by products, which unlike powers keep the order."""
        if not self.kappa:
            return np.ones_like(utility)
        found = utility.copy()
        with np.errstate(over="ignore"):
            for _ in range(self.kappa - 1):
                found *= utility
        return found

    def worth(self, phi: Floats, utility: Floats, counts: Longs | int) -> Floats:
        """F of what has this Φ and u, and so many below it."""
        return self.trade_off * counts / phi + self._gain(utility)

    def score(self, nodes: Sequence[Ints], counts: Longs) -> Floats:
        """F of generalisations, (n,)."""
        return self.worth(self.phi(nodes), self.utility(nodes), counts)

    def risk(self, nodes: Sequence[Ints], counts: Longs) -> Floats:
        """R = Φ / |ρ|."""
        return np.asarray(self.phi(nodes) / counts)


def _places(values: Sequence[Floats], extreme: Callable[[Floats], np.intp]) -> list[Ints]:
    """Of each attribute the node of the least or the greatest value."""
    return [np.array([extreme(own)], dtype=np.int32) for own in values]


def _summed(values: Sequence[Floats], nodes: Sequence[Ints], start: float) -> Floats:
    """Sums in one order, for bounds as for what they bound."""
    total = np.full(len(nodes[0]), start)
    for own, at in zip(values, nodes, strict=True):
        total += own[at]
    return total


def weights_by_depth(hierarchy: Hierarchy, levels: Sequence[float]) -> Floats:
    """(nodes,) the weight at each node's depth below ⊥, the last one also of what is deeper."""
    declared = np.array(levels, dtype=np.float64)
    return np.asarray(declared[np.minimum(hierarchy.depth, len(declared) - 1)])


def utilities_of(hierarchy: Hierarchy, utility: DerivedUtility, shown: bool) -> Floats:
    """(nodes,) of how much use each node is; nothing of an attribute that is suppressed everywhere."""
    return DERIVED_VALUES[utility](hierarchy) if shown else np.zeros(hierarchy.n_nodes)


def faults_of_weights(weights: Mapping[str, Sequence[float]]) -> list[Fault]:
    """What is wrong with weights by depth, attribute by attribute."""
    faults = []
    for name, own in weights.items():
        pointer = f"/sensitivity/{name}"
        if not own or not all(0 <= one <= LARGEST_NUMBER for one in own):
            faults.append(
                Fault(
                    pointer,
                    "invalid-weight",
                    f"The weights of {name!r} are not all numbers from 0 to {LARGEST_NUMBER:g}.",
                    "Give a weight of the suppressed value, then one per level below it. What must never be "
                    "published is suppressed by a rule: an infinite weight has no score.",
                )
            )
        elif any(after < before for before, after in itertools.pairwise(own)):
            faults.append(
                Fault(
                    pointer,
                    "not-monotone",
                    f"A more general value of {name!r} weighs more than one below it.",
                    "Weights begin with the suppressed value and never fall.",
                )
            )
    return faults
