"""Optima of the fixture under sets of dictionaries, under constraints on means, and as frontiers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.assessment import assess
from app.domain.risk.attackers import DictionarySet, assess_set
from app.domain.risk.models import RiskModel
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule, apply
from app.domain.search.blocks import carry_out, cost_of
from app.domain.search.budget import Budget
from app.domain.search.context import SearchContext
from app.domain.search.objectives import Lagrangian, MaxUtility, MinRisk
from app.domain.search.plans import plan, plan_frontier
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.record_rules import knapsack
from app.domain.search.record_rules import knapsack as compromises
from app.domain.search.record_rules import means as frontier_plans
from app.domain.search.solvers import SOLVERS, Auto, BranchAndBound
from app.domain.sensitivity.sensitivity import build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table
from tests.oracles.search_instances import objective_of
from tests.unit.domain.fixture_f import DICTIONARIES, T, levels_of
from tests.unit.search.table_questions import D1, answer, dag_context, first_records

THETA = DictionarySet(tuple(DICTIONARIES[name] for name in ("T", "D1", "D2")), (0.2, 0.5, 0.3))
UNKNOWN = replace(D1, dictionaries=THETA)


def drawn(context, problem):
    chosen = plan_frontier(context, problem)
    return carry_out(chosen)


@pytest.mark.spec("TV-11")
@pytest.mark.parametrize("solver", ["enumeration", "branch_and_bound"])
@pytest.mark.parametrize(
    ("floor", "bayes", "bayes_risk", "minimax", "minimax_risk"),
    [
        (1, (1, 0, 0), 0.005189, (1, 0, 0), 0.008333), (2, (2, 0, 0), 0.013344, (2, 0, 0), 0.0225),
        (3, (3, 0, 0), 0.045625, (3, 0, 0), 0.077778), (4, (4, 0, 0), 0.092302, (4, 0, 0), 0.175),
        (5, (4, 0, 1), 0.240556, (4, 0, 1), 0.433333), (6, (4, 0, 2), 0.414444, (5, 2, 0), 0.6),
    ],
)  # fmt: skip
def test_sets_of_dictionaries_have_the_tabulated_optima(
    solver, floor, bayes, bayes_risk, minimax, minimax_risk
):
    for view, cut, risk in (("bayes", bayes, bayes_risk), ("worst_case", minimax, minimax_risk)):
        outcome = answer(UNKNOWN, Problem(MinRisk(floor), view=view), solver)
        assert (outcome.status, outcome.rule) == ("optimal", TableRule(levels_of(cut)))
        assert outcome.risk == pytest.approx(risk, abs=5.1e-7)
        assert outcome.risk == outcome.in_set.view(view).risk_average
        assert outcome.assessment is None


@pytest.mark.spec("TV-11", "E-50")
@pytest.mark.parametrize(
    ("floor", "per_record", "average"),
    [(3, 0.015278, 0.015278), (5, 0.057037, 0.057037), (6, 0.130093, 0.130093), (7, 0.223009, 0.22037)],
)
def test_the_two_constraint_sets_have_the_tabulated_risks(floor, per_record, average):
    context = first_records(3)
    each = answer(context, Problem(MinRisk(floor), "record_level", constraint="per_record"))
    mean = answer(context, Problem(MinRisk(floor), "record_level", constraint="average"))
    assert each.risk == pytest.approx(per_record, abs=5.1e-7)
    assert mean.risk == pytest.approx(average, abs=5.1e-7)
    assert (mean.status, mean.bounds.lower, mean.bounds.gap) == ("optimal", mean.risk, 0.0)
    if floor == 7:
        assert mean.assessment.records.utility.tolist() == [6, 8, 7]
        assert each.assessment.records.utility.tolist() == [7, 7, 7]
        assert mean.solver == "dynamic_programme"


@pytest.mark.spec("TV-11")
def test_the_best_choices_of_single_records_have_the_tabulated_risks():
    expected = [
        [0, 0.004545, 0.009375, 0.0125, 0.021429, 0.05, 0.108333, 0.21, 0.325, 0.483333],
        [0, 0.004545, 0.009375, 0.0125, 0.021429, 0.06, 0.1375, 0.23125, 0.325, 0.725],
        [0, 0.007576, 0.015625, 0.020833, 0.038889, 0.061111, 0.144444, 0.227778, 0.566667],
    ]
    context = first_records(3)
    for row, risks in enumerate(expected):
        table = replace(context.table, codes=T.codes[row : row + 1], entity_ids=T.entity_ids[row : row + 1])
        groups = context.sensitivity.groups[row : row + 1]
        one = replace(context, table=table, sensitivity=replace(context.sensitivity, groups=groups))
        points = drawn(one, FrontierProblem("record_level")).points
        assert [p.utility for p in points] == list(range(len(risks)))
        assert [p.risk for p in points] == pytest.approx(risks, abs=5.1e-7)


def test_a_cap_on_the_mean_risk_gives_back_the_utility_that_a_floor_cost():
    context = first_records(3)
    for floor in (1, 2.5, 4, 7, 8):
        least = answer(context, Problem(MinRisk(floor), "record_level", constraint="average"))
        most = answer(context, Problem(MaxUtility(least.risk), "record_level", constraint="average"))
        assert (most.status, most.solver) in (
            ("optimal", "dynamic_programme"),
            ("optimal", "lagrangian_relaxation"),
        )
        assert most.utility == least.utility >= floor
        assert most.risk == pytest.approx(least.risk)


@pytest.mark.spec("INV-7")
def test_utilities_without_a_unit_have_exact_optima_too():
    context = replace(D1, utility=build_utility(T, "log_leaves"))
    for floor in np.linspace(0.3, 4.5, 12).tolist():
        mean = answer(context, Problem(MinRisk(floor), "record_level", constraint="average"))
        assert mean.status == "optimal"
        assert mean.utility >= floor - 1e-9
        each = answer(context, Problem(MinRisk(floor), "record_level"))
        if each.status == "optimal":
            assert mean.risk <= each.risk + 1e-9
        back = answer(context, Problem(MaxUtility(mean.risk), "record_level", constraint="average"))
        assert back.utility >= mean.utility - 1e-9


@pytest.mark.parametrize(
    ("utility", "module", "limit"),
    [("depth_sum", knapsack, "MAX_STEPS"), ("log_leaves", compromises, "MAX_TOTALS")],
)
def test_a_programme_too_large_gives_a_rule_and_a_bound(monkeypatch, utility, module, limit):
    context = replace(D1, utility=build_utility(T, utility))
    for goal, threshold in (("min_risk", 2.6), ("max_utility", 0.1)):
        problem = Problem(objective_of(goal, threshold), "record_level", constraint="average")
        best = answer(context, problem)
        with monkeypatch.context() as patch:
            patch.setattr(module, limit, 0)
            rough = answer(context, problem)
        sign = -1 if goal == "max_utility" else 1
        assert (best.status, rough.solver) == ("optimal", "lagrangian_relaxation")
        assert rough.bounds.lower <= sign * best.objective <= sign * rough.objective
        assert sign * rough.objective == pytest.approx(rough.bounds.lower + rough.bounds.gap)
        assert rough.status == ("optimal" if rough.bounds.gap == 0 else "heuristic")


def test_what_no_mean_reaches_is_infeasible_with_its_distance():
    outcome = answer(D1, Problem(MinRisk(8.5), "record_level", constraint="average"))
    assert (outcome.status, outcome.rule, outcome.shortfall.records) == ("infeasible", None, 6)
    assert (outcome.shortfall.best, outcome.shortfall.by) == pytest.approx((49 / 6, 8.5 - 49 / 6))
    pure = replace(D1, model=RiskModel("II"))
    outcome = answer(pure, Problem(MaxUtility(0.05), "record_level", constraint="average"))
    assert (outcome.status, outcome.shortfall.best) == ("infeasible", pytest.approx(1 / 12))


def test_infinite_harm_on_the_way_to_a_mean_is_prohibited():
    context = replace(D1, sensitivity=constant_sensitivity(T, math.inf))
    outcome = answer(context, Problem(MinRisk(1), "record_level", constraint="average"))
    assert (outcome.status, outcome.prohibited_records) == ("prohibited", 6)
    outcome = answer(context, Problem(MaxUtility(1), "record_level", constraint="average"))
    assert (outcome.status, outcome.shortfall.best) == ("infeasible", math.inf)
    assert drawn(context, FrontierProblem("record_level")).points == ()
    assert drawn(context, FrontierProblem()).to_document()["points"] == []


@pytest.mark.spec("E-15")
@pytest.mark.parametrize(("floor", "least"), [(5, 4.5), (4.2, 4.5), (6, 5.5), (0, -0.5)])
def test_rounding_before_the_constraint_admits_tables_half_below_the_floor(floor, least):
    rounded = answer(D1, Problem(MinRisk(floor), round_utility=True))
    same = answer(D1, Problem(MinRisk(least)))
    plain = answer(D1, Problem(MinRisk(floor)))
    assert (rounded.rule, rounded.risk) == (same.rule, same.risk)
    assert rounded.risk <= plain.risk
    assert rounded.to_document()["objective"] == {"kind": "min_risk", "utility_floor": floor}
    assert math.floor(rounded.utility + 0.5) >= floor


@pytest.mark.spec("E-15")
def test_the_constraint_is_unrounded_unless_asked_otherwise():
    means = {answer(D1, Problem(MinRisk(floor))).utility for floor in np.linspace(0, 8, 60).tolist()}
    between = next(mean for mean in sorted(means) if mean % 1 >= 0.5)
    floor = math.ceil(between)
    assert answer(D1, Problem(MinRisk(floor))).utility >= floor
    assert answer(D1, Problem(MinRisk(floor), round_utility=True)).utility < floor
    beyond = answer(D1, Problem(MinRisk(9), round_utility=True))
    assert (beyond.status, beyond.shortfall.by) == ("infeasible", pytest.approx(8.5 - 49 / 6))


@pytest.mark.parametrize("scope", ["table_level", "record_level"])
def test_a_cap_on_the_information_loss_is_a_floor_under_the_utility(scope):
    utility = build_utility(T, "info_loss_lm")
    context = replace(D1, utility=utility)
    for cap in (0.5, 1.5, 2.5):
        capped = answer(context, Problem(MinRisk(loss_cap=cap), scope))
        floor = answer(context, Problem(MinRisk(utility.loss_at_top - cap), scope))
        assert (capped.status, capped.risk) == (floor.status, floor.risk)
        if capped.rule is not None:
            records = capped.assessment.records.utility
            loss = utility.loss_at_top - (records.min() if scope == "record_level" else records.mean())
            assert loss <= cap + 1e-9
    outcome = answer(context, Problem(MinRisk(loss_cap=0.01), scope))
    assert outcome.status == "infeasible"
    assert outcome.shortfall.by == pytest.approx(outcome.shortfall.best - 0.01)
    assert outcome.to_document()["objective"] == {"kind": "min_risk", "loss_cap": 0.01}
    with pytest.raises(InvalidInput, match="not a loss"):
        plan(D1, Problem(MinRisk(loss_cap=1), scope))


def test_the_frontier_of_the_fixtures_table_goes_through_the_tabulated_optima():
    outcome = drawn(D1, FrontierProblem())
    assert (outcome.complete, outcome.n_rules) == (True, 54)
    for floor in range(1, 7):
        best = answer(D1, Problem(MinRisk(floor)))
        point = next(p for p in outcome.points if p.utility >= floor - 1e-9)
        assert (point.levels, point.risk, point.kind) == (
            best.rule.levels,
            pytest.approx(best.risk),
            "proven",
        )
    few = drawn(D1, FrontierProblem(max_points=3))
    assert len(few.points) == 3
    assert few.n_points == outcome.n_points == len(outcome.points)
    assert {few.points[0], few.points[-1]} == {outcome.points[0], outcome.points[-1]}
    assert cost_of(plan_frontier(D1, FrontierProblem())).units == 54


def test_a_table_too_large_for_its_frontier_gives_the_hull_and_rules_near_it(monkeypatch):
    exact = drawn(D1, FrontierProblem("record_level"))
    assert exact.complete
    assert {p.kind for p in exact.points} == {"proven"}
    monkeypatch.setattr(frontier_plans, "MAX_STEPS", 0)
    rough = drawn(D1, FrontierProblem("record_level", max_points=500))
    assert not rough.complete
    assert {p.kind for p in rough.points} == {"hull", "heuristic"}
    for point in rough.points:
        least = min(p.risk for p in exact.points if p.utility >= point.utility - 1e-9)
        assert least - 1e-9 <= point.risk <= least + point.gap + 1e-9


@pytest.mark.parametrize("great", [pytest.param(1e8, marks=pytest.mark.deep), 1e11])
def test_records_of_very_different_weight_have_a_frontier_that_fits_in_memory(great):
    context = first_records(2)
    context = replace(context, table=replace(context.table, weights=np.array([1.0, great])))
    outcome = drawn(context, FrontierProblem("record_level", max_points=50))
    assert not outcome.complete
    assert {p.kind for p in outcome.points} <= {"hull", "heuristic"}
    for point in outcome.points:
        floor = Problem(MinRisk(point.utility), "record_level", constraint="average")
        assert point.risk <= answer(context, floor).bounds.lower + point.gap + 1e-9


def test_the_greatest_risk_of_any_record_is_kept_low():
    for scope in ("table_level", "record_level"):
        outcome = answer(D1, Problem(MinRisk(5), scope, aggregate="max"))
        mean = answer(D1, Problem(MinRisk(5), scope))
        assert outcome.risk == outcome.assessment.risk_max <= mean.assessment.risk_max
    averaged = answer(D1, Problem(MinRisk(5), "record_level", constraint="average", aggregate="max"))
    assert averaged.risk <= outcome.risk
    assert averaged.utility >= 5


def test_records_of_no_weight_are_disclosed_at_their_least_risk():
    weights = np.array([1.0, 1.0, 0.0, 1.0, 1.0, 1.0])
    context = replace(D1, table=replace(T, weights=weights))
    outcome = answer(context, Problem(MinRisk(6), "record_level", constraint="average"))
    assert apply(outcome.rule, context.table)[2].tolist() == [0, 0, 0]
    assert outcome.utility >= 6


def test_the_minimax_of_many_records_is_bounded_by_the_best_against_each_dictionary():
    problem = Problem(MinRisk(5), "record_level", view="worst_case")
    outcome = answer(UNKNOWN, problem)
    assert outcome.solver == "worst_case_per_record"
    against = [
        answer(replace(D1, dictionary=d), Problem(MinRisk(5), "record_level")).risk
        for d in THETA.dictionaries
    ]
    assert outcome.bounds.lower == max(against) <= outcome.risk
    found = assess_set(T, outcome.rule, THETA, D1.sensitivity, D1.utility)
    assert outcome.risk == found.worst_case.risk_average
    assert outcome.status == ("optimal" if outcome.bounds.gap == 0 else "heuristic")


def test_few_records_have_their_exact_minimax_rule():
    context = replace(first_records(2), dictionaries=THETA)
    outcome = answer(context, Problem(MinRisk(6), "record_level", view="worst_case"))
    stand_in = answer(context, Problem(MinRisk(6), "record_level", view="worst_case_per_record"))
    assert (outcome.status, outcome.solver) == ("optimal", "enumeration")
    assert outcome.risk <= stand_in.in_set.worst_case.risk_average


@pytest.mark.parametrize(
    ("context", "problem"),
    [
        (UNKNOWN, Problem(MinRisk(1))),
        (D1, Problem(MinRisk(1), view="bayes")),
        (
            replace(UNKNOWN, dictionaries=DictionarySet(THETA.dictionaries)),
            Problem(MinRisk(1), view="bayes"),
        ),
    ],
)
def test_a_view_that_does_not_fit_the_dictionaries_is_refused(context, problem):
    with pytest.raises(InvalidInput) as refused:
        plan(context, problem)
    assert refused.value.faults[0].pointer == "/attacker_view"


@pytest.mark.parametrize(
    "options",
    [
        {"objective": Lagrangian(1.0), "round_utility": True},
        {"objective": MinRisk(loss_cap=1.0), "round_utility": True},
        {"objective": MinRisk(1.0), "scope": "record_level", "round_utility": True},
        {"objective": MinRisk(1.0), "constraint": "median"},
        {"objective": MinRisk(1.0), "view": "omniscient"},
        {"objective": MinRisk(1.0), "aggregate": "least"},
    ],
)
def test_options_that_do_not_go_together_are_refused(options):
    with pytest.raises(InvalidInput):
        Problem(**options)
    with pytest.raises(InvalidInput):
        FrontierProblem(max_points=1)


@pytest.mark.spec("E-12", "E-18")
def test_nothing_is_pruned_where_generalising_is_not_proved_to_lower_the_risk():
    raw = replace(D1, model=RiskModel("III_raw"))
    outcome = answer(raw, Problem(MinRisk(3)))
    assert (outcome.status, outcome.not_monotone, outcome.solver) == ("optimal", True, "enumeration")
    assert outcome.counters.risk_evaluations == 54
    for problem, solver in ((Problem(MinRisk(3)), "branch_and_bound"),):
        with pytest.raises(NotSupported, match="proved"):
            plan(raw, problem, SOLVERS[solver]())
    with pytest.raises(NotSupported, match="proved"):
        plan(raw, Problem(MinRisk(3)), budget=Budget(5))
    with pytest.raises(NotSupported, match="evaluation only"):
        plan(raw, Problem(MinRisk(3), "record_level", constraint="average"))
    with pytest.raises(NotSupported, match="evaluation only"):
        plan_frontier(raw, FrontierProblem())


def test_a_harm_of_failure_needs_model_one():
    context = replace(D1, failure=constant_sensitivity(T, 0.1), model=RiskModel("II"))
    with pytest.raises(InvalidInput, match="failed identification"):
        plan(context, Problem(MinRisk(1)))
    with pytest.raises(InvalidInput, match="failed identification"):
        plan_frontier(context, FrontierProblem())


@pytest.mark.spec("E-11")
@pytest.mark.parametrize("scope", ["table_level", "record_level"])
def test_where_failure_does_more_harm_than_success_less_is_generalised(scope):
    context = replace(D1, failure=constant_sensitivity(T, 3.0))
    for solver in ("enumeration", "branch_and_bound"):
        outcome = answer(context, Problem(MinRisk(0), scope), solver)
        top = assess(
            T, TableRule(T.heights), D1.dictionary, D1.sensitivity, D1.utility, failure=context.failure
        )
        assert outcome.status == "optimal"
        assert outcome.risk < top.risk_average


def test_budgets_are_refused_where_records_are_not_solved_one_by_one():
    problem = Problem(MinRisk(1), "record_level", constraint="average")
    for arguments in ((BranchAndBound(), Budget()), (Auto(), Budget(5))):
        with pytest.raises(NotSupported, match="one by one"):
            plan(D1, problem, *arguments)
    with pytest.raises(NotSupported, match="couples"):
        plan_frontier(UNKNOWN, FrontierProblem("record_level", view="worst_case"))


def test_single_records_of_hierarchies_that_are_no_trees_have_means_and_frontiers_too():
    context = replace(dag_context(), table=replace(dag_context().table, codes=np.array([[3], [1], [3]])))
    outcome = answer(context, Problem(MinRisk(1), "record_level", constraint="average"))
    assert outcome.utility >= 1
    assert outcome.rule.codes.tolist() == [[0], [1], [3]] or outcome.risk == pytest.approx(1 / 3)
    assert drawn(context, FrontierProblem("record_level")).complete
    assert {own.levels for own in drawn(context, FrontierProblem()).points} <= {(0,), (2,)}


@pytest.mark.parametrize("constraint", ["per_record", "average"])
def test_a_record_counts_itself_once_at_every_ancestor_of_a_value_with_two_parents(constraint):
    """Its own row says b, which p covers and q does not; the other entity is c, below q alone."""
    dag = Hierarchy.from_parents({"p": [None], "q": [None], "a": ["p", "q"], "b": ["p"], "c": ["q"]})
    table = Table(("x",), (dag,), dag.encode(["a"])[0][:, None], np.array(["own"], dtype=object))
    rows = link_nodes("x", dag, dag.encode(["b", "c"])[0])
    people = Dictionary(2, (rows,), np.array(["own", "other"], dtype=object), True)
    harm = build_sensitivity(table, "linear", {"x": ConstantWeight(1.0)}, allow_positive_top=True)
    context = SearchContext(table, people, harm, build_utility(table))
    outcome = answer(context, Problem(MinRisk(1), "record_level", "add_self", constraint=constraint))
    assert [dag.labels[code] for code in outcome.rule.codes[:, 0]] == ["q"]
    assert outcome.risk == 0.5


def test_records_that_nothing_tells_apart_disclose_their_own_values():
    dag = Hierarchy.from_parents({"p": [None], "q": [None], "a": ["p", "q"], "b": ["p"], "c": ["p"]})
    codes = dag.encode(["b", "c", "b"])[0]
    table = Table(("x",), (dag,), codes[:, None])
    weights = build_sensitivity(table, "linear", {"x": ConstantWeight(1.0)})
    context = SearchContext(table, Dictionary(0, ()), weights, build_utility(table))
    for constraint in ("per_record", "average"):
        outcome = answer(context, Problem(MinRisk(0), "record_level", constraint=constraint))
        assert outcome.rule.codes[:, 0].tolist() == codes.tolist()


def test_a_cap_on_the_greatest_risk_leaves_records_of_no_weight_out_of_a_mean():
    pure = replace(D1, model=RiskModel("II"), table=replace(T, weights=np.array([1.0, 1, 1, 0, 0, 1])))
    alone = assess(T, TableRule((0, 0, 0)), pure.dictionary, pure.sensitivity, pure.utility, model=pure.model)
    assert alone.records.loss[3] == alone.records.loss[4] == 1
    cap = Problem(MaxUtility(0.5), "record_level", constraint="average", aggregate="max")
    outcome = answer(pure, cap)
    assert outcome.risk == outcome.assessment.risk_max <= 0.5
    least = float(answer(pure, replace(cap, objective=MinRisk(0.0))).risk)
    missed = answer(pure, replace(cap, objective=MaxUtility(least / 2)))
    assert (missed.status, missed.shortfall.best) == ("infeasible", pytest.approx(least))


@pytest.mark.parametrize("objective", ["min_risk", "max_utility", "lagrangian"])
def test_every_record_has_the_most_utility_within_the_greatest_risk(objective):
    problem = Problem(objective_of(objective, 0.4), "record_level", constraint="average", aggregate="max")
    outcome = answer(D1, problem)
    assert (outcome.status, outcome.solver) == ("optimal", "enumeration")
    losses, utility = outcome.assessment.records.loss, outcome.assessment.records.utility
    # No record could have more utility within the greatest risk of all.
    context = first_records(1)
    points = drawn(context, FrontierProblem("record_level")).points
    assert utility[0] == max(p.utility for p in points if p.risk <= losses.max() + 1e-12)
