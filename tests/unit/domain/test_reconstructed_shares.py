"""Estimates of shares, the likeliest ones, and their errors: vectors, oracles and Wang et al., lemma 4.3."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.classes.reconstructed_shares import (
    CopiedRows,
    beliefs_of_own_row,
    copies_of,
    estimated_shares,
    likeliest_shares,
    standard_errors,
    variances,
)
from app.domain.classes.reconstruction import UniformReplacement, greatest_p
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from tests.oracles.closeness_by_hand import counts_of

vectors_of_counts = st.lists(st.integers(0, 30), min_size=2, max_size=6).filter(any)
retentions = st.floats(0.05, 0.95)


def likeliest(shown, p):
    """Of one group, (m,)."""
    found = np.zeros(len(shown))
    counts = counts_of([max(own, 1) for own in shown], [shown])
    found[counts.values] = likeliest_shares(counts, UniformReplacement(p, len(shown)))
    return found


def likelihood(shown, shares, p):
    """The logarithm of how probable what is shown is under these shares."""
    c = (1 - p) / len(shown)
    return math.fsum(o * math.log(p * f + c) for o, f in zip(shown, shares, strict=True) if o)


def estimated(shown, p):
    shown = np.array(shown)
    return estimated_shares(shown, shown.sum(), UniformReplacement(p, len(shown)))


@pytest.mark.spec("RP-T1")
def test_the_matrix_its_inverse_and_what_one_record_tells():
    """Wang et al., example 1: half of the values stay, and the table's prior is believed by half."""
    p = greatest_p(0.1, 0.5, 10)
    assert p == pytest.approx(4 / 9)
    inverse = np.linalg.inv(TransitionMatrix(np.full(10, p)).dense())
    assert inverse[0, :2] == pytest.approx([2.125, -0.125])
    own = UniformReplacement(p, 10)
    assert (own.kept, own.elsewhere) == pytest.approx((0.5, 1 / 18))
    assert beliefs_of_own_row(np.array([0.1]), own) == pytest.approx(0.5)
    # In the group of the example all have the value: its mean is 1 and its deviation 1.125 / √k.
    assert math.sqrt(variances(np.array([100.0]), np.array([100]), own)[0]) / 100 == pytest.approx(0.1125)
    assert beliefs_of_own_row(np.array([1.0]), own) == 1


@given(st.integers(2, 12), retentions)
def test_the_matrix_has_the_inverse_that_estimates_are_made_with(m, p):
    c, matrix = (1 - p) / m, TransitionMatrix(np.full(m, p)).dense()
    inverse = (np.eye(m) - c) / p
    assert matrix @ inverse == pytest.approx(np.eye(m), abs=1e-9)
    assert matrix.sum(axis=0) == pytest.approx(np.ones(m))
    assert matrix == pytest.approx(matrix.T)
    shown = np.arange(1, m + 1)
    assert estimated(shown, p) == pytest.approx(inverse @ (shown / shown.sum()))


@pytest.mark.spec("RP-T2")
def test_estimates_of_a_group_of_a_hundred():
    shown, p, own = (50, 30, 15, 5), 0.5, UniformReplacement(0.5, 4)
    assert estimated(shown, p) == pytest.approx([0.75, 0.35, 0.05, -0.15])
    assert likeliest(shown, p) == pytest.approx([0.671053, 0.302632, 0.026316, 0], abs=1e-6)
    errors = standard_errors(np.array(shown), np.full(4, 100), own) * 100
    assert errors == pytest.approx([9.013878, 7.826238, 6.800735, 6.614378], abs=1e-6)
    found = variances(np.array([60.0, 25, 10, 5]), np.full(4, 100), own)
    assert found == pytest.approx([73.75, 56.25, 48.75, 46.25])


