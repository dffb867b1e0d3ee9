"""δ-disclosure privacy as a measure: both logarithms, absent values, strictness."""

import math

import pytest

from app.domain.models.delta_disclosure import DELTA_DISCLOSURE
from tests.unit.measures.closeness_tables import of_classes
from tests.unit.measures.diversity_tables import flat, measured, table

VALUES = ("v", "w", "x")
PRESENT = [(4, 1, 1), (2, 3, 1)]
ABSENT = [(4, 0, 2), (2, 4, 0)]


@pytest.mark.spec("BL-T10", "FM-5.2")
def test_both_logarithms_are_shown():
    """The second class has one w of four in twelve less: |ln(1/6 / 1/3)| = ln 2, one bit."""
    found = measured(DELTA_DISCLOSURE, of_classes(PRESENT, VALUES))
    assert found.delta.natural == pytest.approx(0.69314718056, abs=1e-11)
    assert found.delta.binary == pytest.approx(1, abs=1e-15)
    assert found.delta_of_present == found.delta
    assert found.worst.rows == (1, 2, 3, 4, 5, 6)
    assert (found.value.value, found.value.in_table) == ("w", pytest.approx(1 / 3))
    assert (found.classes_lacking, found.records_lacking, found.worst_lacks) == (0, 0, 0)


@pytest.mark.parametrize(
    ("delta", "base", "failing"),
    [(1.0, "2", 1), (1.0001, "2", 0), (0.69, "e", 1), (0.6932, "e", 0), (1.0, "e", 0), (0.1, "e", 2)],
)
def test_the_bound_is_strict_and_in_its_own_base(delta, base, failing):
    found = measured(DELTA_DISCLOSURE, of_classes(PRESENT, VALUES), delta=delta, base=base)
    assert (found.classes_failing, found.records_failing, found.is_met) == (failing, 6 * failing, not failing)


@pytest.mark.spec("BL-T10", "FM-5.2")
def test_absent_values_are_ruled_out_and_make_delta_infinite():
    found = measured(DELTA_DISCLOSURE, of_classes(ABSENT, VALUES), delta=100)
    assert (found.delta.natural, found.delta.binary) == (math.inf, math.inf)
    assert (found.classes_lacking, found.records_lacking, found.worst_lacks) == (2, 12, 1)
    assert (found.is_met, found.classes_failing) == (False, 2)
    # What tools report that skip them: the second class has one and a half times its share of w.
    assert found.delta_of_present.natural == pytest.approx(math.log(2))
    assert found.worst_of_present.rows == (1, 2, 3, 4, 5, 6)


@pytest.mark.spec("FM-5.7")
def test_one_value_is_as_likely_everywhere():
    found = measured(DELTA_DISCLOSURE, of_classes([(2,), (3,)], ("v",)), delta=0.001)
    assert (found.delta.natural, found.is_met, found.classes_lacking) == (0, True, 0)


def test_classes_without_a_value_lack_nothing():
    rows = [("c0", "v"), ("c0", "w"), ("c1", None)]
    found = table(("place", "condition"), (flat(["c0", "c1"]), flat(["v", "w"])), rows, {"condition"})
    without = measured(DELTA_DISCLOSURE, found, missing_sensitive="excluded")
    assert (without.delta.natural, without.classes_lacking, without.records_without_value) == (0, 0, 1)
    own = measured(DELTA_DISCLOSURE, found)
    assert (own.values, own.classes_lacking, own.delta.natural) == (3, 2, math.inf)
