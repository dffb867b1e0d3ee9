"""How exactly shares of groups follow from uniformly replaced values: bounds, thresholds, levels, tails."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from app.domain.classes.reconstruction import (
    Estimates,
    UniformReplacement,
    greatest_p,
    greatest_posterior,
    greatest_retention,
    greatest_retentions,
)
from app.domain.classes.reconstruction_groups import (
    TESTS,
    GroupsUnderTest,
    ReconstructionQuestion,
    told_by_fewer,
)
from app.domain.classes.reconstruction_tails import exact_tails, terms_to_sum
from app.domain.classes.sensitive_counts import SensitiveCounts, count_values
from app.domain.tables.distinct import distinct_rows
from tests.oracles.closeness_by_hand import counts_of
from tests.oracles.reconstruction_by_hand import census, entropy_bound, log_high

SIMPLE, FULL = "chernoff_simple", "chernoff_full"


def longs(*numbers):
    return np.array(numbers, dtype=np.int64)


def estimate(with_value, size, p, m, epsilon):
    return Estimates(longs(with_value), longs(size), UniformReplacement(p, m), epsilon)


def group(counts, p, m, epsilon, delta, releases=1):
    """One group with these counts under test."""
    question = ReconstructionQuestion(UniformReplacement(p, m), epsilon, delta, releases)
    return GroupsUnderTest(counts_of(counts, [counts]), question)


def verdicts(counts, p, m, epsilon, delta):
    tested = group(counts, p, m, epsilon, delta)
    return [not tested.failing(test)[0] for test in TESTS]


@pytest.mark.spec("RP-T1")
def test_the_greatest_p_of_a_bound_on_beliefs_and_back():
    assert greatest_p(0.1, 0.5, 10) == pytest.approx(4 / 9, abs=1e-12)
    assert greatest_p(0.05, 0.3, 50) == pytest.approx(0.125, abs=1e-12)
    example = UniformReplacement(4 / 9, 10)
    assert (example.kept, example.elsewhere, example.changed) == pytest.approx((0.5, 1 / 18, 0.5))
    assert example.elsewhere == pytest.approx(0.055556, abs=1e-6)
    assert example.amplification == pytest.approx(9)
    assert greatest_posterior(example, 0.1) == pytest.approx(0.5)
    even = UniformReplacement(0.5, 14)
    assert (even.amplification, greatest_posterior(even, 0.1)) == pytest.approx((15, 0.625))


@pytest.mark.spec("RP-T4")
@pytest.mark.parametrize(
    ("share", "p", "m", "epsilon", "delta", "theta", "shown", "simple", "full"),
    [
        ((1, 2), 0.5, 14, 0.3, 0.3, 0.262500, 0.285714, 122.308348, 111.069880),
        ((3, 5), 0.5, 14, 0.3, 0.3, 0.268085, 0.335714, 99.800215, 90.423828),
        ((3, 4), 0.5, 14, 0.5, 0.3, 0.456522, 0.410714, 28.130920, 23.427418),
        ((1, 1), 0.9, 14, 0.9, 0.46, 0.892913, 0.907143, 2.147302, 1.309555),
        ((1, 10), 0.3, 50, 0.5, 0.22, 0.340909, 0.044000, 592.192180, 520.304561),
        ((1, 1), 0.5, 2, 0.3, 0.3, 0.200000, 0.750000, 80.264854, 74.716556),
        ((1, 50), 0.1, 50, 0.9, 0.14, 0.090000, 0.020000, 24272.998227, 23533.400503),
        ((9, 10), 0.7, 2, 0.1, 0.38, 0.080769, 0.780000, 380.305135, 369.922859),
    ],
)
def test_the_greatest_groups_that_pass(share, p, m, epsilon, delta, theta, shown, simple, full):
    found = estimate(*share, p, m, epsilon)
    assert found.deviation == pytest.approx(theta, abs=1e-6)
    assert found.mean / share[1] == pytest.approx(shown, abs=1e-6)
    assert found.greatest_sizes(SIMPLE, delta) == pytest.approx(simple, abs=1e-6)
    assert found.greatest_sizes(FULL, delta) == pytest.approx(full, abs=1e-6)


BY_A_HAIR = (
    (60, (0.268085, 33.571429), (0.329212, 0.264087, 0.345145, 0.299278), (90.423828, 99.800215)),
    (20, (0.221053, 13.571429), (0.733788, 0.698282, 0.741872, 0.717789), (335.244814, 363.102909)),
    (10, (0.175000, 8.571429), (0.883203, 0.869657, 0.886309, 0.876998), (862.099480, 917.312613)),
)
TAILS_BY_A_HAIR = ((0.011925, 0.013233), (0.132825, 0.145432), (0.334221, 0.202512))
DISAGREEING = (
    (18, (0.456522, 9.857143), (0.406968, 0.291301, 0.433318, 0.358017), (23.427418, 28.130920)),
    (6, (0.388889, 3.857143), (0.771172, 0.712367, 0.783342, 0.747018), (85.196156, 99.069762)),
)
TAILS_DISAGREEING = ((0.020999, 0.014274), (0.173769, 0.126692))


@pytest.mark.spec("RP-T5", "RP-T6")
@pytest.mark.parametrize(
    ("size", "epsilon", "row", "tails"),
    [
        *((100, 0.3, *own) for own in zip(BY_A_HAIR, TAILS_BY_A_HAIR, strict=True)),
        *((24, 0.5, *own) for own in zip(DISAGREEING, TAILS_DISAGREEING, strict=True)),
    ],
)
def test_all_numbers_of_a_group_that_fails_by_a_hair_and_of_one_on_which_criteria_disagree(
    size, epsilon, row, tails
):
    with_value, of_mean, bounds, sizes = row
    found = estimate(with_value, size, 0.5, 14, epsilon)
    assert (found.deviation[0], found.mean[0]) == pytest.approx(of_mean, abs=1e-6)
    logs = (log_high(found, FULL), found.log_low(FULL), log_high(found, SIMPLE), found.log_low(SIMPLE))
    assert [math.exp(own[0]) for own in logs] == pytest.approx(bounds, abs=1e-6)
    assert [found.greatest_sizes(own, 0.3)[0] for own in (FULL, SIMPLE)] == pytest.approx(sizes, abs=1e-6)
    exact = exact_tails(longs(with_value), longs(size), UniformReplacement(0.5, 14), epsilon)
    assert (exact.low[0], exact.high[0]) == pytest.approx(tails, abs=1e-6)


@pytest.mark.spec("RP-T5")
def test_a_group_that_fails_by_a_hair():
    assert verdicts([60, 20, 10, 10], 0.5, 14, 0.3, 0.3) == [False] * 4


@pytest.mark.spec("RP-T6")
def test_the_two_printed_criteria_disagree():
    """Wang et al. state both theorems 5.11 and 5.13 as equivalent to the same property."""
    assert verdicts([18, 6], 0.5, 14, 0.5, 0.3) == [True, False, False, False]


@pytest.mark.spec("RP-T7")
def test_levels_that_a_group_attains():
    tested = group([60, 20, 10, 10], 0.5, 14, 0.3, 0.3)
    assert np.exp(tested.log_levels(SIMPLE)) == pytest.approx(0.299278, abs=1e-6)
    assert np.exp(tested.log_levels(FULL)) == pytest.approx(0.264087, abs=1e-6)
    assert tested.greatest_epsilon(SIMPLE) == pytest.approx(0.299700, abs=1e-6)
    assert tested.greatest_p(SIMPLE) == pytest.approx(0.499176, abs=1e-6)
    assert greatest_retentions(longs(1), longs(1), 14, 0.5, 0.3) == pytest.approx(9.020071, abs=1e-6)
    assert greatest_retentions(longs(1500), longs(5000), 50, 0.3, 0.3) == pytest.approx(0.043798, abs=1e-6)
    assert group([1], 0.5, 14, 0.5, 0.3).greatest_p(SIMPLE) == 1
    assert group([1], 0.5, 14, 0.5, 0.3).greatest_p(FULL) == 1


@pytest.mark.spec("RP-T8")
@pytest.mark.parametrize(
    ("with_value", "size", "p", "m", "epsilon", "tails", "bound", "entropy"),
    [
        (1, 1, 0.5, 14, 0.3, (0.464286, 0.535714), 0.979219, (0.955743, 0.954429)),
        (1, 1, 0.7, 14, 0.5, (0.278571, 0.0), 0.918603, (0.767257, 0.0)),
        (2, 2, 0.5, 14, 0.5, (0.215561, 0.286990), 0.889882, (0.773988, 0.763015)),
        (5, 20, 0.5, 14, 0.3, (0.299915, 0.404860), 0.916219, (0.894274, 0.906284)),
        (61, 122, 0.5, 14, 0.3, (0.011623, 0.010130), 0.300912, (0.167488, 0.200704)),
        (30, 60, 0.9, 14, 0.3, (3.763014e-05, 3.942235e-09), 0.302397, (0.103548, 0.111248)),
        (57, 57, 0.5, 14, 0.3, (0.008165, 0.007899), 0.302099, (0.075759, 0.070047)),
        (612, 1223, 0.1, 14, 0.3, (0.045663, 0.046470), 0.299563, (0.242517, 0.269182)),
        (50, 100, 0.5, 2, 0.2, (0.101595, 0.101595), 0.778801, (0.606023, 0.606023)),
        (3, 10, 0.4, 5, 1.5, (0.045196, 0.046484), 0.509156, (0.311517, 0.457169)),
        (20, 20, 0.999, 14, 0.3, (4.565961e-17, 0.0), 0.406962, (1.184806e-13, 0.0)),
    ],
)
def test_tails_are_exact_and_far_below_the_bound_that_is_tested(
    with_value, size, p, m, epsilon, tails, bound, entropy
):
    """Wang et al., remark 1, promise a large error with a probability of δ; the bound is all that is at δ.

    Nor is it the best one known: that of relative entropy, which nothing goes by, is between the two.
    """
    found = exact_tails(longs(with_value), longs(size), UniformReplacement(p, m), epsilon)
    own = estimate(with_value, size, p, m, epsilon)
    assert np.exp(own.log_low(SIMPLE)) == pytest.approx(bound, abs=1e-6)
    above = np.exp([own.log_low(FULL)[0], log_high(own, FULL)[0]])
    for side, tail in enumerate((found.low[0], found.high[0])):
        assert tail == as_printed(tails[side])
        between = entropy_bound(with_value, size, p, m, epsilon, side)
        assert between == as_printed(entropy[side])
        assert tail <= between <= above[side]


def as_printed(number):
    """Six decimals, or six digits of what is printed by its exponent."""
    return pytest.approx(number, rel=1e-5, abs=0) if number < 1e-3 else pytest.approx(number, rel=0, abs=1e-6)


@pytest.mark.spec("RP-T15")
def test_practically_unperturbed_records_pass_both_printed_criteria():
    found = estimate(1, 1, 0.999, 14, 0.3)
    assert found.greatest_sizes(SIMPLE, 0.3) == pytest.approx(26.783648, abs=1e-6)
    assert found.greatest_sizes(FULL, 0.3) == pytest.approx(23.948618, abs=1e-6)
    assert verdicts([20], 0.999, 14, 0.3, 0.3) == [True, True, False, False]


@pytest.mark.spec("RP-T15")
def test_where_no_estimate_can_be_too_low_the_bound_is_zero_and_the_group_fails():
    """Wang et al., corollary 4.10, allows every ε; its bound has no meaning for θ above 1."""
    found = estimate(5, 10, 0.9, 3, 1.2)
    assert found.deviation == pytest.approx(1.117241, abs=1e-6)
    for bound in (SIMPLE, FULL):
        assert found.log_low(bound)[0] == -np.inf
        assert found.greatest_sizes(bound, 0.3) == 0
        assert not found.within(bound, 0.3)[0]
        assert found.within(bound, 0.0)[0]


@pytest.mark.spec("RP-T15")
def test_at_theta_one_the_bound_follows_the_formula_and_the_exact_tail_is_zero():
    found = estimate(5, 10, 0.5, 4, 1.5)
    assert found.deviation == pytest.approx(1.0, abs=1e-12)
    assert np.exp(found.log_low(FULL)) == pytest.approx(0.023518, abs=1e-6)
    assert np.exp(found.log_low(SIMPLE)) == pytest.approx(0.153355, abs=1e-6)
    exact = exact_tails(longs(5), longs(10), UniformReplacement(0.5, 4), 1.5)
    assert (exact.low[0], exact.high[0]) == (0.0, pytest.approx(0.001856, abs=1e-6))


@pytest.mark.parametrize("bound", [SIMPLE, FULL])
def test_no_p_passes_with_which_an_estimate_cannot_be_too_low(bound):
    """θ = 1 at p = 1 / (1 + m·f·(ε − 1)) = ½, where the bounds are 0.153 and 0.024."""
    tested = group([5, 5, 0, 0], 0.3, 4, 1.5, 0.02)
    assert tested.greatest_p(bound) == pytest.approx(0.5, abs=1e-9)


@pytest.mark.spec("RP-T15")
@pytest.mark.parametrize("bound", [SIMPLE, FULL])
def test_extreme_questions(bound):
    own = estimate(7, 10, 0.5, 14, 0.3)
    assert (own.greatest_sizes(bound, 0.0)[0], own.within(bound, 0.0)[0]) == (math.inf, True)
    assert (own.greatest_sizes(bound, 1.0)[0], own.within(bound, 1.0)[0]) == (0, False)
    none = estimate(7, 10, 0.5, 14, 0.0)
    assert (none.greatest_sizes(bound, 0.5)[0], none.within(bound, 1.0)[0]) == (math.inf, True)
    assert none.log_low(bound)[0] == 0
    assert greatest_retention(bound, longs(), longs(), 14, 0.3, 0.3) == math.inf
    assert greatest_retention(bound, longs(7), longs(10), 14, 0.0, 0.3) == 1
    assert greatest_retention(bound, longs(7), longs(10), 14, 0.3, 0.0) == 1
    assert greatest_retention(bound, longs(7), longs(10), 14, 0.3, 1.0) == 0


def test_a_group_at_its_threshold_passes():
    """(ε·p·n_x)² = 2·Λ·(p·n_x + c·n) for δ = exp(−(ε·p·n_x)² / (2·(p·n_x + c·n)))."""
    delta = math.exp(-((0.3 * 0.5 * 60) ** 2) / (2 * (0.5 * 60 + 0.5 / 14 * 100)))
    assert not group([60, 20, 10, 10], 0.5, 14, 0.3, delta).failing(SIMPLE)[0]
    assert group([60, 20, 10, 10], 0.5, 14, 0.3, delta * (1 + 1e-9)).failing(SIMPLE)[0]


def test_several_releases_are_like_so_much_larger_a_group():
    twice, large = group([30, 10, 5, 5], 0.5, 14, 0.3, 0.3, 2), group([60, 20, 10, 10], 0.5, 14, 0.3, 0.3)
    for test in TESTS:
        assert twice.failing(test) == large.failing(test)
        assert twice.log_levels(test) == pytest.approx(large.log_levels(test))
        assert not group([30, 10, 5, 5], 0.5, 14, 0.3, 0.3).failing(SIMPLE)[0]
    assert twice.greatest_p(FULL) == pytest.approx(large.greatest_p(FULL))
    assert twice.greatest_epsilon(FULL) == pytest.approx(large.greatest_epsilon(FULL))


def test_who_has_two_releases_may_be_farther_off_than_who_has_one():
    """The one record is shown as itself with 0.95, twice with 0.9025; else the estimate is bad."""
    assert np.exp(group([1, 0], 0.9, 2, 0.1, 0.09).log_levels("exact_total")) == pytest.approx(0.05)
    assert np.exp(group([1, 0], 0.9, 2, 0.1, 0.09, 2).log_levels("exact_total")) == pytest.approx(0.0975)


@pytest.mark.parametrize("delta", [1e-9, 1e-12, 1e-50])
def test_no_probability_of_nothing_reaches_a_small_delta(delta):
    """Of 30 records shown as they are with 0.9995 the probability of a bad estimate is below 1e-80."""
    passes = group([30, 0], 0.5, 2, 0.3, delta)
    for test in ("exact_min", "exact_total"):
        assert group([30, 0], 0.999, 2, 0.9, delta).failing(test)[0]
        assert not passes.failing(test)[0]


def test_a_probability_equal_to_delta_passes_and_one_in_a_million_below_does_not():
    attained = float(np.exp(group([20, 0], 0.999, 14, 0.3, 0.5).log_levels("exact_total")[0]))
    assert attained == pytest.approx(4.565961e-17, rel=1e-5)
    assert not group([20, 0], 0.999, 14, 0.3, attained * (1 + 1e-12)).failing("exact_total")[0]
    assert group([20, 0], 0.999, 14, 0.3, attained * (1 + 1e-6)).failing("exact_total")[0]


@pytest.mark.parametrize(
    ("p", "epsilon", "delta"), [(1e-9, 0.3, 0.3), (0.5, 1e-9, 0.3), (1e-9, 1e-9, 5e-324)]
)
def test_the_least_numbers_that_may_be_asked_about(p, epsilon, delta):
    tested = group([30, 10], p, 14, epsilon, delta)
    assert not any(tested.failing(test)[0] for test in (SIMPLE, FULL, "exact_total"))
    assert 0 <= tested.greatest_p(SIMPLE) <= 1
    assert math.isfinite(tested.greatest_epsilon(FULL))
    assert math.copysign(1, estimate(7, 10, 0.5, 14, 0.3).greatest_sizes(SIMPLE, 1.0)[0]) == 1


def test_a_group_without_values_fails_nothing():
    question = ReconstructionQuestion(UniformReplacement(0.5, 3), 0.5, 0.9)
    tested = GroupsUnderTest(counts_of([5, 0, 0], [[0, 0, 0], [5, 0, 0]]), question)
    for test in TESTS:
        assert tested.failing(test).tolist() == [False, True]
        assert tested.log_levels(test)[0] == 0
    nothing = GroupsUnderTest(counts_of([5, 0, 0], [[0, 0, 0]]), question)
    assert (nothing.greatest_p(SIMPLE), nothing.greatest_epsilon(SIMPLE)) == (None, None)


@pytest.mark.parametrize(
    ("with_value", "size", "p", "m", "epsilon"),
    [
        (1, 200_001, 0.9, 10_000, 0.9),
        (3, 200_001, 0.9, 10_000, 0.3),
        (5, 300_000, 0.9, 100_000, 0.1),
        (1, 1_000_000, 0.5, 100_000, 0.3),
        (20, 500_000, 0.8, 1_000, 0.3),
        (100_000, 200_001, 0.5, 14, 0.001),
        (60_000, 300_000, 0.5, 14, 0.02),
        (300_000, 300_000, 0.3, 2, 0.01),
        (250_000, 1_000_000, 0.5, 14, 0.05),
    ],
)
def test_tails_of_large_groups_are_sums_of_every_term(with_value, size, p, m, epsilon):
    """Where few records are drawn as a value, n·c being small, no normal distribution is near."""
    elsewhere = (1 - p) / m
    middle, off = size * elsewhere + with_value * p, with_value * p * epsilon
    shown = np.arange(with_value + 1)
    kept = stats.binom.pmf(shown, with_value, p + elsewhere)
    below, above = math.ceil(middle - off - 1e-9 * size) - 1, math.floor(middle + off + 1e-9 * size) + 1
    low = kept @ stats.binom.cdf(below - shown, size - with_value, elsewhere)
    high = kept @ stats.binom.sf(above - shown - 1, size - with_value, elsewhere)
    found = exact_tails(longs(with_value), longs(size), UniformReplacement(p, m), epsilon)
    assert (found.low[0], found.high[0]) == pytest.approx((low, high), rel=3e-11, abs=1e-280)
    assert low + high > 0


@pytest.mark.deep
@pytest.mark.parametrize(("p", "m"), [(0.5, 14), (0.9, 100_000), (0.1, 50)])
@pytest.mark.parametrize(("with_value", "size"), [(10, 10**7), (6 * 10**6, 10**7), (2 * 10**7, 5 * 10**7)])
@pytest.mark.parametrize("deviations", [0.5, 3.0, 7.0])
def test_tails_of_ten_million_records_are_exact_and_as_near_the_normal_law_as_it_is_sure_to_be(
    with_value, size, p, m, deviations
):
    """By SciPy's laws; and by the inequality of Berry and Esseen, with 0.56 for summands that differ."""
    own = UniformReplacement(p, m)
    mean = size * own.elsewhere + with_value * p
    spread = math.sqrt(
        with_value * own.kept * own.changed + (size - with_value) * own.elsewhere * (1 - own.elsewhere)
    )
    epsilon = deviations * spread / (with_value * p)
    below = math.ceil(mean - deviations * spread - 1e-9 * size) - 1
    above = math.floor(mean + deviations * spread + 1e-9 * size) + 1
    reach = 40 * math.sqrt(with_value * own.kept * own.changed) + 40
    middle = with_value * own.kept
    shown = np.arange(max(0, int(middle - reach)), min(with_value, int(middle + reach)) + 1)
    kept = stats.binom.pmf(shown, with_value, own.kept)
    low = float(kept @ stats.binom.cdf(below - shown, size - with_value, own.elsewhere))
    high = float(kept @ stats.binom.sf(above - shown - 1, size - with_value, own.elsewhere))
    found = exact_tails(longs(with_value), longs(size), own, epsilon)
    # By sums in extended precision ours are within 2e-12, and SciPy's within 3e-10 where c is about 1e-6.
    assert (found.low[0], found.high[0]) == pytest.approx((low, high), rel=1e-9, abs=1e-280)
    normal = stats.norm.cdf([(below + 0.5 - mean) / spread, -(above - 0.5 - mean) / spread])
    assert [found.low[0], found.high[0]] == pytest.approx(normal.tolist(), rel=0, abs=0.56 / spread)
    assert terms_to_sum(longs(with_value), longs(size), own) < size / 10


