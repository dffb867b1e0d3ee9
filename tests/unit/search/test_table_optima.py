"""Optimal table-level and record-level rules on the specification's fixture, and what outcomes say."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from app.domain.counting.counter import dictionary_of
from app.domain.dictionaries.dictionary import Dictionary, link_identity, link_nodes
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.assessment import assess
from app.domain.risk.models import RiskModel
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.search.blocks import carry_out, cost_of
from app.domain.search.budget import Budget
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MaxUtility, MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.solvers import SOLVERS, BranchAndBound, Enumeration
from app.domain.sensitivity.sensitivity import build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight, NodeWeights
from app.domain.tables.numbers import highest_accepted, lowest_accepted
from app.domain.tables.table import Table
from tests.oracles.search_instances import objective_of
from tests.unit.domain.fixture_f import DICTIONARIES, T, levels_of, personal
from tests.unit.search.table_questions import D1, answer, dag_context, first_records


@pytest.mark.spec("TV-11")
@pytest.mark.parametrize("solver", ["enumeration", "branch_and_bound", "btda", "aruba"])
@pytest.mark.parametrize(
    ("floor", "cut", "risk"),
    [
        (1, (1, 0, 0), 0.004545), (2, (2, 0, 0), 0.010937), (3, (3, 0, 0), 0.036806),
        (4, (4, 0, 0), 0.062103), (5, (4, 0, 1), 0.177778), (6, (4, 0, 2), 0.284722),
    ],
)  # fmt: skip
def test_the_fixtures_table_has_the_tabulated_optima(solver, floor, cut, risk):
    outcome = answer(D1, Problem(MinRisk(floor)), solver)
    assert outcome.status == "optimal"
    assert outcome.rule == TableRule(levels_of(cut))
    assert outcome.risk == pytest.approx(risk, abs=5.1e-7)
    assert outcome.bounds.lower == outcome.risk


@pytest.mark.spec("TV-11")
def test_risk_and_utility_of_all_rules_correlate_as_tabulated():
    points = answer(D1, Problem(MinRisk(1))).risk_map.points
    assert len(points) == 54
    correlation = np.corrcoef([p.risk for p in points], [p.utility for p in points])[0, 1]
    assert correlation == pytest.approx(0.881583, abs=5e-7)


@pytest.mark.spec("TV-11")
@pytest.mark.parametrize(("floor", "risk"), [(3, 0.015278), (5, 0.057037), (6, 0.130093), (7, 0.223009)])
def test_the_constraint_per_record_has_the_tabulated_risks(floor, risk):
    for solver in ("enumeration", "branch_and_bound", "btda", "aruba"):
        outcome = answer(first_records(3), Problem(MinRisk(floor), "record_level"), solver)
        assert outcome.risk == pytest.approx(risk, abs=5.1e-7)
        assert outcome.assessment.utility_min >= floor


@pytest.mark.spec("TV-12")
def test_a_single_record_has_the_optimum_of_its_canonical_instance():
    outcome = answer(first_records(1), Problem(MinRisk(7), "record_level"))
    assert outcome.risk == pytest.approx(0.21)
    assert outcome.rule.steps.tolist() == [[0, 2, 0]]


def test_an_infeasible_floor_says_by_how_much_and_for_how_many_records():
    table = answer(D1, Problem(MinRisk(9)))
    assert (table.status, table.rule) == ("infeasible", None)
    assert table.shortfall.best == pytest.approx(49 / 6)
    assert table.shortfall.by == pytest.approx(9 - 49 / 6)
    records = answer(D1, Problem(MinRisk(8), "record_level"))
    assert records.status == "infeasible"
    assert (records.shortfall.records, records.shortfall.best, records.shortfall.by) == (1, 7, 1)


def test_an_infeasible_cap_says_the_least_risk_there_is():
    context = SearchContext(T, DICTIONARIES["D1"], personal("multiplicative"), build_utility(T))
    for scope, solver in (
        ("table_level", "enumeration"),
        ("table_level", "branch_and_bound"),
        ("record_level", "auto"),
    ):
        outcome = answer(context, Problem(MaxUtility(0.05), scope), solver)
        assert outcome.status == "infeasible"
        assert outcome.shortfall.best == pytest.approx(1 / 12)
        assert outcome.shortfall.by == pytest.approx(1 / 12 - 0.05)


def critical_context():
    tree = Hierarchy.from_parents({"a": [None], "b": [None]})
    table = Table(("x", "y"), (tree, tree), np.array([[1, 1], [2, 2]]))
    weights = {"x": ConstantWeight(math.inf), "y": ConstantWeight(0.0)}
    return SearchContext(
        table,
        Dictionary(3, ()),
        build_sensitivity(table, "linear", weights),
        build_utility(table),
    )


@pytest.mark.parametrize("solver", ["enumeration", "branch_and_bound"])
@pytest.mark.parametrize("scope", ["table_level", "record_level"])
def test_infinite_harm_is_prohibited_and_weight_zero_is_not_suppressed_for_nothing(solver, scope):
    context = critical_context()
    outcome = answer(context, Problem(MinRisk(2), scope), solver)
    assert (outcome.status, outcome.rule) == ("prohibited", None)
    assert outcome.prohibited_records == (2 if scope == "record_level" else 0)
    outcome = answer(context, Problem(MinRisk(0), scope), solver)
    assert outcome.utility == 1.0
    levels = outcome.rule.levels if scope == "table_level" else tuple(outcome.rule.steps[0].tolist())
    assert levels == (1, 0)


def test_the_document_is_plain_json_without_nan_and_names_the_levels():
    outcome = answer(D1, Problem(MinRisk(5)))
    document = json.loads(json.dumps(outcome.to_document(), allow_nan=False))
    assert document["levels"] == {"city": 1, "race": 2, "income": 1}
    assert document["visited_nodes"] == document["risk_evaluations"] == document["utility_evaluations"] == 54
    assert document["status"] == "optimal"
    assert len(outcome.map_document()["points"]) == 54
    infeasible = answer(D1, Problem(MinRisk(9))).to_document()
    assert json.dumps(infeasible, allow_nan=False)
    assert infeasible["infeasible_by"]["records"] == 6


def test_the_counters_of_branch_and_bound_are_counted_apart():
    outcome = answer(D1, Problem(MinRisk(5)), "branch_and_bound")
    counters = outcome.counters
    assert 0 < counters.risk_evaluations < 54
    assert len({counters.visited_nodes, counters.risk_evaluations, counters.utility_evaluations}) > 1
    assert outcome.risk_map is None
    assert outcome.map_document() is None


def test_auto_scores_few_rules_unless_the_budget_forbids_it():
    problem = Problem(MinRisk(5))
    assert plan(D1, problem).solver == "enumeration"
    assert plan(D1, problem, budget=Budget(54)).solver == "enumeration"
    assert plan(D1, problem, budget=Budget(10)).solver == "portfolio"
    assert cost_of(plan(D1, problem, budget=Budget(10))).engine == "portfolio"


def test_a_heuristic_result_has_the_best_rule_and_the_smallest_open_bound():
    best = answer(D1, Problem(MinRisk(5)))
    outcome = answer(D1, Problem(MinRisk(5)), max_nodes=3)
    assert outcome.status == "heuristic"
    assert outcome.bounds.lower <= best.risk <= outcome.risk
    assert outcome.bounds.gap == pytest.approx(outcome.risk - outcome.bounds.lower)
    assert outcome.utility >= 5


@pytest.mark.parametrize(
    ("arguments", "pointer"),
    [
        (("min_risk", math.nan), "/objective/utility_floor"),
        (("max_utility", -1.0), "/objective/risk_cap"),
        (("lagrangian", math.inf), "/objective/trade_off"),
        (("min_risk", 1.0, "cell_level"), "/scope"),
        (("min_risk", 1.0, "table_level", "ignore"), "/absent_policy"),
    ],
)
def test_a_bad_question_is_refused_by_name(arguments, pointer):
    kind, threshold, *rest = arguments
    with pytest.raises(InvalidInput) as refused:
        Problem(objective_of(kind, threshold), *rest)
    assert refused.value.faults[0].pointer == pointer


def test_a_bad_budget_is_refused_by_name():
    with pytest.raises(InvalidInput, match="max_nodes"):
        Budget(max_nodes=0)
    for share in (0.0, 1.0):
        with pytest.raises(InvalidInput, match="relative_gap"):
            Budget(relative_gap=share)


def test_add_self_needs_comparable_identifiers():
    anonymous = Dictionary(D1.dictionary.n_entities, D1.dictionary.links)
    context = SearchContext(T, anonymous, personal(), build_utility(T))
    with pytest.raises((InvalidInput, NotSupported), match=r"add_self|identifiers"):
        plan(context, Problem(MinRisk(1), absent_policy="add_self"))


@pytest.mark.parametrize("policy", ["zero", "add_self"])
@pytest.mark.parametrize("model", ["I", "II"])
def test_a_table_without_any_value_has_one_rule_with_the_weights_of_what_is_suppressed(policy, model):
    empty, ids = Hierarchy.from_parents({}), np.array(["x", "y", "z"], dtype=object)
    table = Table(("a", "b"), (empty, empty), np.zeros((3, 2), dtype=np.int32), ids)
    links = (link_identity("a", empty, ["u", None]), link_identity("b", empty, [None, "v"]))
    dictionary = Dictionary(2, links, ids[:2], comparable_ids=True)
    weights = {"a": NodeWeights({"*": 1.0}), "b": NodeWeights({"*": 0.5})}
    phi = build_sensitivity(table, "linear", weights, allow_positive_top=True)
    context = SearchContext(table, dictionary, phi, build_utility(table), model=RiskModel(model))
    outcome = answer(context, Problem(MinRisk(0), absent_policy=policy))
    assert outcome.rule == TableRule((0, 0))
    (point,) = outcome.risk_map.points
    counts = [2, 2, 2] if policy == "zero" else [2, 2, 3]
    harm = 1.5 if model == "I" else 1.0
    assert point.risk == pytest.approx(sum(harm / count for count in counts) / 3, rel=1e-12)


def test_table_levels_of_hierarchies_that_are_no_trees_are_the_lowest_and_the_highest():
    outcome = answer(dag_context(), Problem(MinRisk(0), "table_level"))
    assert (outcome.status, outcome.n_rules, outcome.rule) == ("optimal", 2, TableRule((2,)))
    assert [point.levels for point in outcome.risk_map.points] == [(0,), (2,)]


def test_single_records_of_hierarchies_that_are_no_trees_are_enumerated():
    outcome = answer(dag_context(), Problem(MinRisk(1), "record_level"))
    assert (outcome.status, outcome.n_rules, outcome.ties) == ("optimal", 4, 1)
    assert outcome.rule.codes.tolist() == [[3]]
    assert outcome.risk == 0.5
    top = answer(dag_context(), Problem(MinRisk(0), "record_level"))
    assert top.rule.codes.tolist() == [[0]]
    with pytest.raises(NotSupported, match="tree"):
        plan(dag_context(), Problem(MinRisk(0), "record_level"), BranchAndBound())


@pytest.mark.parametrize(("code", "ties"), [(0, 0), (1, 0), (3, 1)])
def test_levels_above_a_records_own_top_are_no_ties(code, ties):
    tree = Hierarchy.from_parents({"short": [None], "inner": [None], "leaf": ["inner"]})
    table = Table(("a",), (tree,), np.array([[code]], dtype=np.int32))
    sensitivity = build_sensitivity(table, "linear", {"a": ConstantWeight(1.0)})
    context = SearchContext(table, Dictionary(0, ()), sensitivity, build_utility(table, "inverse_leaves"))
    floor = build_utility(table, "inverse_leaves").values[0][code]
    found = plan(context, Problem(MinRisk(float(floor)), "record_level"), Enumeration())
    outcome = carry_out(found)
    assert (outcome.status, outcome.ties) == ("optimal", ties)


@pytest.mark.deep
@pytest.mark.parametrize("solver", ["enumeration", "branch_and_bound"])
def test_a_cap_equal_to_a_great_risk_admits_the_rule_that_has_it(solver):
    context = SearchContext(T, DICTIONARIES["D1"], personal("multiplicative", 40.0), build_utility(T))
    for levels in np.ndindex(*(height + 1 for height in T.heights)):
        scored = assess(T, TableRule(levels), context.dictionary, context.sensitivity, context.utility)
        found = plan(context, Problem(MaxUtility(scored.risk_average)), SOLVERS[solver]())
        outcome = carry_out(found)
        assert outcome.utility >= lowest_accepted(scored.utility_average)
        assert outcome.risk <= highest_accepted(scored.risk_average)


@pytest.mark.parametrize("weight", [705.0, 709.7, 710.0])
def test_a_harm_that_is_great_but_finite_is_not_prohibited(weight):
    tree = Hierarchy.from_parents({"x": [None], "y": [None]})
    table = Table(("a",), (tree,), np.array([[1]], dtype=np.int32))
    sensitivity = build_sensitivity(table, "multiplicative", {"a": ConstantWeight(weight)})
    context = SearchContext(table, dictionary_of(table), sensitivity, build_utility(table))
    found = plan(context, Problem(MinRisk(1.0)))
    outcome = carry_out(found)
    assert outcome.status == ("optimal" if weight < 709.75 else "prohibited")


@pytest.mark.parametrize("scope", ["table_level", "record_level"])
def test_a_budget_too_small_for_the_least_risk_leaves_the_shortfall_open(scope):
    tree = Hierarchy.from_parents({"a": [None], "b": [None], "c": ["b"], "d": ["b"]})
    table = Table(("a", "b"), (tree, tree), np.array([[1, 3], [4, 1], [3, 3]], dtype=np.int32))
    entities = Dictionary(2, (link_nodes("a", tree, np.array([2, 4], dtype=np.int32)),))
    sensitivity = constant_sensitivity(table)
    context = SearchContext(table, entities, sensitivity, build_utility(table))
    least = shortfall_best(context, scope, None)
    for budget in range(1, 40):
        assert shortfall_best(context, scope, budget) in (None, least)


def shortfall_best(context, scope, budget):
    """The least risk that an infeasible search reports within a budget; None if it reports none."""
    found = plan(context, Problem(MaxUtility(0.1), scope), BranchAndBound(), Budget(budget))
    outcome = carry_out(found)
    outcome.to_document()
    return None if outcome.shortfall is None else outcome.shortfall.best
