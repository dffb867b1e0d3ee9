"""How a search is cut, interrupted and resumed changes nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.search import plans
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan, plan_frontier
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.record_rules import instance as record_instance
from app.domain.search.record_rules import optima
from app.domain.search.solvers import SOLVERS
from app.domain.search.table_rules import table_level
from app.domain.search.table_rules.scores import TableScores
from tests.oracles.attacks_by_hand import MODELS, instances
from tests.oracles.effort import examples
from tests.oracles.search_instances import contexts, objective_of

SCOPES = st.sampled_from(["table_level", "record_level"])


@pytest.fixture(autouse=True)
def tiny_blocks(monkeypatch):
    """Cut even the smallest instance into many blocks."""
    monkeypatch.setattr(table_level, "SECONDS_PER_BLOCK", 1e-9)
    monkeypatch.setattr(record_instance, "CELLS_PER_BLOCK", 1)
    monkeypatch.setattr(optima, "SCANNED_PER_EVALUATED", 1)
    monkeypatch.setattr(plans, "COMBINATIONS_LIMIT", 10)
    monkeypatch.setattr(record_instance, "CELLS_AT_ONCE", 1)


@settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(context=contexts(), rows=st.integers(1, 3))
def test_memory_for_some_records_at_a_time_changes_nothing(monkeypatch, context, rows):
    problem = Problem(MinRisk(1.0), "record_level")
    roomy = plan(context, problem)
    expected = b"".join(roomy.run_block(i, lambda _: None) for i in range(roomy.n_blocks))
    with monkeypatch.context() as patch:
        patch.setattr(record_instance, "COUNTS_BYTES", 4 * rows)
        tight = plan(context, problem)
        assert b"".join(tight.run_block(i, lambda _: None) for i in range(tight.n_blocks)) == expected


@settings(max_examples=examples(60), deadline=None)
@given(contexts(), SCOPES, st.randoms(use_true_random=False), st.sampled_from(["min_risk", "max_utility"]))
def test_blocks_run_in_any_order_and_process_give_the_same_bytes(context, scope, random, objective):
    problem = Problem(objective_of(objective, 1.0), scope)
    once = plan(context, problem)
    blocks = {i: once.run_block(i, lambda _: None) for i in range(once.n_blocks)}
    order = list(range(once.n_blocks))
    random.shuffle(order)
    shuffled = {}
    again = plan(context, problem)
    for i in order:
        if random.random() < 0.3:
            again = plan(context, problem)
        shuffled[i] = again.run_block(i, lambda _: None)
    assert shuffled == blocks
    resumed = plan(context, problem).combine(blocks)
    assert resumed.to_document() == once.combine(blocks).to_document()
    if scope == "record_level" and resumed.rule is not None:
        assert np.array_equal(resumed.rule.steps, once.combine(blocks).rule.steps)


@settings(max_examples=examples(60), deadline=None)
@given(contexts())
def test_scores_do_not_depend_on_where_the_walk_is_cut(context):
    scores = TableScores(context, "zero")
    whole = scores.scores(0, 0, 1, lambda _: None)
    for depth in range(len(scores.shape)):
        n = int(np.prod(scores.shape[:depth]))
        parts = [scores.scores(depth, i, i + 1, lambda _: None) for i in range(n)]
        assert np.concatenate(parts).tobytes() == whole.tobytes()


@settings(max_examples=examples(60), deadline=None)
@given(contexts(), SCOPES, st.sampled_from(["enumeration", "branch_and_bound"]))
def test_progress_only_rises_and_ends_at_all_units_of_an_enumeration(context, scope, solver):
    chosen = plan(context, Problem(MinRisk(1.0), scope), SOLVERS[solver]())
    total = 0
    for i in range(chosen.n_blocks):
        ticks = []
        chosen.run_block(i, ticks.append)
        assert ticks == sorted(ticks)
        total += ticks[-1] if ticks else 0
    assert total <= chosen.units
    if solver == "enumeration":
        assert total == chosen.units


@pytest.mark.deep
@settings(max_examples=examples(120), deadline=None)
@given(
    context=instances(models=[model for model in MODELS if model[0] != "III_raw"], max_records=3),
    scope=SCOPES,
    constraint=st.sampled_from(["per_record", "average"]),
    aggregate=st.sampled_from(["average", "max"]),
    data=st.data(),
)
def test_blocks_of_every_search_may_run_in_any_order_and_process(context, scope, constraint, aggregate, data):
    views = ["bayes", "worst_case", "worst_case_per_record"] if context.dictionaries else ["known"]
    view = data.draw(st.sampled_from(views))
    problem = Problem(MinRisk(1.0), scope, "zero", view, constraint, aggregate)
    whole, apart = plan(context, problem), plan(context, problem)
    blocks = {i: whole.run_block(i, lambda _: None) for i in range(whole.n_blocks)}
    order = data.draw(st.permutations(range(apart.n_blocks)))
    again = {i: apart.run_block(i, lambda _: None) for i in order}
    assert again == blocks
    outcome, resumed = whole.combine(blocks), plan(context, problem).combine(blocks)
    assert resumed.to_document() == outcome.to_document()
    if scope == "record_level" and view == "worst_case" and aggregate == "average":
        return
    drawing = FrontierProblem(scope, "zero", view, aggregate)
    first, second = plan_frontier(context, drawing), plan_frontier(context, drawing)
    blocks = {i: first.run_block(i, lambda _: None) for i in range(first.n_blocks)}
    assert {i: second.run_block(i, lambda _: None) for i in reversed(range(second.n_blocks))} == blocks
    assert second.combine(blocks).to_document() == first.combine(blocks).to_document()
