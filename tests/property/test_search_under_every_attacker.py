"""Whatever the attacker, model, harm, weights and constraint: what a search finds is what loops find."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from app.domain.errors import NotSupported
from app.domain.rules.rule import apply
from app.domain.search import plans
from app.domain.search.blocks import carry_out
from app.domain.search.objectives import Lagrangian, MaxUtility, MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.record_rules import knapsack
from app.domain.search.record_rules import knapsack as compromises
from app.domain.search.solvers import SOLVERS, BranchAndBound
from tests.oracles.attacks_by_hand import MODELS, ByHand, dags, instances, optimum
from tests.oracles.effort import examples
from tests.oracles.search_instances import hierarchies, objective_of, solve

THOROUGH = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
POLICIES = st.sampled_from(["zero", "add_self"])
SHAPES = st.one_of(hierarchies(), dags())
QUESTIONS = st.one_of(
    st.tuples(st.just("min_risk"), st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 4.0])),
    st.tuples(st.just("max_utility"), st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 3.0])),
    st.tuples(st.just("lagrangian"), st.sampled_from([0.0, 0.05, 0.1, 0.5])),
)
PROPER_MODELS = [model for model in MODELS if model[0] != "III_raw"]
AGGREGATES = st.sampled_from(["average", "max"])
OF_SETS = ("bayes", "worst_case", "worst_case_per_record")


def answer(context, problem, solver="auto"):
    chosen = plan(context, problem, SOLVERS[solver]())
    outcome = carry_out(chosen)
    outcome.to_document()
    return outcome


def views(context):
    return st.sampled_from(OF_SETS if context.dictionaries else ("known", "estimated"))


def sign(objective):
    return -1 if objective == "max_utility" else 1


@THOROUGH
@given(st.data(), instances(), POLICIES, QUESTIONS, AGGREGATES)
def test_table_rules(data, context, policy, question, aggregate):
    view = data.draw(views(context))
    by_hand = ByHand(context, policy)
    rated = [(levels, *by_hand.score(view, aggregate, rule)) for levels, rule in by_hand.table_rules()]
    # III_raw makes −∞ of infinite harm: there is no least risk to agree on.
    assume(all(risk > -math.inf for _, risk, _ in rated))
    status, value, levels = solve(rated, Problem(objective_of(*question)))
    problem = Problem(objective_of(*question), "table_level", policy, view, aggregate=aggregate)
    solvers = ["enumeration"]
    if context.harm_is_monotone:
        solvers.append("branch_and_bound")
    else:
        with pytest.raises(NotSupported, match="proved"):
            plan(context, problem, BranchAndBound())
    for solver in solvers:
        outcome = answer(context, problem, solver)
        assert outcome.status == status
        assert outcome.not_monotone != context.harm_is_monotone
        if levels is not None:
            assert outcome.rule.levels == levels
            assert sign(question[0]) * outcome.objective == pytest.approx(value, rel=1e-9, abs=1e-12)


@THOROUGH
@given(st.data(), instances(), POLICIES, QUESTIONS)
def test_each_record_on_its_own(data, context, policy, question):
    objective, threshold = question
    view = data.draw(views(context))
    assume(view != "worst_case" or objective == "max_utility")
    by_hand = ByHand(context, policy)
    solved = []
    for row in range(context.table.n_records):
        rated = [
            (by_hand.of_record(view, row, codes), by_hand.utility(codes)) for codes in by_hand.nodes(row)
        ]
        solved.append(optimum(rated, objective, threshold))
    status = next(s for s in ("infeasible", "prohibited", "optimal") if s in {s for s, _ in solved})
    problem = Problem(objective_of(*question), "record_level", policy, view)
    for solver in ["enumeration", "branch_and_bound"] if context.harm_is_monotone else ["enumeration"]:
        outcome = answer(context, problem, solver)
        assert outcome.status == status
        if status == "optimal":
            value = math.fsum(w * v for w, (_, v) in zip(by_hand.weights, solved, strict=True) if w > 0)
            value /= math.fsum(by_hand.weights)
            assert sign(objective) * outcome.objective == pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.spec("INV-24")
@settings(
    THOROUGH, suppress_health_check=[*THOROUGH.suppress_health_check, HealthCheck.function_scoped_fixture]
)
@given(
    data=st.data(),
    context=instances(models=PROPER_MODELS, max_records=3),
    policy=POLICIES,
    question=QUESTIONS,
    aggregate=AGGREGATES,
    affordable=st.booleans(),
)
def test_records_under_a_constraint_on_means_or_by_the_greatest_risk(
    monkeypatch, data, context, policy, question, aggregate, affordable
):
    objective, threshold = question
    view = data.draw(views(context))
    assume(aggregate == "max" or (objective != "lagrangian" and view != "worst_case"))
    by_hand = ByHand(context, policy)
    assume(math.prod(len(by_hand.nodes(row)) for row in range(context.table.n_records)) <= 4000)
    rated = [by_hand.score(view, aggregate, rule) for rule in by_hand.record_rules()]
    status, value = optimum(rated, objective, threshold)
    with monkeypatch.context() as patch:
        if not affordable:
            patch.setattr(knapsack, "MAX_STEPS", 0)
            patch.setattr(compromises, "MAX_TOTALS", 0)
        outcome = answer(
            context, Problem(objective_of(*question), "record_level", policy, view, "average", aggregate)
        )
    assert outcome.status == status or (
        not affordable and (outcome.status, status) == ("heuristic", "optimal")
    )
    if status == "optimal":
        found = sign(objective) * outcome.objective
        assert outcome.bounds.lower <= value + 1e-9
        if outcome.status == "optimal":
            assert found == pytest.approx(value, rel=1e-9, abs=1e-12)
        else:
            assert value - 1e-9 <= found <= outcome.bounds.lower + outcome.bounds.gap + 1e-9
        if objective == "min_risk":
            assert outcome.utility >= threshold - 1e-9
        if objective == "max_utility":
            assert outcome.risk <= threshold + 1e-9


@pytest.mark.deep
@settings(
    THOROUGH, suppress_health_check=[*THOROUGH.suppress_health_check, HealthCheck.function_scoped_fixture]
)
@given(
    context=instances(set_of_two=True, models=PROPER_MODELS, max_records=3),
    policy=POLICIES,
    question=QUESTIONS,
    constraint=st.sampled_from(["per_record", "average"]),
    exact=st.booleans(),
)
def test_minimax_over_single_records(monkeypatch, context, policy, question, constraint, exact):
    objective, threshold = question
    assume(objective != "max_utility" or constraint == "average")
    by_hand = ByHand(context, policy)
    assume(math.prod(len(by_hand.nodes(row)) for row in range(context.table.n_records)) <= 4000)
    rules = list(by_hand.record_rules())
    if objective == "min_risk" and constraint == "per_record":
        rules = [rule for rule in rules if all(by_hand.utility(codes) >= threshold - 1e-9 for codes in rule)]
    rated = [by_hand.score("worst_case", "average", rule) for rule in rules]
    each = constraint == "per_record" and objective == "min_risk"
    status, value = optimum(rated, objective, -1.0 if each else threshold)
    problem = Problem(objective_of(*question), "record_level", policy, "worst_case", constraint)
    with monkeypatch.context() as patch:
        patch.setattr(plans, "COMBINATIONS_LIMIT", 1e7 if exact else 0)
        outcome = answer(context, problem)
    assert outcome.solver == ("enumeration" if exact else "worst_case_per_record")
    if exact or outcome.status != "heuristic":
        assert outcome.status == status
    if status != "optimal":
        return
    assert outcome.bounds.lower <= value + 1e-9
    if outcome.rule is not None:
        found = sign(objective) * outcome.objective
        assert found >= value - 1e-9
        assert found <= outcome.bounds.lower + outcome.bounds.gap + 1e-9
        if outcome.status == "optimal":
            assert found == pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.deep
@THOROUGH
@given(st.data(), instances(models=PROPER_MODELS, max_records=3, shapes=dags()), POLICIES, QUESTIONS)
def test_single_records_of_hierarchies_that_are_no_trees(data, context, policy, question):
    objective, threshold = question
    view = data.draw(views(context))
    constraint = data.draw(st.sampled_from(["per_record", "average"]))
    by_hand = ByHand(context, policy)
    assume(math.prod(len(by_hand.nodes(row)) for row in range(context.table.n_records)) <= 2000)
    assume(objective != "max_utility" or constraint == "average")
    rules = list(by_hand.record_rules())
    each = objective == "min_risk" and constraint == "per_record"
    if each:
        rules = [rule for rule in rules if all(by_hand.utility(codes) >= threshold - 1e-9 for codes in rule)]
    rated = [by_hand.score(view, "average", rule) for rule in rules]
    status, value = optimum(rated, objective, -1.0 if each else threshold)
    outcome = answer(context, Problem(objective_of(*question), "record_level", policy, view, constraint))
    if not (each and context.table.weights is not None):
        # A record of weight 0 that has no risk but ∞ counts as prohibited, though no mean depends on it.
        assert outcome.status == status
    if outcome.status == "optimal":
        assert sign(objective) * outcome.objective == pytest.approx(value, rel=1e-9, abs=1e-12)
        disclosed = apply(outcome.rule, context.table)
        for row, codes in enumerate(disclosed.tolist()):
            assert tuple(codes) in by_hand.nodes(row)


def front_by_hand(rated):
    """Non-dominated pairs (risk, utility) of finite risk, rounded, ascending."""
    points = {(round(risk, 9), round(utility, 9)) for risk, utility in rated if risk < math.inf}
    return sorted(p for p in points if not any(q != p and q[0] <= p[0] and q[1] >= p[1] for q in points))


def drawn_frontier(context, problem):
    chosen = plans.plan_frontier(context, problem)
    outcome = carry_out(chosen)
    outcome.to_document()
    return outcome


@THOROUGH
@given(st.data(), instances(models=PROPER_MODELS), POLICIES, AGGREGATES)
def test_the_frontier_of_table_rules_is_that_of_all_rules(data, context, policy, aggregate):
    view = data.draw(views(context))
    by_hand = ByHand(context, policy)
    expected = front_by_hand([by_hand.score(view, aggregate, rule) for _, rule in by_hand.table_rules()])
    outcome = drawn_frontier(context, FrontierProblem("table_level", policy, view, aggregate))
    assert [(p.risk, p.utility) for p in outcome.points] == [pytest.approx(p, abs=1e-8) for p in expected]
    assert outcome.complete
    by_levels = dict(by_hand.table_rules())
    for point in outcome.points:
        scored = by_hand.score(view, aggregate, by_levels[point.levels])
        assert (point.risk, point.utility) == pytest.approx(scored)
    assert all(price > 0 for price in outcome.prices)


@THOROUGH
@given(st.data(), instances(models=PROPER_MODELS, max_records=3, shapes=SHAPES), POLICIES, AGGREGATES)
def test_the_frontier_of_record_rules_is_exact_or_its_hull(data, context, policy, aggregate):
    view = data.draw(views(context))
    assume(aggregate == "max" or view != "worst_case")
    by_hand = ByHand(context, policy)
    assume(math.prod(len(by_hand.nodes(row)) for row in range(context.table.n_records)) <= 2000)
    rated = [by_hand.score(view, aggregate, rule) for rule in by_hand.record_rules()]
    expected = front_by_hand(rated)
    outcome = drawn_frontier(context, FrontierProblem("record_level", policy, view, aggregate))
    found = [(p.risk, p.utility) for p in outcome.points]
    if outcome.complete:
        assert found == [pytest.approx(p, abs=1e-8) for p in expected]
    for point in outcome.points:
        least = min(risk for risk, utility in rated if utility >= point.utility - 1e-9)
        assert least - 1e-9 <= point.risk <= least + point.gap + 1e-9
        assert point.kind == "heuristic" or point.gap == 0
    if expected:
        assert found[0] == pytest.approx(expected[0], abs=1e-8)
        assert found[-1] == pytest.approx(expected[-1], abs=1e-8)
    if context.utility.model == "depth_sum" and context.table.weights is None:
        assert outcome.complete


@pytest.mark.spec("TV-13")
@THOROUGH
@given(instances(models=[("I", None)], max_records=3), st.sampled_from([0.01, 0.05, 0.2, 1.0]))
def test_the_optimum_at_a_price_lies_on_the_hull(context, price):
    view = "worst_case_per_record" if context.dictionaries else "known"
    priced = answer(context, Problem(Lagrangian(price), "record_level", view=view))
    assume(priced.status == "optimal")
    points = drawn_frontier(context, FrontierProblem("record_level", view=view)).points
    assert min(p.risk - price * p.utility for p in points) == pytest.approx(priced.objective, abs=1e-9)


@pytest.mark.deep
@pytest.mark.spec("INV-7", "INV-8")
@THOROUGH
@given(st.data(), instances(models=PROPER_MODELS, max_records=3), POLICIES, AGGREGATES)
def test_more_utility_never_costs_less_and_the_mean_never_more_than_each(data, context, policy, aggregate):
    views_of_records = ("bayes", "worst_case_per_record") if context.dictionaries else ("known",)
    view = data.draw(st.sampled_from(views_of_records))
    scope = data.draw(st.sampled_from(["table_level", "record_level"]))
    last = 0.0
    for floor in (0.0, 1.0, 2.0, 3.0):
        problem = Problem(MinRisk(floor), scope, policy, view, "average", aggregate)
        outcome = answer(context, problem)
        if outcome.status != "optimal":
            break
        assert outcome.risk >= last - 1e-12
        last = outcome.risk
        if aggregate == "average" or scope == "table_level":
            back = answer(context, replace(problem, objective=MaxUtility(outcome.risk)))
            assert back.utility >= floor - 1e-9
        each = answer(context, replace(problem, constraint="per_record"))
        if each.status == "optimal":
            assert outcome.risk <= each.risk + 1e-9