@pytest.mark.spec("RP-T3")
def test_estimates_in_a_small_table_are_local_and_global_at_once():
    own, sizes = UniformReplacement(0.6, 4), np.array([10, 6, 8, 12])
    shown = np.array([[5, 2, 2, 1], [1, 2, 2, 1], [1, 3, 2, 2], [4, 4, 2, 2]])
    found = estimated_shares(shown, sizes[:, None], own)
    expected = [
        [2 / 3, 1 / 6, 1 / 6, 0],
        [1 / 9, 7 / 18, 7 / 18, 1 / 9],
        [1 / 24, 11 / 24, 1 / 4, 1 / 4],
        [7 / 18, 7 / 18, 1 / 9, 1 / 9],
    ]
    assert found == pytest.approx(np.array(expected))
    engineers = estimated_shares(shown[0] + shown[2], np.array(18), own)
    assert engineers == pytest.approx([0.388889, 0.296296, 0.203704, 0.111111], abs=1e-6)
    assert (engineers * 18 - found[2] * 8) / 10 == pytest.approx(found[0])
    whole = estimated_shares(shown.sum(axis=0), np.array(36), own)
    assert whole == pytest.approx([0.342593, 0.342593, 0.203704, 0.111111], abs=1e-6)
    women, everybody = shown[2] + shown[3], shown.sum(axis=0)
    assert estimated_shares(women, np.array(20), own)[0] * 20 == pytest.approx(5)
    assert standard_errors(women, np.array(20), own)[0] * 20 == pytest.approx(2.581989, abs=1e-6)
    assert whole[2] * 36 == pytest.approx(22 / 3)
    assert standard_errors(everybody, np.array(36), own)[2] * 36 == pytest.approx(3.382964, abs=1e-6)


@pytest.mark.spec("RP-T15")
def test_values_that_cannot_be_there_have_no_share():
    assert estimated((0, 0, 8), 0.3) == pytest.approx([-0.777778, -0.777778, 2.555556], abs=1e-6)
    assert likeliest((0, 0, 8), 0.3).tolist() == [0, 0, 1]
    assert estimated((6, 4), 0.4) == pytest.approx([0.75, 0.25])


@given(vectors_of_counts, retentions)
def test_likeliest_shares_are_the_estimates_where_these_are_shares(shown, p):
    found, raw = likeliest(shown, p), estimated(shown, p)
    assert raw.sum() == pytest.approx(1)
    assert found.sum() == pytest.approx(1)
    assert (found >= -1e-12).all()
    if (raw >= 0).all():
        assert found == pytest.approx(raw)


@given(vectors_of_counts, retentions)
def test_no_shares_nearby_are_likelier(shown, p):
    """The likelihood is concave in the shares, so that a step towards no corner may raise it."""
    found = likeliest(shown, p)
    best = likelihood(shown, found, p)
    for corner in np.eye(len(shown)):
        assert likelihood(shown, found + 1e-4 * (corner - found), p) <= best + 1e-9


@given(
    st.lists(st.lists(st.integers(0, 20), min_size=4, max_size=4).filter(any), min_size=1, max_size=5),
    retentions,
)
def test_likeliest_shares_of_several_groups_are_those_of_each(vectors, p):
    counts = counts_of([max(1, *column) for column in zip(*vectors, strict=True)], vectors)
    found = np.zeros((len(vectors), 4))
    found[counts.of_entry, counts.values] = likeliest_shares(counts, UniformReplacement(p, 4))
    for group, vector in enumerate(vectors):
        assert found[group] == pytest.approx(likeliest(vector, p), abs=1e-12)


@given(st.integers(2, 6).flatmap(lambda m: st.lists(
    st.lists(st.integers(0, 20), min_size=m, max_size=m).filter(any), min_size=2, max_size=2
)), st.integers(1, 19))  # fmt: skip
def test_subtracting_estimates_of_more_records_tells_nothing_new(two, twentieths):
    """Wang et al., lemma 4.3, exactly: (F'_X·|X| − F'_Y·|Y|)/|S| is F'_S for X the union of S and Y."""
    own, rest = ([Fraction(k) for k in counts] for counts in two)
    p = Fraction(twentieths, 20)
    c = (1 - p) / len(own)

    def estimate(counts):
        return [(k / sum(counts) - c) / p for k in counts]

    both = [a + b for a, b in zip(own, rest, strict=True)]
    by_difference = [
        (x * sum(both) - y * sum(rest)) / sum(own)
        for x, y in zip(estimate(both), estimate(rest), strict=True)
    ]
    assert by_difference == estimate(own)
    assert estimated(two[0], float(p)) == pytest.approx([float(own) for own in by_difference])


