"""Measures of the shares of sensitive values in classes, against counting in fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import digamma

from app.domain.attacks.skewness_attack import SKEWNESS_ATTACK
from app.domain.models.alpha_k_anonymity import ALPHA_K_ANONYMITY
from app.domain.models.delta_disclosure import DELTA_DISCLOSURE
from app.domain.models.entropy_l_diversity import CorrectedEntropyLDiversity
from app.domain.models.k_e_anonymity import K_E_ANONYMITY
from app.domain.models.k_map import EstimatedKMap
from app.domain.models.t_closeness import T_CLOSENESS
from tests.oracles.closeness_by_hand import equal
from tests.oracles.effort import examples
from tests.unit.criteria.judged_classes import judged
from tests.unit.measures.closeness_tables import of_classes
from tests.unit.measures.diversity_tables import measured

VALUES = ("1", "2", "4", "8")
THRESHOLDS = st.integers(1, 96).map(lambda n: Fraction(2 * n - 1, 194))
"""Which no quotient of fewer than 97 records is equal to."""


@st.composite
def classes(draw):
    """Vectors of counts of the values, none of them empty, in which every value occurs somewhere."""
    n = draw(st.integers(1, 5))
    vectors = [[draw(st.integers(0, 4)) for _ in VALUES] for _ in range(n)]
    for place, _ in enumerate(VALUES):
        if not any(vector[place] for vector in vectors):
            vectors[draw(st.integers(0, n - 1))][place] = 1
    return [tuple(vector) for vector in vectors if any(vector)]


def whole(vectors):
    return [sum(column) for column in zip(*vectors, strict=True)]


def shares(counts):
    return [Fraction(n, sum(counts)) for n in counts]


@settings(max_examples=examples(100))
@given(classes(), THRESHOLDS, st.integers(1, 12))
def test_shares_and_sizes_of_classes(vectors, alpha, k):
    found = measured(ALPHA_K_ANONYMITY, of_classes(vectors, VALUES), alpha=float(alpha), k=k)
    failing = [own for own in vectors if max(shares(own)) > alpha or sum(own) < k]
    assert found.alpha == pytest.approx(float(max(max(shares(own)) for own in vectors)))
    assert found.attainable == pytest.approx(float(max(shares(whole(vectors)))))
    assert found.k == min(map(sum, vectors))
    assert (found.classes_failing, found.records_failing) == (len(failing), sum(map(sum, failing)))
    assert found.is_met == (not failing)


@settings(max_examples=examples(100))
@given(classes(), st.integers(1, 5), st.integers(0, 15).map(lambda n: n / 2 + 0.25))
def test_different_numbers_and_their_range(vectors, k, e):
    found = measured(K_E_ANONYMITY, of_classes(vectors, VALUES), k=k, e=e)
    present = [[int(value) for value, n in zip(VALUES, own, strict=True) if n] for own in vectors]
    ranges = [max(own) - min(own) for own in present]
    failing = [
        sum(own)
        for own, numbers, apart in zip(vectors, present, ranges, strict=True)
        if len(numbers) < k or apart < e
    ]
    assert (found.distinct, found.range) == (min(map(len, present)), min(ranges))
    assert found.range_mean == pytest.approx(sum(ranges) / len(ranges))
    assert (found.distinct_attainable, found.range_attainable) == (len(VALUES), 7)
    assert (found.classes_failing, found.records_failing) == (len(failing), sum(failing))


@settings(max_examples=examples(100))
@given(classes(), st.integers(1, 40).map(lambda n: n / 13 + 0.001))
def test_how_much_likelier_or_less_likely_values_are(vectors, delta):
    found = measured(DELTA_DISCLOSURE, of_classes(vectors, VALUES), delta=delta)
    table = shares(whole(vectors))
    ratios, present = [], []
    for own in vectors:
        logs = [abs(math.log(q / p)) if q else math.inf for q, p in zip(shares(own), table, strict=True)]
        ratios.append(max(logs))
        present.append(max(log for log in logs if log < math.inf))
    failing = [sum(own) for own, ratio in zip(vectors, ratios, strict=True) if not ratio < delta]
    lacking = [sum(own) for own in vectors if 0 in own]
    assert found.delta.natural == pytest.approx(max(ratios))
    assert found.delta_of_present.natural == pytest.approx(max(present))
    assert (found.classes_failing, found.records_failing) == (len(failing), sum(failing))
    assert (found.classes_lacking, found.records_lacking) == (len(lacking), sum(lacking))


@settings(max_examples=examples(100))
@given(classes(), THRESHOLDS.map(lambda own: 3 * own))
def test_who_is_suspected_more_than_before(vectors, gain):
    found = measured(SKEWNESS_ATTACK, of_classes(vectors, VALUES), gain=float(gain))
    table = shares(whole(vectors))
    gains = [max((q - p) / p for q, p in zip(shares(own), table, strict=True)) for own in vectors]
    exposed = [sum(own) for own, most in zip(vectors, gains, strict=True) if most > gain]
    records = sum(map(sum, vectors))
    assert (found.classes_exposed, found.records_exposed) == (len(exposed), sum(exposed))
    assert found.worst_gain == pytest.approx(float(max(gains)))
    assert found.worst_posterior == pytest.approx(float(max(max(shares(own)) for own in vectors)))
    assert found.success_rate == pytest.approx(sum(map(max, vectors)) / records)
    assert found.success_before == pytest.approx(float(max(table)))


@settings(max_examples=examples(100))
@given(classes(), THRESHOLDS)
def test_how_far_classes_are_from_the_table(vectors, t):
    found = measured(T_CLOSENESS, of_classes(vectors, VALUES), t=float(t), distance="equal")
    distances = [equal(whole(vectors), own) for own in vectors]
    failing = [sum(own) for own, far in zip(vectors, distances, strict=True) if far > t]
    told = {own.distance: own.t for own in found.distances}
    assert told["equal"] == pytest.approx(float(max(distances)))
    assert (found.classes_farther, found.records_farther) == (len(failing), sum(failing))


def in_classes(vectors):
    """The classes as criteria judge them."""
    return judged(of_classes(vectors, VALUES), (0, 0))


@settings(max_examples=examples(100))
@given(classes(), st.integers(1, 60), st.integers(1, 9), st.integers(1, 50))
def test_classes_that_speak_for_enough_people(vectors, k, tenths, hundredths):
    """Against Poisson tails, summed from k·f down where all fewer records than k would be too few."""
    fraction, significance = tenths / 10, hundredths / 100
    criterion = EstimatedKMap(k, fraction, significance=significance)
    failing = []
    for own in vectors:
        tail = 1 - math.fsum(
            math.exp(n * math.log(k * fraction) - k * fraction - math.lgamma(n + 1)) for n in range(sum(own))
        )
        assume(abs(tail - significance) > 1e-9)
        failing.append(sum(own) < k and tail > significance)
    assert criterion.failing(in_classes(vectors)).tolist() == failing


@settings(max_examples=examples(100))
@given(classes(), st.integers(10, 45).map(lambda n: n / 10 + 0.003))
def test_values_by_a_corrected_entropy(vectors, ell):
    """ln N − Σ n·G(n)/N by the digamma function, between that of one value and that of those shown."""
    failing = []
    for own in vectors:
        n, present = sum(own), [count for count in own if count]
        numbers = [digamma(c) + 0.5 * (-1) ** c * (digamma((c + 1) / 2) - digamma(c / 2)) for c in present]
        entropy = math.log(n) - sum(c * g for c, g in zip(present, numbers, strict=True)) / n
        values = math.exp(min(max(entropy, 0.0), math.log(len(present))))
        assume(abs(math.log(values) - math.log(ell)) > 1e-6)
        failing.append(values < ell)
    assert CorrectedEntropyLDiversity(ell).failing(in_classes(vectors)).tolist() == failing
