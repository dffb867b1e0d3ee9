"""One record as the arrays that the scalable models work on (Definitions: lattice of a record).

One record against one dictionary, never spread over its lattice: per attribute a chain of values with the
weight and the utility after each step, and the distinct threshold vectors of the dictionary's entities with
how many entities have each. Valid where all hierarchies are trees and Φ is a sum over attributes. Where they
are not, what else can solve the problem is named.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Ints, Levels, Longs
from app.domain.counting.compatibility import Compatibility
from app.domain.counting.counter import Counter
from app.domain.risk.attackers import View
from app.domain.rules.rule import RecordRule
from app.domain.search.context import SearchContext
from app.domain.search.problem import AbsentPolicy, Problem, refuse_absent
from app.domain.search.profiles import build_profiles
from app.domain.tables.distinct import distinct_rows, group, row_keys

NODES_LIMIT = 2_000_000


@dataclass(frozen=True, eq=False)
class ChainRecord:
    """One record's chains and the thresholds of the entities.

    Parameters
    ----------
    utilities, weights
        d_i and w_i per attribute, float64 (h_i + 1,), non-negative and non-increasing; weights may be +∞.
    thresholds
        Distinct threshold vectors (t, k): an entity is consistent with the node x iff its vector is ≤ x.
    multiplicity
        Entities per vector, int64 (t,), all positive.
    base
        What Φ is beside the weights: Φ(x) = base + Σ w_i[x_i].
    """

    utilities: tuple[Floats, ...]
    weights: tuple[Floats, ...]
    thresholds: Longs
    multiplicity: Longs
    base: float = 0.0

    @classmethod
    def of(
        cls,
        utilities: Sequence[Floats],
        weights: Sequence[Floats],
        thresholds: npt.NDArray[np.integer],
        multiplicity: Longs | None = None,
        base: float = 0.0,
    ) -> ChainRecord:
        """Build from thresholds of single entities, or of several that add up; those of 0 are left out."""
        counts = np.ones(len(thresholds), dtype=np.int64) if multiplicity is None else multiplicity
        sizes = [len(chain) for chain in utilities]
        rows = distinct_rows(list(np.asarray(thresholds).T), sizes, len(thresholds))
        total = np.zeros(rows.size, dtype=np.int64)
        np.add.at(total, rows.inverse, counts)
        kept = total > 0
        codes = rows.codes[kept].astype(np.int64)
        return cls(tuple(utilities), tuple(weights), codes, total[kept], base)

    @cached_property
    def heights(self) -> Levels:
        """h_i, the greatest level per attribute."""
        return tuple(len(chain) - 1 for chain in self.utilities)

    @property
    def n_nodes(self) -> int:
        """Nodes of the lattice ∏{0..h_i}."""
        return math.prod(height + 1 for height in self.heights)

    @property
    def n_steps(self) -> int:
        """Σ h_i, the join-irreducible elements of the lattice."""
        return sum(self.heights)

    def count(self, levels: Levels) -> int:
        """T(x) = |ρ(x)|."""
        consistent = (self.thresholds <= np.array(levels, dtype=np.int64)).all(axis=1)
        return int(self.multiplicity[consistent].sum())

    def phi(self, levels: Levels) -> float:
        """Φ(x)."""
        return sum((float(w[x]) for w, x in zip(self.weights, levels, strict=True)), self.base)

    def utility(self, levels: Levels) -> float:
        """u(x)."""
        return sum((float(d[x]) for d, x in zip(self.utilities, levels, strict=True)), 0.0)

    def risk(self, levels: Levels) -> float:
        """Φ(x) / T(x), 0 where nobody is consistent."""
        count = self.count(levels)
        return self.phi(levels) / count if count else 0.0

    def box(self, lo: Levels, hi: Levels) -> ChainRecord:
        """The same record on the nodes lo ≤ x ≤ hi, which count from ``lo``."""
        within = (self.thresholds <= np.array(hi, dtype=np.int64)).all(axis=1)
        moved = np.maximum(self.thresholds[within] - np.array(lo, dtype=np.int64), 0)
        cut = [slice(a, b + 1) for a, b in zip(lo, hi, strict=True)]
        return ChainRecord.of(
            [d[part] for d, part in zip(self.utilities, cut, strict=True)],
            [w[part] for w, part in zip(self.weights, cut, strict=True)],
            moved,
            self.multiplicity[within],
            self.base,
        )

    def with_base(self, base: float) -> ChainRecord:
        """The same record with another constant in Φ."""
        return replace(self, base=base)

    @cached_property
    def least_finite(self) -> Levels | None:
        """The least node with Φ < ∞; None if there is none."""
        if math.isinf(self.base):
            return None
        return self._least(np.isfinite)

    @cached_property
    def least_harmless(self) -> Levels | None:
        """The least node with Φ = 0; None if there is none."""
        if self.base > 0:
            return None
        return self._least(lambda weights: weights == 0.0)

    def _least(self, holds: Callable[[Floats], Bools]) -> Levels | None:
        """The least levels of which all weights are such; None if there are none."""
        first = [np.flatnonzero(holds(w)) for w in self.weights]
        return None if any(not len(f) for f in first) else tuple(int(f[0]) for f in first)


class ChainRecords:
    """The distinct records of a table as chain records, for one dictionary.

    The caller has made sure that hierarchies are trees and that Φ is a sum over attributes or a constant.

    Attributes
    ----------
    of_record
        Distinct record of each record of the table.
    first
        One record of the table for each distinct one.
    multiplicity, mass
        Records, and the sum of their weights, per distinct record.
    absent
        Per distinct record whether its |ρ| as it is is 0 under the absent policy.
    n_absent
        Records of the table with which no entity of the dictionary is consistent as they are.
    """

    def __init__(self, context: SearchContext, policy: AbsentPolicy, view: View) -> None:
        ((self.context, _),) = context.attackers(view)
        self._profiles = build_profiles(self.context, policy, "record_level")
        table, profiles = self.context.table, self._profiles
        columns = [*table.codes.T, profiles.of_record]
        keys, limit = row_keys(columns, [*table.sizes, profiles.size], table.n_records)
        first, self.of_record = group(keys, limit)
        self.first = first
        self.multiplicity = np.bincount(self.of_record, minlength=len(first))
        self.mass = np.bincount(self.of_record, table.weights, minlength=len(first)).astype(np.float64)
        self._codes, self._profile = table.codes[first], profiles.of_record[first]
        self._compatibilities = [
            None if link is None else Compatibility(link, used)
            for link, used in zip(self.context.links, table.used_nodes, strict=True)
        ]
        unknown = Counter(table, self.context.dictionary).count_records(self._codes).values == 0
        self.absent = unknown & (policy != "add_self")
        self.n_absent = int(self.multiplicity[unknown].sum())
        refuse_absent(policy, self.n_absent)

    @property
    def n_distinct(self) -> int:
        """Distinct records, each of which has one :class:`ChainRecord`."""
        return len(self._codes)

    @property
    def n_bytes(self) -> int:
        """Estimated bytes of the thresholds of one record while they are merged."""
        k = len(self.context.table.attributes)
        return self.context.dictionary.reduced.size * (16 * k + 48)

    def heights_of(self, row: int) -> Levels:
        """Steps from the values of a distinct record up to ⊥."""
        hierarchies = self.context.table.hierarchies
        return tuple(int(h.depth[v]) for h, v in zip(hierarchies, self._codes[row].tolist(), strict=True))

    def record(self, row: int) -> ChainRecord:
        """The canonical instance of one distinct record."""
        context, chains = self.context, self._chains(row)
        utilities = [values[chain] for values, chain in zip(context.utility.values, chains, strict=True)]
        weights, base = self._weights(row, chains)
        reduced = context.dictionary.reduced
        thresholds = np.zeros((reduced.size, len(chains)), dtype=np.int64)
        column_of = {link.attribute: i for i, link in enumerate(context.dictionary.links)}
        for j, (name, chain) in enumerate(zip(context.table.attributes, chains, strict=True)):
            if name in column_of:
                # The least step from which each code of the dictionary is consistent with the chain
                compatibility = self._compatibilities[j]
                if compatibility is None:
                    raise ValueError("only linked attributes have thresholds")
                link = compatibility.link
                owners, codes = compatibility.link.pairs
                least = np.full(link.n_codes, len(chain) - 1, dtype=np.int64)
                for step in range(len(chain) - 2, -1, -1):
                    covered = slice(*np.searchsorted(owners, [chain[step], chain[step] + 1]).tolist())
                    least[codes[covered]] = step
                least[link.everything] = 0
                thresholds[:, j] = least[reduced.codes[:, column_of[name]]]
        counts = reduced.counts
        if self._profiles.thresholds is not None:
            # The record's own entity counted everywhere, exactly once (``add_self``)
            profile = int(self._profile[row])
            own = self._profiles.thresholds[profile].astype(np.int64)
            extra, counted = [np.zeros_like(own)], [1]
            if not self._profiles.outside[profile]:
                extra, counted = [*extra, own], [1, -1]
            thresholds, counts = (
                np.concatenate([thresholds, np.stack(extra)]),
                np.concatenate([counts, counted]),
            )
        return ChainRecord.of(utilities, weights, thresholds, counts, base)

    def least_finite(self, row: int) -> Levels | None:
        """The least steps with Φ < ∞ of a distinct record; None if there are none."""
        chains = self._chains(row)
        weights, base = self._weights(row, chains)
        return ChainRecord.of(weights, weights, np.zeros((0, len(chains)), int), base=base).least_finite

    def disclosed(self, row: int, levels: Levels) -> Ints:
        """The values of a distinct record after some steps, (1, m)."""
        chains = self._chains(row)
        return np.array([[chain[x] for chain, x in zip(chains, levels, strict=True)]], dtype=np.int32)

    def rule_of(self, steps: npt.NDArray[np.integer]) -> RecordRule:
        """The rule that generalises each distinct record by its row of steps (d, m)."""
        return RecordRule(np.asfortranarray(steps[self.of_record], dtype=np.int16))

    def _chains(self, row: int) -> list[Ints]:
        """The values of a record and their ancestors up to ⊥, per attribute."""
        chains = []
        for hierarchy, value, height in zip(
            self.context.table.hierarchies, self._codes[row].tolist(), self.heights_of(row), strict=True
        ):
            chain = np.full(height + 1, value, dtype=np.int32)
            for step in range(height):
                chain[step + 1] = hierarchy.parent[chain[step]]
            chains.append(chain)
        return chains

    def _weights(self, row: int, chains: list[Ints]) -> tuple[list[Floats], float]:
        """The weight of each value of a record's chains, and what Φ is beside them."""
        sensitivity = self.context.sensitivity
        if sensitivity.family == "constant":
            return [np.zeros(len(chain)) for chain in chains], sensitivity.constant
        group_ = self._profiles.groups[self._profile[row]]
        groups = [np.full(len(chain), group_, dtype=np.int32) for chain in chains]
        return [sensitivity.weights(j, chains[j], groups[j]) for j in range(len(chains))], 0.0


