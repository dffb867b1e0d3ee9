"""Which search answers a question for a rule or a frontier of risk and utility."""

from __future__ import annotations

from dataclasses import replace

from app.domain.errors import InvalidInput, NotSupported, having
from app.domain.risk.attackers import View
from app.domain.search.aggregate.plans import plan_aggregate, plan_approximation
from app.domain.search.blocks import FrontierPlan, SearchPlan
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.catalogue import entry_of
from app.domain.search.context import SearchContext
from app.domain.search.end_levels import (
    FrontierSearchOfEnds,
    RuleSearchOfEnds,
    of_ends,
)
from app.domain.search.large_lattices.chains import NODES_LIMIT, ChainInstance
from app.domain.search.large_lattices.plan import ChainPlan
from app.domain.search.lattices.search import LatticeSolver
from app.domain.search.objectives import AggregateObjective, Lagrangian
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.record_rules.candidates import CandidatesPlan
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.record_rules.means import MeanPlan, RecordFrontier
from app.domain.search.record_rules.minimax import COMBINATIONS_LIMIT, JointPlan, MinimaxPlan, n_combinations
from app.domain.search.record_rules.plan import RecordPlan
from app.domain.search.solvers import (
    AUTO,
    Approx,
    Aruba,
    Auto,
    BranchAndBound,
    Candidates,
    Enumeration,
    Solver,
)
from app.domain.search.table_rules.portfolio import plan_table
from app.domain.search.table_rules.table_frontier import frontier_of_table
from app.domain.search.table_rules.table_level import TableEnumeration, TableInstance
from app.domain.search.table_rules.table_search import TableSearch

RULES_LIMIT = 2_000_000


def plan(
    context: SearchContext, problem: Problem, solver: Solver = AUTO, budget: Budget = UNLIMITED
) -> SearchPlan:
    """Plan a search.

    For table-level rules ``Auto`` is the portfolio; for single records it enumerates lattices of up to
    2,000,000 nodes unless the budget of visited nodes is smaller than that takes. For table-level rules a
    hierarchy that is no tree has its lowest and its highest level alone. Raises NotSupported if enumeration
    is asked of a larger lattice, and for a solver that the catalogue says does not fit; InvalidInput if the
    absent policy refuses the data.
    """
    _refuse_meaningless_failure(context)
    if isinstance(problem.objective, AggregateObjective):
        return plan_aggregate(context, problem, problem.objective, solver, budget)
    _require_support(context, problem, solver)
    if isinstance(solver, Approx):
        return plan_approximation(context, problem, solver, budget)
    if isinstance(solver, Candidates):
        return CandidatesPlan(context, problem, solver, budget)
    if problem.scope == "record_level":
        return _plan_records(context, problem, solver, budget)
    ends = of_ends(context)
    found = _plan_table(ends, problem, solver, budget)
    return found if ends is context else RuleSearchOfEnds(found, ends.table)


def _plan_table(context: SearchContext, problem: Problem, solver: Solver, budget: Budget) -> SearchPlan:
    table = TableInstance(context, problem)
    n_rules = context.n_rules
    too_many = n_rules > RULES_LIMIT
    if context.model.name == "III_raw" and (too_many or _is_less(budget.max_nodes, n_rules)):
        # For evaluation: a part of its rules says nothing about the others (Definitions: third risk model).
        _require_support(context, problem, BranchAndBound())
    if isinstance(solver, Auto):
        return plan_table(table, budget, RULES_LIMIT)
    if too_many and isinstance(solver, Enumeration):
        raise NotSupported(
            f"There are {n_rules} table-level rules; at most {RULES_LIMIT} are enumerated.",
            "Use branch_and_bound, with max_nodes if an answer with a bound is enough.",
        )
    how = _chosen(solver, too_many or _is_less(budget.max_nodes, n_rules))
    if isinstance(how, Enumeration):
        _require_room(budget, n_rules)
        return TableEnumeration(table)
    _require_support(context, problem, how)
    _require_present(how, problem, table.n_absent)
    return TableSearch(table, how, budget)


def _plan_records(context: SearchContext, problem: Problem, solver: Solver, budget: Budget) -> SearchPlan:
    alone = _is_separable(problem)
    if alone and context.n_rules > NODES_LIMIT and isinstance(solver, Auto | LatticeSolver):
        _require_support(context, problem, solver)
        context.attackers(problem.view)
        return ChainPlan(ChainInstance(context, problem.absent_policy), problem, solver, budget)
    records = RecordInstance(context, problem.absent_policy, problem.view)
    minimax = problem.view == "worst_case" and problem.aggregate == "average"
    if minimax and not (alone and problem.objective.kind == "max_utility"):
        _refuse_budget(solver, budget)
        if n_combinations(records) <= COMBINATIONS_LIMIT:
            return JointPlan(records, problem)
        if not alone:
            _refuse_raw(context)
        return _plan_minimax(context, problem)
    if not alone:
        _refuse_budget(solver, budget)
        _refuse_raw(context)
        return MeanPlan(records, problem)
    how = _chosen(solver, _is_less(budget.max_nodes, records.n_nodes * records.n_distinct))
    _require_support(context, problem, how)
    if isinstance(how, Enumeration):
        _require_room(budget, records.n_nodes * records.n_distinct)
    if len(context.attackers(problem.view)) > 1:
        _require_present(how, problem, records.n_absent)
    return RecordPlan(records, problem, how, budget)


