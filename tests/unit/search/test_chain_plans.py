"""Record-level searches beyond enumeration: which plan, its blocks, what a halt leaves, what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.attackers import DictionarySet
from app.domain.risk.models import RiskModel
from app.domain.risk.utility import build_utility
from app.domain.search.blocks import carry_out
from app.domain.search.budget import Budget
from app.domain.search.context import SearchContext
from app.domain.search.large_lattices.chains import ChainInstance
from app.domain.search.large_lattices.plan import ChainPlan, solve
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.record_rules.plan import RecordPlan
from app.domain.search.solvers import AUTO, Aruba, BranchAndBound, Enumeration, Genetic, TopDown
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table
from app.experiments.synthetic import generate
from tests.benchmarks.item_table import item_context, item_table
from tests.oracles.search_instances import objective_of

MIN_RISK = Problem(MinRisk(24.0), "record_level")


@pytest.fixture(scope="module")
def wide():
    """Twenty attributes, 60 levels: 10^10 nodes per record."""
    return item_context(item_table(400, 20), 12)


@pytest.fixture(scope="module")
def narrow():
    """Small enough to be enumerated as well."""
    data = generate(3, 80, ((2, 2), (3,), (2, 2), (2, 3)))
    table = data.table(6)
    return SearchContext(
        table, data.dictionary(0, 80), data.sensitivity(table, "linear_personal"), build_utility(table)
    )


def blocks_of(search, chosen=None):
    return {i: search.run_block(i, lambda units: None) for i in chosen or range(search.n_blocks)}


def test_auto_takes_lattices_beyond_enumeration(wide):
    search = plan(wide, MIN_RISK)
    assert isinstance(search, ChainPlan)
    assert search.units == 12
    assert 0 < search.seconds < 10
    assert 0 < search.n_bytes < 2**30
    outcome = search.combine(blocks_of(search))
    assert outcome.status in ("optimal", "heuristic")
    assert outcome.complete
    assert outcome.bounds.lower <= outcome.objective
    assert outcome.assessment.records.utility.min() >= 24.0
    assert outcome.n_rules == 2**4 * 3**4 * 4**4 * 5**4 * 6**4
    assert outcome.counters.visited_nodes > 0


def test_auto_still_enumerates_what_it_can(narrow):
    assert isinstance(plan(narrow, replace(MIN_RISK, objective=MinRisk(3.0))), RecordPlan)


FLOOR, CAP, TRADE_OFF = ("min_risk", 3.0), ("max_utility", 0.05), ("lagrangian", 0.02)
QUESTIONS = [
    *((AUTO, question) for question in (FLOOR, CAP, TRADE_OFF)),
    *((BranchAndBound(), question) for question in (FLOOR, CAP, TRADE_OFF)),
    *((solver, question) for solver in (TopDown(), Aruba()) for question in (FLOOR, CAP)),
    (Genetic(seed=1), FLOOR),
]


@pytest.mark.parametrize(("solver", "objective"), QUESTIONS)
def test_every_solver_of_one_lattice_runs_on_chains_as_on_scored_lattices(narrow, objective, solver):
    problem = Problem(objective_of(*objective), "record_level")
    found = carry_out(ChainPlan(ChainInstance(narrow, "zero"), problem, solver))
    exact = carry_out(RecordPlan(RecordInstance(narrow, "zero", "known"), problem, Enumeration()))
    assert found.solver == ("exchange_search" if solver is AUTO else solver.name)
    if found.status == "optimal":
        assert np.array_equal(found.rule.steps, exact.rule.steps)
        assert found.bounds.gap == 0.0
    else:
        sign = -1.0 if problem.objective.kind == "max_utility" else 1.0
        assert sign * found.objective >= sign * exact.objective - 1e-12


def test_blocks_are_the_same_in_any_order_and_process(wide):
    first, second = plan(wide, MIN_RISK), plan(wide, MIN_RISK)
    backwards = {i: second.run_block(i, lambda units: None) for i in reversed(range(second.n_blocks))}
    assert blocks_of(first) == backwards


def test_a_missing_block_leaves_a_feasible_rule_and_a_bound(wide):
    search = plan(wide, MIN_RISK)
    whole = search.combine(blocks_of(search))
    outcome = search.combine({})
    assert outcome.status == "heuristic"
    assert not outcome.complete
    assert outcome.assessment.records.utility.min() >= 24.0
    assert outcome.bounds.lower <= whole.bounds.lower


@pytest.mark.deep
@pytest.mark.parametrize("objective", [("min_risk", 24.0), ("max_utility", 0.05), ("lagrangian", 0.02)])
def test_a_halt_in_the_middle_keeps_what_was_found(wide, objective):
    problem = Problem(objective_of(*objective), "record_level")
    calls = iter(range(10_000))
    search = plan(wide, problem)
    whole = search.combine(blocks_of(search))
    ticks = []
    block = search.run_block(0, ticks.append, lambda: next(calls) > 40)
    assert ticks[-1] < 12
    outcome = search.combine({0: block})
    assert not outcome.complete
    assert outcome.status == "heuristic"
    assert outcome.rule is not None
    sign = -1.0 if objective[0] == "max_utility" else 1.0
    assert outcome.bounds.lower <= whole.bounds.lower + 1e-12
    assert sign * outcome.objective >= whole.bounds.lower - 1e-12


@pytest.mark.deep
def test_a_budget_of_nodes_or_a_gap_ends_the_proof(wide):
    # The record and someone like it: neither is ruled out at once.
    instance = ChainInstance(wide, "zero")
    problem = replace(MIN_RISK, objective=MinRisk(12.0))
    solved = [solve(instance.chains(i), problem) for i in range(instance.n_distinct)]
    short = [solve(instance.chains(i), problem, Budget(max_nodes=1)) for i in range(instance.n_distinct)]
    loose = [
        solve(instance.chains(i), problem, Budget(relative_gap=0.99)) for i in range(instance.n_distinct)
    ]
    assert sum(one.is_proved for one in short) < sum(one.is_proved for one in solved)
    assert sum(one.visited for one in loose) < sum(one.visited for one in solved)
    for one, other in zip(short, solved, strict=True):
        assert one.bound <= other.risk + 1e-12
    for one in loose:
        assert one.is_proved or one.risk - one.bound <= 0.99 * one.risk


@pytest.mark.parametrize(
    ("table", "solver", "floor"),
    [("wide", AUTO, 24.0), ("wide", BranchAndBound(), 24.0), ("narrow", BranchAndBound(), 3.0)],
)
def test_a_budget_of_nodes_is_of_the_whole_search_and_not_of_each_record(table, solver, floor, request):
    context, problem = request.getfixturevalue(table), replace(MIN_RISK, objective=MinRisk(floor))
    visited = []
    for nodes in (36, 600):
        search = plan(context, problem, solver, budget=Budget(nodes))
        assert search.units >= 6
        visited.append(search.combine(blocks_of(search)).counters.visited_nodes)
    assert visited[0] <= 36 < visited[1]


def test_an_infeasible_floor_is_named_with_the_best_utility(wide):
    outcome = carry_out(plan(wide, replace(MIN_RISK, objective=MinRisk(1000.0))))
    assert outcome.status == "infeasible"
    assert outcome.shortfall.best == 60.0
    assert outcome.shortfall.records == 12
    stopped = plan(wide, replace(MIN_RISK, objective=MinRisk(1000.0))).combine({})
    assert stopped.status == "infeasible"


def test_absent_records_stay_as_they_are(wide):
    dictionary = item_table(400, 20).dictionary(12, 400)
    context = replace(wide, dictionary=dictionary)
    outcome = carry_out(plan(context, MIN_RISK))
    assert outcome.absent == 12
    assert outcome.status == "optimal"
    assert outcome.risk == 0.0
    assert not outcome.rule.steps.any()
    with pytest.raises(InvalidInput):
        plan(context, replace(MIN_RISK, absent_policy="error"))
    counted = carry_out(plan(context, replace(MIN_RISK, absent_policy="add_self")))
    assert counted.risk > 0
    assert counted.absent == 12


def test_what_has_no_bound_is_refused_with_what_can_be_done(wide):
    both = DictionarySet((wide.dictionary, wide.dictionary), None)
    for context, problem in (
        (replace(wide, model=RiskModel("III_raw")), MIN_RISK),
        (replace(wide, failure=wide.sensitivity), MIN_RISK),
        (replace(wide, dictionaries=both), replace(MIN_RISK, view="worst_case_per_record")),
        (wide, replace(MIN_RISK, constraint="average")),
    ):
        with pytest.raises(NotSupported) as refused:
            plan(context, problem)
        assert refused.value.remedy
    with pytest.raises(NotSupported):
        plan(wide, MIN_RISK, Enumeration())


def test_weights_of_infinity_keep_what_they_prohibit_suppressed(narrow):
    shapes = tuple(shape.copy() for shape in narrow.sensitivity.shapes)
    shapes[0][:, 1:] = math.inf
    factors = narrow.sensitivity.factors.copy()
    factors[:, 0] = np.nan
    context = replace(narrow, sensitivity=replace(narrow.sensitivity, shapes=shapes, factors=factors))
    problem = replace(MIN_RISK, objective=MinRisk(2.0))
    exact = carry_out(plan(context, problem, Enumeration()))
    found = carry_out(ChainPlan(ChainInstance(context, "zero"), problem, AUTO))
    assert np.array_equal(found.rule.steps, exact.rule.steps)
    assert found.status == "optimal"
    barred = replace(problem, objective=MinRisk(7.0))
    prohibited = carry_out(ChainPlan(ChainInstance(context, "zero"), barred, AUTO))
    assert prohibited.status == carry_out(plan(context, barred)).status


def test_exponentials_beyond_numbers_prohibit_only_what_they_are_of():
    tree = Hierarchy.from_parents({value: [None] for value in "abcdefgh"})
    table = Table(("x", "y"), (tree, tree), np.array([[1, 1]], dtype=np.int32))
    everybody = np.arange(1, 9, dtype=np.int32)
    links = (link_nodes("x", tree, np.ones(8, dtype=np.int32)), link_nodes("y", tree, everybody))
    weights = {"x": ConstantWeight(800.0), "y": ConstantWeight(0.0)}
    sensitivity = build_sensitivity(table, "multiplicative", weights)
    context = SearchContext(table, Dictionary(8, links), sensitivity, build_utility(table))
    # Nobody shares y and everybody x, but whoever discloses x risks more than can be written.
    problem = replace(MIN_RISK, objective=MinRisk(1.0))
    found = carry_out(ChainPlan(ChainInstance(context, "zero"), problem, AUTO))
    assert (found.status, found.risk, found.rule.steps.tolist()) == ("optimal", 1.0, [[1, 0]])
    assert carry_out(plan(context, problem)).rule.steps.tolist() == [[1, 0]]
    both = carry_out(
        ChainPlan(ChainInstance(context, "zero"), replace(problem, objective=MinRisk(2.0)), AUTO)
    )
    assert both.rule is None
