"""Priors of a Dirichlet-multinomial and what it discloses: vectors, theorems by enumeration, controls."""

import itertools
import math
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import betabinom

from app.domain.errors import InvalidInput, NotSupported, TooLarge
from app.domain.mechanisms.dirichlet_calibration import (
    Tails,
    calibrate,
    expected_counts,
    expected_distance,
    fewer_kept,
    lower_gamma,
    noise_share,
    reference_bound,
    rho,
    sampled_delta,
    sampled_domain,
    upper_tail,
    variances,
)
from app.domain.mechanisms.dirichlet_disclosure import (
    blocks_of_outputs,
    exact_chances,
    is_good,
    least_delta,
    log_probabilities,
    outputs,
    violations,
    worst_losses,
)
from app.experiments.dirichlet_examples import accept_reject, printed_loop, sampled_outside

N = np.array([2, 1, 0])
HALF = np.full(3, 0.5)


def near(value, rel=2e-6):
    return pytest.approx(value, rel=rel)


def tables(n, cells):
    return list(outputs(n, cells))


def neighbours(one):
    """All tables that one row makes of this one by another cell."""
    for i, j in itertools.permutations(range(len(one)), 2):
        if one[i]:
            other = one.copy()
            other[i] -= 1
            other[j] += 1
            yield other


@pytest.mark.spec("LD-S11")
def test_the_law_and_its_moments_are_those_of_the_vectors():
    assert log_probabilities(N, np.ones(3, dtype=int), HALF) == near(-2.254794)
    drawn = np.array([[3, 0, 0], [0, 0, 3]])
    assert np.exp(log_probabilities(drawn, N, HALF)).tolist() == near([0.244755, 0.011655], 1e-5)
    assert expected_counts(N, HALF, 3).tolist() == near([1.666667, 1, 0.333333], 1e-5)
    assert variances(N, HALF, 3).tolist() == near([1.010101, 0.909091, 0.404040])
    counts, quarter = np.array([2, 1, 0, 0]), np.full(4, 0.25)
    assert expected_distance(counts, quarter, np.array([2.0, 4, 10, 50])) == 6.125
    assert expected_counts(counts, quarter, 3).tolist() == [1.6875, 0.9375, 0.1875, 0.1875]
    assert variances(counts, quarter, 3)[0] == near(1.033594)
    assert noise_share(3, 1.0) == 0.25


@pytest.mark.spec("LD-S12")
def test_disclosures_are_those_of_the_vectors():
    drawn = np.array([[3, 0, 0], [0, 3, 0], [0, 0, 3], [2, 1, 0], [1, 1, 1], [0, 2, 1]])
    assert (~violations(drawn, N, HALF, 3).any(axis=1)).tolist() == [True, False, False, True, True, False]
    assert is_good(drawn, N, HALF, 3).tolist() == [True, True, False, True, True, True]
    losses = [1.098612, 1.945910, 1.945910, 1.098612, 0.762140, 1.609438]
    assert worst_losses(drawn, N, HALF).tolist() == near(losses)
    for counts, prior, epsilon, wanted in (
        (N, 0.5, math.log(4), (0.358974, 0.358974, 0.067599)),
        (N, 0.5, math.log(5), (0.093240, 0.093240, 0.011655)),
        (np.array([3, 2, 1, 0]), 0.25, math.log(8), (0.315301, 0.333269, 0.044484)),
    ):
        found = exact_chances(counts, np.full(len(counts), prior), epsilon)
        chances = (found.disclosure, found.not_representative, found.not_good)
        assert chances == pytest.approx(wanted, abs=1e-6)
    assert least_delta(N, np.array([1, 2, 0]), HALF, 1.0) == near(0.022984, 1e-5)
    assert least_delta(np.ones(3, dtype=int), N, HALF, 1.0) == near(0.117472, 1e-5)
    assert least_delta(N, np.array([1, 2, 0]), HALF, math.log(7)) == pytest.approx(0, abs=1e-12)


