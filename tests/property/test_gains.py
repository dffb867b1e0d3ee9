"""Gains of readers against loops; what putting classes together does to them; what must hold of any class."""

import math
from fractions import Fraction

import numpy as np
import pytest

from app.domain.classes import gains as domain
from app.domain.classes import necessary
from app.domain.classes.gains import Gains
from app.domain.classes.ratios import as_written
from tests.oracles import closeness_by_hand as by_hand
from tests.oracles.closeness_by_hand import counts_of
from tests.oracles.effort import examples

BETAS = (0.1, 0.25, 0.5, 1, 1.5, 2, 3, 7)
BOUNDS = ("enhanced", "basic")


def instance(rng, n_values=None):
    n_values = int(rng.integers(1, 7)) if n_values is None else n_values
    return by_hand.random_classes(rng, n_values, int(rng.integers(1, 6)), int(rng.choice([1, 3, 9])))


def check_against_loops(wanted, seed):
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        totals, classes = instance(rng)
        counts = counts_of(totals, classes)
        found = Gains.of(counts)
        by_loop = [by_hand.gains(totals, c) for c in classes]
        greatest = [float(max(0, *own)) for own in by_loop]
        assert domain.greatest_gains(counts, found).tolist() == pytest.approx(greatest, rel=1e-15)
        lost = [float(max(0, *(-gain for gain in own))) for own in by_loop]
        assert domain.greatest_losses(counts, found).tolist() == pytest.approx(lost, rel=1e-15)
        for absent_count in (True, False):
            ratios = [by_hand.greatest_ratio(totals, c, absent_count) for c in classes]
            ours = domain.greatest_ratios(counts, found, absent_count).tolist()
            assert ours == pytest.approx(ratios, abs=1e-14)
        for bound in BOUNDS:
            for beta in map(as_written, BETAS):
                like = [by_hand.like(totals, c, beta, bound) for c in classes]
                assert (~domain.unlike(counts, beta, bound)).tolist() == like
        for delta in (0.5, 1, 1.0986, 2):
            inside = [by_hand.greatest_ratio(totals, c) < delta for c in classes]
            assert (~domain.disclosing(counts, as_written(delta), "e")).tolist() == inside


def test_gains_are_those_of_the_definitions():
    check_against_loops(examples(120), 1)


@pytest.mark.deep
def test_gains_are_those_of_the_definitions_thousands_of_times():
    check_against_loops(1500, 2)


def check_merging(wanted, seed):
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        totals, classes = instance(rng)
        pair = counts_of(totals, [np.sum(classes[:2], axis=0).tolist()])
        parts = counts_of(totals, classes[:2])
        for score in (domain.greatest_gains, domain.greatest_losses, domain.greatest_ratios):
            merged, apart = score(pair, Gains.of(pair)), score(parts, Gains.of(parts))
            assert merged[0] <= max(apart) + 1e-12
        for beta in BETAS:
            for bound in BOUNDS:
                if not domain.unlike(parts, as_written(beta), bound).any():
                    assert not domain.unlike(pair, as_written(beta), bound).any()
            if not domain.disclosing(parts, as_written(beta), "2").any():
                assert not domain.disclosing(pair, as_written(beta), "2").any()


@pytest.mark.spec("BL-L1")
def test_putting_classes_together_never_raises_a_gain():
    check_merging(examples(60), 3)


@pytest.mark.deep
@pytest.mark.spec("BL-L1")
def test_putting_classes_together_never_raises_a_gain_thousands_of_times():
    check_merging(1500, 4)


def all_classes(totals):
    """Every class that values with these totals can make."""
    grid = np.stack(np.meshgrid(*(range(n + 1) for n in totals), indexing="ij"), axis=-1)
    found = grid.reshape(-1, len(totals))
    return found[found.sum(axis=1) > 0]


def small_totals(rng):
    return rng.integers(1, 7, int(rng.integers(1, 5)))


@pytest.mark.spec("BL-L4", "BL-L6")
@pytest.mark.parametrize("bound", BOUNDS)
def test_every_class_that_passes_has_as_many_records_and_values_as_promised(bound):
    rng = np.random.default_rng(5)
    for _ in range(examples(20)):
        totals = small_totals(rng)
        beta = as_written(float(rng.choice(BETAS)))
        shares = domain.frequency_bounds(totals, int(totals.sum()), beta, bound)
        values = necessary.least_values(shares, 1.0)
        size = necessary.least_size(necessary.fills_up(totals, shares), totals)
        classes = all_classes(totals)
        passing = classes[~domain.unlike(counts_of(totals, classes.tolist()), beta, bound)]
        sizes = passing.sum(axis=1)
        assert sizes.min() == size
        assert size >= 1 / max(shares) - 1e-9
        assert ((passing > 0).sum(axis=1) >= values).all()
        for value, most in enumerate(shares.tolist()):
            assert (sizes[passing[:, value] > 0] >= 1 / most - 1e-9).all()
        assert (sizes / passing.max(axis=1) >= 1 / max(shares) - 1e-9).all()


