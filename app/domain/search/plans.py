"""The plan of a search: independent blocks, so that a run can show progress, stop, and go on after a crash.

A block's bytes depend on the instance, the problem and its number alone: not on which blocks ran before, in
which process or in which order. The outcome is a function of all blocks in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, get_args

from app.domain.attackers import View
from app.domain.errors import InvalidInput, NotSupported
from app.domain.search.context import SearchContext
from app.domain.search.frontier import FrontierOutcome
from app.domain.search.frontier_plans import RecordFrontier, TableFrontier
from app.domain.search.joint import COMBINATIONS_LIMIT, JointPlan, n_combinations
from app.domain.search.minimax import MinimaxPlan
from app.domain.search.outcome import Outcome
from app.domain.search.problem import FrontierProblem, Problem, Solver
from app.domain.search.record_instance import RecordInstance
from app.domain.search.record_level import RecordPlan
from app.domain.search.record_means import MeanPlan
from app.domain.search.table_level import TableBranchAndBound, TableEnumeration, TableInstance

RULES_LIMIT = 2_000_000


class SearchPlan(Protocol):
    """A search cut in blocks; ``units`` are rules or distinct records."""

    n_blocks: int
    units: int
    solver: str

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks."""

    @property
    def n_bytes(self) -> int:
        """Estimated memory."""

    def run_block(self, index: int, tick: Callable[[int], None]) -> bytes:
        """Compute one block; ``tick`` receives how many of its units are done."""

    def combine(self, blocks: Sequence[bytes]) -> Outcome:
        """The outcome from all blocks in their order."""


class FrontierPlan(Protocol):
    """A frontier cut in blocks; ``units`` are rules or distinct records."""

    n_blocks: int
    units: int
    solver: str

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks."""

    @property
    def n_bytes(self) -> int:
        """Estimated memory."""

    def run_block(self, index: int, tick: Callable[[int], None]) -> bytes:
        """Compute one block; ``tick`` receives how many of its units are done."""

    def combine(self, blocks: Sequence[bytes]) -> FrontierOutcome:
        """The frontier from all blocks in their order."""


@dataclass(frozen=True)
class SearchCost:
    """Estimated seconds and bytes of a search, the solver that would do it, and its units."""

    seconds: float
    bytes: int
    engine: str
    units: int


def plan(
    context: SearchContext, problem: Problem, solver: Solver = "auto", max_nodes: int | None = None
) -> SearchPlan:
    """Plan a search.

    ``auto`` enumerates lattices of up to 2,000,000 nodes unless ``max_nodes``, the budget of branch and
    bound in visited boxes, is smaller than that takes. Raises NotSupported for table levels of a hierarchy
    that is no tree, if enumeration is asked of a larger lattice, and if branch and bound is needed where it
    is not proved to be exact; InvalidInput if the absent policy refuses the data.
    """
    _check(solver, max_nodes)
    _refuse_meaningless_failure(context)
    if problem.scope == "record_level":
        return _plan_records(context, problem, solver, max_nodes)
    table = TableInstance(context, problem)
    n_rules = table.scores.n_rules
    too_many = n_rules > RULES_LIMIT
    if too_many and solver == "enumeration":
        raise NotSupported(
            f"There are {n_rules} table-level rules; at most {RULES_LIMIT} are enumerated.",
            "Use branch_and_bound, with max_nodes if an answer with a bound is enough.",
        )
    if _branches(solver, too_many or _is_less(max_nodes, n_rules)):
        _require_boxes(context)
        return TableBranchAndBound(table, max_nodes)
    return TableEnumeration(table)


def _plan_records(
    context: SearchContext, problem: Problem, solver: Solver, max_nodes: int | None
) -> SearchPlan:
    records = RecordInstance(context, problem.absent_policy, problem.view)
    alone = _is_separable(problem)
    minimax = problem.view == "worst_case" and problem.aggregate == "average"
    if minimax and not (alone and problem.objective == "max_utility"):
        _refuse_budget(solver, max_nodes)
        if n_combinations(records) <= COMBINATIONS_LIMIT:
            return JointPlan(records, problem)
        if not alone:
            _refuse_raw(context)
        return _plan_minimax(context, problem)
    if not alone:
        _refuse_budget(solver, max_nodes)
        _refuse_raw(context)
        return MeanPlan(records, problem)
    if _branches(solver, _is_less(max_nodes, records.n_nodes * records.n_distinct)):
        _require_boxes(context)
        for hierarchy in context.table.hierarchies:
            hierarchy.require_tree("branch_and_bound")
        return RecordPlan(records, problem, True, max_nodes)
    return RecordPlan(records, problem, False, max_nodes)


def _plan_minimax(context: SearchContext, problem: Problem) -> MinimaxPlan:
    def part(of: SearchContext, view: View) -> RecordPlan | MeanPlan:
        records = RecordInstance(of, problem.absent_policy, view)
        asked = replace(problem, view=view)
        return RecordPlan(records, asked, False, None) if _is_separable(asked) else MeanPlan(records, asked)

    alone = [part(attacker, "known") for attacker, _ in context.attackers("worst_case")]
    return MinimaxPlan(context, problem, part(context, "worst_case_per_record"), alone)


def _refuse_budget(solver: Solver, max_nodes: int | None) -> None:
    if solver == "branch_and_bound" or max_nodes is not None:
        raise NotSupported(
            "Neither branch_and_bound nor max_nodes applies where records cannot be solved one by one.",
            "Leave both out, or choose a view, constraint and aggregate per record.",
        )


def _is_separable(problem: Problem) -> bool:
    """Whether every record can be solved on its own."""
    if problem.aggregate == "max":
        # A cap on every record's risk is one on the greatest, that of records of weight 0 included.
        return problem.objective == "max_utility" and problem.constraint == "per_record"
    return problem.constraint == "per_record" or problem.objective == "lagrangian"


def _refuse_raw(context: SearchContext) -> None:
    if context.model.name == "III_raw":
        raise NotSupported(
            "III_raw is for evaluation only: it calls the riskiest disclosure the best.",
            "Choose model III, or score single rules.",
        )


def _require_boxes(context: SearchContext) -> None:
    """Refuse branch and bound where a box's general corner may be riskier than its other nodes."""
    if not context.harm_is_monotone:
        raise NotSupported(
            "branch_and_bound needs a risk that is proved never to rise under generalisation; that of the "
            f"model {context.model.name} with these sensitivities is not.",
            "Use enumeration, without max_nodes and on at most 2,000,000 rules.",
        )