def test_likeliest_shares_do_not_add_up():
    """Of what lemma 4.3 says of estimates nothing holds for shares that are kept from 0 to 1."""
    p, first, second = 0.3, (0, 0, 8), (4, 4, 0)
    parts = 0.5 * likeliest(first, p) + 0.5 * likeliest(second, p)
    assert likeliest((4, 4, 8), p) != pytest.approx(parts)


def copied(sizes, sample, of_union=None):
    """Groups of these sizes, each by itself or as parts of unions."""
    own = np.arange(len(sizes)) if of_union is None else np.array(of_union)
    return CopiedRows.of(np.array(sizes), sample, own, int(own.max()) + 1)


@pytest.mark.spec("RP-T10")
@pytest.mark.parametrize(("amount", "variance"), [(900, 14491.385122), (20, 2508.394031)])
def test_copies_have_the_variance_of_their_sample_and_at_most_a_quarter_of_a_record_for_its_rounding(
    amount, variance
):
    """Of 1,000 records 63 are sampled: 56.7 with the first value, 1.26 with the second, up or down."""
    n, sample, own = 1000, 63, UniformReplacement(0.5, 14)
    shown = np.array([n * (own.p * amount / n + own.elsewhere)])
    times, of_pairs = copies_of(np.array([n]), np.array([sample]))
    weighted, pairs = times * shown, of_pairs * shown * (n - shown)
    found = (copied([n], sample).standard_errors(weighted, pairs, own)[0] * n) ** 2
    rest = amount * sample / n % 1
    more = n % sample
    unknown = (n / sample) ** 2 - more * (sample - more) / (sample - 1) / sample**2
    # O·(n − O) of the mean O is above the mean of O·(n − O), which the reader's estimate takes it for.
    expected = variance + (0.25 - rest * (1 - rest)) * unknown
    assert found == pytest.approx(expected, rel=1e-5)
    # A hundred such groups are a hundred samples, and have no error of one sample.
    union = copied([n] * 100, sample, [0] * 100)
    many = union.standard_errors(100 * weighted, 100 * pairs, own)[0] * 100 * n
    assert many**2 == pytest.approx(100 * expected, rel=1e-5)
    alone = copied([n] * 150, sample, [0] * 50 + [1] * 100).together(np.array([1]))
    assert alone.standard_errors(100 * weighted, 100 * pairs, own) * 100 * n == pytest.approx(many)


def test_copies_of_whole_groups_have_the_errors_of_plain_perturbation():
    shown, sizes, own = np.array([5, 40]), np.array([8, 57]), UniformReplacement(0.5, 14)
    none = np.zeros(2)
    found = copied(sizes, 57).standard_errors(shown, none, own)
    assert found == pytest.approx(standard_errors(shown, sizes, own))
    union = copied([40] * 50, 57, [0] * 50).standard_errors(np.array([672.0]), np.zeros(1), own)
    assert union == pytest.approx(standard_errors(np.array([672]), np.array([2000]), own))


@given(st.integers(0, 12), st.integers(1, 12), retentions)
def test_variances_are_those_of_two_binomials(amount, size, p):
    amount = min(amount, size)
    own = UniformReplacement(p, 5)
    terms = [own.kept * own.changed] * amount + [own.elsewhere * (1 - own.elsewhere)] * (size - amount)
    found = variances(np.array([float(amount)]), np.array([size]), own)
    assert found == pytest.approx([math.fsum(terms) / p**2])
