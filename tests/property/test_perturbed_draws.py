"""What is drawn, against the matrix: single records bit by bit, and frequencies with stated error rates.

The bytes are the same in every run, so that a test passes always or never. Its false-alarm rate is that of
the choice of the seed: with another one it would fail without a fault in at most one of a million cases.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from app.domain.classes.gains import frequency_bounds
from app.domain.classes.ratios import as_written
from app.domain.mechanisms.count_estimates import CountEstimator, CountQuery, EstimateOptions
from app.domain.mechanisms.drawing import RECORDS_AT_ONCE, replaced
from app.domain.mechanisms.likeness_matrix import excess_amplification, published_matrix, safe_matrix
from app.domain.mechanisms.published_records import PublishedRecords
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from tests.oracles import perturbation_by_hand as by_hand
from tests.oracles.effort import examples

FALSE_ALARM = 1e-6
SKEWED = np.array([7, 2, 1])


def matrix_for(totals, beta):
    return safe_matrix(excess_amplification(totals, as_written(beta)), totals / totals.sum()).matrix


def greatest_deviation(counts, probabilities):
    """The z of the cell that is furthest from what is expected, of counts (…, m) of known sums."""
    n = counts.sum(axis=-1, keepdims=True)
    spread = np.sqrt(n * probabilities * (1 - probabilities))
    return float((np.abs(counts - n * probabilities) / spread).max())


def bound_of_deviations(cells):
    """What the greatest of so many is above with a chance of at most FALSE_ALARM, by the normal law."""
    return NormalDist().inv_cdf(1 - FALSE_ALARM / (2 * cells))


def test_every_record_is_replaced_as_by_hand():
    rng = np.random.default_rng(1)
    for seed in range(examples(40)):
        totals = by_hand.random_totals(rng)
        matrix = matrix_for(totals, float(rng.choice([0.1, 1.0, 4.0])))
        values = rng.integers(0, len(totals), 60).astype(np.int32)
        data = by_hand.stream(str(seed))(16 * 60)
        found = replaced(values, matrix, lambda n, own=data: own[:n])
        assert found.tolist() == by_hand.drawn_by_hand(values, matrix, data)


def test_the_first_and_the_last_words_choose_the_ends():
    matrix = matrix_for(np.array([5, 5, 5, 5]), 1.0)
    last, third = 2**64 - 1, 2**64 // 3
    words = [
        (0, 0),
        (last, 0),
        (last, last),
        (2**63 - 1, 5),
        (2**63, 2**63),
        (last, third),
        (last, third + 1),
    ]
    data = b"".join(first.to_bytes(8, "little") + second.to_bytes(8, "little") for first, second in words)
    # Half of the words keep the value 1; of the others each third is one of 0, 2, 3.
    assert replaced(np.ones(7, dtype=np.int32), matrix, lambda n: data).tolist() == [1, 0, 3, 1, 2, 0, 2]


def test_a_record_takes_the_same_bits_however_many_are_drawn_at_once(monkeypatch):
    matrix = matrix_for(np.arange(1, 30), 2.0)
    values = np.arange(1000, dtype=np.int32) % 29
    data = by_hand.stream("blocks")(16 * 1000)

    def from_start():
        place = 0

        def bits(n):
            nonlocal place
            place += n
            return data[place - n : place]

        return bits

    at_once = replaced(values, matrix, from_start())
    monkeypatch.setattr("app.domain.mechanisms.drawing.RECORDS_AT_ONCE", 7)
    assert replaced(values, matrix, from_start()).tolist() == at_once.tolist()
    assert RECORDS_AT_ONCE * 16 <= 2**20


@pytest.mark.spec("BL-6")
def test_values_are_published_as_often_as_the_matrix_says():
    matrix, records = matrix_for(SKEWED, 1.0), 60_000
    counts = np.array(
        [
            np.bincount(
                replaced(np.full(records, true, dtype=np.int32), matrix, by_hand.stream(f"cells {true}")),
                minlength=3,
            )
            for true in range(3)
        ]
    )
    assert greatest_deviation(counts, matrix.dense().T) < bound_of_deviations(9)


@pytest.mark.spec("BL-T14", "BL-11")
def test_the_published_formula_fails_the_check_and_what_it_draws_shows_why():
    """Positive control: posteriors counted from draws by the literal formula are above their bounds."""
    totals = SKEWED * 20_000
    prior, beta = SKEWED / 10, as_written(1.0)
    literal = published_matrix(excess_amplification(SKEWED, beta)).matrix
    bounds = frequency_bounds(SKEWED, 10, beta, "enhanced")
    true = np.repeat(np.arange(3, dtype=np.int32), totals)
    above = {}
    for name, matrix in (("literal", literal), ("safe", matrix_for(SKEWED, 1.0))):
        shown = replaced(true, matrix, by_hand.stream(f"control {name}"))
        counts = np.bincount(shown * 3 + true, minlength=9).reshape(3, 3)
        shares = counts / counts.sum(axis=1, keepdims=True)
        spread = np.sqrt(bounds * (1 - bounds) / counts.sum(axis=1, keepdims=True))
        above[name] = float(((shares - bounds) / spread).max())
        assert (matrix.greatest_posteriors(prior) <= bounds * (1 + 1e-9)).all() == (name == "safe")
    assert above["literal"] > bound_of_deviations(9) > above["safe"]


def drawn_estimates(draws, options=None):
    """Many draws of the same 400 records and what two queries find in each, beside the truth."""
    rng = np.random.default_rng(4)
    true = rng.choice(4, 400, p=(0.4, 0.3, 0.2, 0.1)).astype(np.int32)
    group = rng.integers(0, 2, 400).astype(np.int32)
    matrix = matrix_for(np.bincount(true, minlength=4), 3.0)
    chosen = [np.array([False, True, False, True]), np.array([True, False, False, False])]
    queries = [CountQuery({0: np.array([0.0, 1.0])}, chosen[0]), CountQuery({}, chosen[1])]
    counts = [
        np.bincount(true[group == 1], minlength=4).astype(float),
        np.bincount(true, minlength=4).astype(float),
    ]
    bits = by_hand.stream("estimates")
    found = []
    for _ in range(draws):
        records = PublishedRecords.of({0: group}, {0: 2}, replaced(true, matrix, bits), 4)
        found.append(CountEstimator(records, matrix).estimates(queries, options))
    truth = np.array([own @ of for own, of in zip(counts, chosen, strict=True)])
    variance = []
    for own, of in zip(counts, chosen, strict=True):
        dense = matrix.dense()
        weights = np.linalg.solve(dense.T, of.astype(float))
        variance.append(sum(own[j] * (dense[:, j] @ weights**2 - of[j]) for j in range(4)))
    return found, truth, np.array(variance)


@pytest.mark.spec("BL-6")
def test_estimates_are_unbiased_with_the_stated_error_and_intervals_hold():
    """400 draws: mean, variance, and coverage, two queries each: six statements, each as sure as stated."""
    draws = 400
    found, truth, variance = drawn_estimates(draws)
    estimates = np.array([own.estimates for own in found])
    z = bound_of_deviations(6)
    assert (np.abs(estimates.mean(axis=0) - truth) < z * np.sqrt(variance / draws)).all()
    # The sum of squares of 400 nearly normal numbers has the relative standard deviation √(2/400).
    squares = ((estimates - truth) ** 2).mean(axis=0) / variance
    assert (np.abs(squares - 1) < z * np.sqrt(2 / draws)).all()
    errors = np.array([own.standard_errors for own in found])
    assert errors.mean(axis=0) == pytest.approx(np.sqrt(variance), rel=0.1)
    covered = np.array([(own.low <= truth) & (truth <= own.high) for own in found]).mean(axis=0)
    assert (np.abs(covered - 0.95) < z * np.sqrt(0.95 * 0.05 / draws)).all()
    assert not any(own.is_biased.any() for own in found)


def test_clipped_estimates_stay_in_range_and_say_that_they_are_biased():
    plain, _, _ = drawn_estimates(40)
    clipped, _, _ = drawn_estimates(40, EstimateOptions(clip=True, level=0.5))
    assert all(own.is_biased.all() for own in clipped)
    for before, after in zip(plain, clipped, strict=True):
        assert after.estimates.tolist() == np.clip(before.estimates, 0, before.records).tolist()
        assert (after.low >= 0).all()
        assert (after.high <= after.records).all()
        assert (after.high - after.low <= before.high - before.low).all()


def random_records(rng, generalised):
    """Two quasi-identifiers and published values; nodes of the first stand for parts of others, if wanted."""
    n, m = int(rng.integers(1, 60)), int(rng.integers(1, 5))
    columns = {j: rng.integers(0, size, n).astype(np.int32) for j, size in ((0, 3), (2, 5), (3, 1))}
    values = rng.integers(0, m, n).astype(np.int32)
    matrix = TransitionMatrix(rng.uniform(0.2, 0.9, m) if m > 1 else np.ones(1))
    shares = []
    for _ in range(6):
        asked = [j for j in columns if rng.integers(2)]
        levels = [0.0, 1.0, 0.25] if generalised else [0.0, 1.0]
        own = {j: rng.choice(levels, {0: 3, 2: 5, 3: 1}[j]) for j in asked}
        shares.append(CountQuery(own, None if rng.integers(3) == 0 else rng.integers(0, 2, m) > 0))
    return columns, values, matrix, shares


@pytest.mark.spec("BL-6")
@pytest.mark.parametrize("cells", [2**23, 0], ids=["running", "sparse"])
def test_estimates_are_those_of_loops_over_records(monkeypatch, cells):
    monkeypatch.setattr("app.domain.mechanisms.published_records.DENSE_CELLS", cells)
    rng = np.random.default_rng(5)
    for instance in range(examples(200)):
        columns, values, matrix, queries = random_records(rng, instance % 2)
        m, sizes = matrix.n_values, {0: 3, 2: 5, 3: 1}
        found = CountEstimator(PublishedRecords.of(columns, sizes, values, m), matrix).estimates(queries)
        dense = matrix.dense()
        for q, query in enumerate(queries):
            of = np.ones(m) if query.values is None else query.values.astype(float)
            weights = np.linalg.solve(dense.T, of)
            selected = [
                np.prod([share[columns[j][r]] for j, share in query.shares.items()])
                for r in range(len(values))
            ]
            assert found.records[q] == pytest.approx(sum(selected))
            estimate = sum(s * weights[v] for s, v in zip(selected, values, strict=True))
            assert found.estimates[q] == pytest.approx(estimate, abs=1e-9)
            squares = np.bincount(values, np.square(selected), m)
            true = np.maximum(np.linalg.solve(dense, squares), 0)
            variance = sum(true[j] * (dense[:, j] @ weights**2 - of[j]) for j in range(m))
            assert found.standard_errors[q] ** 2 == pytest.approx(variance, abs=1e-9)
            assert found.is_spread[q] == any(0 < own < 1 for own in selected)


def test_cells_that_no_record_has_spread_nothing():
    """Under the first group the node that is half asked for does not occur."""
    columns = {0: np.array([0, 0, 1], dtype=np.int32), 1: np.array([0, 2, 1], dtype=np.int32)}
    records = PublishedRecords.of(columns, {0: 2, 1: 3}, np.array([0, 1, 0]), 2)
    estimator = CountEstimator(records, TransitionMatrix(np.array([0.5, 0.5])))
    shares = np.array([1.0, 0.5, 1.0])
    found = estimator.estimates(
        [CountQuery({0: np.array([1.0, 0.0]), 1: shares}), CountQuery({1: shares}), CountQuery({})]
    )
    assert found.records.tolist() == [2, 2.5, 3]
    assert found.is_spread.tolist() == found.is_biased.tolist() == [False, True, False]