def _plan_minimax(context: SearchContext, problem: Problem) -> MinimaxPlan:
    def part(of: SearchContext, view: View) -> RecordPlan | MeanPlan:
        """The search against one attacker, or in this view of all of them."""
        records = RecordInstance(of, problem.absent_policy, view)
        asked = replace(problem, view=view)
        if _is_separable(asked):
            return RecordPlan(records, asked, Enumeration())
        return MeanPlan(records, asked)

    alone = [part(attacker, "known") for attacker, _ in context.attackers("worst_case")]
    return MinimaxPlan(context, problem, part(context, "worst_case_per_record"), alone)


def _refuse_budget(solver: Solver, budget: Budget) -> None:
    if not isinstance(solver, Auto | Enumeration) or budget.max_nodes is not None:
        raise NotSupported(
            f"Neither {BranchAndBound.name if isinstance(solver, Auto | Enumeration) else solver.name} nor "
            "max_nodes applies where records cannot be solved one by one.",
            "Leave both out, or choose a view, constraint and aggregate per record.",
        )


def _is_separable(problem: Problem) -> bool:
    """Whether every record can be solved on its own."""
    if problem.aggregate == "max":
        # A cap on every record's risk is one on the greatest, that of records of weight 0 included.
        return problem.objective.kind == "max_utility" and problem.constraint == "per_record"
    return problem.constraint == "per_record" or problem.objective.kind == "lagrangian"


def _refuse_raw(context: SearchContext) -> None:
    if context.model.name == "III_raw":
        raise NotSupported(
            "III_raw is for evaluation only: it calls the riskiest disclosure the best.",
            "Choose model III, or score single rules.",
        )


def _require_support(context: SearchContext, problem: Problem, solver: Solver) -> None:
    """Refuse a solver that does not fit, with what does (Definitions: exact searches)."""
    entry = entry_of(solver)
    if not entry.works_on_dags and problem.scope == "record_level":
        for hierarchy in context.table.hierarchies:
            hierarchy.require_tree(entry.name)
    reason = entry.supports(context, problem, solver)
    if reason is not None:
        raise NotSupported.because(reason)


def _require_room(budget: Budget, needed: int) -> None:
    """Refuse to enumerate more nodes than may be visited."""
    if _is_less(budget.max_nodes, needed):
        raise NotSupported(
            f"Enumeration visits {needed} nodes, more than max_nodes.",
            "Use auto or branch_and_bound, which stop there, or leave max_nodes out.",
        )


def _require_present(solver: Solver, problem: Problem, n_absent: int) -> None:
    """Refuse the frontier where generalising can raise the risk of a record that nobody is consistent with.

    A single record that nobody is consistent with in the only dictionary has risk 0 as it is: there is
    nothing to search.
    """
    if isinstance(solver, Aruba) and n_absent and problem.absent_policy == "zero":
        raise NotSupported(
            f"{having(n_absent, 'record')} no consistent entity in a dictionary: generalising them may raise "
            "the risk, and the best rule need not be on the frontier of the feasible ones.",
            "Use the absent policy add_self, or btda, branch_and_bound or enumeration.",
        )


def plan_frontier(context: SearchContext, problem: FrontierProblem) -> FrontierPlan:
    """Plan the search for a frontier.

    NotSupported for more than 2,000,000 table-level rules, for III_raw, and for the worst case of the mean
    risk over single records, which does not separate. For table-level rules a hierarchy that is no tree has
    its lowest and its highest level alone.
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
        Lagrangian(0.0), problem.scope, problem.absent_policy, problem.view, aggregate=problem.aggregate
    )
    ends = of_ends(context)
    table = TableInstance(ends, asked)
    if ends.n_rules > RULES_LIMIT:
        raise NotSupported(
            f"There are {ends.n_rules} table-level rules; at most {RULES_LIMIT} are enumerated.",
            "Disclose fewer attributes, use fewer levels per hierarchy, or ask for single optima.",
        )
    found = frontier_of_table(table, problem)
    return found if ends is context else FrontierSearchOfEnds(found, ends.table)


def _chosen(solver: Solver, is_large: bool) -> Enumeration | LatticeSolver:
    """What to search one lattice with; ``is_large`` if enumeration takes more than there is."""
    if isinstance(solver, Auto):
        return BranchAndBound() if is_large else Enumeration()
    if isinstance(solver, LatticeSolver | Enumeration):
        return solver
    raise NotSupported(f"{solver.name} does not search a single lattice.", "Choose another solver.")


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
