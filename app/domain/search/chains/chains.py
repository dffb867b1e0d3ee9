"""One record as chains, for lattices too large to be written out (Definitions: lattice of a record).

Attribute j is disclosed on a level 0..h_j, h_j = ⊥. Weights and utilities of the levels add up to those of a
node; |ρ| is counted for the nodes that are asked for. Levels above a record's own ⊥ repeat it in the arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.counting.bitsets import EntityBitsets
from app.domain.harm.sensitivity import Sensitivity
from app.domain.hierarchies.hierarchy import TOP
from app.domain.risk.models import RiskModel
from app.domain.search.boxes import Levels

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Harm:
    """What turns a node's sum of weights and |ρ| into its risk, for one record.

    ``entities`` is N. Risk does not fall with the sum and does not rise with |ρ|: needed of all who bound it.
    """

    sensitivity: Sensitivity
    model: RiskModel
    entities: float

    def risks(self, weights: Floats, counts: Floats) -> Floats:
        """Risk for sums of weights and |ρ|, arrays of one shape."""
        phi = self.sensitivity.of_sum(weights.reshape(-1)).reshape(weights.shape)
        return self.model.of(counts, phi, None, self.entities)

    def risk(self, weight: float, count: float) -> float:
        """The risk of one node."""
        return float(self.risks(np.array([weight]), np.array([count]))[0])


@dataclass(frozen=True, eq=False)
class Chains:
    """One record against one dictionary.

    Parameters
    ----------
    heights
        h_j, int (k,).
    weights, utility
        Of each attribute at each level, float64 (k, levels): w_j[s] and d_j[s], non-increasing in s.
    nodes
        The node that each attribute is on each level, int32 (k, levels).
    linked
        Attribute of the table per linked attribute of the dictionary.
    own
        Least levels from which the record's own row is consistent (k,), a height + 1 where there is none:
        then the record counts itself once (``add_self``). None under the other policies.
    """

    heights: Levels
    weights: Floats
    utility: Floats
    nodes: Ints
    linked: tuple[int, ...]
    own: Ints | None
    harm: Harm
    index: EntityBitsets

    @property
    def n_attributes(self) -> int:
        """k, the attributes of the record."""
        return len(self.heights)

    @cached_property
    def low(self) -> npt.NDArray[np.int64]:
        """Least levels on which no weight is infinite: every node of finite Φ is at or above them."""
        found: npt.NDArray[np.int64] = np.isinf(self.weights).sum(axis=1)
        return np.minimum(found, self.top)

    @cached_property
    def top(self) -> npt.NDArray[np.int64]:
        """Heights as an array."""
        return np.array(self.heights, dtype=np.int64)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """How many entities are consistent with each attribute on each level, alone (k, levels)."""
        found = np.full(self.nodes.shape, self.index.n_entities, dtype=np.int64)
        for q, j in enumerate(self.linked):
            below = self.nodes[j, : self.heights[j]].tolist()
            found[j, : self.heights[j]] = [self.index.size(q, node) for node in below]
        return found

    def weight_of(self, levels: Sequence[int]) -> float:
        """The sum of the weights of a node, in the order of the attributes."""
        return _sum_along(self.weights, levels)

    def utility_of(self, levels: Sequence[int]) -> float:
        """The utility of a node, summed in the order of the attributes."""
        return _sum_along(self.utility, levels)

    def listed(self, levels: Sequence[int]) -> int:
        """Entities of the dictionary that are consistent with a node."""
        return self.index.count(
            [(q, int(self.nodes[j, levels[j]])) for q, j in enumerate(self.linked) if self._shown(j, levels)]
        )

    def count(self, levels: Sequence[int]) -> int:
        """|ρ| of a node, as the absent policy defines it."""
        return self.listed(levels) + self.missed(levels)

    def missed(self, levels: Sequence[int]) -> int:
        """What ``add_self`` adds to the entities listed: 1 where the own row is not among them."""
        return int(self.own is not None and bool((self.own > np.asarray(levels)).any()))

    def risk_of(self, levels: Sequence[int]) -> float:
        """The risk of a node."""
        return self.harm.risk(self.weight_of(levels), float(self.count(levels)))

    def _shown(self, attribute: int, levels: Sequence[int]) -> bool:
        return int(self.nodes[attribute, levels[attribute]]) != TOP


def _sum_along(values: Floats, levels: Sequence[int]) -> float:
    total = 0.0
    for j, term in enumerate(values[np.arange(len(values)), np.asarray(levels, dtype=np.int64)].tolist()):
        total = term if j == 0 else total + term
    return total


class ChainLattice:
    """The lattice of one record for searches that ask for one node at a time; keeps nothing but the record.

    ``is_absent``: nobody is consistent with the record as it is and nobody is added; generalising may then
    raise its risk, and nothing but 0 bounds it from below (Definitions: monotonicity).
    """

    def __init__(self, chains: Chains, is_absent: bool) -> None:
        self._chains = chains
        self._is_absent = is_absent

    @property
    def heights(self) -> Levels:
        """Largest level of each attribute."""
        return self._chains.heights

    def risks(self, levels: Levels) -> tuple[float, float]:
        """Risk of a node, and a lower bound of the risk of every node at or below it."""
        risk = self._chains.risk_of(levels)
        return risk, 0.0 if self._is_absent else risk

    def utility(self, levels: Levels) -> float:
        """Utility of a node."""
        return self._chains.utility_of(levels)
