"""Optimal rules of the Adult table, its own dictionary, against a brute force of its own."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.search.blocks import carry_out
from app.domain.search.objectives import Lagrangian, MinRisk
from app.domain.search.plans import plan, plan_frontier
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.solvers import SOLVERS
from app.domain.search.table_rules.table_frontier import EnumeratedFrontier
from app.domain.search.table_rules.table_level import TableInstance
from tests.oracles.rules_on_adult import DATA, FIVE, FOUR, by_hand, context_of
from tests.oracles.search_instances import objective_of

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(DATA is None, reason="PRIVACY_RISK_DATA does not name the folder of real data"),
]


def answer(context, problem, solver="auto"):
    chosen = plan(context, problem, SOLVERS[solver]())
    return carry_out(chosen)


@pytest.fixture(scope="module")
def rated_by_hand():
    """The brute force over five attributes, and the risk of every rule by it."""
    hand = by_hand(*FIVE)
    return hand, {levels: hand.risk(levels) for levels in hand.rules()}


@pytest.mark.deep
@pytest.mark.parametrize("floor", [2, 5, 8, 11])
def test_the_optimum_over_five_attributes_is_that_of_the_brute_force(floor, rated_by_hand):
    hand, rated = rated_by_hand
    expected = hand.best(rated, floor)
    for solver in ("enumeration", "branch_and_bound"):
        outcome = answer(context_of(*FIVE), Problem(MinRisk(floor)), solver)
        assert outcome.rule.levels == expected
        assert outcome.risk == pytest.approx(rated[expected], rel=1e-12)
        assert outcome.utility == hand.utility(expected)


@pytest.mark.deep
def test_all_rules_over_all_nine_attributes_include_seeded_ones_of_the_brute_force():
    hand, context = by_hand(), context_of()
    outcome = answer(context, Problem(MinRisk(8)), "enumeration")
    instance = TableInstance(context, Problem(MinRisk(8)))
    assert outcome.n_rules == outcome.counters.risk_evaluations == 12_960
    rng = np.random.default_rng(30_162)
    rules = hand.rules()
    for i in rng.choice(len(rules), 60, replace=False).tolist():
        risk = hand.risk(rules[i])
        assert instance.risks(rules[i])[0] == pytest.approx(risk, rel=1e-12)
        assert hand.utility(rules[i]) < 8 or outcome.risk <= risk
    assert outcome.risk == pytest.approx(hand.risk(outcome.rule.levels), rel=1e-12)


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_the_optima_over_all_nine_attributes_are_those_of_the_brute_force():
    hand = by_hand()
    rated = {levels: hand.risk(levels) for levels in hand.rules()}
    for floor in (2, 4, 6, 8, 10, 12, 14):
        expected = hand.best(rated, floor)
        for solver in ("enumeration", "branch_and_bound"):
            outcome = answer(context_of(), Problem(MinRisk(floor)), solver)
            assert outcome.rule.levels == expected
            assert outcome.risk == pytest.approx(rated[expected], rel=1e-12)


@pytest.mark.deep
@pytest.mark.parametrize(
    "problem", [("min_risk", 5), ("min_risk", 12), ("max_utility", 0.1), ("lagrangian", 0.01)]
)
def test_pruning_finds_what_scoring_all_rules_finds_with_a_tenth_of_the_work(problem):
    found = answer(context_of(), Problem(objective_of(*problem)))
    everything = answer(context_of(), Problem(objective_of(*problem)), "enumeration")
    assert (found.solver, found.status, found.rule) == ("portfolio", "optimal", everything.rule)
    assert found.objective == everything.objective
    assert found.bounds == everything.bounds
    assert found.counters.risk_evaluations < 12_960 / 10


@pytest.mark.deep
def test_the_pruned_frontier_is_that_of_all_rules():
    asked = Problem(Lagrangian(0.0))
    instance = TableInstance(context_of(), asked)
    whole = carry_out(EnumeratedFrontier(instance, FrontierProblem()))
    pruned = carry_out(plan_frontier(context_of(), FrontierProblem()))
    assert pruned.complete
    assert pruned.solver == "portfolio"
    assert pruned.n_points == whole.n_points == 19
    assert [p.levels for p in pruned.points] == [p.levels for p in whole.points]
    assert pruned.counters.risk_evaluations < 12_960 / 4


@pytest.mark.deep
@pytest.mark.parametrize("floor", [4, 8, 12])
def test_branch_and_bound_evaluates_less_than_half_of_the_rules(floor):
    outcome = answer(context_of(), Problem(MinRisk(floor)), "branch_and_bound")
    everything = answer(context_of(), Problem(MinRisk(floor)), "enumeration")
    assert outcome.counters.risk_evaluations < 12_960 / 2
    assert outcome.rule == everything.rule


@pytest.mark.deep
@pytest.mark.parametrize("floor", [3, 6])
def test_the_record_level_optimum_is_that_of_the_brute_force_for_five_hundred_records(floor):
    hand, context = by_hand(*FOUR), context_of(*FOUR)
    outcome = answer(context, Problem(MinRisk(floor), "record_level"))
    assert outcome.status == "optimal"
    losses = outcome.assessment.records.loss
    for row in np.random.default_rng(floor).choice(hand.n, 250, replace=False).tolist():
        levels, loss = hand.best_of_record(row, floor)
        assert tuple(outcome.rule.steps[row].tolist()) == levels
        assert losses[row] == pytest.approx(loss, rel=1e-12)
