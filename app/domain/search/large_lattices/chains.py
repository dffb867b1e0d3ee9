"""Records as chains, for lattices too large to be written out (Definitions: lattice of a record).

Attribute j of a record is disclosed on a level 0..h_j, h_j = ⊥. Weights and utilities of the levels add up to
those of a node; |ρ| is counted for the nodes that are asked for. Levels above a record's own ⊥ repeat it in
the arrays.

An instance holds what all distinct records of a problem share, the index of the dictionary above all; the
chains of a record are made when it is solved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Ints, Levels, Longs
from app.domain.counting.bitsets import EntityBitsets
from app.domain.counting.counter import Counter
from app.domain.errors import NotSupported
from app.domain.risk.models import RiskModel
from app.domain.rules.rule import RecordRule
from app.domain.search.axes import ladder_of
from app.domain.search.context import SearchContext
from app.domain.search.problem import AbsentPolicy, refuse_absent
from app.domain.search.profiles import build_profiles
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.distinct import group, row_keys

SETS_AT_ONCE = 200
NODES_LIMIT = 2_000_000
"""Lattices of at most so many nodes are written out by others."""


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
        return self.index.count([(q, int(self.nodes[j, levels[j]])) for q, j in enumerate(self.linked)])

    def count(self, levels: Sequence[int]) -> int:
        """|ρ| of a node, as the absent policy defines it."""
        return self.listed(levels) + self.missed(levels)

    def missed(self, levels: Sequence[int]) -> int:
        """What ``add_self`` adds to the entities listed: 1 where the own row is not among them."""
        return int(self.own is not None and bool((self.own > np.asarray(levels)).any()))

    def risk_of(self, levels: Sequence[int]) -> float:
        """The risk of a node."""
        return self.harm.risk(self.weight_of(levels), float(self.count(levels)))


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


class ChainInstance:
    """The distinct records of a table against one dictionary.

    Attributes
    ----------
    of_record
        Distinct record of each record of the table.
    multiplicity, mass
        Records, and the sum of their weights, per distinct record.
    n_nodes
        Nodes of the lattice that all records share; those above a record's own ⊥ repeat it.

    Raises
    ------
    NotSupported
        Several dictionaries, a harm of failure, interactions, a risk that is not proved to be monotone, or a
        hierarchy that is no tree: no bound is known there.
    """

    def __init__(self, context: SearchContext, policy: AbsentPolicy) -> None:
        reasons: Sequence[tuple[bool, str]] = (
            (context.dictionaries is not None, "several dictionaries"),
            (context.failure is not None, "a harm of failed identification"),
            (bool(context.sensitivity.interactions), "interactions between attributes"),
            (not context.harm_is_monotone, f"the risk model {context.model.name} with these sensitivities"),
        )
        for is_so, what in reasons:
            if is_so:
                raise NotSupported(
                    f"A record can be disclosed in {context.n_rules} ways; more than {NODES_LIMIT} are "
                    f"searched only without {what}.",
                    "Disclose fewer attributes, use fewer levels per hierarchy, or a table-level rule.",
                )
        for hierarchy in context.table.hierarchies:
            hierarchy.require_tree("A lattice of more than 2,000,000 nodes per record")
        self.context = context
        table = context.table
        self._policy = policy
        self._profiles = build_profiles(context, policy, "record_level")
        keys, limit = row_keys(
            [table.reduced.inverse, self._profiles.of_record],
            [table.reduced.size, self._profiles.size],
            table.n_records,
        )
        self._first, self.of_record = group(keys, limit)
        self.multiplicity = np.bincount(self.of_record, minlength=self.n_distinct)
        mass = np.bincount(self.of_record, table.weights, minlength=self.n_distinct)
        self.mass: Floats = mass.astype(np.float64)
        self._weighs = context.model.name != "II" and context.sensitivity.family != "constant"
        self.n_nodes = context.n_rules
        counter = Counter(table, context.dictionary)
        self._linked = counter.linked
        self.index = EntityBitsets(counter.compatibilities, context.dictionary.n_entities)
        self._values = _Values.of(context)
        if policy == "error":
            refuse_absent(policy, int(self.multiplicity[self.absent].sum()))

    @property
    def n_distinct(self) -> int:
        """Distinct records, each of which is searched once."""
        return len(self._first)

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the index, that of scoring the rule at the end, and one record's search."""
        n, q = self.context.dictionary.n_entities, len(self._linked)
        return 2 * EntityBitsets.n_bytes(n, q, self._n_nodes_asked) + SETS_AT_ONCE * n // 8

    @property
    def seconds(self) -> float:
        """Estimated time to order the entities and to make the sets that the records ask for."""
        n = self.context.dictionary.n_entities
        return EntityBitsets.seconds(n, len(self._linked), self._n_nodes_asked, 0)

    @cached_property
    def _n_nodes_asked(self) -> int:
        """Nodes above the values of the table, counted from above: a tree has fewer than two per leaf."""
        table = self.context.table
        pairs = zip(table.used_nodes, table.hierarchies, strict=True)
        return sum(min(2 * len(used), hierarchy.n_nodes) for used, hierarchy in pairs)

    @cached_property
    def absent(self) -> npt.NDArray[np.bool_]:
        """Whether nobody is consistent with each distinct record as it is (d,)."""
        zero = [0] * self.context.table.n_attributes
        return np.array([self.chains(i).listed(zero) == 0 for i in range(self.n_distinct)], dtype=bool)

    def chains(self, number: int) -> Chains:
        """The chains of one distinct record."""
        context, record = self.context, int(self._first[number])
        profile, values = int(self._profiles.of_record[record]), self._values
        place = values.place[values.first_node + context.table.codes[record]]
        nodes, utility = values.nodes[place], values.utility[place]
        weights = np.zeros(nodes.shape)
        if self._weighs:
            weights = values.weights(context.sensitivity.factors[self._profiles.groups[profile]], place)
        heights = tuple(values.depth[place].tolist())
        thresholds = self._profiles.thresholds
        entities = context.dictionary.n_entities + int(self._profiles.outside[profile])
        harm = Harm(context.sensitivity, context.model, float(entities))
        own = None if thresholds is None else thresholds[profile]
        return Chains(heights, weights, utility, nodes, self._linked, own, harm, self.index)

    def rule_of(self, levels: Ints) -> RecordRule:
        """The rule that discloses each record on the levels (d, m) found for its distinct record."""
        return RecordRule(np.asfortranarray(levels[self.of_record], dtype=np.int16))


