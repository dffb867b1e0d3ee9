"""β-likeness as a measure: worst class and value, caps, references, and what a β implies."""

import math
from dataclasses import replace

import numpy as np
import pytest

from app.domain.errors import InvalidInput, NotSupported
from app.domain.models.beta_likeness import BETA_LIKENESS
from tests.unit.measures.closeness_tables import of_classes
from tests.unit.measures.diversity_tables import flat, measured, table

VALUES = ("v", "w", "x")


def likeness(classes, values=VALUES, **parameters):
    return measured(BETA_LIKENESS, of_classes(classes, values), **parameters)


@pytest.mark.spec("BL-T2")
@pytest.mark.parametrize(
    ("classes", "basic", "enhanced", "negative"),
    [
        ([(3, 2, 1), (3, 2, 1)], 0, 0, 0),
        ([(4, 1, 1), (2, 3, 1)], 0.5, 0.5, 0.5),
        ([(4, 0, 2), (2, 4, 0)], 1, 1, 1),
        ([(6, 0, 0), (0, 4, 2)], 1, math.inf, 1),
        ([(1, 0, 1), (0, 1, 1), (0, 0, 6)], 4, math.inf, 1),
    ],
)
def test_the_likeness_of_a_release(classes, basic, enhanced, negative):
    found = likeness(classes)
    assert (found.beta_basic, found.beta_enhanced, found.beta_negative) == (basic, enhanced, negative)


@pytest.mark.spec("BL-T2")
def test_the_worst_class_and_value():
    worst = likeness([(4, 1, 1), (2, 3, 1)]).worst
    assert (worst.exposed.rows, worst.value) == ((7, 8, 9, 10, 11, 12), "w")
    assert (worst.with_value, worst.in_class, worst.gain, worst.ratio) == (3, 0.5, 0.5, 1.5)
    assert worst.bound == pytest.approx(2 / 3)
    assert worst.utilisation == pytest.approx(3 / 4)


@pytest.mark.spec("BL-T2", "BL-11")
def test_broken_caps_are_listed_and_no_beta_helps():
    """Erratum 18: both numbers stand side by side, the enhanced one infinite."""
    found = likeness([(1, 0, 1), (0, 1, 1), (0, 0, 6)], beta=1e6)
    assert found.caps_broken == 3
    assert [(own.exposed.rows, own.value) for own in found.caps] == [
        ((1, 2), "v"),
        ((3, 4), "w"),
        ((5, 6, 7, 8, 9, 10), "x"),
    ]
    assert (found.is_met, found.classes_failing, found.records_failing) == (False, 3, 10)
    assert likeness([(1, 0, 1), (0, 1, 1), (0, 0, 6)], beta=4, bound="basic").is_met
    assert likeness([(1, 0, 1), (0, 1, 1), (0, 0, 6)], beta=1e6, top=2).caps == found.caps[:2]


@pytest.mark.spec("FM-5.6")
def test_every_value_has_its_own_bound():
    """Shares 0.9 and 0.1: a bound of −ln 0.9 for all would fail the first class, β = 2 for all would pass
    the last."""
    classes = [(4, 1), (5, 0)]
    found = likeness([*classes, (81, 9)], ("v", "w"), beta=2)
    assert (found.classes_failing, found.records_failing) == (1, 5)
    assert (found.caps_broken, found.caps[0].value, found.caps[0].exposed.records) == (1, "v", 5)
    bounds = {own.value: own.bound for own in found.by_value}
    assert bounds == {"v": pytest.approx(0.9 * (1 - math.log(0.9))), "w": pytest.approx(0.3)}
    assert found.values_frequent == 1


@pytest.mark.parametrize(("beta", "met"), [(0.5, True), (0.4999999999, False)])
def test_exactly_at_the_bound_is_like(beta, met):
    assert likeness([(4, 1, 1), (2, 3, 1)], beta=beta).is_met is met


