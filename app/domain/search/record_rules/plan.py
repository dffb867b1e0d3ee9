"""Optimal record-level rules under the per-record constraint Δ̂: every distinct record on its own lattice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats
from app.domain.counting.calibration import BYTES_PER_SCORED_RECORD, SECONDS_PER_SCORED_RECORD
from app.domain.counting.threads import in_order
from app.domain.search.budget import UNLIMITED, Budget, Halted, stop_if
from app.domain.search.lattices.search import LatticeSolver, search_lattice, seconds_of
from app.domain.search.outcome import Outcome
from app.domain.search.problem import Problem
from app.domain.search.record_risk import ScoredLattice
from app.domain.search.record_rules.blocks import (
    HALTED,
    UNSOLVED,
    RecordSearch,
    block_of,
    bounds_of,
    popular,
    try_on_all,
    write_found,
)
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.record_rules.optima import optima_of
from app.domain.search.selection import INFEASIBLE, OPTIMAL, choose
from app.domain.search.solvers import Aruba, Enumeration

SEARCHES_PER_BLOCK = 500

RESULT = np.dtype(
    [
        ("node", "<i4"), ("code", "<i1"), ("truncated", "<i1"), ("ties", "<i4"), ("risk", "<f8"),
        ("bound", "<f8"), ("reach", "<f8"), ("visited", "<u4"), ("risks", "<u4"), ("utilities", "<u4"),
    ]
)  # fmt: skip


class RecordPlan(RecordSearch):
    """Solves every distinct record; a block is a range of them."""

    def __init__(
        self,
        instance: RecordInstance,
        asked: Problem,
        solver: Enumeration | LatticeSolver,
        budget: Budget = UNLIMITED,
    ) -> None:
        self._instance = instance
        self._how = None if isinstance(solver, Enumeration) else solver
        self.solver = solver.name
        self._budget = budget.shared_by(instance.n_distinct)
        # Where every block counts for itself, there are as few of them as memory allows.
        is_long = self._how is not None and instance.rows_that_fit is None
        self._optima = optima_of(instance, asked.in_utility(instance.context.utility))
        per_block = instance.rows_per_block if self._how else self._optima.rows_per_block
        super().__init__(asked, instance, RESULT, SEARCHES_PER_BLOCK if is_long else per_block)

    @property
    def seconds(self) -> float:
        """Estimated time to solve all distinct records."""
        heights = tuple(size - 1 for size in self._instance.shape)
        each = seconds_of(self._how, heights, self._budget) if self._how else 0.0
        if not self._how:
            counted = self._instance.counting_seconds(self.n_blocks)
            scored = self._instance.context.table.n_records * SECONDS_PER_SCORED_RECORD
            return counted + self.units * self._optima.seconds_per_record + scored
        return self._instance.seconds(self.n_blocks) + self.units * each

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the instance, two copies of the results, and the score of the rule found."""
        scored = self._instance.context.table.n_records * BYTES_PER_SCORED_RECORD
        return self._instance.n_bytes + 2 * self.units * RESULT.itemsize + scored

    @staticmethod
    def _visit(tick: Callable[[int], None], halted: Halted) -> None:
        tick(0)
        stop_if(halted)

    def _solve(
        self, rows: range, found: npt.NDArray[np.void], tick: Callable[[int], None], halted: Halted
    ) -> None:
        self._instance.prepare(rows, lambda: self._visit(tick, halted))
        if self._how is not None:
            self._search_each(self._how, rows, found, tick, halted)
            return
        n_pieces = math.ceil(len(rows) / self._optima.rows_at_once)

        def choose_some(piece: range) -> int:
            some = np.arange(rows.start + piece.start, rows.start + piece.stop)
            of_some = found[piece.start : piece.stop]
            choice, of_some["risk"] = self._optima.of(some)
            of_some["node"], of_some["code"], of_some["reach"] = choice.node, choice.code, choice.reach
            # A bound is of what is minimised, the value of what was asked for.
            sign = -1.0 if self._problem.objective.kind == "max_utility" else 1.0
            of_some["ties"], of_some["bound"] = choice.ties, sign * choice.value
            # Beyond a record's own top nodes only repeat it: they are not looked at.
            own = self._instance.n_own_nodes(some)
            for counter in ("visited", "risks", "utilities"):
                of_some[counter] = own
            return piece.stop

        pieces = takewhile(
            lambda _: not halted(), (block_of(len(rows), n_pieces, i) for i in range(n_pieces))
        )
        for done in in_order(choose_some, pieces, self._instance.context.threads):
            tick(done)

    def _search_each(
        self,
        how: LatticeSolver,
        rows: range,
        found: npt.NDArray[np.void],
        tick: Callable[[int], None],
        halted: Halted,
    ) -> None:
        at_once = self._instance.rows_at_once
        for start in range(0, len(rows), at_once):
            if halted():
                return
            some = np.arange(rows.start + start, rows.start + min(len(rows), start + at_once))
            lattices = self._instance.evaluate(some)
            risk, utility = lattices.risk, lattices.utility
            bounds, tops = self._instance.bounds(some, lattices), self._instance.tops(some).tolist()
            for i in range(len(some)):
                if halted():
                    return
                lattice = self._lattice(tops[i], risk[:, i], bounds[:, i], utility[:, i])
                self._search(how, lattice, int(some[i]), found[start + i : start + i + 1], halted)
                tick(start + i + 1)

    def _lattice(self, tops: Sequence[int], risk: Floats, bounds: Floats, utility: Floats) -> ScoredLattice:
        """The record's own lattice, without the nodes that repeat its top."""
        if isinstance(self._how, Aruba) and (bounds < risk).any():
            # Nobody is consistent with the record: as it is it has risk 0 (Definitions: absent records).
            tops = [0] * len(tops)
        own = tuple(slice(top + 1) for top in tops)
        shape = self._instance.shape
        return ScoredLattice(*(part.reshape(shape)[own] for part in (risk, bounds, utility)))

    def _search(
        self,
        how: LatticeSolver,
        lattice: ScoredLattice,
        row: int,
        found: npt.NDArray[np.void],
        halted: Halted,
    ) -> None:
        shape, moves = self._instance.shape, self._instance.moves(row)
        best = search_lattice(lattice, self._problem, how, self._budget, halted=halted, moves=moves)
        found["node"] = -1 if best.node is None else np.ravel_multi_index(best.node, shape)
        found["risk"], found["ties"] = best.risk, 1
        write_found(found, best)

    def _completed(self, blocks: Mapping[int, bytes]) -> tuple[npt.NDArray[np.void], bool]:
        """What was found for every record, and whether all were searched; of the others, a first choice."""
        instance, problem = self._instance, self._problem
        found = self._joined(blocks)
        left = np.flatnonzero(found["code"] == UNSOLVED)
        if not len(left):
            return found, True
        nodes = np.where(found["code"] == OPTIMAL, found["node"], -1)
        tried = try_on_all(instance, problem, popular(nodes, instance.multiplicity))
        choice = choose(tried.risk[:, left], tried.utility[:, left], problem.objective)
        has_node = choice.code == OPTIMAL
        # Of the nodes that were tried, only the identity proves that there is none above a floor.
        is_proved = (choice.code == INFEASIBLE) & (problem.objective.kind == "min_risk")
        found["code"][left] = np.where(is_proved, INFEASIBLE, OPTIMAL)
        found["node"][left] = np.where(has_node, tried.nodes[choice.node], -1)
        found["risk"][left] = tried.risk[choice.node, left]
        found["bound"][left] = bounds_of(instance, problem, tried)[left]
        found["reach"][left], found["truncated"][left] = choice.reach, 1
        return found, False

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The rule of all records, or what keeps some of them from having one."""
        instance = self._instance
        found, complete = self._completed(blocks)
        complete &= not (found["truncated"] == HALTED).any()
        nodes = np.ascontiguousarray(found["node"])
        outcome = self._outcome(
            found,
            found["reach"],
            # None if a search found no node for one of the records.
            lambda: instance.rule_of(nodes[instance.of_record]) if (nodes >= 0).all() else None,
            is_open=bool(found["truncated"].any()),
            n_absent=instance.n_absent,
            n_rules=instance.n_nodes,
        )
        tied = (found["ties"] > 1) & (found["code"] == OPTIMAL)
        return replace(
            outcome,
            records_with_ties=None if self._how or not complete else self._records(tied),
            complete=complete,
        )
