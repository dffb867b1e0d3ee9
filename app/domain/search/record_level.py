"""Optimal record-level rules under the per-record constraint Δ̂: every distinct record on its own lattice.

Records with the same codes and profile have the same optimum and are solved once. Counts depend on the linked
attributes only and are taken for all records at a time; the lattices are then evaluated for as many records
at once as fit in a block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from app.domain.distinct import group, row_keys
from app.domain.errors import NotSupported
from app.domain.numbers import exact_sum
from app.domain.search.axes import Axis, Floats, Ints, build_axes
from app.domain.search.boxes import search_boxes
from app.domain.search.canonical import CanonicalInstance, loss_of
from app.domain.search.context import SearchContext
from app.domain.search.linked_counts import LinkedCounts, record_codes
from app.domain.search.outcome import (
    Bounds,
    Counters,
    Outcome,
    Status,
    proven,
    record_rule_of,
    score,
    shortfall_of,
)
from app.domain.search.problem import Problem
from app.domain.search.profiles import build_profiles
from app.domain.search.scores import absence_error
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED, choose

NODES_LIMIT = 2_000_000
CELLS_AT_ONCE = 2**19
COUNTS_BYTES = 2**28
CELLS_PER_BLOCK = 1.5e7
SEARCHES_PER_BLOCK = 500
SECONDS_PER_CELL = 4e-8
SECONDS_PER_COUNT_ROW = 4e-8
SECONDS_PER_SEARCH = 8e-4

RESULT = np.dtype(
    [
        ("node", "<i8"), ("code", "<i1"), ("truncated", "<i1"), ("ties", "<i8"), ("risk", "<f8"),
        ("bound", "<f8"), ("reach", "<f8"), ("visited", "<i8"), ("risks", "<i8"), ("utilities", "<i8"),
    ]
)  # fmt: skip


class RecordInstance:
    """The distinct records of a problem and their lattices.

    Attributes
    ----------
    codes
        Axis codes (d, m) of the distinct records.
    of_record
        Distinct record of each record of the table.
    shape
        Levels per attribute; the lattice of every record, levels above its own height repeating ⊥.
    """

    def __init__(self, context: SearchContext, problem: Problem) -> None:
        self.context = context
        self.problem = problem
        self.axes = build_axes(context, "record_level")
        self.shape = tuple(axis.n_levels for axis in self.axes)
        self.n_nodes = math.prod(self.shape)
        if self.n_nodes > NODES_LIMIT:
            raise NotSupported(
                f"A record can be disclosed in {self.n_nodes} ways; at most {NODES_LIMIT} are searched.",
                "Disclose fewer attributes, use fewer levels per hierarchy, or a table-level rule.",
            )
        self._profiles = build_profiles(context, problem.absent_policy, "record_level")
        reduced = context.table.reduced
        of_distinct = record_codes(context, self.axes)
        columns = [of_distinct[reduced.inverse, j] for j in range(len(self.axes))] + [
            self._profiles.of_record
        ]
        sizes = [axis.n_codes for axis in self.axes] + [self._profiles.size]
        keys, limit = row_keys(columns, sizes, context.table.n_records)
        first, self.of_record = group(keys, limit)
        self.codes = of_distinct[reduced.inverse[first]]
        self._profile = self._profiles.of_record[first]
        self.multiplicity = np.bincount(self.of_record, minlength=len(first))
        self._counts = LinkedCounts(context, self.axes, self.codes)
        self._counted: tuple[range, LinkedCounts, npt.NDArray[np.int32]] | None = None
        absent = (self._counts.at([0] * len(self.axes)) == 0)[self._counts.part_of]
        self.n_absent = int(self.multiplicity[absent].sum())
        if problem.absent_policy == "error" and self.n_absent:
            raise absence_error(self.n_absent)

    @property
    def n_distinct(self) -> int:
        return len(self.codes)

    @property
    def n_bytes(self) -> int:
        """Estimated bytes of the counts and of one evaluation."""
        cells = max(self.n_nodes, CELLS_AT_ONCE)
        # The counts are held twice while they are brought into the table's order.
        return 2 * min(4 * self._counts.n_nodes * self._counts.n_parts, COUNTS_BYTES) + 10 * 8 * cells

    @property
    def count_rows(self) -> int:
        """Rows that one walk over the lattice of linked attributes handles at most."""
        return self._counts.n_nodes * (self._counts.n_parts + self.context.dictionary.reduced.size)

    def evaluate(self, rows: npt.NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        """|ρ|, Φ and u of some distinct records at every node, each (nodes, rows)."""
        n = len(rows)
        weights, utility = np.zeros((1, n)), np.zeros((1, n))
        for j, axis in enumerate(self.axes):
            codes = self.codes[rows, j]
            weights = _spread(weights, self._weights(axis, j, codes, rows))
            utility = _spread(utility, axis.utility[:, codes])
        phi = self.context.sensitivity.of_sum(weights.reshape(-1)).reshape(weights.shape)
        return self._counts_of(rows), phi, utility

    def beyond_top(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_] | None:
        """Nodes (nodes, rows) that repeat ⊥ above a record's own lattice; None if there are none."""
        beyond = np.zeros((1, len(rows)), dtype=bool)
        for j, axis in enumerate(self.axes):
            above = np.arange(axis.n_levels)[:, None] > axis.depth[self.codes[rows, j]]
            beyond = (beyond[:, None, :] | above[None, :, :]).reshape(-1, len(rows))
        return beyond if beyond.any() else None

    def _weights(self, axis: Axis, j: int, codes: Ints, rows: npt.NDArray[np.int64]) -> Floats:
        own, unit = axis.own[:, codes], axis.unit[:, codes]
        factors = self.context.sensitivity.factors[:, j]
        if np.isnan(factors).all():
            return own
        factor = factors[self._profiles.groups[self._profile[rows]]]
        with np.errstate(invalid="ignore"):
            scaled = np.where(unit == 0.0, 0.0, factor * unit)
        return np.where(np.isnan(factor), own, scaled)

    def _counts_of(self, rows: npt.NDArray[np.int64]) -> Floats:
        """|ρ| as the absent policy defines it, broadcast over the attributes that are not linked."""
        linked = self._linked_counts(rows)
        shape = [axis.n_levels if axis.linked else 1 for axis in self.axes]
        counts = np.broadcast_to(linked.reshape(*shape, len(rows)), (*self.shape, len(rows)))
        whole = counts.reshape(self.n_nodes, len(rows)).astype(np.float64)
        if self._profiles.thresholds is not None:
            thresholds = self._profiles.thresholds[self._profile[rows]]
            own = np.ones((1, len(rows)), dtype=bool)
            for j, size in enumerate(self.shape):
                reached = np.arange(size)[:, None] >= thresholds[:, j]
                own = (own[:, None, :] & reached[None, :, :]).reshape(-1, len(rows))
            whole += ~own
        return whole

    @property
    def fits(self) -> bool:
        """Whether the counts of all records at all nodes may be held at once."""
        return 4 * self._counts.n_nodes * self._counts.n_parts <= COUNTS_BYTES

    @property
    def rows_that_fit(self) -> int:
        """Distinct records whose counts may be held at once."""
        return max(1, COUNTS_BYTES // (4 * self._counts.n_nodes))

    def prepare(self, rows: range, visit: Callable[[], None]) -> None:
        """Count for a range of distinct records, or for all once and for good if that fits."""
        wanted = range(self.n_distinct) if self.fits else rows
        if self._counted is None or self._counted[0] != wanted:
            counts = self._counts
            if not self.fits:
                counts = LinkedCounts(self.context, self.axes, self.codes[rows.start : rows.stop])
            self._counted = wanted, counts, counts.everywhere(visit)

    def _linked_counts(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
        if self._counted is None:
            raise ValueError("counts are prepared before they are used")
        counted, counts, table = self._counted
        return table[:, counts.part_of[rows - counted.start]]


def _spread(values: Floats, terms: Floats) -> Floats:
    """(nodes, rows) from the sums over the attributes so far and the terms (levels, rows) of the next."""
    spread: Floats = (values[:, None, :] + terms[None, :, :]).reshape(-1, values.shape[1])
    return spread


class RecordPlan:
    """Solves every distinct record; a block is a range of them."""

    def __init__(self, instance: RecordInstance, branch_and_bound: bool, max_nodes: int | None) -> None:
        self._instance = instance
        self._branch_and_bound = branch_and_bound
        self._max_nodes = max_nodes
        self.solver = "branch_and_bound" if branch_and_bound else "enumeration"
        self.units = instance.n_distinct
        per_block = (
            SEARCHES_PER_BLOCK if branch_and_bound else max(1, int(CELLS_PER_BLOCK // instance.n_nodes))
        )
        if not instance.fits:
            # Every block counts for itself: as few of them as memory allows.
            per_block = instance.rows_that_fit
        self.n_blocks = max(1, math.ceil(self.units / per_block))

    @property
    def seconds(self) -> float:
        """Estimated time to solve all distinct records."""
        cells = self.units * self._instance.n_nodes * SECONDS_PER_CELL
        walks = 1 if self._instance.fits else self.n_blocks
        cells += walks * self._instance.count_rows * SECONDS_PER_COUNT_ROW
        return cells + (self.units * SECONDS_PER_SEARCH if self._branch_and_bound else 0.0)

    @property
    def n_bytes(self) -> int:
        return self._instance.n_bytes

    def run_block(self, index: int, tick: Callable[[int], None]) -> bytes:
        """The optima of the block's records as packed rows."""
        first, last = (self.units * i // self.n_blocks for i in (index, index + 1))
        found = np.zeros(last - first, dtype=RESULT)
        self._instance.prepare(range(first, last), lambda: tick(0))
        at_once = max(1, CELLS_AT_ONCE // self._instance.n_nodes)
        for start in range(first, last, at_once):
            rows = np.arange(start, min(last, start + at_once))
            self._solve(rows, found[start - first : start - first + len(rows)], tick, start - first)
            tick(start - first + len(rows))
        return found.tobytes()

    def _solve(
        self, rows: npt.NDArray[np.int64], found: npt.NDArray[np.void], tick: Callable[[int], None], done: int
    ) -> None:
        counts, phi, utility = self._instance.evaluate(rows)
        if self._branch_and_bound:
            for i in range(len(rows)):
                self._search(counts[:, i], phi[:, i], utility[:, i], found[i : i + 1])
                tick(done + i + 1)
            return
        risk = loss_of(phi, counts)
        beyond = self._instance.beyond_top(rows)
        if beyond is not None:
            # A node that repeats another is no tie of it; the other comes first and is never lost.
            risk[beyond] = np.inf
        choice = choose(risk, utility, self._instance.problem)
        found["node"], found["code"], found["reach"] = choice.node, choice.code, choice.reach
        found["ties"], found["bound"] = choice.ties, choice.value
        found["risk"] = risk[choice.node, np.arange(len(rows))]
        for counter in ("visited", "risks", "utilities"):
            found[counter] = self._instance.n_nodes

    def _search(self, counts: Floats, phi: Floats, utility: Floats, found: npt.NDArray[np.void]) -> None:
        shape = self._instance.shape
        instance = CanonicalInstance(
            counts.astype(np.int64).reshape(shape), phi.reshape(shape), utility.reshape(shape)
        )
        budget = None if self._max_nodes is None else max(1, self._max_nodes // self.units)
        best = search_boxes(instance, self._instance.problem, budget)
        found["node"] = -1 if best.node is None else np.ravel_multi_index(best.node, shape)
        found["code"], found["truncated"], found["risk"] = best.code, best.truncated, best.risk
        found["bound"], found["reach"], found["ties"] = best.bound, best.reach, 1
        found["visited"], found["risks"] = best.visited_nodes, best.risk_evaluations
        found["utilities"] = best.utility_evaluations

    def combine(self, blocks: Sequence[bytes]) -> Outcome:
        """The rule of all records, or what keeps some of them from having one."""
        instance, problem = self._instance, self._instance.problem
        found = np.frombuffer(b"".join(blocks), dtype=RESULT)
        weight = instance.multiplicity
        infeasible, prohibited = found["code"] == INFEASIBLE, found["code"] == PROHIBITED
        tied = (found["ties"] > 1) & (found["code"] == OPTIMAL)
        truncated = bool(found["truncated"].any())
        status: Status = "heuristic" if truncated else "optimal"
        rule = assessment = objective = bounds = shortfall = None
        if infeasible.any():
            status = "infeasible"
            reach = found["reach"][infeasible]
            worst = float(reach.min() if problem.objective == "min_risk" else reach.max())
            shortfall = shortfall_of(problem, worst, int(weight[infeasible].sum()))
        elif prohibited.any():
            status = "prohibited"
        elif (found["node"] >= 0).all():
            rule = record_rule_of(found["node"][instance.of_record], instance.shape)
            assessment, objective = score(instance.context, problem, rule)
            bounds = proven(problem, objective)
            if truncated:
                lower = exact_sum(found["bound"] * weight) / int(weight.sum())
                bounds = Bounds(lower, max(0.0, bounds.lower - lower))
        return Outcome(
            problem=problem,
            solver=self.solver,
            status=status,
            rule=rule,
            assessment=assessment,
            objective=objective,
            ties=None if self._branch_and_bound else int(weight[tied].sum()),
            bounds=bounds,
            shortfall=shortfall,
            prohibited_records=int(weight[prohibited].sum()),
            absent=instance.n_absent,
            n_rules=instance.n_nodes,
            counters=Counters(*(int(found[name].sum()) for name in ("visited", "risks", "utilities"))),
            risk_map=None,
            attributes=instance.context.table.attributes,
        )
