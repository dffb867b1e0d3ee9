"""Optimal record-level rules under the per-record constraint Δ̂: every distinct record on its own lattice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from app.domain.numbers import exact_sum
from app.domain.search.axes import Floats, Longs
from app.domain.search.boxes import search_boxes
from app.domain.search.canonical import ScoredLattice
from app.domain.search.outcome import Bounds, Counters, Outcome, Status, proven, score, shortfall_of
from app.domain.search.problem import Problem
from app.domain.search.record_instance import RecordInstance
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED, choose

CELLS_PER_BLOCK = 1.5e7
SEARCHES_PER_BLOCK = 500
SECONDS_PER_SEARCH = 8e-4

RESULT = np.dtype(
    [
        ("node", "<i8"), ("code", "<i1"), ("truncated", "<i1"), ("ties", "<i8"), ("risk", "<f8"),
        ("bound", "<f8"), ("reach", "<f8"), ("visited", "<i8"), ("risks", "<i8"), ("utilities", "<i8"),
    ]
)  # fmt: skip


class RecordPlan:
    """Solves every distinct record; a block is a range of them."""

    def __init__(
        self, instance: RecordInstance, asked: Problem, branch_and_bound: bool, max_nodes: int | None
    ) -> None:
        self._instance = instance
        self._asked = asked
        self._problem = asked.in_utility(instance.context.utility)
        self._branch_and_bound = branch_and_bound
        self._max_nodes = max_nodes
        self.solver = "branch_and_bound" if branch_and_bound else "enumeration"
        self.units = instance.n_distinct
        per_block = (
            SEARCHES_PER_BLOCK if branch_and_bound else max(1, int(CELLS_PER_BLOCK // instance.n_nodes))
        )
        if instance.rows_that_fit is not None:
            # Every block counts for itself: as few of them as memory allows.
            per_block = instance.rows_that_fit
        self.n_blocks = max(1, math.ceil(self.units / per_block))

    @property
    def seconds(self) -> float:
        """Estimated time to solve all distinct records."""
        searches = self.units * SECONDS_PER_SEARCH if self._branch_and_bound else 0.0
        return self._instance.seconds(self.n_blocks) + searches

    @property
    def n_bytes(self) -> int:
        return self._instance.n_bytes

    def run_block(self, index: int, tick: Callable[[int], None]) -> bytes:
        """The optima of the block's records as packed rows."""
        first, last = (self.units * i // self.n_blocks for i in (index, index + 1))
        found = np.zeros(last - first, dtype=RESULT)
        self._instance.prepare(range(first, last), lambda: tick(0))
        at_once = self._instance.rows_at_once
        for start in range(first, last, at_once):
            rows = np.arange(start, min(last, start + at_once))
            self._solve(rows, found[start - first : start - first + len(rows)], tick, start - first)
            tick(start - first + len(rows))
        return found.tobytes()

    def _solve(
        self, rows: Longs, found: npt.NDArray[np.void], tick: Callable[[int], None], done: int
    ) -> None:
        lattices = self._instance.evaluate(rows)
        risk, utility = lattices.risk, lattices.utility
        if self._branch_and_bound:
            bounds = self._instance.bounds(rows, lattices)
            for i in range(len(rows)):
                self._search(risk[:, i], bounds[:, i], utility[:, i], found[i : i + 1])
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

    def _search(self, risk: Floats, bounds: Floats, utility: Floats, found: npt.NDArray[np.void]) -> None:
        shape = self._instance.shape
        lattice = ScoredLattice(risk.reshape(shape), bounds.reshape(shape), utility.reshape(shape))
        budget = None if self._max_nodes is None else max(1, self._max_nodes // self.units)
        best = search_boxes(lattice, self._problem, budget)
        found["node"] = -1 if best.node is None else np.ravel_multi_index(best.node, shape)
        found["code"], found["truncated"], found["risk"] = best.code, best.truncated, best.risk
        found["bound"], found["reach"], found["ties"] = best.bound, best.reach, 1
        found["visited"], found["risks"] = best.visited_nodes, best.risk_evaluations
        found["utilities"] = best.utility_evaluations

    def combine(self, blocks: Sequence[bytes]) -> Outcome:
        """The rule of all records, or what keeps some of them from having one."""
        instance, problem = self._instance, self._problem
        found = np.frombuffer(b"".join(blocks), dtype=RESULT)
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
            ties=None if self._branch_and_bound else int(weight[tied].sum()),
            bounds=bounds,
            shortfall=shortfall,
            prohibited_records=int(weight[prohibited].sum()),
            absent=instance.n_absent,
            n_rules=instance.n_nodes,
            counters=Counters(*(int(found[name].sum()) for name in ("visited", "risks", "utilities"))),
            risk_map=None,
            attributes=instance.context.table.attributes,
            not_monotone=not instance.context.harm_is_monotone,
        )