@dataclass(frozen=True, eq=False)
class _Values:
    """What the values of the table become, those of all attributes one after another (values, levels).

    ``nodes``, ``utility``, and the two rows of the sensitivity's shapes, ``own`` and ``unit``; ``depth``
    (values,). ``place`` is where a node of an attribute stands, nodes being numbered on from ``first_node``.
    """

    nodes: Ints
    utility: Floats
    own: Floats
    unit: Floats
    depth: Longs
    place: Longs
    first_node: Longs

    @classmethod
    def of(cls, context: SearchContext) -> _Values:
        table = context.table
        n_levels = 1 + max(table.heights, default=0)
        sizes = np.array([0, *table.sizes])
        place = np.full(int(sizes.sum()), -1, dtype=np.int64)
        nodes, utility, own, unit, depth = [], [], [], [], []
        before = 0
        for j, (hierarchy, used) in enumerate(zip(table.hierarchies, table.used_nodes, strict=True)):
            ladder = np.zeros((n_levels, len(used)), dtype=np.int32)
            ladder[: hierarchy.height + 1] = ladder_of(hierarchy, used, "record_level")
            nodes.append(ladder.T)
            utility.append(context.utility.values[j][ladder.T])
            own.append(context.sensitivity.shapes[j][0][ladder.T])
            unit.append(context.sensitivity.shapes[j][1][ladder.T])
            depth.append(hierarchy.depth[used].astype(np.int64))
            place[sizes[: j + 1].sum() + used] = before + np.arange(len(used))
            before += len(used)
        return cls(
            np.concatenate(nodes),
            np.concatenate(utility),
            np.concatenate(own),
            np.concatenate(unit),
            np.concatenate(depth),
            place,
            np.cumsum(sizes)[:-1],
        )

    def weights(self, factors: Floats, place: Longs) -> Floats:
        """Weights (k, levels) of values for a weight group, as :meth:`Sensitivity.weights` gives them."""
        own, unit, factor = self.own[place], self.unit[place], factors[:, None]
        with np.errstate(invalid="ignore"):
            personal = np.where(unit == 0.0, 0.0, factor * unit)
        return np.where(np.isnan(factor), own, personal)
