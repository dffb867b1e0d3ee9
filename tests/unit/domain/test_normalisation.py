"""Normalisation of weights: equal or at most, validated or rescaled."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP
from app.domain.sensitivity.interactions import GivenInteraction, GivenInteractions
from app.domain.sensitivity.normalisation import Normalisation, held_weights, normalise
from app.domain.sensitivity.sensitivity import Overrides, build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight, LeafWeights, NodeWeights
from tests.unit.domain.fixture_f import INCOME, T, nodes, personal

WEIGHTS = {"city": LeafWeights(0.3), "race": LeafWeights(0.4), "income": LeafWeights(0.75)}
# Record 6 of the fixture lacks its race; entities 3 and 4 have weights of their own.
HELD = [1.45, 1.45, 1.7, 1.6, 1.45, 1.05]


def refused(sensitivity, *to):
    with pytest.raises(InvalidInput) as caught:
        normalise(T, sensitivity, Normalisation(*to))
    return caught.value.faults


def test_what_is_summed_are_the_weights_of_the_values_that_a_record_holds():
    assert held_weights(T, personal()).tolist() == pytest.approx(HELD)


@pytest.mark.spec("TV-6")
def test_rescaling_has_the_values_of_the_specification():
    sensitivity = build_sensitivity(T, "linear_personal", WEIGHTS)
    rescaled = normalise(T, sensitivity, Normalisation("equal", 1.0, "rescale"))
    found = [float(rescaled.weights(j, T.codes[:1, j], rescaled.groups[:1])[0]) for j in range(3)]
    np.testing.assert_allclose(found, [0.206897, 0.275862, 0.517241], atol=5e-7)


def test_equal_makes_every_sum_the_total():
    rescaled = normalise(T, personal(), Normalisation("equal", 2.0, "rescale"))
    assert held_weights(T, rescaled).tolist() == pytest.approx([2.0] * 6)
    assert rescaled.rescaled == 6


def test_at_most_changes_only_those_above_the_total():
    before = personal()
    rescaled = normalise(T, before, Normalisation("at_most", 1.5, "rescale"))
    assert held_weights(T, rescaled).tolist() == pytest.approx([1.45, 1.45, 1.5, 1.5, 1.45, 1.05])
    assert rescaled.rescaled == 2
    rows = T.codes[[0, 1, 4, 5]]
    assert (
        rescaled.phi(rows, rescaled.groups[[0, 1, 4, 5]]).tolist()
        == before.phi(rows, before.groups[[0, 1, 4, 5]]).tolist()
    )


def test_rescaled_weights_keep_their_proportions_on_more_general_values():
    rescaled = normalise(T, personal(), Normalisation("equal", 1.0, "rescale"))
    coarse = nodes(("Tippecanoe", "Asian", "High"))
    before = personal().phi(coarse, np.array([1]))
    assert rescaled.phi(coarse, rescaled.groups[[2]])[0] == pytest.approx(before[0] / 1.7)


@pytest.mark.parametrize(
    ("to", "said"),
    [
        (("at_most", 1.5, "validate"), [("weights-above-total", "2 entities sum", "0.2", "rows: 3, 4)")]),
        (
            ("equal", 1.45, "validate"),
            [
                ("weights-above-total", "2 entities sum", "0.25", "rows: 3, 4)"),
                ("weights-below-total", "1 entity sum", "0.4", "rows: 6)"),
            ],
        ),
    ],
)
def test_validation_says_how_many_are_off_by_how_much_and_where(to, said):
    found = refused(personal(), *to)
    assert [fault.code for fault in found] == [code for code, *_ in said]
    for fault, (_, *words) in zip(found, said, strict=True):
        assert all(word in fault.message for word in words), fault.message


def test_validation_accepts_what_is_within_the_tolerance():
    sensitivity = build_sensitivity(T, "linear", {name: ConstantWeight(0.1) for name in WEIGHTS})
    assert normalise(T, sensitivity, Normalisation("at_most", 0.3, "validate")) is sensitivity
    assert refused(sensitivity, "at_most", 0.3 - 2e-9, "validate")


def test_infinite_weights_are_left_as_they_are_and_out_of_the_sum():
    sensitivity = build_sensitivity(T, "linear_personal", {**WEIGHTS, "income": ConstantWeight(math.inf)})
    rescaled = normalise(T, sensitivity, Normalisation("equal", 1.4, "rescale"))
    city = rescaled.weights(0, T.codes[:1, 0], rescaled.groups[:1])
    assert city[0] == pytest.approx(0.6)
    assert np.isinf(rescaled.phi(T.codes, rescaled.groups)).all()
    suppressed = T.codes.copy()
    suppressed[:, 2] = TOP
    assert rescaled.phi(suppressed, rescaled.groups)[:5].tolist() == pytest.approx([1.4] * 5)


@pytest.mark.parametrize("weight", [0.0, math.inf, 1e-320])
def test_a_sum_of_nothing_cannot_be_rescaled(weight):
    sensitivity = build_sensitivity(T, "linear_personal", dict.fromkeys(WEIGHTS, ConstantWeight(weight)))
    found = refused(sensitivity, "equal", 1.0, "rescale")
    assert [fault.code for fault in found] == ["no-weight-to-rescale"]
    assert "6 entities" in found[0].message


def test_interactions_are_rescaled_with_the_weights():
    given = GivenInteractions((GivenInteraction(("city", "race"), 0.7),))
    sensitivity = build_sensitivity(T, "interactions", WEIGHTS, interactions=given)
    rescaled = normalise(T, sensitivity, Normalisation("at_most", 0.29, "rescale"))
    assert rescaled.phi(T.codes, rescaled.groups)[:5].tolist() == pytest.approx([0.2 * (1.45 + 0.7)] * 5)
    assert rescaled.is_monotone


@pytest.mark.parametrize(
    "weights",
    [
        WEIGHTS,
        {**WEIGHTS, "income": NodeWeights({**dict.fromkeys(INCOME.labels[1:], 0.5), "20-39": 0.9})},
        {**WEIGHTS, "income": LeafWeights(0.5, {"20-39": 0.9})},
    ],
)
def test_weights_of_every_kind_are_rescaled_together_with_overrides(weights):
    overrides = Overrides(
        np.array([0, 1, 0, 0, 0, 0], np.int32),
        np.array([[math.nan] * 3, [1.0, math.nan, math.nan]]),
    )
    sensitivity = build_sensitivity(T, "linear_personal", weights, overrides)
    rescaled = normalise(T, sensitivity, Normalisation("equal", 1.0, "rescale"))
    before, after = sensitivity.phi(T.codes, sensitivity.groups), rescaled.phi(T.codes, rescaled.groups)
    assert after.tolist() == pytest.approx((before / held_weights(T, sensitivity)).tolist())


def test_a_weight_per_value_with_overrides_for_some_is_not_rescaled():
    overrides = Overrides(
        np.array([0, 1, 0, 0, 0, 0], np.int32),
        np.array([[math.nan] * 3, [1.0, math.nan, math.nan]]),
    )
    weights = {**WEIGHTS, "city": LeafWeights(0.3, {"Dayton": 0.6})}
    sensitivity = build_sensitivity(T, "linear_personal", weights, overrides)
    found = refused(sensitivity, "equal", 1.0, "rescale")
    assert [fault.code for fault in found] == ["not-scalable"]
    assert "'city'" in found[0].message


def test_families_without_personal_weights_are_not_rescaled():
    linear = build_sensitivity(T, "linear", WEIGHTS)
    assert [f.code for f in refused(linear, "equal", 1.0, "rescale")] == ["not-personal"]
    assert [f.code for f in refused(constant_sensitivity(T), "equal", 1.0, "validate")] == [
        "normalisation-not-used"
    ]


@pytest.mark.parametrize("total", [0.0, -1.0, math.inf, math.nan])
def test_the_total_is_a_positive_number(total):
    assert [fault.code for fault in refused(personal(), "at_most", total, "rescale")] == ["invalid-total"]
