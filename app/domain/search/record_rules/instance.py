"""The distinct records of a problem, and |ρ|, Φ, Ψ, risk and utility on the lattice of each.

Records with the same codes and profile under every dictionary have the same lattice. Counts depend on the
linked attributes only and are taken for all records at a time; the lattices are evaluated for as many records
at once as fit in a block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Ints, Longs
from app.domain.counting.calibration import (
    BYTES_PER_RECORD_AND_ATTRIBUTE,
    SECONDS_PER_LATTICE_CELL,
    SECONDS_PER_OTHER_LATTICE_CELL,
)
from app.domain.errors import NotSupported
from app.domain.risk.attackers import View
from app.domain.rules.rule import CellRule, RecordRule
from app.domain.search.axes import Axis, build_axes, ladder_of
from app.domain.search.context import SearchContext
from app.domain.search.lattices.nodes import Moves
from app.domain.search.problem import AbsentPolicy, Scope, refuse_absent
from app.domain.search.profiles import Profiles, build_profiles
from app.domain.search.record_risk import Disclosed, Exposure
from app.domain.search.record_rules.counts import RecordCounts, record_codes
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.distinct import group, row_keys

NODES_LIMIT = 2_000_000
CELLS_AT_ONCE = 2**19
CELLS_PER_BLOCK = 1.5e7
COUNTS_BYTES = 2**28


@dataclass(frozen=True, eq=False)
class Lattices:
    """The lattices of some records: ``risk`` and ``utility`` (nodes, rows), and what the risk rests on."""

    records: Disclosed
    losses: tuple[Floats, ...]
    risk: Floats
    utility: Floats


class RecordInstance:
    """The distinct records of a table and their lattices, for one view of the attacker.

    Parameters
    ----------
    scope
        What a level is: steps up from a record's own value, or a level of the hierarchy.

    Attributes
    ----------
    shape
        Levels per attribute; the lattice of every record, levels above its own top repeating ⊥.
    multiplicity, mass
        Records, and the sum of their weights, per distinct record.
    n_absent
        Records without a consistent entity when disclosed as they are, in any dictionary that counts.
    """

    def __init__(
        self, context: SearchContext, policy: AbsentPolicy, view: View, scope: Scope = "record_level"
    ) -> None:
        self.context = context
        self._policy = policy
        contexts = [attacker for attacker, _ in context.attackers(view)]
        self.exposure = Exposure(view, context.model, tuple(q for _, q in context.attackers(view)))
        axes = [build_axes(attacker, scope) for attacker in contexts]
        self._axes = axes[0]
        self.shape = tuple(axis.n_levels for axis in self._axes)
        self.n_nodes = math.prod(self.shape)
        if self.n_nodes > NODES_LIMIT:
            raise NotSupported(
                f"A record can be disclosed in {self.n_nodes} ways; at most {NODES_LIMIT} are searched.",
                "Disclose fewer attributes, use fewer levels per hierarchy, or a table-level rule.",
            )
        profiles = [build_profiles(attacker, policy, scope) for attacker in contexts]
        of_distinct = [record_codes(*pair) for pair in zip(contexts, axes, strict=True)]
        at, kinds = self._merge(of_distinct, axes, profiles, scope)
        self._codes = _rows_of(of_distinct[0], at)
        self._counts = [
            RecordCounts(
                contexts[t], axes[t], profiles[t], _rows_of(of_distinct[t], at) if t else self._codes,
                kinds[t], COUNTS_BYTES // len(contexts),
            )
            for t in range(len(contexts))
        ]  # fmt: skip
        self._groups = profiles[0].groups[kinds[0]]
        self._failure_groups = profiles[0].failure_groups[kinds[0]]
        self.n_absent = int(self.multiplicity[self.absent].sum())
        refuse_absent(policy, self.n_absent)

    def _merge(
        self,
        codes: Sequence[Ints],
        axes: Sequence[Sequence[Axis]],
        profiles: Sequence[Profiles],
        scope: Scope,
    ) -> tuple[Longs, list[Ints]]:
        """Find the distinct records; returns a distinct row of the table for each, and its profiles."""
        table, reduced = self.context.table, self.context.table.reduced
        # Where nothing but its values sets a record apart, the table's distinct rows are enough.
        alike = all(profile.size == 1 for profile in profiles)
        columns: list[npt.NDArray[np.integer]] = []
        sizes: list[int] = []
        for of_distinct, own, profile in zip(codes, axes, profiles, strict=True):
            columns += [column if alike else column[reduced.inverse] for column in of_distinct.T]
            sizes += [axis.n_codes for axis in own]
            if not alike:
                columns.append(profile.of_record)
                sizes.append(profile.size)
        keys, limit = row_keys(columns, sizes, reduced.size if alike else table.n_records)
        first, numbers = group(keys, limit)
        at = first if alike else reduced.inverse[first].astype(np.int64)
        kinds = [np.zeros(len(at), np.int32) if alike else profile.of_record[first] for profile in profiles]
        self._numbers, self._are_rows = numbers, alike
        if alike and table.weights is None:
            self.mass = np.bincount(numbers, reduced.counts, minlength=len(at)).astype(np.float64)
            self.multiplicity = self.mass.astype(np.int64)
        else:
            self.multiplicity = np.bincount(self.of_record, minlength=len(at))
            self.mass = np.bincount(self.of_record, table.weights, minlength=len(at)).astype(np.float64)
        self._place = [
            _places(used, hierarchy.n_nodes)[reduced.codes[at, j]]
            for j, (used, hierarchy) in enumerate(zip(table.used_nodes, table.hierarchies, strict=True))
        ]
        self._ladders = [
            ladder_of(hierarchy, used, scope)
            for hierarchy, used in zip(table.hierarchies, table.used_nodes, strict=True)
        ]
        return at, kinds

    @cached_property
    def of_record(self) -> Ints:
        """Distinct record of each record of the table (n,)."""
        inverse = self.context.table.reduced.inverse
        return self._numbers[inverse] if self._are_rows else self._numbers

    @property
    def n_distinct(self) -> int:
        """Distinct records, each of which has one lattice."""
        return len(self._codes)

    @property
    def is_chains(self) -> bool:
        """Whether the lattices are products of chains."""
        return all(hierarchy.is_tree for hierarchy in self.context.table.hierarchies)

    @property
    def n_bytes(self) -> int:
        """Estimated bytes of the distinct records, the counts and an evaluation by every thread."""
        cells = max(self.n_nodes, CELLS_AT_ONCE)
        held = (
            self.n_distinct * BYTES_PER_RECORD_AND_ATTRIBUTE * len(self.shape)
            + 4 * self.context.table.n_records
        )
        evaluated = self.context.threads * 5 * 8 * cells * (len(self._counts) + 1)
        return held + sum(counts.n_bytes for counts in self._counts) + evaluated

    @property
    def rows_at_once(self) -> int:
        """Distinct records that are evaluated at once."""
        return max(1, CELLS_AT_ONCE // self.n_nodes)

    @property
    def rows_that_fit(self) -> int | None:
        """Distinct records whose counts may be held at once; None if all may."""
        limits = [counts.rows_that_fit for counts in self._counts if not counts.fits]
        return min(limits) if limits else None

    @property
    def rows_per_block(self) -> int:
        """Distinct records of a run's block: as many as are quick, and as may be counted at once."""
        few = max(1, int(CELLS_PER_BLOCK // self.n_nodes))
        return few if self.rows_that_fit is None else self.rows_that_fit

    def seconds(self, walks: int) -> float:
        """Estimated time to evaluate all lattices once, counting in so many walks."""
        return self.counting_seconds(walks) + self.n_distinct * self.seconds_per_record

    def counting_seconds(self, walks: int) -> float:
        """Estimated time to count, in so many walks where the counts are not rolled up."""
        return sum((1 if c.fits else walks) * c.seconds for c in self._counts)

    @property
    def seconds_per_record(self) -> float:
        """Estimated time to evaluate one lattice."""
        simple = len(self._counts) == 1 and self.context.model.name == "I" and self.context.failure is None
        return self.n_nodes * (
            SECONDS_PER_LATTICE_CELL if simple else SECONDS_PER_OTHER_LATTICE_CELL * len(self._counts)
        )

    def prepare(self, rows: range, visit: Callable[[], None]) -> None:
        """Count for a range of distinct records, or for all once and for good if that fits."""
        for counts in self._counts:
            counts.prepare(rows, visit)

    def evaluate(self, rows: Longs) -> Lattices:
        """The lattices of some distinct records, whose counts must have been prepared."""
        utility = np.zeros((1, len(rows)))
        for j, axis in enumerate(self._axes):
            utility = _spread(utility, axis.utility[:, self._codes[rows, j]])
        phi = self._harm(self.context.sensitivity, rows, self._groups[rows])
        psi = None
        if self.context.failure is not None:
            psi = self._harm(self.context.failure, rows, self._failure_groups[rows])
        counts = tuple(counts.of(rows) for counts in self._counts)
        records = Disclosed(counts, tuple(c.entities(rows) for c in self._counts), phi, psi)
        losses = self.exposure.losses(records)
        return Lattices(records, losses, self.exposure.combined(losses), utility)

    def bounds(self, rows: Longs, lattices: Lattices) -> Floats:
        """What no node below a node can fall below in risk (nodes, rows)."""
        present = [
            np.ones(len(rows), dtype=bool) if self._policy == "add_self" else ~counts.absent[rows]
            for counts in self._counts
        ]
        return self.exposure.combined(self.exposure.bounds(lattices.records, lattices.losses, present))

    def beyond_top(self, rows: Longs) -> npt.NDArray[np.bool_] | None:
        """Nodes (nodes, rows) that repeat ⊥ above a record's own lattice; None if there are none."""
        beyond = np.zeros((1, len(rows)), dtype=bool)
        for j, axis in enumerate(self._axes):
            above = np.arange(axis.n_levels)[:, None] > axis.depth[self._codes[rows, j]]
            beyond = (beyond[:, None, :] | above[None, :, :]).reshape(-1, len(rows))
        return beyond if beyond.any() else None

    # --- single attributes, for scans ----------------------------------------------------------------

    @property
    def rolled(self) -> RecordCounts | None:
        """The counts if they alone, and a sum of weights per record, make the risk; None else."""
        plain = self.context.failure is None and not self.context.sensitivity.interactions
        (counts, *others) = self._counts
        return counts if plain and not others and counts.is_rolled else None

    @cached_property
    def absent(self) -> npt.NDArray[np.bool_]:
        """Distinct records without a consistent entity when disclosed as they are, in any dictionary."""
        found: npt.NDArray[np.bool_] = np.any([counts.absent for counts in self._counts], axis=0)
        return found

    @property
    def is_linked(self) -> tuple[bool, ...]:
        """Which attributes the (first) dictionary tells apart."""
        return tuple(axis.linked for axis in self._axes)

    def weights_at(self, j: int, level: int, rows: slice | Longs) -> Floats:
        """What one attribute adds to the weights of Φ of some records at a level (rows,)."""
        place = self._place[j][rows]
        shared = self._shared_weights[j]
        if shared is not None:
            found: Floats = shared[level][place]
            return found
        return self.context.sensitivity.weights(j, self._ladders[j][level][place], self._groups[rows])

    @cached_property
    def _shared_weights(self) -> list[Floats | None]:
        """Weights by level and used node per attribute, None where they depend on the record's group."""
        sensitivity = self.context.sensitivity
        return [
            sensitivity.shapes[j][0][ladder] if np.isnan(sensitivity.factors[:, j]).all() else None
            for j, ladder in enumerate(self._ladders)
        ]

    def common_weight(self, j: int, level: int) -> float | None:
        """What one attribute adds to the weights of Φ at a level where it is the same for all records."""
        shared = self._shared_weights[j]
        if shared is None or self._axes[j].n_codes > 1:
            return None
        return float(shared[level][self._place[j][0]])

    def utilities_at(self, j: int, level: int, rows: slice | Longs) -> Floats:
        """What one attribute adds to the utility of some records at a level (rows,)."""
        found: Floats = self._axes[j].utility[level][self._codes[rows, j]]
        return found

    @property
    def n_linked_nodes(self) -> int:
        """Nodes of the lattice of linked attributes."""
        return math.prod(size for size, linked in zip(self.shape, self.is_linked, strict=True) if linked)

    @cached_property
    def common_utilities(self) -> Floats | None:
        """Utility of each node (nodes,), summed as anywhere else, if it is the same for all records."""
        total = np.zeros(1)
        for j, axis in enumerate(self._axes):
            terms = axis.utility[:, np.unique(self._codes[:, j])]
            if not bool((terms == terms[:, :1]).all()):
                return None
            total = (total[:, None] + terms[None, :, 0]).reshape(-1)
        return total

    def beyond_top_of(self, j: int, rows: slice | Longs) -> npt.NDArray[np.bool_]:
        """Levels of one attribute that repeat ⊥ above its top in a record's own lattice (levels, rows)."""
        axis = self._axes[j]
        above: npt.NDArray[np.bool_] = np.arange(axis.n_levels)[:, None] > axis.depth[self._codes[rows, j]]
        return above

    def tops(self, rows: Longs) -> Longs:
        """The level from which on each attribute of some distinct records is ⊥ (rows, attributes)."""
        depths = [axis.depth[self._codes[rows, j]] for j, axis in enumerate(self._axes)]
        return np.stack(depths, axis=1).astype(np.int64)

    def moves(self, row: int) -> Moves | None:
        """One-step moves in the lattice of a distinct record; None if it is a product of chains."""
        if self.is_chains:
            return None
        tops = self.tops(np.array([row]))[0].tolist()
        ladders = [
            tuple(ladder[: top + 1, place[row]].tolist())
            for ladder, place, top in zip(self._ladders, self._place, tops, strict=True)
        ]
        return Moves.among_ancestors(self.context.table.hierarchies, tuple(ladders))

    def n_own_nodes(self, rows: slice | Longs) -> Floats:
        """Nodes of the own lattices of some distinct records, float64 (rows,)."""
        product = np.ones(1)
        for j, axis in enumerate(self._axes):
            product = product * (axis.depth + 1)[self._codes[rows, j]]
        return product

    def rule_of(self, nodes: npt.NDArray[np.integer]) -> RecordRule | CellRule:
        """The rule that discloses each record of the table (n,) as the node of its lattice."""
        numbers = np.arange(self.n_nodes)
        table, strides = self.context.table, [math.prod(self.shape[j + 1 :]) for j in range(len(self.shape))]
        steps = [
            (numbers // stride % size).astype(np.int16)
            for stride, size in zip(strides, self.shape, strict=True)
        ]
        if self.is_chains:
            rule = np.empty((len(nodes), len(steps)), dtype=np.int16, order="F")
            for j, step in enumerate(steps):
                rule[:, j] = step[nodes]
            return RecordRule(rule)
        columns = [
            ladder[step[nodes], np.searchsorted(used, table.codes[:, j])]
            for j, (ladder, step, used) in enumerate(zip(self._ladders, steps, table.used_nodes, strict=True))
        ]
        return CellRule(np.asfortranarray(np.stack(columns, axis=1), dtype=np.int32))

    # --- harm ----------------------------------------------------------------------------------------

    def _harm(self, sensitivity: Sensitivity, rows: Longs, groups: Ints) -> Floats:
        """Φ or Ψ of some records at every node (nodes, rows)."""
        if sensitivity.family == "constant":
            return np.full((self.n_nodes, len(rows)), sensitivity.constant)
        weights = np.zeros((1, len(rows)))
        for j, (ladder, place) in enumerate(zip(self._ladders, self._place, strict=True)):
            nodes = ladder[:, place[rows]]
            own = sensitivity.weights(j, nodes.reshape(-1), np.tile(groups, len(nodes)))
            weights = _spread(weights, own.reshape(nodes.shape))
        for interaction in sensitivity.interactions:
            # Nodes at which none of the attributes is ⊥, broadcast over the levels of the others
            together = np.ones((*(1 for _ in self.shape), len(rows)), dtype=bool)
            for attribute in interaction.attributes:
                axis = self._axes[attribute]
                shown = np.arange(axis.n_levels)[:, None] < axis.depth[self._codes[rows, attribute]]
                sizes = [axis.n_levels if i == attribute else 1 for i in range(len(self.shape))]
                together = together & shown.reshape(*sizes, len(rows))
            weights = weights.reshape(*self.shape, len(rows))
            weights = weights + np.where(together, interaction.weights[groups], 0.0)
        return sensitivity.of_sum(weights.reshape(-1)).reshape(self.n_nodes, len(rows))


def _spread(values: Floats, terms: Floats) -> Floats:
    """(nodes, rows) from the sums over the attributes so far and the terms (levels, rows) of the next."""
    spread: Floats = (values[:, None, :] + terms[None, :, :]).reshape(-1, values.shape[1])
    return spread


def _rows_of(codes: Ints, at: Longs) -> Ints:
    """Some rows of codes, column-major."""
    found = np.empty((len(at), codes.shape[1]), dtype=np.int32, order="F")
    for j in range(codes.shape[1]):
        found[:, j] = codes[at, j]
    return found


def _places(used: Ints, n_nodes: int) -> Ints:
    """Position among the ``used`` nodes of each of them (nodes,)."""
    places = np.zeros(n_nodes, dtype=np.int32)
    places[used] = np.arange(len(used), dtype=np.int32)
    return places
