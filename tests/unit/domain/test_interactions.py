"""Interactions: sets of attributes that weigh something together (the family Φ3)."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.sensitivity.interactions import (
    DEFAULT_ORDER,
    MAX_INTERACTIONS,
    GivenInteraction,
    GivenInteractions,
)
from app.domain.sensitivity.sensitivity import Interaction, Overrides, Sensitivity, build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight, LeafWeights
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import CITY, T, nodes

WEIGHTS = {"city": LeafWeights(0.3), "race": LeafWeights(0.4), "income": LeafWeights(0.75)}
ALL = ("city", "race", "income")


def given(*sets, **options):
    return GivenInteractions(tuple(GivenInteraction(names, weight) for names, weight in sets), **options)


def phi3(interactions, overrides=None, weights=WEIGHTS):
    return build_sensitivity(T, "interactions", weights, overrides, interactions=interactions)


def faults(*args, **kwargs):
    with pytest.raises(InvalidInput) as caught:
        phi3(*args, **kwargs)
    return caught.value.faults


def test_a_set_counts_only_while_all_of_its_attributes_are_disclosed():
    sensitivity = phi3(given((ALL, 8.0), (("income", "city"), 4.0)))
    rows = nodes(
        ("Dayton", "White", "Low"), ("Dayton", None, "Low"), ("Dayton", "White", None), (None, None, None)
    )
    linear = build_sensitivity(T, "linear", WEIGHTS).phi(rows)
    assert (sensitivity.phi(rows) - linear).tolist() == pytest.approx([12.0, 4.0, 0.0, 0.0])


def test_a_set_weighs_the_same_whatever_its_values_are():
    sensitivity = phi3(given((("city", "race"), 1.0)))
    rows = nodes(("Dayton", "White", None), ("Midwest", "Asian", None))
    linear = build_sensitivity(T, "linear", WEIGHTS).phi(rows)
    assert (sensitivity.phi(rows) - linear).tolist() == pytest.approx([1.0, 1.0])


def test_an_infinite_interaction_forbids_only_the_combination():
    sensitivity = phi3(given((("city", "income"), math.inf)))
    rows = nodes(("Dayton", None, "Low"), ("Dayton", "White", None), (None, "White", "Low"))
    assert np.isinf(sensitivity.phi(rows)).tolist() == [True, False, False]


def test_entities_and_groups_may_have_interactions_of_their_own():
    overrides = Overrides(
        np.array([0, 1, 2, 0, 0, 0], np.int32),
        np.array([[math.nan] * 3, [math.nan] * 3, [1.0, math.nan, math.nan]]),
        np.array([[math.nan], [2.0], [math.inf]]),
    )
    sensitivity = phi3(given((("city", "race"), 0.5)), overrides)
    row = nodes(("Dayton", "White", None)).repeat(3, axis=0)
    found = sensitivity.phi(row, np.array([0, 1, 2], np.int32))
    assert found.tolist() == pytest.approx([0.7 + 0.5, 0.7 + 2.0, math.inf])
    assert sensitivity.is_personal


@pytest.mark.parametrize(
    ("sets", "options", "code"),
    [
        ([(("city", "zip"), 1.0)], {}, "unknown-attribute"),
        ([(("city",), 1.0)], {}, "not-a-set"),
        ([(("city", "city"), 1.0)], {}, "not-a-set"),
        ([(("city", "race"), 1.0), (("race", "city"), 2.0)], {}, "duplicate-interaction"),
        ([(("city", "race"), -0.01)], {}, "negative-interaction"),
        ([(("city", "race"), math.nan)], {}, "negative-interaction"),
        ([(("city", "race"), math.nan)], {"allow_negative": True}, "negative-interaction"),
        ([(("city", "race"), -math.inf)], {"allow_negative": True}, "negative-interaction"),
        ([(ALL, 1.0)], {"order": 2}, "order-too-high"),
    ],
)
def test_sets_and_weights_that_make_no_sense_are_refused(sets, options, code):
    found = faults(given(*sets, **options))
    assert code in [fault.code for fault in found]
    assert all(fault.pointer.startswith("/interactions/sets/") for fault in found)


def test_the_order_is_bounded_by_default_and_can_be_raised():
    names = tuple("abcdef")
    table = Table(names, (CITY,) * 6, np.full((1, 6), CITY.node_of("Dayton")))
    weights = dict.fromkeys(names, ConstantWeight(1.0))
    five = GivenInteraction(names[:5], 1.0)
    with pytest.raises(InvalidInput) as caught:
        build_sensitivity(table, "interactions", weights, interactions=GivenInteractions((five,)))
    assert [fault.code for fault in caught.value.faults] == ["order-too-high"]
    assert DEFAULT_ORDER == 4
    raised = build_sensitivity(table, "interactions", weights, interactions=GivenInteractions((five,), 5))
    assert raised.phi(table.codes).tolist() == [7.0]


def test_the_number_of_sets_is_bounded():
    names = tuple(f"a{i}" for i in range(70))
    table = Table(names, (CITY,) * 70, np.full((1, 70), CITY.node_of("Dayton")))
    pairs = list(itertools.combinations(names, 2))
    weights = dict.fromkeys(names, ConstantWeight(0.0))
    most = GivenInteractions(tuple(GivenInteraction(pair, 1.0) for pair in pairs[:MAX_INTERACTIONS]))
    built = build_sensitivity(table, "interactions", weights, interactions=most)
    assert built.phi(table.codes).tolist() == [MAX_INTERACTIONS]
    more = GivenInteractions(tuple(GivenInteraction(pair, 1.0) for pair in pairs))
    with pytest.raises(InvalidInput) as caught:
        build_sensitivity(table, "interactions", weights, interactions=more)
    assert [fault.code for fault in caught.value.faults] == ["too-many-interactions"]


def test_other_families_have_no_interactions():
    with pytest.raises(InvalidInput) as caught:
        build_sensitivity(T, "multiplicative", WEIGHTS, interactions=given((("city", "race"), 1.0)))
    assert [fault.code for fault in caught.value.faults] == ["interactions-not-used"]


@pytest.mark.spec("E-1")
def test_a_negative_interaction_is_admitted_up_to_the_lightest_value():
    """The lightest city is the Midwest, 0.05, the lightest race Asian, 0.4/3."""
    allowed = phi3(given((("city", "race"), -0.05), allow_negative=True))
    assert allowed.is_monotone
    assert allowed.phi(nodes(("Midwest", "Asian", None), (None, "Asian", None))).tolist() == pytest.approx(
        [0.4 / 3, 0.4 / 3]
    )
    found = faults(given((("city", "race"), -0.06), allow_negative=True))
    assert [(fault.pointer, fault.code) for fault in found] == [("/interactions/city", "not-monotone")]
    assert "0.01" in found[0].message


def test_the_negative_interactions_of_an_attribute_are_summed():
    both = given((("city", "race"), -0.03), (("city", "income"), -0.03), allow_negative=True)
    assert [fault.pointer for fault in faults(both)] == ["/interactions/city"]
    with_a_positive_one = given((("city", "race"), -0.06), (("city", "income"), 5.0), allow_negative=True)
    assert [fault.pointer for fault in faults(with_a_positive_one)] == ["/interactions/city"]


def test_entities_whose_interactions_make_harm_fall_are_named_by_row():
    overrides = Overrides(
        np.array([0, 1, 0, 0, 1, 0], np.int32), np.full((2, 3), math.nan), np.array([[math.nan], [-0.2]])
    )
    found = faults(given((("city", "race"), 0.0), allow_negative=True), overrides)
    assert [fault.pointer for fault in found] == ["/interactions/city", "/interactions/race"]
    assert "2 records (first rows: 2, 5)" in found[0].message
    refused = faults(given((("city", "race"), 0.0)), overrides)
    assert [(f.pointer, f.code) for f in refused] == [("/overrides/city & race", "negative-interaction")]


def test_harm_never_falls_below_zero_by_rounding():
    weights = dict(zip(ALL, map(ConstantWeight, (0.3, 0.1, 0.2)), strict=True))
    exact = given((("city", "race"), -0.1), (("city", "income"), -0.2), allow_negative=True)
    assert 0.3 - 0.1 - 0.2 < 0
    sensitivity = phi3(exact, weights=weights)
    assert sensitivity.is_monotone
    assert sensitivity.phi(nodes(("Dayton", "White", "Low")))[0] >= 0


def test_a_sensitivity_that_is_not_monotone_says_so():
    built = phi3(given((("city", "race"), 1.0)))
    harmful = Sensitivity(
        built.family, built.shapes, built.factors, interactions=(Interaction((0, 1), np.array([-1.0])),)
    )
    assert built.is_monotone
    assert not harmful.is_monotone


def test_an_attribute_of_infinite_weight_outweighs_every_negative_interaction():
    weights = {**WEIGHTS, "city": ConstantWeight(math.inf), "race": ConstantWeight(9.0)}
    sensitivity = phi3(given((("city", "race"), -9.0), allow_negative=True), weights=weights)
    assert sensitivity.is_monotone
    assert sensitivity.phi(nodes(("Dayton", "White", None), (None, "White", None))).tolist() == [
        math.inf,
        9.0,
    ]
