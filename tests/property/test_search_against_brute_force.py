"""Every solver finds the rule that looping over all rules, records and entities finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.domain.search.blocks import carry_out
from app.domain.search.budget import Budget
from app.domain.search.objectives import MaxUtility, MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.solvers import SOLVERS
from app.domain.search.table_rules.scores import TableScores
from tests.oracles.lattices import QUESTIONS, THOROUGH
from tests.oracles.search_instances import BruteForce, contexts, objective_of, solve

POLICIES = st.sampled_from(["zero", "add_self"])


def answer(context, problem, solver="auto", max_nodes=None):
    chosen = plan(context, problem, SOLVERS[solver](), Budget(max_nodes))
    return carry_out(chosen)


@THOROUGH
@given(contexts(), POLICIES)
def test_the_walk_scores_every_table_rule_as_loops_do(context, policy):
    scores = TableScores(context, policy)
    walked = scores.scores(0, 0, 1, lambda _: None)
    found = np.ascontiguousarray(scores.to_table_order(walked)).reshape(-1)
    expected = [risk for _, risk, _ in BruteForce(context, policy).table_rules()]
    assert found.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.spec("INV-5", "INV-8")
@THOROUGH
@given(contexts(), POLICIES, QUESTIONS)
def test_both_solvers_find_the_table_rule_that_loops_find(context, policy, question):
    problem = Problem(objective_of(*question), "table_level", policy)
    status, value, levels = solve(BruteForce(context, policy).table_rules(), problem)
    for solver in ("enumeration", "branch_and_bound"):
        outcome = answer(context, problem, solver)
        assert outcome.status == status
        if levels is not None:
            assert outcome.rule.levels == levels
            sign = -1 if problem.objective.kind == "max_utility" else 1
            assert sign * outcome.objective == pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.spec("INV-5")
@THOROUGH
@given(contexts(), POLICIES, QUESTIONS)
def test_both_solvers_find_the_record_rule_that_loops_find(context, policy, question):
    problem = Problem(objective_of(*question), "record_level", policy)
    brute = BruteForce(context, policy)
    solved = [solve(brute.record_nodes(row), problem) for row in range(context.table.n_records)]
    states = {status for status, _, _ in solved}
    status = next(s for s in ("infeasible", "prohibited", "optimal") if s in states)
    for solver in ("enumeration", "branch_and_bound"):
        outcome = answer(context, problem, solver)
        assert outcome.status == status
        if status == "optimal":
            assert [tuple(row) for row in outcome.rule.steps.tolist()] == [levels for *_, levels in solved]
        if status == "infeasible":
            assert outcome.shortfall.records == sum(s == "infeasible" for s, _, _ in solved)
        assert outcome.prohibited_records == sum(s == "prohibited" for s, _, _ in solved)


@pytest.mark.spec("INV-7")
@THOROUGH
@given(contexts(), POLICIES, st.sampled_from([0.5, 1.0, 2.0, 3.0]))
def test_the_average_constraint_allows_no_more_risk_than_the_constraint_per_record(context, policy, floor):
    per_record = answer(context, Problem(MinRisk(floor), "record_level", policy))
    assume(per_record.status == "optimal")
    brute = BruteForce(context, policy)
    pareto = {0.0: 0.0}
    for row in range(context.table.n_records):
        reached = {}
        for _, loss, utility in brute.record_nodes(row):
            for total, risk in pareto.items():
                key = round(total + utility, 9)
                reached[key] = min(reached.get(key, np.inf), risk + loss)
        pareto = reached
    n = context.table.n_records
    least = min(risk for total, risk in pareto.items() if total >= n * floor - 1e-6) / n
    assert least <= per_record.risk + 1e-9


@pytest.mark.deep
@pytest.mark.spec("INV-8")
@THOROUGH
@given(contexts(), POLICIES, st.sampled_from(["table_level", "record_level"]))
def test_asking_for_more_utility_never_lowers_the_risk(context, policy, scope):
    last = -1.0
    for floor in (0.0, 1.0, 2.0, 3.0):
        outcome = answer(context, Problem(MinRisk(floor), scope, policy))
        if outcome.status != "optimal":
            break
        assert outcome.risk >= last - 1e-12
        last = outcome.risk
        if scope == "table_level":
            back = answer(context, Problem(MaxUtility(outcome.risk), scope, policy))
            assert back.utility >= floor - 1e-9


@THOROUGH
@given(contexts(), QUESTIONS, st.integers(1, 12), st.sampled_from(["table_level", "record_level"]))
def test_a_budget_gives_a_rule_within_its_bound_and_the_optimum_if_it_suffices(
    context, question, budget, scope
):
    problem = Problem(objective_of(*question), scope)
    best = answer(context, problem)
    found = answer(context, problem, "branch_and_bound", budget)
    if found.status != "heuristic":
        assert found.status == best.status
        return
    if found.rule is None:
        return
    sign = -1 if problem.objective.kind == "max_utility" else 1
    assert best.status == "optimal"
    assert found.bounds.lower <= sign * best.objective + 1e-9
    assert sign * found.objective >= sign * best.objective - 1e-9


@THOROUGH
@given(contexts())
def test_the_policy_error_refuses_absent_records_and_nothing_else(context):
    brute = BruteForce(context, "zero")
    absent = sum(brute.count(row, codes) == 0 for row, codes in enumerate(context.table.codes.tolist()))
    for scope in ("table_level", "record_level"):
        problem = Problem(MinRisk(0.0), scope, "error")
        if absent:
            with pytest.raises(InvalidInput, match=f"^{absent} records? ha"):
                plan(context, problem)
        else:
            assert answer(context, problem).status in ("optimal", "prohibited")
