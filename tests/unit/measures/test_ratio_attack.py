"""Quotients of noisy counts: the published tables, exact probabilities, and the measure of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.attacks.ratio_attack import RATIO_ATTACK
from app.domain.classes.noisy_ratios import tails_of_quotients
from app.domain.models.reading import unreadable
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.drawn_releases import context_of, drawn_of
from tests.unit.measures.closeness_tables import of_classes
from tests.unit.measures.diversity_tables import measured
from tests.unit.measures.ill_people import people

SETTINGS = ((0.1, 0.2), (0.1, 0.3), (0.05, 0.2), (0.05, 0.3))
TABLE_4 = {
    (89, 77): (0.193634, 0.156140, 0.118732, 0.072059, 0.317827, 0.299011, 0.254501, 0.211526),
    (74, 57): (0.243206, 0.209979, 0.167589, 0.119209, 0.346412, 0.346410, 0.291655, 0.269725),
    (138, 105): (0.116848, 0.087924, 0.054413, 0.029377, 0.257908, 0.226020, 0.183368, 0.134705),
    (104, 79): (0.174911, 0.141559, 0.100947, 0.062895, 0.306483, 0.282728, 0.239477, 0.194634),
    (104, 78): (0.176336, 0.143295, 0.102151, 0.064299, 0.307593, 0.284204, 0.240755, 0.196466),
    (77, 57): (0.239578, 0.207113, 0.163561, 0.117085, 0.345616, 0.342598, 0.290000, 0.265683),
    (102, 73): (0.185737, 0.153726, 0.110420, 0.072611, 0.314531, 0.293325, 0.249021, 0.207483),
}  # fmt: skip
"""Records of a group and those with its most frequent value, by Wang et al. (2012), table 4, with the
probabilities that quotients are too high and too low in each of the settings of λ and ε."""


def tails(size, amount, rate, epsilon):
    found = tails_of_quotients(np.array([amount]), np.array([size]), rate, epsilon)
    return float(found.high[0]), float(found.low[0])


def as_published(size, amount, rate, epsilon):
    """The tails if the first answer were never below 0, in closed form, above first."""
    s1, found = 1 / (rate * amount), []
    for sign in (1, -1):
        s2 = (1 + sign * epsilon) / (rate * size)
        both = s1**2 * math.exp(-epsilon / s1) - s2**2 * math.exp(-epsilon / s2)
        found.append(both / (2 * (s1**2 - s2**2)))
    return found


@pytest.mark.spec("RP-T11")
def test_probabilities_of_the_published_groups():
    for (size, amount), expected in TABLE_4.items():
        found = [own for rate, epsilon in SETTINGS for own in tails(size, amount, rate, epsilon)]
        assert found == pytest.approx(expected, abs=1e-6)
    assert as_published(102, 73, 0.1, 0.3) == pytest.approx((0.110438, 0.072592), abs=1e-6)
    assert as_published(102, 73, 0.05, 0.3) == pytest.approx((0.252028, 0.204488), abs=1e-6)
    assert tails(50, 50, 0.1, 0.2) == pytest.approx((0.289757, 0.259629), abs=1e-6)
    # Both tails of the last group reach 0.3 only with three times the noise of the first setting.
    assert min(tails(102, 73, 0.0331, 0.3)) == pytest.approx(0.3, abs=5e-4)


@given(st.integers(1, 200), st.integers(0, 200), st.floats(0.01, 1), st.floats(0.05, 0.9))
def test_answers_below_zero_are_all_that_the_published_form_leaves_out(amount, more, rate, epsilon):
    size = amount + more
    unlikely = math.exp(-rate * size) / 2
    for found, published in zip(
        tails(size, amount, rate, epsilon), as_published(size, amount, rate, epsilon + 1e-9), strict=True
    ):
        assert abs(found - published) <= unlikely + 1e-6


@pytest.mark.parametrize(("size", "amount", "rate", "epsilon"), [(20, 13, 0.1, 0.3), (5, 5, 0.2, 0.25)])
def test_probabilities_are_those_of_many_pairs_of_answers(size, amount, rate, epsilon):
    """A million pairs on a grid of equally likely answers, which misses a tail by some 1e-3 at most."""
    quantiles = (np.arange(1000) + 0.5) / 1000
    noise = np.where(quantiles < 0.5, np.log(2 * quantiles), -np.log(2 - 2 * quantiles)) / rate
    errors = np.divide.outer(amount + noise, size + noise) / (amount / size) - 1
    found = tails(size, amount, rate, epsilon)
    assert found == pytest.approx(((errors > epsilon).mean(), (errors < -epsilon).mean()), abs=3e-3)


def test_large_groups_and_loud_answers_are_told_without_overflow():
    assert tails(10**6, 10**6 - 5, 1.0, 0.2) == (0, 0)
    assert tails(10**7, 1, 0.1, 0.2) == pytest.approx(as_published(10**7, 1, 0.1, 0.2), abs=1e-6)
    # Where (1 + ε)·f is 1 two exponents are equal.
    near = tails(130, 100, 0.1, 0.3 - 1e-7), tails(130, 100, 0.1, 0.3 + 1e-7)
    assert near[0] == pytest.approx(near[1], abs=1e-6)
    assert tails(130, 100, 0.1, 0.3)[0] == pytest.approx(near[0][0], abs=1e-6)


def test_the_groups_of_which_most_is_told():
    """Of the seven groups those of 74 and 77 records pass where λ is 0.05, ε 0.2 and δ 0.3."""
    groups = tuple(TABLE_4)
    table = of_classes([(amount, size - amount) for size, amount in groups], ("x", "y"))
    found = measured(RATIO_ATTACK, table, rate=0.05, epsilon=0.2, delta=0.3)
    assert (found.budget, found.groups, found.records) == (0.1, 7, sum(size for size, _ in groups))
    assert found.groups_told == 5
    assert found.records_told == found.records - 74 - 77
    for rate, epsilon in SETTINGS[:2]:
        assert measured(RATIO_ATTACK, table, rate=rate, epsilon=epsilon).groups_told == 7
    large = measured(RATIO_ATTACK, table, rate=0.1, epsilon=0.3, least_records=103, top=1)
    (worst,) = large.worst
    assert (large.groups, worst.records, worst.value, worst.with_value) == (3, 138, "x", 105)
    assert (worst.too_high, worst.too_low) == pytest.approx(TABLE_4[138, 105][2:4], abs=1e-6)
    assert worst.confidence == large.greatest_confidence == pytest.approx(1 - worst.too_high - worst.too_low)
    assert worst.lift == pytest.approx(105 / 138 / (sum(a for _, a in groups) / found.records))
    none = measured(RATIO_ATTACK, table, rate=0.1, least_records=1000)
    assert (none.groups, none.greatest_confidence, none.worst) == (0, None, ())


def test_a_drawn_release_answers_no_noisy_counts():
    table = people(1)
    reason = unreadable(RATIO_ATTACK, context_of(table, drawn_of(table)), RATIO_ATTACK.parameters(rate=0.1))
    assert "compares released rows with the records" in reason
    assert measured(RATIO_ATTACK, table, TableRule((1, 1, 0)), rate=0.1).groups == 4


def test_of_a_dataset_without_quasi_identifiers_all_records_are_one_group():
    illnesses = people(1).hierarchies[2]
    codes = np.repeat(illnesses.leaves[:2], (73, 29)).reshape(-1, 1)
    table = Table(("ill",), (illnesses,), codes, sensitive=frozenset({"ill"}))
    found = measured(RATIO_ATTACK, table, rate=0.1)
    assert (found.groups, found.records, found.quasi_identifiers) == (1, 102, ())
    assert (found.worst[0].too_high, found.worst[0].too_low) == pytest.approx(TABLE_4[102, 73][2:4], abs=1e-6)
