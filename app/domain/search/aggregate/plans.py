"""The scalable models for all records of a table, every distinct record on its own.

Planned are the aggregate objective and the approximation (Definitions: aggregate objective, approximation).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Longs
from app.domain.counting.calibration import (
    SECONDS_PER_FALLBACK,
    SECONDS_PER_FALLBACK_NODE,
    SECONDS_PER_PROGRAMME,
    SECONDS_PER_PROGRAMME_AND_LINK,
)
from app.domain.errors import InvalidInput, NotSupported, having
from app.domain.search.aggregate.approximation import (
    ROUNDING_OF_BOUND,
    Approximated,
    approximate,
    least_risk,
    require_acceptance,
)
from app.domain.search.aggregate.chain_records import NODES_LIMIT, ChainRecords, refusal, refusal_of_family
from app.domain.search.aggregate.objective import aggregate_values, power
from app.domain.search.aggregate.records import (
    HALTED,
    SECONDS_PER_BLOCK,
    Records,
    records_for,
    result_type,
    seconds_of_reading,
)
from app.domain.search.budget import UNLIMITED, Budget, Halted
from app.domain.search.context import SearchContext
from app.domain.search.objectives import AggregateObjective, Lagrangian
from app.domain.search.outcome import Bounds, Certificate, Counters, Outcome, Status, proven, score
from app.domain.search.problem import Problem
from app.domain.search.record_rules.blocks import UNSOLVED, RecordSearch
from app.domain.search.selection import INFEASIBLE, OPTIMAL, PROHIBITED, choose
from app.domain.search.solvers import Approx, Auto, Enumeration, Solver
from app.domain.tables.numbers import exact_sum, lowest_accepted

EXACT, FALLBACK = 1, 2
"""How a record was solved, if not by programmes: where that was plain, or for missing what was promised."""


class AggregatePlan(RecordSearch):
    """Solves every distinct record; a block is a range of them."""

    def __init__(
        self, context: SearchContext, problem: Problem, asked: AggregateObjective, records: Records
    ) -> None:
        self._context = context
        self._objective = asked
        self._method = records
        self.solver = records.name
        super().__init__(problem, records, result_type(context.table.n_attributes), records.rows_per_block)

    @property
    def seconds(self) -> float:
        """Estimated time to solve all distinct records."""
        return self._method.seconds

    @property
    def n_bytes(self) -> int:
        """Estimated memory: that of the way chosen for the records."""
        return self._method.n_bytes

    def _solve(
        self, rows: range, found: npt.NDArray[np.void], tick: Callable[[int], None], halted: Halted
    ) -> None:
        self._method.solve(rows, found, tick, halted)

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The rule of all records, or what prohibits every disclosure of some of them."""
        found = self._joined(blocks)
        left = np.flatnonzero(found["code"] == UNSOLVED)
        if len(left):
            self._stand_in(found, left)
        prohibited = found["code"] == PROHIBITED
        truncated = bool(found["truncated"].any())
        status: Status = "prohibited" if prohibited.any() else "heuristic" if truncated else "optimal"
        complete = not len(left) and not (found["truncated"] == HALTED).any()
        tied = self._records((found["ties"] > 1) & ~prohibited)
        outcome = replace(
            Outcome.of(
                self._context,
                self._problem,
                self.solver,
                status,
                None,
                absent=self._method.n_absent,
                n_rules=self._context.n_rules,
                counters=Counters(*[int(found["visited"].sum())] * 3),
            ),
            records_with_ties=tied if self.solver == "enumeration" and complete else None,
            prohibited_records=self._records(prohibited),
            complete=complete,
        )
        if prohibited.any():
            return outcome
        rule, objective = self._method.rule_of(found["steps"]), self._mean(found["value"])
        scored, _ = score(self._context, self._problem, rule)
        bounds = proven(self._problem, objective)
        if truncated:
            upper = max(objective, self._mean(found["bound"]))
            bounds = Bounds(-upper, upper - objective if math.isfinite(objective) else 0.0)
        return replace(outcome, rule=rule, score=scored, objective=objective, bounds=bounds)

    def _stand_in(self, found: npt.NDArray[np.void], left: Longs) -> None:
        """Fill the rows of records that were not solved: the better of all and nothing, f bounded roughly."""
        table, asked = self._context.table, self._objective
        first = np.zeros(self.units, dtype=np.int64)
        first[self._method.of_record[::-1]] = np.arange(table.n_records)[::-1]
        tried = []
        tops = np.minimum(
            np.stack([h.depth[table.codes[first, j]] for j, h in enumerate(table.hierarchies)], axis=1),
            2**15 - 1,
        ).astype(np.int16)
        for steps in (np.zeros_like(tops), tops):
            scored, _ = score(self._context, self._problem, self._method.rule_of(steps))
            if scored.assessment is None:
                raise ValueError("the aggregate objective knows one dictionary")
            records = scored.assessment.records
            tried.append((records.counts[first], records.phi[first], records.utility[first], steps))
        counts, phi, utility = (np.stack([one[i] for one in tried]) for i in range(3))
        values = aggregate_values(counts.astype(np.float64), phi, utility, asked)
        choice = choose(-values, utility, Lagrangian(0.0))
        found["code"][left] = choice.code[left]
        found["steps"][left] = np.where(choice.node[left, None] == 0, tried[0][3][left], tried[1][3][left])
        found["value"][left] = values[choice.node, np.arange(self.units)][left]
        found["truncated"][left] = HALTED
        gained = np.array([power(u, asked.kappa) for u in utility[0, left].tolist()])
        safest = asked.threshold * counts[1, left] / self._least_phi()
        found["bound"][left] = np.maximum(found["value"][left], safest + gained)

    def _least_phi(self) -> float:
        """A positive number that no positive Φ is below; it bounds f by λN/φ + u(0)^κ."""
        sensitivity = self._context.sensitivity
        if self._objective.phi_offset is not None:
            return self._objective.phi_offset
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
    context: SearchContext, problem: Problem, asked: AggregateObjective, solver: Solver, budget: Budget
) -> AggregatePlan:
    """Plan the aggregate objective, which the problem has.

    NotSupported with the alternatives for other scopes, views and models, hierarchies that are no trees and
    methods that need an additive Φ; InvalidInput where nobody is consistent with a record.
    """
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
    records = records_for(context, problem, asked, solver, budget)
    if records.n_absent and problem.absent_policy != "add_self":
        raise InvalidInput.of(
            "/absent_policy",
            "absent-records",
            f"{having(records.n_absent, 'record')} no consistent entity: without one, 1/risk has no meaning.",
            "Choose the absent policy add_self, or complete the dictionary.",
        )
    return AggregatePlan(context, problem, asked, records)