@pytest.mark.spec("BL-L4", "BL-L6", "BL-T10", "BL-T15")
def test_what_a_beta_implies():
    """p = ½, 3/10, 1/5 and β = ½: f = 3/4, 9/20, 3/10; two values make up 1, of 3 records 2, 1, 0."""
    found = likeness([(5, 3, 2)], beta=0.5).implies
    assert (found.least_values, found.least_records) == (2, 3)
    assert found.least_frequency_l == pytest.approx(4 / 3)
    assert found.enough_records == math.ceil(10 * 2 / 3)
    assert found.delta == pytest.approx(math.log(1.5))
    assert likeness([(5, 3, 2)], beta=4).implies.enough_records == math.ceil(10 * 0.590616109149)


def test_a_reference_of_ones_own():
    """Public statistics say 1 : 1, the release has 3 : 1 in its only class."""
    found = likeness([(3, 1)], ("v", "w"), reference={"v": 50, "w": 50})
    assert (found.reference, found.beta_basic, found.beta_negative) == ("given", 0.5, 0.5)
    assert likeness([(3, 1)], ("v", "w")).beta_basic == 0


@pytest.mark.spec("BL-11")
def test_a_hundredfold_share_is_a_gain_of_99():
    """Erratum 12: a value of 0.1 % in public statistics, one record of ten."""
    worst = likeness([(1, 9)], ("v", "w"), reference={"v": 1, "w": 999}).worst
    assert (worst.gain, worst.ratio) == (99, 100)


def test_values_that_the_reference_lacks_are_infinite_gains():
    found = likeness([(3, 1, 0), (1, 1, 2)], reference={"v": 2, "w": 3})
    assert (found.values, found.values_mismatched) == (2, 1)
    assert (found.beta_basic, found.beta_enhanced) == (math.inf, math.inf)
    assert (found.worst.value, found.worst.bound, found.worst.utilisation) == ("x", 0, math.inf)
    assert not likeness([(3, 1, 0), (1, 1, 2)], reference={"v": 2, "w": 3}, bound="basic", beta=1e6).is_met


def test_values_of_the_reference_that_nobody_has_count_as_lost():
    found = likeness([(3, 1)], ("v", "w"), reference={"v": 2, "w": 2})
    assert found.values_unused == 0
    unused = likeness([(3, 1, 0)])
    assert (unused.values, unused.values_unused, unused.beta_negative) == (2, 1, 0)
    lost = likeness([(3, 1, 0)], reference={"v": 3, "w": 1, "x": 4})
    assert (lost.values, lost.values_unused, lost.beta_negative) == (3, 0, 1)


@pytest.mark.parametrize("reference", [{"nobody": 1}, {"v": 0}, {"v": 10**12, "w": 10**12, "x": 10**19}])
def test_references_that_say_nothing_are_refused(reference):
    with pytest.raises(InvalidInput):
        likeness([(3, 1, 1)], reference=reference)


def test_saturation_is_that_of_the_rarest_value():
    found = likeness([(5, 3, 2)])
    assert found.beta_saturation == pytest.approx(-math.log(0.2))
    assert found.max_absolute_gain == 0


@pytest.mark.spec("FM-5.7")
def test_one_value_tells_nothing():
    found = likeness([(2,), (3,)], ("v",))
    assert (found.beta_basic, found.beta_enhanced, found.beta_negative, found.is_met) == (0, 0, 0, True)
    assert (found.implies.least_records, found.implies.least_values) == (1, 1)


def test_a_table_without_any_value_has_no_shares():
    rows = [("c0", None), ("c1", None)]
    found = table(("place", "condition"), (flat(["c0", "c1"]), flat(["v"])), rows, {"condition"})
    with pytest.raises(NotSupported):
        measured(BETA_LIKENESS, found, missing_sensitive="excluded")
    assert measured(BETA_LIKENESS, found).beta_basic == 0