def test_the_least_tail_of_a_group_of_which_terms_are_left_out_is_that_of_whole_numbers():
    """Of 4,000 records 2,000 have the value; it is kept with ¾ and drawn with ¼: in units of 4⁻⁴⁰⁰⁰."""
    half = 2000
    kept = [math.comb(half, k) * 3**k for k in range(half + 1)]
    up_to = [0, *itertools.accumulate(reversed(kept))]
    low = sum(own * up_to[1750 - k] for k, own in enumerate(kept) if k < 1750)
    found = exact_tails(longs(half), longs(2 * half), UniformReplacement(0.5, 2), 0.25)
    assert found.low[0] == pytest.approx(float(Fraction(low, 4 ** (2 * half))), rel=1e-11)
    assert found.high[0] == pytest.approx(found.low[0], rel=1e-11)
    assert 0 < found.low[0] < 1e-15
    assert terms_to_sum(longs(half), longs(2 * half), UniformReplacement(0.5, 2)) < 4000


def test_what_is_summed_grows_as_the_square_root_of_a_group():
    even = UniformReplacement(0.5, 14)
    small, large = (terms_to_sum(longs(n // 10), longs(n), even) for n in (10**6, 10**8))
    assert 5 < large / small < 11
    assert large < 10**6
    assert terms_to_sum(longs(3, 3, 4), longs(10, 10, 10), even) == 2 * (10 + 2)


def test_groups_of_several_sizes_have_the_tails_that_each_has_alone():
    amounts, sizes = longs(1, 60_000, 3, 40, 1, 5_000), longs(1, 200_000, 7, 5_000, 10**6, 5_000)
    together = exact_tails(amounts, sizes, UniformReplacement(0.7, 14), 0.02)
    for i in range(len(sizes)):
        alone = exact_tails(amounts[i : i + 1], sizes[i : i + 1], UniformReplacement(0.7, 14), 0.02)
        assert (together.low[i], together.high[i]) == pytest.approx((alone.low[0], alone.high[0]), rel=1e-12)


def test_groups_that_fewer_attributes_tell():
    codes = np.array([[1, 1], [1, 2], [2, 3]], dtype=np.int32)
    assert told_by_fewer(codes, (4, 4)).tolist() == [[True, False], [True, False], [True, True]]
    assert told_by_fewer(codes[:, :1][:1], (4,)).tolist() == [[True]]
    assert told_by_fewer(codes[1:, :1], (4,)).tolist() == [[False], [False]]


def groups_of_census(n):
    """The groups of the stand-in census by all attributes but education, and their counts of it."""
    records = census(n)
    known = [j for j in range(7) if j != 2]
    rows = distinct_rows([records[:, j] for j in known], [77, 2, 6, 9, 7, 50], n)
    own = count_values(
        rows.inverse.astype(np.int64), records[:, 2], np.ones(n, dtype=np.int64), rows.size, 14
    )
    totals = np.bincount(records[:, 2], minlength=14)
    return SensitiveCounts(*own, totals, np.arange(1, 15, dtype=np.int32))


@pytest.mark.spec("RP-T12")
def test_the_stand_in_census():
    assert census(3).tolist() == [[60, 1, 1, 1, 0, 0, 11], [22, 0, 0, 0, 0, 0, 35], [64, 0, 4, 1, 0, 3, 28]]
    assert census(1, 299_999).tolist() == [[9, 0, 1, 1, 0, 3, 40]]
    counts = groups_of_census(100_000)
    assert counts.n_classes == 58_330
    tested = GroupsUnderTest(counts, ReconstructionQuestion(UniformReplacement(0.5, 14), 0.5, 0.3))
    assert [int(tested.failing(test).sum()) for test in TESTS] == [150, 215, 9351, 2912]
    assert int(counts.sizes[tested.failing(SIMPLE)].sum()) == 4581


@pytest.mark.deep
@pytest.mark.spec("RP-T12")
def test_violating_groups_of_the_stand_in_census():
    counts = groups_of_census(300_000)
    assert (counts.n_classes, int((counts.sizes == 1).sum()), int(counts.sizes.max())) == (126244, 84025, 142)
    for p, epsilon, delta, simple, full, records in (
        (0.1, 0.5, 0.3, 0, 0, 0),
        (0.3, 0.5, 0.3, 392, 501, 26198),
        (0.5, 0.5, 0.3, 895, 1101, 42532),
        (0.7, 0.5, 0.3, 1388, 1850, 52531),
        (0.9, 0.5, 0.3, 2091, 2696, 62672),
        (0.5, 0.1, 0.3, 0, 0, 0),
        (0.5, 0.3, 0.3, 163, 211, 14073),
        (0.5, 0.7, 0.3, 2085, 2989, 62522),
        (0.5, 0.9, 0.3, 3734, 6226, 78902),
        (0.5, 0.5, 0.14, 464, 613, 29185),
        (0.5, 0.5, 0.22, 669, 855, 36435),
        (0.5, 0.5, 0.38, 1192, 1492, 48972),
        (0.5, 0.5, 0.46, 1516, 1850, 54597),
    ):
        tested = GroupsUnderTest(counts, ReconstructionQuestion(UniformReplacement(p, 14), epsilon, delta))
        failing = tested.failing(SIMPLE)
        assert (int(failing.sum()), int(tested.failing(FULL).sum())) == (simple, full)
        assert int(counts.sizes[failing].sum()) == records
    for n, groups, simple, full, records in (
        (200_000, 95772, 533, 682, 21403),
        (400_000, 152456, 1260, 1553, 66961),
        (500_000, 175629, 1658, 2034, 94044),
    ):
        counts = groups_of_census(n)
        tested = GroupsUnderTest(counts, ReconstructionQuestion(UniformReplacement(0.5, 14), 0.5, 0.3))
        assert counts.n_classes == groups
        assert [int(tested.failing(test).sum()) for test in (SIMPLE, FULL)] == [simple, full]
        assert int(counts.sizes[tested.failing(SIMPLE)].sum()) == records
