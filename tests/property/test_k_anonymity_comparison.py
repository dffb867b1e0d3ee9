"""Random k-anonymous rules, and the rules of least risk held against them, by brute force."""

from __future__ import annotations

import itertools
import math
from collections import Counter as Tally
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.analyses.k_anonymity_comparison import K_ANONYMITY_COMPARISON, ComparisonParameters
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.anonymous import random_anonymous_rule
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table
from tests.oracles.counting import brute_counts, disclosed_by, instances
from tests.oracles.effort import examples


def smallest_class(rows: np.ndarray) -> int:
    return min(Tally(map(tuple, rows.tolist())).values())


@settings(max_examples=examples(200), deadline=None)
@given(instances(), st.integers(1, 8), st.integers(0, 1000))
def test_a_random_rule_is_k_anonymous_and_stops_as_soon_as_it_is(instance, k, seed):
    table, _ = instance
    assume(k <= table.n_records)
    rule = random_anonymous_rule(table, k, np.random.default_rng(seed))
    assert rule == random_anonymous_rule(table, k, np.random.default_rng(seed))
    assert smallest_class(disclosed_by(table, rule.levels)) >= k
    if any(rule.levels):
        before = [
            tuple(level - (i == j) for i, level in enumerate(rule.levels))
            for j in range(table.n_attributes) if rule.levels[j]
        ]  # fmt: skip
        assert any(smallest_class(disclosed_by(table, levels)) < k for levels in before)
    else:
        assert smallest_class(table.codes) >= k


def test_every_attribute_is_generalised_as_often_as_another():
    """Two alike attributes, either of which suppressed makes the table 2-anonymous.

    Each of 4,000 draws suppresses the first with probability ½; by Hoeffding's inequality the share is off by
    more than 0.043 with probability below 1e-6. A generator that prefers an attribute 6:4 would fail.
    """
    h = Hierarchy.from_parents({"x": [None], "y": [None]})
    codes = np.array([[1, 1], [1, 2], [2, 1], [2, 2]], dtype=np.int32)
    table = Table(("a", "b"), (h, h), codes)
    rng = np.random.default_rng(20)
    first = [random_anonymous_rule(table, 2, rng).levels == (1, 0) for _ in range(4000)]
    bound = math.sqrt(math.log(2 / 1e-6) / (2 * 4000))
    assert bound < 0.043
    assert abs(np.mean(first) - 0.5) < bound
    biased = np.random.default_rng(20).random(4000) < 0.6
    assert abs(np.mean(biased) - 0.5) > bound, "positive control"


@pytest.mark.spec("E-47")
@settings(max_examples=examples(60), deadline=None)
@given(instances(), st.integers(0, 1000), st.sampled_from(["depth_sum", "log_leaves"]), st.data())
def test_the_optima_at_equal_utility_are_those_of_brute_force_and_never_riskier(instance, seed, model, data):
    table, dictionary = instance
    n = table.n_records
    weights = np.array(data.draw(st.lists(st.sampled_from([0.0, 1.0, 2.0]), min_size=n, max_size=n)))
    assume(weights.any())
    table = replace(table, weights=weights)
    counted = np.flatnonzero(weights)
    assume(math.prod((h + 1) ** table.n_records for h in table.heights) < 3000)
    harms = {name: LeafWeights(0.25 * (1 + j)) for j, name in enumerate(table.attributes)}
    sensitivity = build_sensitivity(table, "linear", harms)
    utility = build_utility(table, model)
    context = MeasureContext(table, None, dictionary, sensitivity, None, utility, MODEL_I, "zero")
    k = min(2, table.n_records)
    parameters = ComparisonParameters((k,), rules=2, seed=seed)
    assert K_ANONYMITY_COMPARISON.supports(context, parameters) is None
    assert K_ANONYMITY_COMPARISON.cost(context, parameters).units == 2
    (entry,) = K_ANONYMITY_COMPARISON.compute(context, parameters, lambda done: None).by_k

    def losses(rows: np.ndarray) -> list[float]:
        counts = brute_counts(table, dictionary, rows)
        phi = [sum(sensitivity.shapes[j][0][node] for j, node in enumerate(row)) for row in rows]
        return [p / c if c else 0.0 for p, c in zip(phi, counts, strict=True)]

    def useful(rows: np.ndarray) -> list[float]:
        return [sum(utility.values[j][node] for j, node in enumerate(row)) for row in rows]

    cuts = list(itertools.product(*(range(h + 1) for h in table.heights)))
    scored = {cut: disclosed_by(table, cut) for cut in cuts}
    drawn = [
        random_anonymous_rule(table, k, np.random.default_rng([seed, k, number])).levels
        for number in range(2)
    ]

    def mean(values: list[float]) -> float:
        return float(np.average(values, weights=weights))

    expected = np.zeros(3)
    for levels in drawn:
        own = scored[levels]
        floor, floor_each = mean(useful(own)), min(useful(own[counted]))
        table_level = min(
            mean(losses(rows)) for rows in scored.values() if mean(useful(rows)) >= floor - 1e-9
        )
        record_level = 0.0
        for i in counted:
            options = [rows[[i]] for rows in scored.values() if useful(rows[[i]])[0] >= floor_each - 1e-9]
            record_level += min(losses(row)[0] for row in options) * weights[i] / weights.sum()
        expected += np.array([mean(losses(own)), table_level, record_level]) / 2
    found = [entry.risk, entry.table_level_risk, entry.record_level_risk]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    assert entry.never_worse
    assert entry.table_level_gap >= -1e-9 <= entry.record_level_gap
    assert entry.k_equivalence == min(smallest_class(scored[levels]) for levels in drawn)
    assert entry.k_matching >= entry.k_equivalence
