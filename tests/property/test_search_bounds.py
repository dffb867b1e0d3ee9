"""What branch and bound takes for a bound is one: nothing more specific has less risk."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.table_rules.rule_scores import rule_scores
from tests.oracles.attacks_by_hand import MODELS, instances
from tests.oracles.effort import examples

THOROUGH = settings(
    max_examples=examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
PROVED = [model for model in MODELS if model[0] in ("I", "II", "III")]
POLICIES = st.sampled_from(["zero", "add_self"])


def views(context):
    of_sets = ["bayes", "worst_case", "worst_case_per_record"]
    return st.sampled_from(of_sets if context.dictionaries else ["known"])


def assert_bounds(shape, risks, bounds):
    """No node below a node has less risk than its bound; both are arrays over the lattice."""
    for node in np.ndindex(*shape):
        finer = risks[tuple(slice(0, level + 1) for level in node)]
        tolerance = 1e-12 * max(1.0, bounds[node]) if np.isfinite(bounds[node]) else 0.0
        assert bounds[node] <= finer.min() + tolerance


@pytest.mark.spec("E-10", "E-11", "INV-3")
@THOROUGH
@given(st.data(), instances(models=PROVED), POLICIES)
def test_bounds_of_single_records(data, context, policy):
    assume(context.harm_is_monotone)
    instance = RecordInstance(context, policy, data.draw(views(context)))
    instance.prepare(range(instance.n_distinct), lambda: None)
    rows = np.arange(instance.n_distinct)
    lattices = instance.evaluate(rows)
    bounds = instance.bounds(rows, lattices)
    for row in rows.tolist():
        risk = lattices.risk[:, row].reshape(instance.shape)
        assert_bounds(instance.shape, risk, bounds[:, row].reshape(instance.shape))
    if context.failure is None and not instance.n_absent:
        assert np.array_equal(bounds, lattices.risk)


@pytest.mark.spec("E-10", "E-11")
@THOROUGH
@given(st.data(), instances(models=PROVED), POLICIES, st.sampled_from(["average", "max"]))
def test_bounds_of_table_rules(data, context, policy, aggregate):
    assume(context.harm_is_monotone)
    scores = rule_scores(context, policy, data.draw(views(context)), aggregate)
    shape = tuple(height + 1 for height in context.table.heights)
    pairs = {node: scores.rate(node) for node in itertools.product(*map(range, shape))}
    risks, bounds = (np.array([pairs[node][i] for node in np.ndindex(*shape)]).reshape(shape) for i in (0, 1))
    assert_bounds(shape, risks, bounds)
    walked = scores.to_table_order(scores.scores(0, 0, 1, lambda _: None))
    assert walked.reshape(-1).tolist() == pytest.approx(risks.reshape(-1).tolist(), rel=1e-12, abs=1e-15)
    if context.failure is None and not scores.absent.any():
        assert np.allclose(bounds, risks)
