"""Optimal record-level rules under the per-record constraint Δ̂: every distinct record on its own lattice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from app.domain.numbers import exact_sum
from app.domain.search.axes import Floats, Longs
from app.domain.search.budget import UNLIMITED, Budget, Halted, HaltedError, never, stop_if
from app.domain.search.canonical import ScoredLattice
from app.domain.search.lattice_search import LatticeSolver, search_lattice
from app.domain.search.outcome import Bounds, Counters, Outcome, Status, proven, score, shortfall_of
from app.domain.search.problem import Problem
from app.domain.search.record_instance import RecordInstance
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED, choose
from app.domain.search.solvers import Enumeration
from app.domain.search.unsolved import bounds_of, popular, try_on_all

CELLS_PER_BLOCK = 1.5e7
SEARCHES_PER_BLOCK = 500
SECONDS_PER_SEARCH = 8e-4

UNSOLVED = 3
HALTED = 2
"""Of ``truncated``: it was not the budget that ended the search of a record."""

RESULT = np.dtype(
    [
        ("node", "<i8"), ("code", "<i1"), ("truncated", "<i1"), ("ties", "<i8"), ("risk", "<f8"),
        ("bound", "<f8"), ("reach", "<f8"), ("visited", "<i8"), ("risks", "<i8"), ("utilities", "<i8"),
    ]
)  # fmt: skip


class RecordPlan:
    """Solves every distinct record; a block is a range of them."""

    def __init__(
        self,
        instance: RecordInstance,
        asked: Problem,
        solver: Enumeration | LatticeSolver,
        budget: Budget = UNLIMITED,
    ) -> None:
        self._instance = instance
        self._asked = asked
        self._problem = asked.in_utility(instance.context.utility)
        self._how = None if isinstance(solver, Enumeration) else solver
        self.solver = solver.name
        self.units = instance.n_distinct
        self._budget = budget
        if budget.max_nodes is not None:
            self._budget = replace(budget, max_nodes=max(1, budget.max_nodes // self.units))
        per_block = SEARCHES_PER_BLOCK if self._how else max(1, int(CELLS_PER_BLOCK // instance.n_nodes))
        if instance.rows_that_fit is not None:
            # Every block counts for itself: as few of them as memory allows.
            per_block = instance.rows_that_fit
        self.n_blocks = max(1, math.ceil(self.units / per_block))

    @property
    def seconds(self) -> float:
        """Estimated time to solve all distinct records."""
        searches = self.units * SECONDS_PER_SEARCH if self._how else 0.0
        return self._instance.seconds(self.n_blocks) + searches

    @property
    def n_bytes(self) -> int:
        return self._instance.n_bytes

    @staticmethod
    def _visit(tick: Callable[[int], None], halted: Halted) -> None:
        tick(0)
        stop_if(halted)

    def _rows(self, index: int) -> range:
        first, last = (self.units * i // self.n_blocks for i in (index, index + 1))
        return range(first, last)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """The optima of the block's records as packed rows; those that a halt leaves out are UNSOLVED."""
        first, last = self._rows(index).start, self._rows(index).stop
        found = np.zeros(last - first, dtype=RESULT)
        found["code"] = UNSOLVED
        try:
            self._instance.prepare(range(first, last), lambda: self._visit(tick, halted))
        except HaltedError:
            return found.tobytes()
        at_once = self._instance.rows_at_once
        for start in range(first, last, at_once):
            if halted():
                break
            rows = np.arange(start, min(last, start + at_once))
            self._solve(rows, found[start - first : start - first + len(rows)], tick, halted, start - first)
            tick(start - first + len(rows))
        return found.tobytes()

    def _solve(
        self,
        rows: Longs,
        found: npt.NDArray[np.void],
        tick: Callable[[int], None],
        halted: Halted,
        done: int,
    ) -> None:
        lattices = self._instance.evaluate(rows)
        risk, utility = lattices.risk, lattices.utility
        if self._how is not None:
            bounds = self._instance.bounds(rows, lattices)
            for i in range(len(rows)):
                if halted():
                    return
                self._search(self._how, risk[:, i], bounds[:, i], utility[:, i], found[i : i + 1], halted)
                tick(done + i + 1)
            return
        beyond = self._instance.beyond_top(rows)
        if beyond is not None:
            # A node that repeats another is no tie of it; the other comes first and is never lost.
            risk[beyond] = np.inf
        choice = choose(risk, utility, self._problem)
        found["node"], found["code"], found["reach"] = choice.node, choice.code, choice.reach
        found["ties"], found["bound"] = choice.ties, choice.value
        found["risk"] = risk[choice.node, np.arange(len(rows))]
        for counter in ("visited", "risks", "utilities"):
            found[counter] = self._instance.n_nodes

    def _search(
        self,
        how: LatticeSolver,
        risk: Floats,
        bounds: Floats,
        utility: Floats,
        found: npt.NDArray[np.void],
        halted: Halted,
    ) -> None:
        shape = self._instance.shape
        lattice = ScoredLattice(risk.reshape(shape), bounds.reshape(shape), utility.reshape(shape))
        best = search_lattice(lattice, self._problem, how, self._budget, halted=halted)
        found["node"] = -1 if best.node is None else np.ravel_multi_index(best.node, shape)
        found["code"], found["risk"] = best.code, best.risk
        found["truncated"] = HALTED if best.halted else best.truncated
        found["bound"], found["reach"], found["ties"] = best.bound, best.reach, 1
        found["visited"], found["risks"] = best.visited_nodes, best.risk_evaluations
        found["utilities"] = best.utility_evaluations

    def _joined(self, blocks: Mapping[int, bytes]) -> tuple[npt.NDArray[np.void], bool]:
        """What was found for every record, and whether all were searched; of the others, a first choice."""
        instance, problem = self._instance, self._problem
        found = np.zeros(self.units, dtype=RESULT)
        found["code"], found["node"] = UNSOLVED, -1
        for index, block in blocks.items():
            rows = self._rows(index)
            found[rows.start : rows.stop] = np.frombuffer(block, dtype=RESULT)
        left = np.flatnonzero(found["code"] == UNSOLVED)
        if not len(left):
            return found, True
        nodes = np.where(found["code"] == OPTIMAL, found["node"], -1)
        tried = try_on_all(instance, problem, popular(nodes, instance.multiplicity))
        choice = choose(tried.risk[:, left], tried.utility[:, left], problem)
        has_node = choice.code == OPTIMAL
        # Of the nodes that were tried, only the identity proves that there is none above a floor.
        is_proved = (choice.code == INFEASIBLE) & (problem.objective == "min_risk")
        found["code"][left] = np.where(is_proved, INFEASIBLE, OPTIMAL)
        found["node"][left] = np.where(has_node, tried.nodes[choice.node], -1)
        found["risk"][left] = tried.risk[choice.node, left]
        found["bound"][left] = bounds_of(instance, problem, tried)[left]
        found["reach"][left], found["truncated"][left] = choice.reach, 1
        return found, False

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The rule of all records, or what keeps some of them from having one."""
        instance, problem = self._instance, self._problem
        found, complete = self._joined(blocks)
        complete &= not (found["truncated"] == HALTED).any()
        weight = instance.multiplicity
        infeasible, prohibited = found["code"] == INFEASIBLE, found["code"] == PROHIBITED
        tied = (found["ties"] > 1) & (found["code"] == OPTIMAL)
        truncated = bool(found["truncated"].any())
        status: Status = "heuristic" if truncated else "optimal"
        rule = scored = objective = bounds = shortfall = None
        if infeasible.any():
            status = "infeasible"
            reach = found["reach"][infeasible]
            worst = float(reach.min() if problem.objective == "min_risk" else reach.max())
            shortfall = shortfall_of(instance.context, self._asked, worst, int(weight[infeasible].sum()))
        elif prohibited.any():
            status = "prohibited"
        elif (found["node"] >= 0).all():
            rule = instance.rule_of(found["node"][instance.of_record])
            scored, objective = score(instance.context, problem, rule)
            bounds = proven(problem, objective)
            if truncated:
                counted = instance.mass > 0
                lower = exact_sum((found["bound"] * instance.mass)[counted]) / instance.context.total_weight
                bounds = Bounds(lower, max(0.0, bounds.lower - lower))
        return Outcome(
            problem=self._asked,
            solver=self.solver,
            status=status,
            rule=rule,
            score=scored,
            objective=objective,
            ties=None if self._how or not complete else int(weight[tied].sum()),
            bounds=bounds,
            shortfall=shortfall,
            prohibited_records=int(weight[prohibited].sum()),
            absent=instance.n_absent,
            n_rules=instance.n_nodes,
            counters=Counters(*(int(found[name].sum()) for name in ("visited", "risks", "utilities"))),
            risk_map=None,
            attributes=instance.context.table.attributes,
            not_monotone=not instance.context.harm_is_monotone,
            complete=complete,
        )
