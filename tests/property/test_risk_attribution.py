"""Shares of attributes in the risk against loops over orders of disclosure."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.risk_attribution import (
    RISK_ATTRIBUTION,
    AttributionParameters,
    PartialDisclosure,
    shapley,
)
from app.domain.counting.counter import dictionary_of
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.assessment import assess
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, identity
from app.domain.sensitivity.sensitivity import constant_sensitivity
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.explained_rules import computed, losses_when_shown, mean, questions


@settings(max_examples=examples(200), deadline=None)
@given(questions(weighted=True))
def test_shares_are_mean_additions_over_all_orders_of_disclosure(question):
    context, brute = question
    m = context.table.n_attributes
    sets = [frozenset(s) for k in range(m + 1) for s in itertools.combinations(range(m), k)]
    losses = {shown: losses_when_shown(context, brute, shown) for shown in sets}
    apart = [any(math.isinf(losses[s][i]) for s in sets) for i in range(context.table.n_records)]
    finite = {s: mean(context, [0.0 if apart[i] else v for i, v in enumerate(losses[s])]) for s in sets}
    infinite = {s: mean(context, [float(math.isinf(v)) for v in losses[s]]) for s in sets}
    orders = list(itertools.permutations(range(m)))
    found = computed(RISK_ATTRIBUTION, context, AttributionParameters())
    for j, share in enumerate(found.attributes):
        for game, said in ((finite, share.shapley), (infinite, share.shapley_infinite)):
            added = [
                game[frozenset(order[: order.index(j) + 1])] - game[frozenset(order[: order.index(j)])]
                for order in orders
            ]
            assert said == pytest.approx(math.fsum(added) / len(orders), abs=1e-12)
    assert found.records_apart == sum(apart)
    everything, nothing = frozenset(range(m)), frozenset()
    assert math.fsum(a.shapley for a in found.attributes) == pytest.approx(found.explained, abs=1e-12)
    if not any(apart):
        assert found.explained == pytest.approx(found.risk - found.risk_if_all_withheld, abs=1e-12)
    assert found.risk == pytest.approx(mean(context, losses[everything]), rel=1e-12)
    assert found.risk_if_all_withheld == pytest.approx(mean(context, losses[nothing]), rel=1e-12)
    assert found.infinite_records == sum(map(math.isinf, losses[everything]))
    fewer = []
    for j, share in enumerate(found.attributes):
        without = losses[everything - {j}]
        assert share.risk_if_withheld == pytest.approx(mean(context, without), rel=1e-12)
        assert share.infinite_if_withheld == sum(map(math.isinf, without))
        if share.infinite_if_withheld < found.infinite_records:
            fewer.append(share.attribute)
        if math.isinf(found.risk) and math.isinf(share.risk_if_withheld):
            assert share.decrease is None
        else:
            assert share.decrease == found.risk - share.risk_if_withheld
    assert list(found.responsible) == fewer


@settings(max_examples=examples(100), deadline=None)
@given(questions(), st.sampled_from(["I", "II", "III"]), st.booleans())
def test_all_that_is_disclosed_scores_as_the_assessment_does(question, name, fails):
    context, _ = question
    model = RiskModel(name)
    failure = context.sensitivity if fails and model.takes_failure else None
    context = replace(context, model=model, failure=failure)
    partial = PartialDisclosure(context)
    losses = partial.losses(partial.disclosed, partial.counts(partial.disclosed))
    plain = assess(
        context.table, context.rule, context.dictionary, context.sensitivity, context.utility,
        context.absent_policy, failure=failure, model=model,
    )  # fmt: skip
    assert partial.mean(losses) == pytest.approx(plain.risk_average, rel=1e-12)
    assert float(losses.max()) == plain.risk_max


def test_shapley_values_of_a_glove_game():
    """One left glove, two right ones: a pair is worth 1. The known values are 2/3, 1/6, 1/6."""
    worth = [float(bool(mask & 1) and bool(mask & 6)) for mask in range(8)]
    assert shapley(np.array(worth)) == pytest.approx([2 / 3, 1 / 6, 1 / 6])


def test_more_than_twelve_attributes_get_no_shapley_values_but_are_suppressed_one_by_one():
    bit = Hierarchy.from_parents({"0": [None], "1": [None]})
    names = tuple(f"a{j}" for j in range(13))
    codes = np.array([[1] * 13, [2] * 13, [1] * 12 + [2]], dtype=np.int32)
    table = Table(names, (bit,) * 13, codes)
    context = MeasureContext(
        table, identity(13), dictionary_of(table), constant_sensitivity(table), None, build_utility(table),
        MODEL_I, "zero",
    )  # fmt: skip
    found = computed(RISK_ATTRIBUTION, context, AttributionParameters())
    assert found.explained is None
    assert {share.shapley for share in found.attributes} == {None}
    assert "13 attributes" in found.left_out
    # Only the last attribute tells the first record from the third.
    assert [share.decrease for share in found.attributes] == pytest.approx([0.0] * 12 + [1 / 3])


@pytest.mark.parametrize("by_cells", [False, True])
def test_the_cost_counts_the_attributes_that_are_disclosed_of_some_record(by_cells):
    bit = Hierarchy.from_parents({"0": [None], "1": [None]})
    names = tuple(f"a{j}" for j in range(14))
    codes = np.array([[1] * 3 + [0] * 11, [2] * 3 + [0] * 11], dtype=np.int32)
    table = Table(names, (bit,) * 14, codes)
    rule = CellRule(codes) if by_cells else identity(14)
    context = MeasureContext(
        table, rule, dictionary_of(table), constant_sensitivity(table), None, build_utility(table), MODEL_I,
        "zero",
    )  # fmt: skip
    done = []
    RISK_ATTRIBUTION.compute(context, AttributionParameters(), done.append)
    assert done == sorted(done)
    assert done[-1] == RISK_ATTRIBUTION.cost(context, AttributionParameters()).units == 8


def test_a_risk_that_may_be_negative_is_not_divided():
    bit = Hierarchy.from_parents({"0": [None], "1": [None]})
    table = Table(("a",), (bit,), np.array([[1], [2]], dtype=np.int32))
    context = MeasureContext(
        table, identity(1), dictionary_of(table), constant_sensitivity(table), None, build_utility(table),
        RiskModel("III_raw"), "zero",
    )  # fmt: skip
    assert "III_raw" in RISK_ATTRIBUTION.supports(context, AttributionParameters())