@pytest.mark.spec("BL-L5")
@pytest.mark.parametrize("bound", BOUNDS)
def test_every_class_of_the_size_that_is_always_enough_passes(bound):
    """L5; it need not be the least such size."""
    rng = np.random.default_rng(6)
    for _ in range(examples(20)):
        totals = small_totals(rng)
        beta = float(rng.choice(BETAS))
        enough = domain.always_within(totals, beta, bound)
        classes = all_classes(totals)
        large = classes[classes.sum(axis=1) >= enough]
        assert len(large)
        assert not domain.unlike(counts_of(totals, large.tolist()), as_written(beta), bound).any()


@pytest.mark.spec("BL-L8")
def test_a_group_of_values_has_at_most_the_sum_of_their_bounds():
    """Basic β-likeness is inherited by every group, the enhanced one is not: q(S) ≤ Σ f(p_i)."""
    rng = np.random.default_rng(7)
    broken = 0
    for _ in range(examples(30)):
        totals = small_totals(rng)
        beta = float(rng.choice(BETAS))
        classes = all_classes(totals)
        counts = counts_of(totals, classes.tolist())
        group = rng.random(len(totals)) < 0.5
        share, whole = classes[:, group].sum(axis=1) / classes.sum(axis=1), totals[group].sum() / totals.sum()
        for bound in BOUNDS:
            passing = ~domain.unlike(counts, as_written(beta), bound)
            limits = domain.frequency_bounds(totals, int(totals.sum()), as_written(beta), bound)
            assert (share[passing] <= limits[group].sum() + 1e-12).all()
            if bound == "basic":
                assert (share[passing] <= (1 + beta) * whole + 1e-12).all()
            elif 0 < whole < 1:
                broken += (share[passing] > whole * (1 - math.log(whole)) * (1 + 1e-9)).any()
    assert broken


def check_parts(wanted, seed):
    """How much of a class can pass in whatever parts, by trying every part."""
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        totals, classes = instance(rng, int(rng.integers(1, 4)))
        totals_array, beta = np.array(totals), as_written(float(rng.choice(BETAS)))
        bound = BOUNDS[int(rng.integers(2))]
        shares = domain.frequency_bounds(totals_array, sum(totals), beta, bound)
        most = necessary.most_passing(counts_of(totals, classes), shares, 1.0)
        for vector, limit in zip(classes, most.tolist(), strict=True):
            parts = all_classes(vector)
            parts = parts[parts.sum(axis=1) > limit]
            assert domain.unlike(counts_of(totals, parts.tolist()), beta, bound).all()


def test_no_part_of_a_class_that_is_larger_can_pass():
    check_parts(examples(60), 8)


@pytest.mark.deep
def test_no_part_of_a_class_that_is_larger_can_pass_thousands_of_times():
    check_parts(1500, 9)


def test_every_class_within_delta_has_all_values_and_the_promised_size():
    rng = np.random.default_rng(10)
    for _ in range(examples(20)):
        totals = small_totals(rng)
        delta = as_written(float(rng.choice([0.3, 0.7, 1.0, 2.0])))
        factor = domain.delta_factor(delta, "e")
        size = necessary.least_size(necessary.fills_between(totals, float(factor)), totals)
        classes = all_classes(totals)
        passing = classes[~domain.disclosing(counts_of(totals, classes.tolist()), delta, "e")]
        assert (passing > 0).all()
        assert passing.sum(axis=1).min() >= size


def test_delta_disclosure_implies_the_likeness_it_is_chosen_for():
    """δ = ln(1 + min(β, −ln p_max)) implies enhanced β-likeness (8.3)."""
    rng = np.random.default_rng(11)
    for _ in range(examples(30)):
        totals = small_totals(rng)
        beta = float(rng.choice(BETAS))
        delta = domain.implied_delta(totals, beta)
        classes = all_classes(totals)
        counts = counts_of(totals, classes.tolist())
        inside = domain.greatest_ratios(counts, Gains.of(counts)) < delta - 1e-12
        assert not (inside & domain.unlike(counts, as_written(beta), "enhanced")).any()


def test_ties_at_the_bound_pass_and_the_next_record_fails():
    """Exact numbers: 11 of 30 is (1 + 0.1) · 10 of 30, though 1.1 is no binary fraction."""
    totals = [100, 200]
    counts = counts_of(totals, [[11, 19], [12, 18], [10, 20]])
    assert domain.unlike(counts, as_written(0.1), "enhanced").tolist() == [False, True, False]


def test_ratios_that_are_the_binary_bound_fail():
    """δ-disclosure is strict: a value exactly twice as likely has |log2| = 1, which is not below 1."""
    counts = counts_of([1, 3], [[1, 1], [1, 2], [3, 13]])
    assert domain.disclosing(counts, Fraction(1), "2").tolist() == [True, False, False]
    assert domain.disclosing(counts, Fraction(10001, 10000), "2").tolist() == [False, False, False]
    halves = counts_of([2, 2], [[1, 3]])
    assert domain.disclosing(halves, Fraction(1), "2").tolist() == [True]