def estimate_frontier(context: SearchContext, problem: FrontierProblem) -> SearchCost:
    """What :func:`plan_frontier` would cost to carry out; raises what it raises."""
    chosen = plan_frontier(context, problem)
    return SearchCost(chosen.seconds, chosen.n_bytes, chosen.solver, chosen.units)


def estimate(
    context: SearchContext, problem: Problem, solver: Solver = "auto", max_nodes: int | None = None
) -> SearchCost:
    """What :func:`plan` would cost to carry out; raises what it raises."""
    chosen = plan(context, problem, solver, max_nodes)
    return SearchCost(chosen.seconds, chosen.n_bytes, chosen.solver, chosen.units)


def plan_frontier(context: SearchContext, problem: FrontierProblem) -> FrontierPlan:
    """Plan the search for a frontier.

    NotSupported for table levels of a hierarchy that is no tree, for more than 2,000,000 table-level rules,
    for III_raw, and for the worst case of the mean risk over single records, which does not separate.
    """
    _refuse_meaningless_failure(context)
    _refuse_raw(context)
    if problem.scope == "record_level":
        if problem.view == "worst_case" and problem.aggregate == "average":
            raise NotSupported(
                "The worst case over dictionaries couples single records: no sweep visits their rules.",
                "Choose the view worst_case_per_record or bayes, or table-level rules.",
            )
        return RecordFrontier(RecordInstance(context, problem.absent_policy, problem.view), problem)
    asked = Problem(
        "lagrangian", 0.0, problem.scope, problem.absent_policy, problem.view, aggregate=problem.aggregate
    )
    table = TableInstance(context, asked)
    if table.scores.n_rules > RULES_LIMIT:
        raise NotSupported(
            f"There are {table.scores.n_rules} table-level rules; at most {RULES_LIMIT} are enumerated.",
            "Disclose fewer attributes, use fewer levels per hierarchy, or ask for single optima.",
        )
    return TableFrontier(table, problem)


def _branches(solver: Solver, needed: bool) -> bool:
    return solver == "branch_and_bound" or (solver == "auto" and needed)


def _is_less(max_nodes: int | None, needed: int) -> bool:
    return max_nodes is not None and max_nodes < needed


def _refuse_meaningless_failure(context: SearchContext) -> None:
    if context.failure is not None and not context.model.takes_failure:
        raise InvalidInput.of(
            "/failure",
            "failure-without-meaning",
            f"The risk model {context.model.name} knows no harm of failed identification.",
            "Leave failure out, or choose model I.",
        )


def _check(solver: Solver, max_nodes: int | None) -> None:
    if solver not in get_args(Solver):
        raise InvalidInput.of(
            "/solver", "unknown-choice", f"solver is not one of {', '.join(get_args(Solver))}."
        )
    if max_nodes is not None and max_nodes < 1:
        raise InvalidInput.of("/max_nodes", "out-of-range", "max_nodes must be at least 1.")
