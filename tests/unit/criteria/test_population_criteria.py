"""Criteria of attackers and populations: which classes fail, and what putting classes together does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.domain.models.delta_presence import DeltaPresence
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.k_map import KMap
from app.domain.models.population_uniqueness import SampleUniqueness
from app.domain.models.prosecutor_risk import AverageRisk, HighestRisk
from app.domain.models.rho_privacy import RhoPrivacy
from tests.oracles.effort import examples


@dataclass
class Classes:
    """Classes of so many records that stand for so many people of a population."""

    of_class: list[int]
    people: list[int]
    nowhere: int = 0

    @property
    def records(self):
        return np.array(self.of_class, dtype=np.int64)

    @property
    def sizes(self):
        return self.records

    @property
    def units(self):
        return self.records

    unit = "records"

    @property
    def largest_share(self):
        return 1 / self.records

    @property
    def expected_matches(self):
        return self.records / self.records

    def fewer_than(self, k):
        return self.records < k

    def table_records(self):
        return sum(self.of_class)

    def population(self):
        return np.array(self.people, dtype=np.int64)

    def outside(self):
        return self.nowhere

    @property
    def whole(self):
        return Classes([sum(self.of_class)], [sum(self.people) + self.nowhere])

    def together(self, i, j):
        """The same with two classes made one."""
        rest = [g for g in range(len(self.of_class)) if g not in (i, j)]
        records = [self.of_class[g] for g in rest] + [self.of_class[i] + self.of_class[j]]
        return Classes(
            records, [self.people[g] for g in rest] + [self.people[i] + self.people[j]], self.nowhere
        )


def failing_of(criterion, records, people, nowhere):
    """Which classes fail, by the definitions."""
    people = max(records, people)
    if isinstance(criterion, KMap):
        return people < criterion.k
    if isinstance(criterion, HighestRisk):
        return Fraction(1, records) > Fraction(criterion.threshold).limit_denominator(1000)
    share = Fraction(records, people)
    lower, upper = (Fraction(bound).limit_denominator(1000) for bound in (criterion.lower, criterion.upper))
    return not lower <= share <= upper or bool(lower and nowhere)


CLASSES = st.lists(st.tuples(st.integers(1, 8), st.integers(0, 30)), min_size=2, max_size=6)
CRITERIA = [
    KMap(4),
    KMap(11),
    HighestRisk(0.2),
    HighestRisk(1 / 3),
    DeltaPresence(0, 0.5),
    DeltaPresence(0.1, 1),
    DeltaPresence(0.25, 0.75),
]


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize("criterion", CRITERIA, ids=str)
@given(CLASSES, st.integers(0, 1), st.data())
@settings(max_examples=examples(40), deadline=None)
def test_who_fails_and_what_merging_does(criterion, classes, nowhere, data):
    judged = Classes([f for f, _ in classes], [people for _, people in classes], nowhere)
    failing = criterion.failing(judged)
    assert failing.tolist() == [failing_of(criterion, f, people, nowhere) for f, people in classes]
    assert criterion.satisfied(judged) == (not failing.any())
    i, j = sorted(data.draw(st.permutations(range(len(classes))))[:2])
    after = criterion.failing(judged.together(i, j))
    if criterion.merging == "fewer_fail":
        before = judged.sizes[failing].sum()
        assert judged.together(i, j).sizes[after].sum() <= before
    if not failing[i] and not failing[j]:
        assert not after[-1]
    for implied in criterion.implied(judged.whole):
        assert not (implied.failing(judged) & ~failing).any()
    if criterion.impossible(judged.whole):
        assert failing.any()


@pytest.mark.parametrize("threshold", [1.0, 0.5, 0.34, 1 / 3, 0.3, 0.2, 0.05, 0.001])
def test_the_highest_risk_is_k_anonymity(threshold):
    assert HighestRisk(threshold).implied(Classes([1], [1])) == (KAnonymity(math.ceil(1 / threshold)),)


@pytest.mark.spec("FM-3")
@pytest.mark.parametrize(("threshold", "holds"), [(0.29, False), (0.3, True), (0.31, True)])
def test_the_average_is_per_record(threshold, holds):
    judged = Classes([1, 2, 7], [0, 0, 0])
    assert AverageRisk(threshold).attained(judged) == 0.3
    assert AverageRisk(threshold).satisfied(judged) is holds
    assert not AverageRisk(threshold).failing(judged).any()


@pytest.mark.spec("FM-4")
@pytest.mark.parametrize(("threshold", "holds"), [(0.0, False), (0.19, False), (0.2, True)])
def test_unique_records_are_counted(threshold, holds):
    judged = Classes([1, 1, 2, 6], [0, 0, 0, 0])
    assert SampleUniqueness(threshold).attained(judged) == 0.2
    assert SampleUniqueness(threshold).satisfied(judged) is holds


@pytest.mark.parametrize(
    "criterion", [AverageRisk(0.1), SampleUniqueness(0.0), KMap(3), HighestRisk(0.1), DeltaPresence(0.2, 0.5)]
)
def test_nothing_released_fails_nothing(criterion):
    nothing = Classes([], [])
    assert criterion.satisfied(nothing)
    assert criterion.attained(nothing) is None


def test_people_without_a_record_break_a_lower_bound_for_good():
    assert not DeltaPresence(0.1, 1).satisfied(Classes([], [], 3))
    assert DeltaPresence(0, 1).satisfied(Classes([], [], 3))


@pytest.mark.parametrize(("lower", "holds"), [(1e-9, True), (1.1e-9, False)])
def test_a_lower_bound_of_no_more_than_the_tolerance_is_met_by_people_without_a_record(lower, holds):
    """Their share is 0, and shares are compared with the tolerance of every threshold."""
    criterion, judged = DeltaPresence(lower, 1), Classes([2], [4], 3)
    assert criterion.satisfied(judged) is holds
    assert criterion.failing(judged).tolist() == [not holds]


def test_what_is_impossible_says_by_how_much():
    whole = Classes([4], [10])
    assert KMap(12).impossible(whole) == "The population has 10 people, 2 fewer than one class must have."
    assert "above the upper bound 0.3 by 0.1" in DeltaPresence(0, 0.3).impossible(whole)
    assert "below the lower bound 0.5 by 0.1" in DeltaPresence(0.5, 1).impossible(whole)
    assert "4 records" in HighestRisk(0.2).impossible(whole)
    assert "4 records" in AverageRisk(0.2).impossible(whole)
    assert SampleUniqueness(0.5).impossible(whole) is None
    assert SampleUniqueness(0.5).impossible(Classes([1], [1]))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: KMap(0),
        lambda: HighestRisk(0),
        lambda: AverageRisk(0),
        lambda: SampleUniqueness(1.5),
        lambda: DeltaPresence(0.6, 0.5),
        lambda: DeltaPresence(-0.1, 0.5),
        lambda: RhoPrivacy(0.5, 0.5),
        lambda: RhoPrivacy(0.6, 0.5),
    ],
)
def test_values_out_of_range_are_refused(wrong):
    with pytest.raises(InvalidInput):
        wrong()