def refusal(context: SearchContext, problem: Problem) -> str | None:
    """Why single records are no canonical instances of one dictionary in this problem; None if they are.

    Whether hierarchies are trees and Φ is a sum is asked apart.
    """
    if problem.scope != "record_level":
        return "It is for rules of single records. Ask for the scope record_level."
    if problem.view not in ("known", "estimated"):
        return "It knows one dictionary. Choose the view known or estimated, or the objective lagrangian."
    if context.model.name != "I" or context.failure is not None:
        return (
            "It is for the risk Φ / |ρ| without a harm of failed identification. Choose model I and leave "
            "failure out, or another objective and solver."
        )
    if problem.aggregate != "average" or problem.constraint != "per_record":
        return (
            "It solves every record on its own. Choose the constraint per_record and the aggregate average."
        )
    return None


def is_additive(context: SearchContext) -> bool:
    """Whether Φ is constant or a sum of weights of single attributes (Definitions: additive sensitivity)."""
    sensitivity = context.sensitivity
    if sensitivity.family == "interactions":
        return not sensitivity.interactions
    return sensitivity.family in ("linear", "linear_personal", "constant")


def refusal_of_family(context: SearchContext) -> str | None:
    """Why this Φ is none that the minimum cut, the ring family and the approximation are right for."""
    if is_additive(context):
        return None
    return (
        f"It needs a sensitivity that is a sum over attributes; that of the family "
        f"{context.sensitivity.family} is not supermodular with the rest. Use enumeration (at most "
        f"{NODES_LIMIT} nodes), or the family linear, linear_personal or constant."
    )
