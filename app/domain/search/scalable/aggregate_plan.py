"""The aggregate objective for all records of a table, every distinct record on its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from app.domain.errors import InvalidInput, NotSupported
from app.domain.search.axes import Longs
from app.domain.search.budget import UNLIMITED, Budget, Halted, HaltedError, never
from app.domain.search.context import SearchContext
from app.domain.search.outcome import Bounds, Counters, Outcome, Status, proven, score
from app.domain.search.problem import Problem
from app.domain.search.record_blocks import UNSOLVED, RecordBlocks, mean_of_records
from app.domain.search.scalable.aggregate import aggregate_values, power
from app.domain.search.scalable.aggregate_options import AggregateOptions
from app.domain.search.scalable.aggregate_records import (
    HALTED,
    Floats,
    Records,
    records_for,
    result_type,
)
from app.domain.search.scalable.chain_checks import refusal
from app.domain.search.selection import PROHIBITED, choose
from app.domain.search.solvers import AUTO, Auto, Enumeration, Solver


class AggregatePlan:
    """Solves every distinct record; a block is a range of them."""

    def __init__(self, context: SearchContext, problem: Problem, records: Records) -> None:
        self._context = context
        self._problem = problem
        self._records = records
        self.solver = records.name
        self.units = records.n_distinct
        self.n_blocks = max(1, math.ceil(self.units / records.rows_per_block))
        self._blocks = RecordBlocks(self.units, self.n_blocks, result_type(context.table.n_attributes))

    @property
    def seconds(self) -> float:
        """Estimated time to solve all distinct records."""
        return self._records.seconds

    @property
    def n_bytes(self) -> int:
        """Estimated memory: that of the way chosen for the records."""
        return self._records.n_bytes

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """The optima of the block's records as packed rows; those that a halt leaves out are UNSOLVED."""
        rows = self._blocks.rows(index)
        found = self._blocks.unsolved(len(rows))
        try:
            self._records.solve(rows, found, tick, halted)
        except HaltedError:
            return found.tobytes()
        return found.tobytes()

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The rule of all records, or what prohibits every disclosure of some of them."""
        found = self._blocks.joined(blocks)
        left = np.flatnonzero(found["code"] == UNSOLVED)
        if len(left):
            self._stand_in(found, left)
        prohibited = found["code"] == PROHIBITED
        truncated = bool(found["truncated"].any())
        status: Status = "prohibited" if prohibited.any() else "heuristic" if truncated else "optimal"
        rule = scored = objective = bounds = None
        if not prohibited.any():
            rule = self._records.rule_of(found["steps"])
            scored, _ = score(self._context, self._problem, rule)
            objective = self._mean(found["value"])
            bounds = proven(self._problem, objective)
            if truncated:
                upper = max(objective, self._mean(found["bound"]))
                bounds = Bounds(-upper, upper - objective if math.isfinite(objective) else 0.0)
        complete = not len(left) and not (found["truncated"] == HALTED).any()
        tied = (found["ties"] > 1) & ~prohibited
        return Outcome(
            problem=self._problem,
            solver=self.solver,
            status=status,
            rule=rule,
            score=scored,
            objective=objective,
            records_with_ties=int(self._records.multiplicity[tied].sum())
            if self.solver == "enumeration" and complete
            else None,
            bounds=bounds,
            shortfall=None,
            prohibited_records=int(self._records.multiplicity[prohibited].sum()),
            absent=self._records.n_absent,
            n_rules=math.prod(height + 1 for height in self._context.table.heights),
            counters=Counters(*[int(found["visited"].sum())] * 3),
            risk_map=None,
            attributes=self._context.table.attributes,
            not_monotone=not self._context.harm_is_monotone,
            complete=complete,
        )

    def _mean(self, values: Floats) -> float:
        return mean_of_records(self._context, self._records.mass, values)

    def _stand_in(self, found: npt.NDArray[np.void], left: Longs) -> None:
        """Fill the rows of records that were not solved: the better of all and nothing, f bounded roughly."""
        table, options = self._context.table, self._problem.aggregate_options or AggregateOptions()
        first = np.zeros(self.units, dtype=np.int64)
        first[self._records.of_record[::-1]] = np.arange(table.n_records)[::-1]
        tried = []
        tops = np.minimum(
            np.stack([h.depth[table.codes[first, j]] for j, h in enumerate(table.hierarchies)], axis=1),
            2**15 - 1,
        ).astype(np.int16)
        for steps in (np.zeros_like(tops), tops):
            scored, _ = score(self._context, self._problem, self._records.rule_of(steps))
            if scored.assessment is None:
                raise ValueError("the aggregate objective knows one dictionary")
            records = scored.assessment.records
            tried.append((records.counts[first], records.phi[first], records.utility[first], steps))
        counts, phi, utility = (np.stack([one[i] for one in tried]) for i in range(3))
        values = aggregate_values(counts.astype(np.float64), phi, utility, self._problem.threshold, options)
        choice = choose(-values, utility, Problem("lagrangian", 0.0, "record_level"))
        found["code"][left] = choice.code[left]
        found["steps"][left] = np.where(choice.node[left, None] == 0, tried[0][3][left], tried[1][3][left])
        found["value"][left] = values[choice.node, np.arange(self.units)][left]
        found["truncated"][left] = HALTED
        gained = np.array([power(u, options.kappa) for u in utility[0, left].tolist()])
        safest = self._problem.threshold * counts[1, left] / self._least_phi(options)
        found["bound"][left] = np.maximum(found["value"][left], safest + gained)

    def _least_phi(self, options: AggregateOptions) -> float:
        """A positive number that no positive Φ is below; it bounds f by λN/φ + u(0)^κ."""
        sensitivity = self._context.sensitivity
        if options.phi_offset is not None:
            return options.phi_offset
        if sensitivity.family == "constant":
            return sensitivity.constant or math.inf
        if sensitivity.family == "multiplicative":
            return 1.0
        every = np.arange(sensitivity.n_groups, dtype=np.int32)
        weights = [
            sensitivity.weights(j, np.full(len(every), node, dtype=np.int32), every)
            for j, size in enumerate(self._context.table.sizes)
            for node in range(size)
        ]
        weights += [one.weights for one in sensitivity.interactions]
        flat = np.concatenate(weights)
        positive = flat[flat > 0]
        if (flat < 0).any():
            return float(np.finfo(np.float64).tiny)
        least = float(positive.min(initial=math.inf))
        return math.expm1(least) if sensitivity.family == "multiplicative_centered" else least


def plan_aggregate(
    context: SearchContext, problem: Problem, solver: Solver = AUTO, budget: Budget = UNLIMITED
) -> AggregatePlan:
    """Plan the aggregate objective.

    NotSupported with the alternatives for other scopes, views and models, hierarchies that are no trees and
    methods that need an additive Φ; InvalidInput where nobody is consistent with a record.
    """
    options = problem.aggregate_options or AggregateOptions()
    if not isinstance(solver, Auto | Enumeration):
        raise NotSupported(
            f"{solver.name} does not search for the aggregate objective.",
            "Leave the solver at auto and choose the objective's method.",
        )
    reason = refusal(context, problem)
    if reason is not None:
        raise NotSupported.because(f"The aggregate objective does not apply. {reason}")
    for hierarchy in context.table.hierarchies:
        hierarchy.require_tree("The aggregate objective")
    records = records_for(context, problem, options, solver, budget)
    if records.n_absent and problem.absent_policy != "add_self":
        raise InvalidInput.of(
            "/absent_policy",
            "absent-records",
            f"{records.n_absent} records have no consistent entity: without one, 1/risk has no meaning.",
            "Choose the absent policy add_self, or complete the dictionary.",
        )
    return AggregatePlan(context, problem, records)
