"""The skewness attack: who is suspected of what, and how often rightly."""

import pytest

from app.domain.attacks.skewness_attack import SKEWNESS_ATTACK
from tests.unit.measures.closeness_tables import of_classes
from tests.unit.measures.diversity_tables import flat, measured, table

VALUES = ("hiv", "flu")


@pytest.mark.spec("BL-11")
def test_one_rare_case_in_a_class_of_ten():
    """Erratum 12: 0.1 % of the table, 10 % of the class; a hundred times as likely is a gain of 99."""
    found = measured(SKEWNESS_ATTACK, of_classes([(1, 9), (0, 990)], VALUES), gain=50)
    [worst] = found.worst
    assert (worst.value, worst.ratio, worst.gain) == ("hiv", 100, 99)
    assert worst.exposed.rows == tuple(range(1, 11))
    assert (found.classes_exposed, found.records_exposed, found.share_exposed) == (1, 10, 0.01)
    [suspected] = found.by_value
    assert (suspected.records, suspected.with_value, suspected.greatest_in_class) == (10, 1, 0.1)
    assert (found.worst_gain, found.worst_posterior) == (99, 1)


@pytest.mark.parametrize(("gain", "classes"), [(0.99, 1), (1.0, 0), (0.5, 1)])
def test_exactly_the_gain_exposes_nobody(gain, classes):
    """hiv is 1/4 of the table and 1/2 of the first class: a gain of 1."""
    found = measured(SKEWNESS_ATTACK, of_classes([(2, 2), (0, 4)], VALUES), gain=gain)
    assert found.classes_exposed == classes


def test_guessing_the_most_frequent_value():
    """In classes (3, 1) and (1, 5) guesses are right 3 + 5 of 10 times, by the table's 6 of 10."""
    found = measured(SKEWNESS_ATTACK, of_classes([(3, 1), (1, 5)], VALUES))
    assert found.success_rate == pytest.approx(0.8)
    assert found.success_before == 0.6


def test_lists_hold_the_worst_of_several():
    found = measured(SKEWNESS_ATTACK, of_classes([(2, 0), (3, 1), (0, 14)], VALUES), gain=0.1, top=1)
    assert [own.exposed.rows for own in found.worst] == [(1, 2)]
    assert (found.classes_exposed, found.records_exposed) == (3, 20)
    assert [(own.value, own.records) for own in found.by_value] == [("flu", 14)]


@pytest.mark.spec("FM-5.7")
def test_one_value_raises_no_suspicion():
    found = measured(SKEWNESS_ATTACK, of_classes([(2,), (3,)], ("v",)), gain=0.001)
    assert (found.records_exposed, found.worst_gain, found.success_rate, found.worst) == (0, 0, 1, ())


def test_who_may_be_confused_with_a_class_is_not_counted_as_suspected():
    """A missing place matches all classes: its own class has one record, not the others' hiv."""
    rows = [("c0", "hiv"), ("c1", "flu"), ("c1", "flu"), ("c1", "flu"), (None, "hiv")]
    places = flat(["c0", "c1"])
    found = table(("place", "condition"), (places, flat(VALUES)), rows, {"condition"})
    result = measured(SKEWNESS_ATTACK, found, missing="matches_everything", gain=0.1)
    hiv = next(own for own in result.by_value if own.value == "hiv")
    assert (hiv.classes, hiv.records, hiv.with_value) == (1, 1, 1)
