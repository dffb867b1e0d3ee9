"""β-likeness as a measure: worst class and value, caps, references, and what a β implies."""

import math

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
