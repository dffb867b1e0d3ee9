"""Sensitivity: families, derived weights, validity."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.sensitivity.interactions import GivenInteraction, GivenInteractions
from app.domain.sensitivity.sensitivity import Overrides, build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import (
    ConstantWeight,
    LeafWeights,
    NodeWeights,
    harmonic_weights,
    node_weights,
)
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import CITY, INCOME, RACE, T, nodes, personal

TV_5 = {
    ("Lafayette", "Chinese", "20-39"): (1.45, 4.263115, 1.8),
    ("Lafayette", None, None): (0.3, 1.349859, 0.3),
    ("Greater Lafayette", "Asian", None): (0.283333, 1.327548, 0.333333),
    ("Tippecanoe", "Asian", "High"): (0.608333, 1.837367, 0.958333),
    ("Indiana", "White", None): (0.475, 1.608014, 0.525),
    (None, None, None): (0.0, 1.0, 0.0),
}
WEIGHTS = {"city": LeafWeights(0.3), "race": LeafWeights(0.4), "income": LeafWeights(0.75)}
PAIRS = GivenInteractions(
    (
        GivenInteraction(("city", "race"), 0.05),
        GivenInteraction(("city", "income"), 0.1),
        GivenInteraction(("race", "income"), 0.2),
    )
)


def one(h: Hierarchy) -> Table:
    return Table(("a",), (h,), np.array([[TOP]]))


@pytest.mark.spec("TV-5", "E-2", "E-6")
def test_the_linear_and_multiplicative_families_have_the_values_of_the_specification():
    group = np.zeros(len(TV_5), dtype=np.int32)
    phi2 = personal().phi(nodes(*TV_5), group)
    phi4 = personal("multiplicative").phi(nodes(*TV_5), group)
    np.testing.assert_allclose(phi2, [v for v, _, _ in TV_5.values()], atol=5e-7)
    np.testing.assert_allclose(phi4, [v for _, v, _ in TV_5.values()], atol=5e-7)
    centred = personal("multiplicative_centered").phi(nodes(*TV_5), group)
    np.testing.assert_allclose(centred, phi4 - 1, atol=1e-12)
    assert centred[-1] == 0


@pytest.mark.spec("TV-5", "E-3")
def test_interactions_have_the_values_of_the_specification():
    sensitivity = build_sensitivity(T, "interactions", WEIGHTS, interactions=PAIRS)
    np.testing.assert_allclose(sensitivity.phi(nodes(*TV_5)), [v for _, _, v in TV_5.values()], atol=5e-7)
    assert sensitivity.is_monotone


@pytest.mark.spec("TV-5")
def test_the_case_study_has_the_published_sensitivity_and_loss():
    phi = build_sensitivity(
        Table(("a", "b", "c", "d"), (CITY, CITY, CITY, CITY), np.full((1, 4), CITY.node_of("Dayton"))),
        "multiplicative",
        {a: ConstantWeight(w) for a, w in zip("abcd", (0.3, 0.4, 0.5, 0.75), strict=True)},
    ).phi(np.full((1, 4), CITY.node_of("Dayton"), dtype=np.int32))
    assert phi[0] == pytest.approx(7.028688, abs=5e-7)
    assert phi[0] / 7 == pytest.approx(1.004098, abs=5e-7)


@pytest.mark.spec("TV-6")
@pytest.mark.parametrize(
    ("hierarchy", "given", "expected"),
    [
        (
            CITY,
            LeafWeights(0.3),
            {
                "Greater Lafayette": 0.15,
                "Tippecanoe": 0.1,
                "Marion": 0.3,
                "Indiana": 0.075,
                "Cook": 0.15,
                "Illinois": 0.15,
                "Midwest": 0.05,
                "West": 0.3,
                "*": 0,
            },
        ),
        (RACE, LeafWeights(0.4), {"Asian": 0.133333, "European": 0.4}),
        (INCOME, LeafWeights(0.75), {"Low": 0.375}),
        (
            CITY,
            LeafWeights(0.5, {"Lafayette": 0.2, "West Lafayette": 0.3, "Dayton": 0.6}),
            {
                "Greater Lafayette": 0.12,
                "Tippecanoe": 0.1,
                "Indiana": 0.083333,
                "Illinois": 0.25,
                "Midwest": 0.0625,
            },
        ),
        (CITY, LeafWeights(0.3, {"Dayton": math.inf}), {"Tippecanoe": 0.15}),
        (CITY, LeafWeights(0.3, {"Dayton": 0.0}), {"Tippecanoe": 0.0}),
        (CITY, LeafWeights(math.inf), {"Midwest": math.inf, "*": 0.0}),
    ],
)
def test_inner_weights_are_the_modified_harmonic_mean(hierarchy, given, expected):
    weights = node_weights(hierarchy, given)
    for label, value in expected.items():
        assert weights[hierarchy.labels.index(label)] == pytest.approx(value, abs=5e-7)


@pytest.mark.spec("TV-6", "E-1")
@pytest.mark.parametrize(
    ("given", "code"),
    [
        (NodeWeights({"p": 0.4, "c": 0.3}), "not-monotone"),
        (NodeWeights({"p": 0.4, "c": -0.3}), "negative-weight"),
        (NodeWeights({"p": 0.4, "c": 0.4, "*": 0.1}), "positive-top"),
        (NodeWeights({"p": 0.4}), "missing-weight"),
        (NodeWeights({"p": 0.4, "c": 0.5, "x": 1}), "unknown-value"),
        (LeafWeights(None, {}), "missing-weight"),
        (LeafWeights(0.1, {"p": 0.2}), "unknown-value"),
        (LeafWeights(math.nan), "negative-weight"),
        (ConstantWeight(-1.0), "negative-weight"),
        (ConstantWeight(math.nan), "negative-weight"),
    ],
)
def test_invalid_weights_are_refused_and_named(given, code):
    h = Hierarchy.from_parents({"p": [None], "c": ["p"]})
    with pytest.raises(InvalidInput) as caught:
        build_sensitivity(one(h), "linear", {"a": given})
    assert code in [fault.code for fault in caught.value.faults]
    assert all(fault.pointer.startswith("/attributes/a") for fault in caught.value.faults)


def test_every_offending_edge_is_named():
    h = Hierarchy.from_parents({"p": [None], "c": ["p"], "d": ["p"]})
    with pytest.raises(InvalidInput) as caught:
        build_sensitivity(one(h), "linear", {"a": NodeWeights({"p": 2, "c": 1, "d": 0})})
    assert ["'c'" in f.message or "'d'" in f.message for f in caught.value.faults] == [True, True]


def test_a_positive_top_is_accepted_when_asked_for():
    h = Hierarchy.from_parents({"c": [None]})
    s = build_sensitivity(one(h), "linear", {"a": NodeWeights({"c": 1, "*": 0.1})}, allow_positive_top=True)
    assert s.phi(np.array([[TOP]], dtype=np.int32)).tolist() == [0.1]


@pytest.mark.spec("E-2")
def test_an_infinite_weight_counts_only_while_its_attribute_is_disclosed():
    s = build_sensitivity(T, "multiplicative", {**WEIGHTS, "income": ConstantWeight(math.inf)})
    phi = s.phi(nodes(("Dayton", None, "Low"), ("Dayton", None, None)))
    assert phi[0] == math.inf
    assert phi[1] == pytest.approx(math.exp(0.3))


def test_an_infinite_weight_of_one_entity_leaves_the_others_finite():
    overrides = Overrides(
        np.array([0, 1, 0, 0, 0, 0], dtype=np.int32), np.array([[math.nan] * 3, [math.inf, math.nan, 0.0]])
    )
    s = build_sensitivity(T, "linear_personal", WEIGHTS, overrides)
    phi = s.phi(T.codes, s.groups)
    assert np.isinf(phi).tolist() == [False, True, False, False, False, False]
    suppressed = T.codes.copy()
    suppressed[:, 0] = TOP
    assert s.phi(suppressed, s.groups)[1] == pytest.approx(0.4)


def test_personal_weights_replace_leaf_weights_and_inner_ones_follow():
    s = personal()
    phi = s.phi(nodes(("Tippecanoe", "Asian", "High")), np.array([1]))
    assert phi[0] == pytest.approx(0.5 / 3 + 0.2 / 3 + 1.0 / 2)


@pytest.mark.parametrize(
    ("family", "weights", "override", "code"),
    [
        ("linear", WEIGHTS, [[1.0, math.nan, math.nan]], "not-personal"),
        ("linear_personal", WEIGHTS, [[-1.0, math.nan, math.nan]], "negative-weight"),
        (
            "linear_personal",
            {**WEIGHTS, "income": NodeWeights(dict.fromkeys(INCOME.labels[1:], 1.0))},
            [[math.nan, math.nan, 1.0]],
            "not-scalable",
        ),
    ],
)
def test_overrides_that_make_no_sense_are_refused(family, weights, override, code):
    groups = np.zeros(6, dtype=np.int32)
    with pytest.raises(InvalidInput) as caught:
        build_sensitivity(T, family, weights, Overrides(groups, np.array(override)))
    assert [fault.code for fault in caught.value.faults] == [code]


def test_every_attribute_needs_a_weight_and_no_other_may_have_one():
    with pytest.raises(InvalidInput) as caught:
        build_sensitivity(
            T, "linear", {"city": ConstantWeight(1), "race": ConstantWeight(1), "zip": ConstantWeight(1)}
        )
    assert [fault.code for fault in caught.value.faults] == ["unknown-attribute", "missing-attribute"]


def test_the_constant_family_does_not_look_at_the_record():
    assert constant_sensitivity(T, 2.5).phi(nodes((None, None, None))).tolist() == [2.5]
    with pytest.raises(InvalidInput):
        constant_sensitivity(T, -1)


def test_an_only_child_gives_its_parent_exactly_its_own_weight():
    h = Hierarchy.from_parents({"p": [None], "c": ["p"]})
    for w in np.random.default_rng(1).uniform(0, 10, 200):
        weights = harmonic_weights(h, np.array([w]))
        assert weights[h.node_of("p")] <= weights[h.node_of("c")]


@pytest.mark.parametrize(
    "h",
    [Hierarchy.from_rows([["a", "x", "Any"], ["b", "Any", "Any"]]), Hierarchy.from_rows([["Any"], ["b"]])],
)
def test_a_value_with_the_label_of_the_top_needs_its_own_weight_and_gives_the_top_none(h):
    h = Hierarchy(("Any", *h.labels[1:]), h.parents)
    others = {label: 1.0 for label in h.labels if label != "Any"}
    with pytest.raises(InvalidInput) as caught:
        build_sensitivity(one(h), "linear", {"a": NodeWeights(others)})
    assert caught.value.faults[0].code == "missing-weight"
    built = build_sensitivity(one(h), "linear", {"a": NodeWeights({**others, "Any": 1.0})})
    assert built.phi(np.arange(h.n_nodes, dtype=np.int32)[:, None]).tolist() == [0.0] + [1.0] * (
        h.n_nodes - 1
    )