NESTED = {"a1": ["a"], "a2": ["a"], "b1": ["b"], "b2": ["b"], "c": [None], "a": [None], "b": [None]}


def grouped(classes, **parameters):
    return measured(BETA_LIKENESS, of_classes(classes, ("a1", "a2", "b1", "b2", "c"), NESTED), **parameters)


@pytest.mark.spec("BL-T20", "BL-L8", "BL-11")
def test_likeness_of_values_is_not_that_of_groups():
    """Erratum 13: leaves satisfy the enhanced one, the groups {a1, a2} and {b1, b2} for no β."""
    classes = [(8, 8, 2, 2, 0), (0, 0, 10, 10, 0)]
    assert grouped(classes, beta=1).is_met
    for values_in_groups in ("bounded", "free"):
        found = grouped(classes, beta=1, groups=("a", "b"), values_in_groups=values_in_groups)
        assert (found.is_met, found.classes_failing, found.records_failing) == (False, 2, 40)
        assert (found.beta_basic, found.beta_enhanced, found.caps_broken) == (1, math.inf, 2)
        assert [(own.value, own.with_value) for own in found.caps] == [("a", 16), ("b", 20)]
        assert found.caps[0].bound == pytest.approx(0.766516292750)
        assert found.values_unused == 1


def test_groups_in_place_of_values_leave_these_free_and_others_bounded():
    """b1 fills half of the second class; c, which is in no group, stays bounded by itself."""
    classes = [(4, 4, 0, 8, 4), (4, 4, 8, 0, 4)]
    assert grouped(classes, beta=1).beta_basic == 1
    free = grouped(classes, beta=1, groups=("a", "b"), values_in_groups="free")
    assert (free.values, free.beta_basic, free.beta_negative, free.is_met) == (3, 0, 0, True)
    assert {own.value for own in free.by_value} == {"a", "b", "c"}
    both = grouped(classes, beta=1, groups=("a", "b"))
    assert (both.values, both.beta_basic, both.beta_negative) == (7, 1, 1)
    moved = grouped([(4, 4, 0, 6, 6), (4, 4, 8, 2, 2)], beta=0.2, groups=("a", "b"), values_in_groups="free")
    assert (moved.worst.value, moved.beta_basic, moved.classes_failing) == ("c", 0.5, 2)


@pytest.mark.parametrize(("most", "met"), [(0.5, True), (0.4999999999, False), (0.9, True), (None, True)])
def test_losses_are_bounded_exactly(most, met):
    """(4,1,1) has half of what the second value has in all; at the bound passes."""
    found = likeness([(4, 1, 1), (2, 3, 1)], beta=2, beta_negative=most)
    assert (found.is_met, found.classes_failing) == (met, 0 if met else 1)


def test_an_absent_value_breaks_every_bound_of_losses():
    found = likeness([(4, 0, 2), (2, 4, 0)], beta=2, beta_negative=0.999)
    assert (found.is_met, found.classes_failing, found.beta_negative) == (False, 2, 1)


def test_groups_beside_a_reference_are_shares_of_it():
    reference = {"a1": 1, "a2": 1, "b1": 3, "b2": 3}
    found = grouped([(1, 3, 2, 2, 0)], groups=("a",), values_in_groups="free", reference=reference)
    assert (found.worst.value, found.worst.in_table, found.worst.gain) == ("a", 0.25, 1)


def test_groups_that_are_none_are_refused_and_so_are_persons():
    with pytest.raises(InvalidInput) as refused:
        grouped([(1, 1, 1, 1, 1)], groups=("a", "c"))
    assert refused.value.faults[0].pointer == "/measure/groups/1"
    own = of_classes([(2, 1, 1, 1, 1)], ("a1", "a2", "b1", "b2", "c"), NESTED)
    with pytest.raises(NotSupported):
        measured(BETA_LIKENESS, replace(own, persons=np.array([0, 0, 1, 2, 3, 4], np.int32)), groups=("a",))
