"""Running risk of records disclosed one after another."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.domain.risk.streaming import RunningRisk

finite = st.floats(0, 1e300, allow_subnormal=True)
record = st.tuples(st.one_of(finite, st.just(math.inf)), finite, st.one_of(st.just(0.0), st.floats(0, 1e9)))


def stream(records, cuts=()):
    running = RunningRisk()
    bounds = [0, *sorted(cut % (len(records) + 1) for cut in cuts), len(records)]
    for first, last in itertools.pairwise(bounds):
        columns = np.array(records[first:last], dtype=float).reshape(-1, 3)
        running = running.appended(columns[:, 0], columns[:, 1], columns[:, 2])
    return running


def mean_by_hand(pairs):
    """Weighted mean of (value, weight) in rationals; infinite if a value of positive weight is."""
    pairs = [(value, weight) for value, weight in pairs if weight > 0]
    if not pairs:
        return None
    if any(math.isinf(value) for value, _ in pairs):
        return math.inf
    return float(sum(Fraction(v) * Fraction(w) for v, w in pairs) / sum(Fraction(w) for _, w in pairs))


@pytest.mark.spec("TV-7")
def test_the_vector_of_the_specification():
    running = RunningRisk().appended(
        np.array([0.5, 0, 2, math.inf, 0.1]), np.zeros(5), np.array([1.0, 2, 1, 0, 4])
    )
    assert running.risk_average == pytest.approx(0.3625, abs=1e-12)
    assert running.infinite == 0
    assert running.records == 5


@pytest.mark.spec("INV-22")
@given(st.lists(record, max_size=8), st.lists(st.integers(0, 8), max_size=3), st.randoms())
def test_the_running_mean_is_that_of_one_batch_in_whatever_order_and_cut(records, cuts, random):
    shuffled = records[:]
    random.shuffle(shuffled)
    one, cut, other = stream(records), stream(records, cuts), stream(shuffled, cuts)
    assert one == cut == other
    assert one.risk_average == mean_by_hand([(loss, weight) for loss, _, weight in records])
    assert one.utility_average == mean_by_hand([(utility, weight) for _, utility, weight in records])


@given(st.lists(record, min_size=1, max_size=6))
def test_nothing_is_lost_by_being_written_down(records):
    running = stream(records)
    assert RunningRisk.from_document(running.to_document()) == running


def test_an_infinite_loss_is_never_lost_again():
    running = RunningRisk().appended(np.array([math.inf]), np.ones(1))
    for _ in range(3):
        running = running.appended(np.zeros(1000), np.ones(1000))
    assert running.risk_average == math.inf
    assert running.infinite == 1
    assert running.greatest == math.inf
    assert running.utility_average == 1.0


def test_before_any_weight_there_is_no_risk():
    assert RunningRisk().risk_average is None
    assert RunningRisk().appended(np.array([math.inf]), np.ones(1), np.zeros(1)).risk_average is None


@pytest.mark.parametrize(
    ("losses", "utilities", "weights", "name"),
    [([math.nan], [1.0], [1.0], "loss"), ([0.0, -1.0], [1.0, 1.0], [1.0, 1.0], "loss"),
     ([0.0], [math.inf], [1.0], "utility"), ([0.0], [0.0], [math.inf], "weight")],
)  # fmt: skip
def test_what_is_no_loss_utility_or_weight_is_refused_by_name(losses, utilities, weights, name):
    with pytest.raises(InvalidInput) as refused:
        RunningRisk().appended(np.array(losses), np.array(utilities), np.array(weights))
    assert refused.value.faults[0].pointer == f"/{name}"
