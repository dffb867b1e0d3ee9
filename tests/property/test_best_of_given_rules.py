"""The best of given rules, against scoring each of them by loops over records and entities."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.rules.rule import TableRule
from app.domain.search.blocks import carry_out
from app.domain.search.objectives import MaxUtility, MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.solvers import Candidates
from tests.oracles.effort import examples
from tests.oracles.search_instances import BruteForce, contexts, solve


@settings(max_examples=examples(100))
@given(
    contexts(), st.sampled_from([MinRisk(1.5), MinRisk(3.25), MaxUtility(0.2), MaxUtility(1.0)]), st.data()
)
def test_the_best_of_given_rules_is_that_of_scoring_them_all(context, objective, data):
    problem = Problem(objective, absent_policy="add_self")
    rated = list(BruteForce(context, "add_self").table_rules())
    chosen = data.draw(st.lists(st.sampled_from(rated), min_size=1, max_size=6, unique_by=lambda own: own[0]))
    given_rules = {str(levels): TableRule(levels) for levels, _, _ in chosen}
    context = replace(context, rules=given_rules)
    found = carry_out(plan(context, problem, Candidates(tuple(given_rules))))
    status, value, _ = solve(chosen, problem)
    assert found.status == status
    if status == "optimal":
        shown = found.risk if objective.kind == "min_risk" else -found.utility
        assert shown == pytest.approx(value, abs=1e-9)