def plan_approximation(
    context: SearchContext, problem: Problem, parameters: Approx, budget: Budget = UNLIMITED
) -> ApproximationPlan:
    """Plan the approximation of a problem that :func:`approximation_refusal` admits.

    NotSupported for a budget of nodes or of the gap; InvalidInput for parameters that accept no rounding.
    """
    if budget != UNLIMITED:
        raise NotSupported(
            "The approximation visits no nodes and narrows no gap: it solves a fixed number of programmes.",
            "Leave max_nodes and relative_gap out; a time limit applies.",
        )
    return ApproximationPlan(context, problem, parameters)


def approximation_refusal(context: SearchContext, problem: Problem, parameters: Approx) -> str | None:
    """None if the approximation can solve a problem, else why not and what can."""
    if problem.objective.kind != "min_risk":
        return "The approximation is for min_risk. Choose another solver, or the objective aggregate."
    return refusal(context, problem) or refusal_of_family(context)


class ApproximationPlan(RecordSearch):
    """Approximates every distinct record; a block is a range of them."""

    solver = Approx.name

    def __init__(self, context: SearchContext, asked: Problem, parameters: Approx) -> None:
        self._parameters = parameters
        self._chains = ChainRecords(context, asked.absent_policy, asked.view)
        self._context = self._chains.context
        row_type = np.dtype(
            [
                ("steps", "<i2", (context.table.n_attributes,)), ("code", "<i1"), ("how", "<i1"),
                ("halted", "<i1"), ("met", "<i1"), ("risk", "<f8"), ("bound", "<f8"),
                ("programmes", "<i8"), ("trials", "<i8"), ("visited", "<i8"),
                ("inverse", "<f8"), ("promise", "<f8"),
            ]
        )  # fmt: skip
        super().__init__(asked, self._chains, row_type, 1)
        self.n_blocks = min(max(1, math.ceil(self.seconds / SECONDS_PER_BLOCK)), self.units)
        self._most = self._context.utility.of(context.table.codes[self._chains.first])
        floor = self._problem.objective.threshold
        top = self._context.utility.of(np.zeros((1, context.table.n_attributes), dtype=np.int32))[0]
        # A record with programmes to round must have something to accept.
        if floor > 0 and top < lowest_accepted(floor):
            require_acceptance(parameters, floor / max(floor, float(self._most.max())))

    @property
    def seconds(self) -> float:
        """Estimated time of all programmes, and of the exact solutions of half of the records."""
        table, size = self._context.table, self._context.dictionary.reduced.size
        lattice = self._context.n_rules
        rows = min(size, lattice)
        programmes = 2 + math.log(30.0) / math.log1p(self._parameters.epsilon)
        one = programmes * (
            SECONDS_PER_PROGRAMME + rows * table.n_attributes * SECONDS_PER_PROGRAMME_AND_LINK
        )
        fallback = (
            SECONDS_PER_FALLBACK + lattice * SECONDS_PER_FALLBACK_NODE if lattice <= NODES_LIMIT else 0.0
        )
        return self.units * (seconds_of_reading(self._context) + one + fallback / 2)

    @property
    def n_bytes(self) -> int:
        """Estimated memory: the records, one network, and its lattice where that is enumerated."""
        lattice = self._context.n_rules
        links = min(self._context.dictionary.reduced.size, lattice) * self._context.table.n_attributes
        return self._chains.n_bytes + 300 * links + (40 * lattice if lattice <= NODES_LIMIT else 0)

    def _solve(
        self, rows: range, found: npt.NDArray[np.void], tick: Callable[[int], None], halted: Halted
    ) -> None:
        for at, row in enumerate(rows):
            if halted():
                break
            self._approximate(row, found[at : at + 1], halted)
            tick(at + 1)

    def _approximate(self, row: int, found: npt.NDArray[np.void], halted: Halted) -> None:
        parameters, floor = self._parameters, self._problem.objective.threshold
        if self._chains.absent[row]:
            # Without anybody to be taken for, the record as it is has no risk.
            missed = self._most[row] < lowest_accepted(floor)
            found["code"], found["how"], found["met"] = (INFEASIBLE if missed else OPTIMAL), EXACT, 1
            return
        record = self._chains.record(row)
        random = np.random.default_rng([parameters.seed, row]) if parameters.mode == "sampling" else None
        best = approximate(record, floor, parameters, random, halted)
        programmes, trials = len(best.programmes), best.trials
        found["inverse"] = best.expected_inverse or 0.0
        how = EXACT if best.exact else 0
        stopped = halted()
        missed = parameters.fallback and not self._keeps_promise(best)
        if missed and record.n_nodes <= NODES_LIMIT and not stopped:
            best, how = least_risk(record, floor), FALLBACK
            found["visited"] = record.n_nodes
        found["code"] = OPTIMAL
        if best.levels is None:
            found["code"] = PROHIBITED if best.prohibited else INFEASIBLE
        else:
            found["steps"] = best.levels
        found["how"], found["met"], found["halted"] = how, self._keeps_promise(best), stopped
        found["risk"], found["bound"] = best.risk, min(best.risk, best.lower_bound)
        found["programmes"], found["trials"] = programmes, trials
        found["visited"] += 1 + trials
        promised = self._promised * best.lower_bound
        found["promise"] = 1.0 / promised if promised else math.inf

    @property
    def _promised(self) -> float:
        """σ₂(1+ε), the published ratio."""
        return self._parameters.sensitivity_slack * (1 + self._parameters.epsilon)

    def _keeps_promise(self, found: Approximated) -> bool:
        return found.levels is None or found.met(self._parameters)

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The rule of all records with its certificate, or what keeps some of them from having one."""
        records = self._chains
        # Records that were left out stay nearly as they are, bounded by 0.
        found = self._joined(blocks)
        left = np.flatnonzero(found["code"] == UNSOLVED)
        floor = lowest_accepted(self._problem.objective.threshold)
        for row in left.tolist():
            one = found[row : row + 1]
            least = (
                (0,) * self._context.table.n_attributes if records.absent[row] else records.least_finite(row)
            )
            one["code"], one["halted"] = OPTIMAL, 1
            if self._most[row] < floor:
                one["code"] = INFEASIBLE
            elif least is None or self._context.utility.of(records.disclosed(row, least))[0] < floor:
                one["code"] = PROHIBITED
            else:
                one["steps"] = least
        exact = bool(((found["how"] == EXACT) | (found["how"] == FALLBACK)).all())
        outcome = self._outcome(
            found,
            self._most,
            lambda: records.rule_of(found["steps"]),
            is_open=not exact,
            n_absent=records.n_absent,
            n_rules=self._context.n_rules,
        )
        return replace(
            outcome,
            complete=not found["halted"].any(),
            certificate=self._certificate(found, outcome.objective, outcome.bounds.lower, exact)
            if outcome.objective is not None and outcome.bounds is not None
            else None,
        )

    def _certificate(
        self, found: npt.NDArray[np.void], objective: float, lower: float, exact: bool
    ) -> Certificate:
        weight, parameters = self._chains.multiplicity, self._parameters
        floor, rounded = self._problem.objective.threshold, found["programmes"] > 0
        inverse, promise = found["inverse"][rounded], found["promise"][rounded]
        reached = inverse >= promise * (1 - ROUNDING_OF_BOUND)
        return Certificate(
            ratio=1.0 if objective <= lower else objective / lower if lower > 0 else math.inf,
            promised=self._promised,
            kept_floor=floor if exact else min(floor, parameters.kept_utility * floor),
            records=int(weight.sum()),
            met=int(weight[found["met"] == 1].sum()),
            exact=int(weight[found["how"] == EXACT].sum()),
            fallback=int(weight[found["how"] == FALLBACK].sum()),
            linear_programmes=int(found["programmes"].sum()),
            rounding_trials=int(found["trials"].sum()),
            rounded=int(weight[rounded].sum()),
            expected_inverse_risk=_mean(inverse, weight[rounded]),
            promised_inverse_risk=_mean(promise, weight[rounded]),
            expected_met=int(weight[rounded][reached].sum()),
        )


def _mean(values: Floats, records: Longs) -> float | None:
    """Mean over records of what distinct ones have, None if there are none."""
    return exact_sum(values * records) / int(records.sum()) if len(records) else None
