"""Values that could be merged: the test by another implementation, groups by loops, and what is said."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from app.domain.analyses.mergeable_values import MERGEABLE_VALUES, MergeableValuesParameters
from app.domain.classes.homogeneity import chi_square_tail, homogeneity
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.rules.rule import TableRule
from tests.oracles.effort import examples
from tests.unit.measures.diversity_tables import context_of, flat, measured, table

SICK = ("x", "y", "z", "w")


def compared(left, right):
    statistic, freedom, poor = homogeneity(np.array([left]), np.array([right]))
    return statistic[0], freedom[0], chi_square_tail(statistic, freedom)[0], poor[0]


@pytest.mark.spec("RP-T13")
@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((30, 15, 5), (20, 20, 10), (4.380952, 2, 0.111863)),
        ((50, 30, 20, 0), (5, 3, 2, 0), (0, 2, 1)),
    ],
)
def test_two_samples(left, right, expected):
    assert compared(left, right)[:3] == pytest.approx(expected, abs=1e-6)


counts = st.lists(st.integers(0, 60), min_size=5, max_size=5).filter(any)


@given(counts, counts)
@settings(max_examples=examples(200))
def test_the_statistic_is_pearsons(left, right):
    statistic, freedom, tail, poor = compared(left, right)
    rows = np.array([left, right])
    occurring = rows[:, rows.any(axis=0)]
    if occurring.shape[1] == 1:
        assert (statistic, freedom, tail) == (pytest.approx(0), 0, 1)
        return
    theirs = stats.chi2_contingency(occurring, correction=False)
    assert (statistic, freedom) == (pytest.approx(theirs.statistic, abs=1e-9), theirs.dof)
    assert tail == pytest.approx(theirs.pvalue, abs=1e-12)
    assert poor == (theirs.expected_freq.min() < 5)


@pytest.mark.parametrize("degrees", [1, 2, 3, 14, 49, 500, 2001])
@pytest.mark.parametrize("part", [0.0, 1e-3, 0.3, 0.9, 1.0, 1.2, 3.0])
def test_the_tail_is_that_of_the_law(degrees, part):
    found = chi_square_tail(np.array([part * degrees]), np.array([degrees]))[0]
    assert found == pytest.approx(stats.chi2.sf(part * degrees, degrees), rel=1e-9, abs=1e-300)


def rows_of(counts_by_town):
    """Rows (town, age, illness): every town's counts of the illnesses, all of one age but the last."""
    return [
        (town, "old" if town == "d" else "young", ill)
        for town, own in counts_by_town.items()
        for ill, n in zip(SICK, own, strict=False)
        for _ in range(n)
    ]


def people(counts_by_town):
    rows = rows_of(counts_by_town)
    columns = (flat(own[0] for own in rows), flat(("old", "young")), flat(SICK))
    return table(("town", "age", "ill"), columns, rows, {"ill"})


CHAIN = {"a": (50, 50, 10), "b": (42, 58, 10), "c": (34, 66, 10), "d": (5, 5, 100)}
"""Each of a, b, c is like the next, a and c are told apart; d is like none."""


def test_values_in_a_chain_are_one_group_and_that_is_said():
    found = measured(MERGEABLE_VALUES, people(CHAIN), alpha=0.2)
    town, age = found.attributes
    assert (town.name, town.values, town.values_merged) == ("town", 4, 2)
    assert (town.pairs, town.pairs_alike, town.pairs_unreliable) == (6, 2, 0)
    (group,) = town.merged
    assert (group.values, group.records) == (("a", "b", "c"), 330)
    assert group.least_probability == pytest.approx(compared(CHAIN["a"], CHAIN["c"])[2])
    assert group.least_probability < 0.2
    assert (age.values_merged, age.merged) == (2, ())
    assert (found.groups, found.groups_merged) == (4, 2)
    assert (found.attribute, found.records, found.records_without_value) == ("ill", 440, 0)
    assert "read off these data" in found.depends_on_data
    assert "no guarantee" in found.depends_on_data


