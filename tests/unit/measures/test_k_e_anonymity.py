"""(k, e)-anonymity as a measure, against hand-made tables and loops over the classes."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.builders import intervals
from app.domain.models.k_e_anonymity import K_E_ANONYMITY, KEAnonymity
from app.domain.policies.measure_condition import VALUES_OF
from app.domain.rules.rule import TableRule
from tests.unit.measures import diversity_tables as tables

WAGES = ("900", "1000.5", "1000.50", "4000", "9000")
ROWS = [
    ("a", "900"),
    ("a", "9000"),
    ("b", "1000.5"),
    ("b", "1000.50"),
    ("b", "4000"),
    ("c", "4000"),
    ("c", "4000"),
]


def wages(rows=ROWS, values=WAGES):
    return tables.table(("place", "wage"), (tables.flat("abc"), tables.flat(values)), rows, {"wage"})


def test_the_least_range_and_the_fewest_values_of_a_class():
    found = tables.measured(K_E_ANONYMITY, wages(), k=2, e=2999.5)
    assert (found.attribute, found.classes, found.distinct, found.range) == ("wage", 3, 1, 0.0)
    assert found.worst == found.fewest
    assert found.worst.rows == (6, 7)
    assert (found.is_met, found.classes_failing, found.records_failing) == (False, 1, 2)
    assert found.range_mean == pytest.approx((8100 + 2999.5 + 0) / 3, abs=1e-9)
    assert (found.distinct_attainable, found.range_attainable) == (4, 8100.0)


def test_a_number_that_is_written_in_two_ways_is_one_value():
    assert tables.measured(K_E_ANONYMITY, wages(ROWS[2:4])).distinct == 1
    assert tables.measured(K_E_ANONYMITY, wages(ROWS[2:5])).distinct == 2


@pytest.mark.parametrize(("e", "failing"), [(0.3, 0), (0.30000001, 1), (0.2, 0)])
def test_a_range_is_compared_with_the_decimal_that_was_written(e, failing):
    rows = [("a", "0.1"), ("a", "0.4")]
    found = tables.measured(K_E_ANONYMITY, wages(rows, ("0.1", "0.4")), e=e)
    assert found.classes_failing == failing


def test_values_that_are_shown_as_intervals_have_the_range_that_is_certain():
    tree = intervals(["1", "12", "19", "33"], ["10"])
    rows = [("a", "12"), ("a", "19"), ("b", "1"), ("b", "33")]
    table = tables.table(("place", "age"), (tables.flat("ab"), tree), rows, {"age"})
    exact = tables.measured(K_E_ANONYMITY, table)
    assert (exact.distinct, exact.range) == (2, 7.0)
    shown = tables.measured(K_E_ANONYMITY, table, TableRule((0, 1)), e=1.0)
    # 12 and 19 are the same interval; of [0, 10[ and [30, 40[ only 1 and 33 occur.
    assert (shown.distinct, shown.range, shown.records_failing) == (1, 0.0, 2)
    assert shown.range_attainable == 32.0


def test_a_missing_value_is_the_most_frequent_one_or_one_of_its_own_that_adds_nothing_to_the_range():
    rows = [("a", "900"), ("a", None), ("b", "900"), ("b", "4000")]
    found = tables.measured(K_E_ANONYMITY, wages(rows), k=2, e=1.0)
    assert (found.distinct, found.range, found.records_failing) == (1, 0.0, 2)
    own = tables.measured(K_E_ANONYMITY, wages(rows), k=2, e=1.0, missing_sensitive="own_category")
    assert (own.distinct, own.range, own.records_failing) == (2, 0.0, 2)
    without = tables.measured(K_E_ANONYMITY, wages(rows), k=2, missing_sensitive="excluded")
    assert (without.distinct, without.records_without_value, without.records_failing) == (1, 1, 2)


def test_other_sensitive_attributes_split_the_classes_unless_they_are_left_aside():
    rows = [("a", "900", "x"), ("a", "4000", "y"), ("a", "9000", "y")]
    trees = (tables.flat("abc"), tables.flat(WAGES), tables.flat("xy"))
    table = tables.table(("place", "wage", "ill"), trees, rows, {"wage", "ill"})
    split = tables.measured(K_E_ANONYMITY, table, attribute="wage")
    assert (split.split_by, split.classes, split.distinct, split.range) == (("ill",), 2, 1, 0.0)
    apart = tables.measured(K_E_ANONYMITY, table, attribute="wage", others="apart")
    assert (apart.split_by, apart.classes, apart.distinct, apart.range) == ((), 1, 3, 8100.0)


@pytest.mark.parametrize("seed", range(4))
def test_ranges_and_values_are_those_of_loops(seed):
    rng = np.random.default_rng(seed)
    rows = [("abc"[rng.integers(3)], str(rng.integers(-9, 10) / 4)) for _ in range(rng.integers(1, 25))]
    found = tables.measured(K_E_ANONYMITY, wages(rows, [value for _, value in rows]), k=3, e=1.5)
    of = {place: [float(v) for p, v in rows if p == place] for place, _ in rows}
    ranges = {place: max(own) - min(own) for place, own in of.items()}
    assert found.range == min(ranges.values())
    assert found.distinct == min(len(set(own)) for own in of.values())
    failing = [place for place, own in of.items() if len(set(own)) < 3 or ranges[place] < 1.5]
    assert (found.classes_failing, found.is_met) == (len(failing), not failing)
    assert found.records_failing == sum(len(of[place]) for place in failing)


def test_attributes_whose_values_are_no_numbers_are_refused_with_a_remedy():
    with pytest.raises(InvalidInput) as caught:
        tables.measured(K_E_ANONYMITY, *tables.release_1())
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code) == ("/measure/attribute", "not-numeric")
    assert fault.remedy
    with pytest.raises(NotSupported) as too_long:
        tables.measured(K_E_ANONYMITY, wages([("a", "1e-30"), ("a", "1e30")], ("1e-30", "1e30")))
    assert too_long.value.remedy


def test_what_asks_nothing_and_what_a_threshold_may_be_set_for():
    assert KEAnonymity(1, 0.0).asks_nothing
    assert not KEAnonymity(1, 0.1).asks_nothing
    assert not KEAnonymity(2, 0.0).asks_nothing
    assert {value.path for value in VALUES_OF["k_e_anonymity"] if value.marks.safer == "high"} == {
        "distinct", "range", "range_mean", "is_met",
    }  # fmt: skip
