"""Intervals of counts hold at least as often as they say, however few records there are."""

import math

import numpy as np
import pytest

from app.domain.classes.reconstruction import UniformReplacement
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.mechanisms.balanced_samples import fixed_size
from app.domain.mechanisms.copied_counts import CopiedRecords
from app.domain.mechanisms.count_estimates import CountEstimator, CountQuery, EstimateOptions
from app.domain.mechanisms.published_records import PublishedRecords
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.mechanisms.uniform_errors import uniform_retention
from tests.oracles.copied_releases import many

EPSILON = 1e-9


def binomial(n, p):
    """(n + 1,) the law of a binomial, by its own formula."""
    return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])


def told(matrix, records, level):
    """Intervals of the first value, for each number of so many records that may show it."""
    shown, m = np.arange(records + 1), matrix.n_values
    rows = np.repeat(shown, 2).astype(np.int32)
    values = np.tile(np.array([0, 1], dtype=np.int32), records + 1)
    counts = np.stack([shown, records - shown], axis=1).ravel().astype(float)
    released = PublishedRecords({0: rows}, {0: records + 1}, values, m, counts)
    chosen = np.eye(m)[0]
    queries = [CountQuery({0: own}, chosen) for own in np.eye(records + 1)]
    return CountEstimator(released, matrix).estimates(queries, EstimateOptions(level=level))


def coverage(found, law, truth):
    """How probably an interval of those found holds the truth, and one by the estimated errors would."""
    inside = (found.low <= truth + EPSILON) & (truth <= found.high + EPSILON)
    by_errors = np.abs(found.estimates - truth) <= 1.959963984540054 * found.standard_errors
    return float(law @ inside), float(law @ by_errors)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("p", "m"), [(0.9, 14), (0.5, 3), (0.1, 6)])
def test_intervals_of_few_and_of_many_records_hold_as_often_as_they_say(level, p, m):
    """Exactly, over every number of records that may show the value: no draw is simulated."""
    c = (1 - p) / m
    for records in (1, 2, 5, 12, 30, 70, 200):
        found = told(TransitionMatrix(np.full(m, p)), records, level)
        for truth in {0, 1, min(2, records), records // 10, records // 2, records}:
            law = np.convolve(binomial(truth, p + c), binomial(records - truth, c))
            assert coverage(found, law, truth)[0] >= level - EPSILON
            # Of what the records are a sample of: each shows the value with one probability.
            q = c + p * truth / records
            inside = (found.underlying_low <= truth + EPSILON) & (truth <= found.underlying_high + EPSILON)
            assert binomial(records, q) @ inside >= level - 0.01


def test_by_the_estimated_errors_an_interval_of_five_records_would_hold_every_second_time():
    """The positive control: what was told before, and would be again without the bound."""
    found = told(TransitionMatrix(np.full(50, 0.5)), 5, 0.95)
    c = 0.5 / 50
    law = np.convolve(binomial(1, 0.5 + c), binomial(4, c))
    own, by_errors = coverage(found, law, 1)
    assert found.is_bounded.all()
    assert own >= 0.95
    assert by_errors < 0.6


GROUP = (140, 40, 12, 5, 3, *(0,) * 9)
ASKED = ReconstructionQuestion(UniformReplacement(0.9, 14), 0.5, 0.3)


@pytest.mark.parametrize("value", [2, 5])
def test_intervals_of_copies_of_a_fixed_sample_hold_for_rare_values_of_a_single_group(value):
    """Of 300 draws that each hold with 0.95 fewer than 255 hold with a probability below 1e-9."""
    p, m, times, size = 0.9, 14, 300, fixed_size(ASKED, "chernoff_simple")
    held, told_errors, estimates, by_errors = 0, [], [], 0
    for row in many(GROUP, times, size, p):
        values = np.flatnonzero(row).astype(np.int32)
        alike = np.zeros(len(values), dtype=np.int32)
        records = PublishedRecords({0: alike}, {0: 1}, values, m, row[values].astype(float), alike)
        copied = CopiedRecords(records, alike, p, size)
        estimator = CountEstimator(records, TransitionMatrix(np.full(m, p)), copied, are_independent=False)
        found = estimator.estimates([CountQuery({}, np.eye(m)[value])])
        assert found.is_bounded[0]
        held += found.low[0] <= GROUP[value] <= found.high[0]
        told_errors.append(found.standard_errors[0])
        estimates.append(found.estimates[0])
        # What was told before: rounding of samples added nothing where no copy shows the value.
        of_shown = max(float(found.estimates[0]), 0.0)
        c = (1 - p) / m
        before = (of_shown * 20 * (p + c) * (1 - p - c) + 20 * (200 - of_shown) * c * (1 - c)) / p**2
        before += min(100.0, 20 * of_shown)
        by_errors += abs(found.estimates[0] - GROUP[value]) <= 1.96 * math.sqrt(before)
    assert held >= 255
    # On average over draws what is told of the error is no less than the error, to five standard errors.
    assert np.mean(np.square(told_errors)) >= 0.75 * np.var(estimates)
    if value == 2:
        assert by_errors < 225


def test_retentions_that_differ_in_their_last_bit_are_one():
    once = np.full(3, 0.3)
    last = once.copy()
    last[1] = np.nextafter(0.3, 1.0)
    assert uniform_retention(TransitionMatrix(last)) == uniform_retention(TransitionMatrix(once)) == 0.3
    assert uniform_retention(TransitionMatrix(np.array([0.3, 0.3001, 0.3]))) is None
    one, other = (told(TransitionMatrix(own), 12, 0.95) for own in (once, last))
    for name in ("standard_errors", "low", "high", "underlying_errors", "underlying_low"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-9, abs=1e-9)