def test_chances_over_many_blocks_of_outputs_are_those_of_the_beta_binomial():
    n, counts, priors, epsilon = 200_000, np.array([3, 199_997]), np.array([4.0, 6.0]), 0.2
    assert len(list(blocks_of_outputs(n, 2))) > 1
    first = np.arange(n + 1)
    drawn = np.stack([first, n - first], axis=1)
    law = betabinom.pmf(first, n, *(counts + priors))
    found = exact_chances(counts, priors, epsilon)
    wanted = law[worst_losses(drawn, counts, priors) > epsilon].sum()
    above = law[violations(drawn, counts, priors, math.expm1(epsilon)).any(axis=1)].sum()
    assert 0.01 < wanted < 0.99
    assert (found.disclosure, found.not_representative) == pytest.approx((wanted, above), rel=1e-9)


@pytest.mark.spec("LD-S13", "LD-E3", "LD-E1")
def test_priors_are_those_of_the_vectors():
    def of(n, m, one, others, gamma):
        return rho(n, m, Fraction(one), Fraction(others), Decimal(gamma))

    assert math.log(of(10, 10, 1, 1, 2)) == near(-1.576163)
    assert of(20, 20, "0.5", "4.5", 4) == near(0.161560, 4e-6)
    assert of(100, 100, "0.2", "1.8", 9) == near(0.162988, 4e-6)
    assert of(15, 15, "0.04", 4000, 98) == near(2.15148e-10, 4e-6)
    assert of(5, 5, 3, 3, 2) == 0
    for n, cells, epsilon, delta, pure, reference, t_star, tail, bound in (
        (20, 5, 2.0, 0.01, 3.130353, 1.509551, 8, 1.252141, 0.009592),
        (100, 50, 3.0, 1e-4, 5.239570, 0.873392, 16, 0.838331, 5.64747e-05),
        (15, 120690, 4.6, 1e-5, 0.152309, 0.041184, 3, 0.030462, 1.72211e-07),
        (12, 120690, 4.6, 1e-5, 0.121847, 0.039761, 3, 0.030462, 6.26164e-08),
        (1, 120690, 4.6, 1e-5, 0.010154, 0.010154, 1, 0.010154, 0),
        (10**6, 10**4, math.log(5), 1e-6, 250000, 17.491495, 68, 17.0, 8.36e-07),
        (10**6, 10**4, math.log(10), 1e-6, 111111.111111, 5.523793, 49, 5.444444, 6.51e-07),
    ):
        found = [
            calibrate(n, cells, epsilon, delta, name) for name in ("pure", "reference_sample", "exact_tail")
        ]
        alphas = [float(own.alpha) for own in found]
        assert alphas == pytest.approx([pure, reference, tail], rel=3e-5)
        assert (found[2].t_star, found[2].delta) == (t_star, pytest.approx(bound, rel=1e-3))
        assert found[1].delta <= delta


@pytest.mark.spec("LD-S14", "LD-E4")
def test_sampling_the_domain_costs_what_the_vectors_say():
    law = exact_chances(np.array([1, 1, 0, 0]), np.full(4, 0.25), math.log(5))
    assert law.not_representative == near(0.520833)
    assert sampled_outside() == near(0.629559)
    gamma = lower_gamma(Fraction(5, 2))
    alpha = Fraction(math.ceil(Decimal(6) / gamma * 10**12), 10**12)
    assert Tails(10, ((alpha, 40),), gamma).bound() == near(0.000235, 3e-3)
    fewer = fewer_kept({0.5: 40}, 10)
    assert fewer == near(0.000340, 1e-3)
    assert fewer + Tails(10, ((alpha, 1),), gamma, 10 * alpha).sampled(20) == near(0.011453, 1e-4)
    assert sampled_delta(10, {0.5: 40}, alpha, gamma)[0] <= 0.011454
    found = sampled_domain(10, {0.5: 40}, 2.5, 1e-3)
    assert found.delta <= 1e-3
    assert found.epsilon == near(2.5 + 2 * math.log(2))


