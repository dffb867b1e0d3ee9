"""The closed form under independence: the specification's vectors, what it refuses, who is compared."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from app.domain.analyses.independence_estimate import INDEPENDENCE_ESTIMATE, IndependenceParameters
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import InvalidInput
from app.domain.models.entry import MeasureContext
from app.domain.risk.independence import choose_in_cluster, least_loss
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.risk.utility import build_utility
from app.domain.sensitivity.sensitivity import build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight, NodeWeights
from tests.unit.domain.fixture_f import DICTIONARIES, T, personal

NAMES = ["zip", "gender", "birth", "job", "race"]
COUNTS = {(0,): 40, (1,): 480, (2,): 25, (3,): 12, (4,): 600, (0, 2): 3}
WEIGHTS = [0.3, 0.1, 0.5, 0.8, 0.2]


def closed_form(clusters, counts=COUNTS, weights=WEIGHTS, n=1000):
    """The closed form of one record from counts by attributes."""
    choices = [
        choose_in_cluster(
            n,
            np.array([[weights[j]] for j in cluster]),
            lambda s, cluster=cluster: np.array(
                [counts[tuple(j for i, j in enumerate(cluster) if s >> i & 1)] if s else n]
            ),
        )
        for cluster in clusters
    ]
    return least_loss(n, clusters, choices)


def names(found, q: int) -> set[str]:
    return {NAMES[j] for j in np.flatnonzero(found.disclosed[q, 0])}


@pytest.mark.spec("TV-17")
def test_single_attributes_have_the_scores_of_the_specification():
    scores = [
        closed_form([[0]], {(0,): count}, [weight]).unclamped[1, 0] * 1000
        for weight, count in zip(WEIGHTS, (40, 480, 25, 12, 600), strict=True)
    ]
    assert scores == pytest.approx([33.746470, 2.302439, 65.948851, 185.461744, 2.035671], abs=5e-7)


@pytest.mark.spec("TV-17")
def test_the_best_attributes_and_losses_are_those_of_the_specification():
    found = closed_form([[j] for j in range(5)])
    expected = [0.001, 0.002036, 0.004687, 0.158170, 10.431132, 1934.575938]
    np.testing.assert_allclose(found.unclamped[:, 0], expected, atol=5e-7)
    assert [names(found, q) for q in range(5)] == [
        set(), {"race"}, {"gender", "race"}, {"gender", "race", "zip"}, {"gender", "race", "zip", "birth"}
    ]  # fmt: skip


@pytest.mark.spec("TV-17")
@pytest.mark.spec("E-34")
def test_an_estimated_count_below_one_is_clamped_for_the_identification_probability():
    found = closed_form([[j] for j in range(5)])
    assert found.estimated_count[4, 0] == pytest.approx(0.288)
    assert found.clamped[4, 0] == pytest.approx(3.004166, abs=5e-7)
    np.testing.assert_allclose(found.clamped[:4], found.unclamped[:4], rtol=1e-14)


@pytest.mark.spec("TV-17")
def test_a_cluster_is_counted_jointly():
    found = closed_form([[0, 2], [1], [3], [4]])
    expected = [0.001, 0.002036, 0.004687, 0.158170, 3.477044, 644.858646]
    np.testing.assert_allclose(found.unclamped[:, 0], expected, atol=5e-7)


@pytest.mark.spec("TV-17")
@pytest.mark.spec("E-34")
def test_an_attribute_that_leaves_nobody_is_disclosed_first():
    found = closed_form([[0], [1], [2]], {(0,): 0, (1,): 500, (2,): 900}, [0.3, 0.1, 0.5])
    assert found.unclamped[1:, 0].tolist() == [0, 0, 0] == found.clamped[1:, 0].tolist()
    assert found.disclosed[1:, 0, 0].all()


def test_an_infinite_weight_is_disclosed_last_unless_nobody_is_left():
    counts = {(0,): 10, (1,): 500, (2,): 900}
    found = closed_form([[0], [1], [2]], counts, [0.3, math.inf, 0.5])
    assert not found.disclosed[2, 0, 1]
    assert found.unclamped[3, 0] == math.inf == found.clamped[3, 0]
    found = closed_form([[0], [1], [2]], counts | {(0,): 0}, [0.3, math.inf, 0.5])
    assert found.unclamped[3, 0] == 0 == found.clamped[3, 0]


def test_a_product_too_small_for_a_number_does_not_pass_for_nobody():
    m = 120
    counts = {(j,): 1 for j in range(m)}
    found = closed_form([[j] for j in range(m)], counts, [0.0] * m)
    assert found.estimated_count[m, 0] == 0.0
    assert found.unclamped[m, 0] == math.inf
    assert found.clamped[m, 0] == 1.0


def context_of(**more) -> MeasureContext:
    context = MeasureContext(
        T, None, DICTIONARIES["D1"], personal("multiplicative"), None, build_utility(T), MODEL_I, "zero"
    )
    return replace(context, **more)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"sensitivity": personal("linear_personal")}, "needs the sensitivity family multiplicative"),
        ({"sensitivity": constant_sensitivity(T)}, "needs the sensitivity family multiplicative"),
        ({"sensitivity": personal("multiplicative_centered")}, "needs the sensitivity family multiplicative"),
        ({"failure": personal()}, "without a harm of failure"),
        ({"model": RiskModel("III")}, "risk model I"),
        ({"absent_policy": "add_self"}, "absent policy zero"),
        ({"dictionary": Dictionary(0, ())}, "no entities"),
    ],
)  # fmt: skip
def test_what_the_closed_form_does_not_hold_for_is_refused_with_the_reason(change, reason):
    assert reason in str(INDEPENDENCE_ESTIMATE.supports(context_of(**change), IndependenceParameters()))


def test_a_weight_of_suppressed_values_is_refused():
    race = dict.fromkeys(T.hierarchies[1].labels[1:], 1.0) | {T.hierarchies[1].labels[0]: 0.5}
    weights = {"city": ConstantWeight(1.0), "race": NodeWeights(race), "income": ConstantWeight(1.0)}
    sensitivity = build_sensitivity(T, "multiplicative", weights, allow_positive_top=True)
    reason = INDEPENDENCE_ESTIMATE.supports(context_of(sensitivity=sensitivity), IndependenceParameters())
    assert "weight 0 for suppressed values" in str(reason)


def test_clusters_name_each_attribute_once():
    parameters = IndependenceParameters(clusters=(("city", "zip"), ("race", "city")))
    with pytest.raises(InvalidInput) as caught:
        INDEPENDENCE_ESTIMATE.compute(context_of(), parameters, lambda done: None)
    assert [(f.pointer, f.code) for f in caught.value.faults] == [
        ("/measure/clusters/0/1", "unknown-attribute"), ("/measure/clusters/1/1", "duplicate-attribute")
    ]  # fmt: skip


def test_personal_weights_enter_and_a_sample_is_the_same_for_the_same_seed():
    def compute(**parameters):
        return INDEPENDENCE_ESTIMATE.compute(
            context_of(), IndependenceParameters(**parameters), lambda done: None
        )

    whole, drawn = compute(), compute(sample=2, seed=7)
    assert whole.compared == 6
    assert drawn.compared == 2
    assert drawn == compute(sample=2, seed=7)
    assert [e.loss_clamped for e in drawn.by_number] == [e.loss_clamped for e in whole.by_number]
    assert compute(sample=600).by_number == whole.by_number
    # Everything disclosed is one choice only: the exact loss is the assessment's (TV-8, identity under D1).
    assert whole.by_number[3].loss_exact == pytest.approx(2.527487, abs=5e-7)
