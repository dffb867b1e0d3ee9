"""Reconstruction of shares against loops over all that may be shown, and how verdicts hang together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.classes.reconstruction import Estimates, UniformReplacement, greatest_retentions
from app.domain.classes.reconstruction_groups import TESTS, GroupsUnderTest, ReconstructionQuestion
from app.domain.classes.reconstruction_tails import exact_tails
from tests.oracles.closeness_by_hand import counts_of
from tests.oracles.effort import examples
from tests.oracles.reconstruction_by_hand import entropy_bound, level, log_high, lower_bound, rational_tails

EIGHTHS = st.integers(1, 7).map(lambda eighths: eighths / 8)
"""Numbers that doubles hold exactly, so that loops in fractions and ours meet the same ties."""
EPSILONS = st.integers(1, 12).map(lambda eighths: eighths / 8)
DELTAS = st.floats(0.01, 0.99)


@st.composite
def groups(draw, greatest=7):
    counts = draw(st.lists(st.integers(0, greatest), min_size=2, max_size=4))
    assume(any(counts))
    return counts


def under_test(vectors, p, epsilon, delta):
    m = len(vectors[0])
    question = ReconstructionQuestion(UniformReplacement(p, m), epsilon, delta)
    return GroupsUnderTest(counts_of(np.sum(vectors, axis=0), vectors), question)


@settings(max_examples=examples(300), deadline=None)
@given(groups(), EIGHTHS, EPSILONS)
def test_tails_are_those_of_every_outcome(counts, p, epsilon):
    own = np.array([n for n in counts if n], dtype=np.int64)
    sizes = np.full(len(own), sum(counts), dtype=np.int64)
    found = exact_tails(own, sizes, UniformReplacement(p, len(counts)), epsilon)
    by_hand = [rational_tails(int(n), sum(counts), p, len(counts), epsilon) for n in own]
    assert found.low == pytest.approx([float(low) for low, _ in by_hand], rel=1e-10, abs=1e-300)
    assert found.high == pytest.approx([float(high) for _, high in by_hand], rel=1e-10, abs=1e-300)


@settings(max_examples=examples(300), deadline=None)
@given(groups(), EIGHTHS, EPSILONS, DELTAS)
def test_who_fails_and_what_is_attained(counts, p, epsilon, delta):
    tested = under_test([counts], p, epsilon, delta)
    for test in TESTS:
        attained = level(counts, p, len(counts), epsilon, test)
        assume(abs(attained - delta) > 1e-6)
        assert tested.failing(test)[0] == (attained < delta)
        assert math.exp(tested.log_levels(test)[0]) == pytest.approx(attained, rel=1e-9)


@settings(max_examples=examples(300), deadline=None)
@given(groups(40), EIGHTHS, EPSILONS, DELTAS)
def test_who_passes_exactly_passes_the_full_bound_and_who_passes_that_the_simple_one(
    counts, p, epsilon, delta
):
    assume(epsilon <= 1)
    tested = under_test([counts], p, epsilon, delta)
    fails = {test: bool(tested.failing(test)[0]) for test in TESTS}
    assert fails["exact_min"] >= fails["chernoff_full"] >= fails["chernoff_simple"]
    assert fails["exact_min"] >= fails["exact_total"]


@settings(max_examples=examples(300), deadline=None)
@given(groups(60), EIGHTHS, EPSILONS)
def test_bounds_are_bounds_and_the_full_one_is_the_tighter(counts, p, epsilon):
    """Wang et al., theorem 4.8; that the quoted bound is the best known is refuted by the entropy bound."""
    own = np.array([n for n in counts if n], dtype=np.int64)
    sizes = np.full(len(own), sum(counts), dtype=np.int64)
    replacement = UniformReplacement(p, len(counts))
    found, tails = Estimates(own, sizes, replacement, epsilon), exact_tails(own, sizes, replacement, epsilon)
    near = 1 + 1e-9
    low = found.is_low_possible
    entropy, high_entropy = (
        np.array([entropy_bound(int(n), sum(counts), p, len(counts), epsilon, side) for n in own])
        for side in (False, True)
    )
    full, simple = np.exp(found.log_low("chernoff_full")), np.exp(found.log_low("chernoff_simple"))
    assert (tails.low[low] <= entropy[low] * near).all()
    assert (entropy[low] <= full[low] * near).all()
    assert (full <= simple * near).all()
    high_full, high_simple = (
        np.exp(log_high(found, "chernoff_full")),
        np.exp(log_high(found, "chernoff_simple")),
    )
    # Nothing is shown by more than all, so that an estimate that needs more is impossible.
    above = found.mean / sizes * (1 + found.deviation)
    possible = above < 0.999999
    assert (tails.high[possible] <= high_entropy[possible] * near).all()
    assert (tails.high[above > 1 + 1e-9] == 0).all()
    assert (high_entropy[possible] <= high_full[possible] * near).all()
    assert (tails.high <= high_full * near).all()
    assert (high_full <= high_simple * near).all()
    assert (full[low] <= high_full[low] * near).all()
    assert (simple[low] <= high_simple[low] * near).all()
    by_hand = [lower_bound(int(n), sum(counts), p, len(counts), epsilon, True) for n in own]
    assert full == pytest.approx(by_hand, rel=1e-9, abs=1e-300)


@settings(max_examples=examples(200), deadline=None)
@given(groups(60), EIGHTHS, EPSILONS, DELTAS)
def test_thresholds_and_levels_are_one_anothers_inverses(counts, p, epsilon, delta):
    m, top, size = len(counts), max(counts), sum(counts)
    own = np.array([top], dtype=np.int64), np.array([size], dtype=np.int64)
    found = Estimates(*own, UniformReplacement(p, m), epsilon)
    assume(found.is_low_possible[0])
    theta = float(found.deviation[0])
    simple, full = (float(found.greatest_sizes(b, delta)[0]) for b in ("chernoff_simple", "chernoff_full"))
    rest = (1 - theta) * math.log1p(-theta) if theta < 1 else 0.0
    assert full / simple == pytest.approx(theta**2 / (2 * (theta + rest)), rel=1e-6)
    assert 0.5 - 1e-9 <= full / simple <= 1 + 1e-9
    for bound, greatest in (("chernoff_simple", simple), ("chernoff_full", full)):
        assert float(found.log_low(bound)[0]) * greatest / size == pytest.approx(math.log(delta), rel=1e-9)
        most = float(found.greatest_epsilons(bound, delta)[0])
        at_most = Estimates(*own, UniformReplacement(p, m), most)
        assert math.exp(at_most.log_low(bound)[0]) == pytest.approx(
            delta if at_most.deviation[0] < 1 - 1e-9 else max(delta, math.exp(at_most.log_low(bound)[0])),
            rel=1e-6,
        )
    p_level = float(greatest_retentions(*own, m, epsilon, delta)[0])
    if p_level < 1 and (epsilon <= 1 or p_level < 1 / (1 + m * top / size * (epsilon - 1)) * (1 - 1e-9)):
        at_level = Estimates(*own, UniformReplacement(p_level, m), epsilon)
        assert math.exp(at_level.log_low("chernoff_simple")[0]) == pytest.approx(delta, rel=1e-6)


@settings(max_examples=examples(300), deadline=None)
@given(groups(60), EIGHTHS, EPSILONS, DELTAS)
def test_counts_and_quotients_give_the_same_verdict(counts, p, epsilon, delta):
    """Wang et al., equation 10, as n ≤ 2·Λ·w/(ε·p·f)², beside the form in counts that is computed."""
    size, top = sum(counts), max(counts)
    f = top / size
    w = f * p + (1 - p) / len(counts)
    greatest = 2 * math.log(1 / delta) * w / (epsilon * p * f) ** 2 if epsilon * p * f <= w else 0.0
    assume(abs(size / max(greatest, 1e-9) - 1) > 1e-9)
    assert under_test([counts], p, epsilon, delta).failing("chernoff_simple")[0] == (size > greatest)


@settings(max_examples=examples(300), deadline=None)
@given(groups(30), st.integers(0, 30), EIGHTHS, EPSILONS, DELTAS, st.sampled_from(TESTS[:2]))
def test_a_group_fails_still_with_others_who_have_its_value_as_often(first, more, p, epsilon, delta, test):
    """Of a bound; in general neither passing nor failing stays, as the measure's tests show."""
    top = int(np.argmax(first))
    second = [own // 2 for own in first]
    second[top] = first[top] // 2 + 1 + more
    assert second[top] * sum(first) >= first[top] * sum(second)
    fails = under_test([first], p, epsilon, delta).failing(test)[0]
    together = [a + b for a, b in zip(first, second, strict=True)]
    assert under_test([together], p, epsilon, delta).failing(test)[0] >= fails
    assume(abs(level(together, p, len(first), epsilon, test) - delta) > 1e-9)
    by_hand = level(together, p, len(first), epsilon, test) < delta
    assert under_test([together], p, epsilon, delta).failing(test)[0] == by_hand


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 40), min_size=3, max_size=3).filter(any), min_size=1, max_size=6),
    st.tuples(EIGHTHS, EIGHTHS),
    st.tuples(EPSILONS, EPSILONS),
    st.tuples(DELTAS, DELTAS),
)
def test_more_groups_fail_as_p_and_epsilon_and_delta_grow(vectors, ps, epsilons, deltas):
    less = under_test(vectors, min(ps), min(epsilons), min(deltas))
    for test in TESTS:
        more = [
            under_test(vectors, min(ps), max(epsilons), min(deltas)),
            under_test(vectors, min(ps), min(epsilons), max(deltas)),
        ]
        if test.startswith("chernoff"):
            more.append(under_test(vectors, max(ps), min(epsilons), min(deltas)))
        for own in more:
            assert (less.failing(test) <= own.failing(test)).all()


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any), min_size=1, max_size=5),
    EIGHTHS, EPSILONS, DELTAS, st.sampled_from(["chernoff_simple", "chernoff_full"]),
)  # fmt: skip
def test_the_greatest_levels_of_a_table_are_where_it_begins_to_fail(vectors, p, epsilon, delta, bound):
    tested = under_test(vectors, p, epsilon, delta)
    most = tested.greatest_p(bound)
    for factor in (1 - 1e-6, 1 + 1e-6):
        if 0 < most * factor < 1:
            assert under_test(vectors, most * factor, epsilon, delta).failing(bound).any() == (factor > 1)
    most = tested.greatest_epsilon(bound)
    for factor in (1 - 1e-6, 1 + 1e-6):
        assert under_test(vectors, p, most * factor, delta).failing(bound).any() == (factor > 1)