@pytest.mark.spec("LD-E2")
def test_the_printed_loop_stops_too_early_or_never():
    assert printed_loop(10**6, 10**4, Decimal(49), 1e-6) == near(10204.081633)
    assert printed_loop(2, 3, Decimal(4), 0.01) is None


@pytest.mark.spec("LD-E5")
def test_resampling_after_a_private_draw_discloses_more_than_is_printed():
    assert accept_reject() == near((0.317848, 0.608429, 2.022502))


@pytest.mark.spec("LD-E7")
def test_a_capital_needs_another_prior_than_is_printed():
    assert float(calibrate(10**6, 8 * 10**6, math.log(50), 0, "pure").alpha) == near(20408.163265)
    least = calibrate(10**6, 8 * 10**6, math.log(50), 1e-6, "reference_sample").alpha
    assert float(least) == near(0.392046)


@pytest.mark.parametrize(("n", "cells"), [(1, 2), (2, 3), (3, 3), (4, 2)])
def test_the_greatest_ratio_of_neighbours_is_that_of_theorem_4_1(n, cells):
    priors, drawn = np.full(cells, 0.3), outputs(n, cells)
    ratio = max(
        float(np.max(log_probabilities(drawn, one, priors) - log_probabilities(drawn, other, priors)))
        for one in tables(n, cells)
        for other in neighbours(one)
    )
    assert ratio == pytest.approx(math.log1p(n / 0.3), rel=1e-9)


@pytest.mark.parametrize(("n", "cells"), [(1, 3), (2, 4), (3, 4), (4, 3), (5, 2), (6, 3)])
@pytest.mark.parametrize("alpha", [Fraction(1, 5), Fraction(3, 4), Fraction(2)])
def test_both_bounds_hold_for_every_table_and_representative_outputs_disclose_nothing(n, cells, alpha):
    gamma, priors = Decimal(5), np.full(cells, float(alpha))
    drawn, epsilon = outputs(n, cells), math.log(6)
    found = [exact_chances(one, priors, epsilon) for one in tables(n, cells)]
    outside = max(own.not_representative for own in found)
    assert outside <= Tails(n, ((alpha, cells),), gamma).bound() * (1 + 1e-12)
    if n >= 2:
        assert outside <= reference_bound(n, cells, alpha, gamma)
    for one in tables(n, cells):
        loud = worst_losses(drawn, one, priors) > epsilon * (1 + 1e-12)
        assert not (loud & ~violations(drawn, one, priors, 5).any(axis=1)).any()
        by_hand = ~violations(drawn, one, priors, 5).any(axis=1)
        for other in neighbours(one):
            by_hand |= ~violations(drawn, other, priors, 5).any(axis=1)
        assert is_good(drawn, one, priors, 5).tolist() == by_hand.tolist()


@pytest.mark.spec("LD-E3")
def test_theorem_4_2_fails_for_one_person():
    alpha = Fraction(1, 200)
    outside = exact_chances(np.array([1, 0]), np.full(2, float(alpha)), math.log(101)).not_representative
    assert outside == near(1.0)
    assert reference_bound(1, 2, alpha, Decimal(100)) < 0.05
    assert calibrate(1, 2, math.log(21), 0.4, "reference_sample").certificate == "pure"


def test_the_worst_loss_is_the_greatest_of_all_pairs_within_a_row():
    drawn = outputs(3, 3)
    for one in tables(3, 3):
        within = [one, *neighbours(one)]
        laws = [log_probabilities(drawn, table, HALF) for table in within]
        by_hand = np.max(
            [
                np.abs(laws[i] - laws[j])
                for i, j in itertools.combinations(range(len(within)), 2)
                if np.abs(within[i] - within[j]).sum() == 2
            ],
            axis=0,
        )
        assert worst_losses(drawn, one, HALF).tolist() == pytest.approx(by_hand.tolist())


def test_empty_cells_may_be_left_out():
    drawn, counts = np.array([2, 0, 1, 0, 0]), np.array([1, 2, 0, 0, 0])
    priors = np.full(5, 0.5)
    assert worst_losses(drawn[:3], counts[:3], priors[:3], unseen=True) == worst_losses(drawn, counts, priors)
    sparse = log_probabilities(drawn[:3], counts[:3], priors[:3], total=2.5)
    assert sparse == pytest.approx(log_probabilities(drawn, counts, priors))


