"""The best of given rules (Fouad (2012), algorithm 1), and searches that do not fit a question."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.domain.errors import NotFound, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.models import RiskModel
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import RecordRule, TableRule
from app.domain.search.blocks import carry_out
from app.domain.search.budget import Budget
from app.domain.search.catalogue import SEARCHES, entry_of
from app.domain.search.context import SearchContext
from app.domain.search.objectives import Lagrangian, MaxUtility, MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.solvers import (
    SOLVERS,
    Aruba,
    Auto,
    BranchAndBound,
    Candidates,
    Enumeration,
    Genetic,
    TopDown,
)
from app.domain.sensitivity.sensitivity import constant_sensitivity
from tests.unit.domain.fixture_f import DICTIONARIES, T, levels_of, personal

RULES = {
    "open": TableRule((0, 0, 0)),
    "good": TableRule(levels_of((4, 0, 0))),
    "same": TableRule(levels_of((4, 0, 0))),
    "poor": TableRule(levels_of((3, 1, 0))),
    "shut": TableRule(levels_of((0, 0, 0))),
}
D1 = replace(SearchContext(T, DICTIONARIES["D1"], personal(), build_utility(T)), rules=RULES)
ALL = Candidates(tuple(RULES))


def answer(problem, names=tuple(RULES), context=D1, budget=Budget(), **options):  # noqa: B008
    return carry_out(plan(context, problem, Candidates(names), budget), **options)


def risk_of(name):
    return answer(Problem(MinRisk(-1.0)), (name,)).risk


@pytest.mark.spec("TV-11", "E-23")
def test_the_least_risky_of_the_given_rules_wins_and_the_first_named_of_equals():
    outcome = answer(Problem(MinRisk(4)))
    assert (outcome.status, outcome.rule, outcome.solver) == (
        "optimal",
        RULES["good"],
        "min_risk_of_candidates",
    )
    assert outcome.rule is RULES["good"]
    assert outcome.risk == pytest.approx(0.062103, abs=1e-6)
    assert (outcome.ties, outcome.n_rules, outcome.bounds.gap) == (2, 5, 0)
    assert (outcome.counters.visited_nodes, outcome.counters.risk_evaluations) == (5, 5)
    assert answer(Problem(MinRisk(4)), ("same", "good")).rule is RULES["same"]
    assert answer(Problem(MinRisk(0))).rule is RULES["shut"]


def test_a_cap_and_a_trade_off_choose_among_given_rules_too():
    cap = risk_of("good")
    assert answer(Problem(MaxUtility(cap))).rule is RULES["good"]
    assert answer(Problem(MaxUtility(1e9))).rule is RULES["open"]
    assert answer(Problem(Lagrangian(0.0))).rule is RULES["shut"]
    assert answer(Problem(Lagrangian(1e6))).rule is RULES["open"]


@pytest.mark.spec("E-23")
def test_where_no_given_rule_reaches_the_floor_it_is_infeasible_by_the_best_of_them():
    outcome = answer(Problem(MinRisk(100)))
    best = answer(Problem(MinRisk(-1.0)), ("open",)).utility
    assert (outcome.status, outcome.rule) == ("infeasible", None)
    assert outcome.shortfall.best == pytest.approx(best)
    assert outcome.shortfall.by == pytest.approx(100 - best)


def test_a_threshold_for_every_record_is_held_by_every_record():
    steps = np.zeros((T.n_records, T.n_attributes), dtype=np.int16)
    steps[0] = 99
    rules = {
        "all": TableRule((0, 0, 0)),
        "but_one": RecordRule(np.asfortranarray(np.minimum(steps, T.heights))),
    }
    context = replace(D1, rules=rules)
    each = Problem(MinRisk(1.0), "record_level")
    assert answer(each, tuple(rules), context).rule is rules["all"]
    assert answer(replace(each, constraint="average"), tuple(rules), context).rule is rules["but_one"]


def test_a_part_of_the_given_rules_is_not_called_all_of_them():
    budgeted = answer(Problem(MinRisk(4)), ("open", "good"), budget=Budget(1))
    assert (budgeted.status, budgeted.complete, budgeted.rule) == ("heuristic", True, RULES["open"])
    assert budgeted.bounds.lower == 0
    calls = iter([False, True])
    halted = answer(Problem(MinRisk(4)), ("open", "good"), halted=lambda: next(calls))
    assert (halted.status, halted.complete, halted.rule) == ("heuristic", False, RULES["open"])
    nothing = plan(D1, Problem(MinRisk(4)), ALL).combine({})
    assert (nothing.status, nothing.complete, nothing.rule) == ("heuristic", False, None)


def test_a_rule_that_is_not_there_is_named():
    with pytest.raises(NotFound, match="nobody"):
        plan(D1, Problem(MinRisk(4)), Candidates(("nobody",)))


def test_the_catalogue_has_every_solver_under_its_name():
    assert {entry.name: entry.parameters for entry in SEARCHES if entry.name in SOLVERS} == {
        entry.name: SOLVERS[entry.name] for entry in SEARCHES
    }
    assert set(SOLVERS) == {entry.name for entry in SEARCHES}
    assert entry_of(Auto()).name == "auto"


@pytest.mark.spec("E-18")
def test_searches_from_one_corner_to_the_other_refuse_a_trade_off_and_name_what_solves_it():
    for solver in (TopDown(), Aruba(), Genetic(seed=1)):
        with pytest.raises(NotSupported) as refused:
            plan(D1, Problem(Lagrangian(0.1)), solver)
        assert "enumeration" in refused.value.remedy
    with pytest.raises(NotSupported) as refused:
        plan(D1, Problem(MaxUtility(0.1)), Genetic(seed=1))
    assert "btda" in refused.value.remedy


@pytest.mark.spec("E-12")
def test_a_risk_that_may_rise_is_refused_by_all_but_enumeration():
    raw = replace(D1, model=RiskModel("III_raw"))
    for solver in (TopDown(), Aruba(), Genetic(seed=1), BranchAndBound()):
        with pytest.raises(NotSupported) as refused:
            plan(raw, Problem(MinRisk(3)), solver)
        assert refused.value.remedy.startswith("Use enumeration")
    assert plan(raw, Problem(MinRisk(3)), Enumeration()).solver == "enumeration"


@pytest.mark.spec("E-11")
def test_a_harm_of_failed_identification_is_refused_by_the_frontier_walk_only():
    context = replace(D1, failure=constant_sensitivity(T, 0.1))
    with pytest.raises(NotSupported) as refused:
        plan(context, Problem(MinRisk(3)), Aruba())
    assert "btda" in refused.value.remedy
    everything = carry_out(plan(context, Problem(MinRisk(3)), Enumeration()))
    assert carry_out(plan(context, Problem(MinRisk(3)), TopDown())).rule == everything.rule


def test_hierarchies_that_are_no_trees_are_refused_by_name():
    parents = {"v": ["p", "q"], "p": [None], "q": [None]}
    dag = Hierarchy.from_parents(parents)
    table = type(T)(
        ("a",), (dag,), np.array([[dag.node_of("v")]], dtype=np.int32), np.array(["x"], dtype=object)
    )
    context = SearchContext(
        table, replace(DICTIONARIES["D1"], links=()), constant_sensitivity(table), build_utility(table)
    )
    for solver in (Aruba(), Genetic(seed=1), BranchAndBound()):
        with pytest.raises(NotSupported, match="tree"):
            plan(context, Problem(MinRisk(1), "record_level"), solver)
    assert carry_out(plan(context, Problem(MinRisk(1), "record_level"), TopDown())).status == "optimal"


def test_enumeration_is_not_begun_with_less_room_than_it_needs():
    for scope in ("table_level", "record_level"):
        with pytest.raises(NotSupported, match="max_nodes"):
            plan(D1, Problem(MinRisk(3), scope), Enumeration(), Budget(10))
        assert plan(D1, Problem(MinRisk(3), scope), Enumeration(), Budget(10**6)).solver == "enumeration"