@given(
    st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any), min_size=2, max_size=6),
    st.sampled_from([0.01, 0.05, 0.3]),
)
@settings(max_examples=examples(60))
def test_groups_are_the_components_of_the_pairs_that_are_alike(vectors, alpha):
    towns = dict(zip("abcdef", map(tuple, vectors), strict=False))
    found = measured(MERGEABLE_VALUES, people(towns), alpha=alpha, quasi_identifiers=("town",))
    groups = {town: {town} for town in towns}
    for (one, left), (other, right) in itertools.combinations(towns.items(), 2):
        probability = compared(left, right)[2]
        if probability >= alpha and groups[one] is not groups[other]:
            groups[one] |= groups[other]
            for town in groups[other]:
                groups[town] = groups[one]
    expected = {frozenset(own) for own in groups.values()}
    assert {frozenset(own.values) for own in found.attributes[0].merged} == {
        own for own in expected if len(own) > 1
    }
    assert found.attributes[0].values_merged == found.groups_merged == len(expected)


def test_missing_values_are_merged_with_none_and_records_without_a_sensitive_one_left_out():
    rows = [("a", "x")] * 20 + [("b", "x")] * 20 + [(None, "x")] * 20 + [("c", None)] * 3
    own = table(("town", "ill"), (flat("abc"), flat("xy")), rows, {"ill"})
    found = measured(MERGEABLE_VALUES, own)
    assert (found.records, found.records_without_value) == (60, 3)
    assert [group.values for group in found.attributes[0].merged] == [("a", "b")]
    assert (found.attributes[0].values, found.groups, found.groups_merged) == (2, 3, 2)


def test_few_records_are_alike_to_everything_and_the_pairs_are_counted():
    found = measured(MERGEABLE_VALUES, people({"a": (100, 0, 0), "b": (1, 1, 0), "d": (0, 0, 2)}))
    assert found.attributes[0].pairs_unreliable == 3


def test_under_a_rule_what_is_shown_is_compared():
    found = measured(MERGEABLE_VALUES, people(CHAIN), rule=TableRule((1, 0, 0)))
    assert (found.attributes[0].values, found.attributes[0].merged) == (0, ())
    two = Hierarchy.from_rows([("a", "x"), ("b", "x"), ("c", "y"), ("d", "y")])
    own = table(("town", "age", "ill"), (two, flat(("old", "young")), flat(SICK)), rows_of(CHAIN), {"ill"})
    shown = measured(MERGEABLE_VALUES, own, rule=TableRule((1, 0, 0)), alpha=1e-300)
    assert shown.attributes[0].merged[0].values == ("x", "y")
    assert shown.attributes[0].rows == ()


@pytest.mark.parametrize(
    ("alpha", "names"), [(0.2, ["a and 2 others"] * 3 + ["d"]), (0.6, ["a or b"] * 2 + ["c", "d"])]
)
def test_the_rows_are_a_hierarchy_by_which_a_rule_merges_the_groups(alpha, names):
    rows = rows_of(CHAIN | {"b": (51, 49, 10)} if alpha == 0.6 else CHAIN)
    declared = (flat("abcde"), flat(("old", "young")), flat(SICK))
    before = table(("town", "age", "ill"), declared, rows, {"ill"})
    found = measured(MERGEABLE_VALUES, before, alpha=alpha)
    town, age = found.attributes
    assert town.rows == tuple(zip("abcde", [*names, "e"], strict=True))
    assert age.rows == ()
    merged = Hierarchy.from_rows(town.rows)
    after = table(("town", "age", "ill"), (merged, *declared[1:]), rows, {"ill"})
    again = measured(MERGEABLE_VALUES, after, rule=TableRule((1, 0, 0)), alpha=alpha)
    assert again.groups == found.groups_merged < found.groups


def test_what_cannot_be_compared_is_refused():
    many = [(f"t{i}", "x") for i in range(1001)]
    for rows, parameters, pointer in (
        (many, {}, "/measure/quasi_identifiers"),
        (many[:5], {"quasi_identifiers": ("ill",)}, "/measure/attribute"),
    ):
        own = table(("town", "ill"), (flat(row[0] for row in rows), flat("xy")), rows, {"ill"})
        with pytest.raises(InvalidInput) as refused:
            MERGEABLE_VALUES.supports(context_of(own), MergeableValuesParameters(**parameters))
        assert refused.value.faults[0].pointer == pointer


def test_a_large_statistic_has_no_tail():
    assert chi_square_tail(np.array([1e6]), np.array([13]))[0] == 0
    assert math.isclose(chi_square_tail(np.array([1e-300]), np.array([1]))[0], 1)