def test_merged_cells_follow_the_law_of_summed_priors():
    """Theorem 4.4: parts of a public partition are drawn as cells are."""
    drawn, counts, priors = outputs(3, 4), np.array([2, 0, 1, 0]), np.array([0.2, 0.3, 0.4, 0.5])
    law = np.exp(log_probabilities(drawn, counts, priors))
    for part in range(4):
        of_parts = math.fsum(law[drawn[:, :2].sum(axis=1) == part])
        merged = log_probabilities(np.array([part, 3 - part]), np.array([2, 1]), np.array([0.5, 0.9]))
        assert of_parts == pytest.approx(math.exp(merged))


def test_sampled_domains_keep_the_corrected_delta():
    """Theorem 4.5 corrected, by enumeration of tables and of the cells kept; k = 4, n = 2 and 3."""
    for n, f, alpha in itertools.product((2, 3), (0.3, 0.8), (Fraction(1, 2), Fraction(5, 4))):
        outside = 0.0
        for one in tables(n, 4):
            total = 0.0
            there, empty = np.flatnonzero(one), np.flatnonzero(one == 0)
            for kept in itertools.product((False, True), repeat=len(empty)):
                chance = math.prod(f if keep else 1 - f for keep in kept)
                domain = np.concatenate([there, empty[list(kept)]])
                law = exact_chances(one[domain], np.full(len(domain), float(alpha)), math.log(5))
                total += chance * law.not_representative
            outside = max(outside, total)
        assert outside <= sampled_delta(n, {f: 4}, alpha, Decimal(4))[0] + 1e-12


@given(
    st.integers(1, 300),
    st.integers(1, 300),
    st.fractions(Fraction(1, 100), 20, max_denominator=1000),
    st.fractions(Fraction(1, 100), 2000, max_denominator=1000),
)
def test_a_tail_is_bounded_from_above_and_closely(m, least, a, b):
    least = min(m, least)
    wanted = float(betabinom.pmf(np.arange(least, m + 1), m, float(a), float(b)).sum())
    found = upper_tail(m, least, a, b)
    assert found >= wanted * (1 - 1e-9)
    if wanted < 0.49:
        assert found <= wanted * (1 + 1e-6) + 1e-14


def test_the_prior_is_rounded_to_the_private_side():
    for n, epsilon in itertools.product((1, 7, 1000), (Fraction(1, 10), Fraction(1), Fraction(23, 5))):
        alpha = calibrate(n, 10, epsilon, 0, "pure").alpha
        assert Fraction(n) / alpha <= Fraction(lower_gamma(epsilon))
        with localcontext(Context(prec=90)):
            true = (Decimal(epsilon.numerator) / epsilon.denominator).exp() - 1
            assert true * (1 - Decimal("1e-50")) < lower_gamma(epsilon) < true


def test_unequal_priors_are_certified_by_exact_tails_only():
    shape = {Fraction(1): 30, Fraction(3): 20}
    found = calibrate(100, 50, 3.0, 1e-4, "exact_tail", shape)
    assert found.delta <= 1e-4
    with pytest.raises(NotSupported, match="equal priors only"):
        calibrate(100, 50, 3.0, 1e-4, "reference_sample", shape)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((0, 5, 1.0, 0.1), "n"),
        ((5, 0, 1.0, 0.1), "cells"),
        ((5, 5, 0.0, 0.1), "epsilon"),
        ((5, 5, 1.0, 0.7), "delta"),
    ],
)
def test_what_is_out_of_range_is_named(arguments, field):
    with pytest.raises(InvalidInput, match=field):
        calibrate(*arguments, "exact_tail")
    with pytest.raises(InvalidInput, match="probabilities"):
        sampled_domain(5, {0.0: 3}, 1.0, 0.1)
    with pytest.raises(TooLarge, match="enumerated"):
        outputs(100, 10)
