"""Searches find the best rule also where sets of attributes weigh together and weights are normalised."""

from __future__ import annotations

import contextlib
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.domain.search.blocks import carry_out
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.solvers import SOLVERS
from app.domain.sensitivity.interactions import GivenInteraction, GivenInteractions
from app.domain.sensitivity.normalisation import Normalisation, normalise
from app.domain.sensitivity.sensitivity import Overrides, build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight, LeafWeights
from tests.oracles.effort import examples
from tests.oracles.search_instances import BruteForce, contexts, objective_of, solve

THOROUGH = settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
NUMBER = st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0, math.inf])
QUESTIONS = st.one_of(
    st.tuples(st.just("min_risk"), st.sampled_from([0.5, 1.0, 2.0, 4.0])),
    st.tuples(st.just("max_utility"), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    st.tuples(st.just("lagrangian"), st.sampled_from([0.05, 0.5])),
)


@st.composite
def profiled_contexts(draw):
    """The other searches' instances, with interactions, those of groups too, and normalised weights."""
    context = draw(contexts())
    table = context.table
    names = table.attributes
    weights = {name: draw(st.sampled_from([ConstantWeight, LeafWeights]))(draw(NUMBER)) for name in names}
    possible = [s for q in (2, 3) for s in itertools.combinations(names, q)]
    chosen = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
    sets = tuple(GivenInteraction(names_of_set, draw(NUMBER)) for names_of_set in chosen)
    overrides = None
    if draw(st.booleans()):
        groups = np.array([draw(st.integers(0, 1)) for _ in range(table.n_records)], dtype=np.int32)
        own = [[draw(st.one_of(st.just(math.nan), NUMBER)) for _ in (*names, *sets)] for _ in range(2)]
        rows = np.array(own).reshape(2, len(names) + len(sets))
        overrides = Overrides(groups, rows[:, : len(names)], rows[:, len(names) :])
    family = "interactions" if sets else draw(st.sampled_from(["linear_personal", "multiplicative"]))
    sensitivity = build_sensitivity(table, family, weights, overrides, interactions=GivenInteractions(sets))
    to = draw(st.sampled_from([None, ("at_most", 0.5), ("equal", 1.0)]))
    if to is not None:
        with contextlib.suppress(InvalidInput):
            sensitivity = normalise(table, sensitivity, Normalisation(*to, "rescale"))
    return replace(context, sensitivity=sensitivity)


def answer(context, problem, solver):
    chosen = plan(context, problem, SOLVERS[solver]())
    return carry_out(chosen)


@pytest.mark.spec("INV-5")
@THOROUGH
@given(profiled_contexts(), st.sampled_from(["zero", "add_self"]), QUESTIONS)
def test_both_solvers_find_the_table_rule_that_loops_find(context, policy, question):
    problem = Problem(objective_of(*question), "table_level", policy)
    status, value, levels = solve(BruteForce(context, policy).table_rules(), problem)
    for solver in ("enumeration", "branch_and_bound"):
        outcome = answer(context, problem, solver)
        assert outcome.status == status
        if levels is not None:
            sign = -1 if problem.objective.kind == "max_utility" else 1
            assert sign * outcome.objective == pytest.approx(value, rel=1e-9, abs=1e-12)


@pytest.mark.spec("INV-5")
@THOROUGH
@given(profiled_contexts(), st.sampled_from(["zero", "add_self"]), QUESTIONS)
def test_both_solvers_find_the_record_rule_that_loops_find(context, policy, question):
    problem = Problem(objective_of(*question), "record_level", policy)
    brute = BruteForce(context, policy)
    solved = [solve(brute.record_nodes(row), problem) for row in range(context.table.n_records)]
    status = next(
        s for s in ("infeasible", "prohibited", "optimal") if s in {status for status, _, _ in solved}
    )
    for solver in ("enumeration", "branch_and_bound"):
        outcome = answer(context, problem, solver)
        assert outcome.status == status
        if status == "optimal":
            value = math.fsum(v for _, v, _ in solved) / len(solved)
            sign = -1 if problem.objective.kind == "max_utility" else 1
            assert sign * outcome.objective == pytest.approx(value, rel=1e-9, abs=1e-12)
