"""What copies of a sample tell of a share: every outcome of small groups, by loops and in fractions."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.reconstruction import Estimates, UniformReplacement
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.classes.reconstruction_tails import exact_tails
from app.domain.mechanisms.sampled_tails import SUPPRESSED, coins, of_coin_sample, of_exact_sample
from tests.oracles.effort import examples

SIMPLE = "chernoff_simple"


def question(p, m, epsilon, delta=0.3):
    return ReconstructionQuestion(UniformReplacement(p, m), epsilon, delta)


def limit(counts, asked):
    top, size = np.array([max(counts)]), np.array([sum(counts)])
    found = Estimates(top, size, asked.replacement, asked.epsilon)
    return float(found.greatest_sizes(SIMPLE, asked.delta)[0])


def binomial(n, k, chance):
    return math.comb(n, k) * chance**k * (1 - chance) ** (n - k)


def showing(having, sample, asked):
    """How probably so many of the sample show the value, from 0 on."""
    p, m = Fraction(asked.replacement.p), asked.replacement.m
    c = (1 - p) / m
    found = [Fraction(0)] * (sample + 1)
    for kept in range(having + 1):
        for come in range(sample - having + 1):
            found[kept + come] += binomial(having, kept, p + c) * binomial(sample - having, come, c)
    return found


def judged(shown, rows, share, asked):
    """(too low, too high) of an estimate."""
    p, epsilon = Fraction(asked.replacement.p), Fraction(str(asked.epsilon))
    off = (Fraction(shown, rows) - (1 - p) / asked.replacement.m) / p - share
    return off < -epsilon * share, off > epsilon * share


def rounded(exact):
    """(whole number, probability) of a number that is rounded by a coin."""
    whole = math.floor(exact)
    return [(whole, 1 - (exact - whole)), (whole + 1, exact - whole)]


def exactly(amount, size, sample, asked):
    """(too low, too high, mean square error of the count) by every outcome."""
    share, found = Fraction(amount, size), [Fraction(0)] * 3
    times, more = divmod(size, sample)
    p = Fraction(asked.replacement.p)
    c = (1 - p) / asked.replacement.m
    for having, chance in rounded(Fraction(amount * sample, size)):
        if not chance:
            continue
        for o, probability in enumerate(showing(having, sample, asked)):
            for again in range(min(o, more) + 1):
                if more - again > sample - o:
                    continue
                lots = Fraction(math.comb(o, again) * math.comb(sample - o, more - again))
                weight = chance * probability * lots / math.comb(sample, more)
                shown = times * o + again
                for i, far in enumerate(judged(shown, size, share, asked)):
                    found[i] += weight * far
                found[2] += weight * ((shown - size * c) / p - amount) ** 2
    return [float(own) for own in found]


@pytest.mark.parametrize(
    ("amount", "size", "sample"), [(7, 10, 10), (7, 10, 4), (7, 10, 7), (3, 9, 1), (11, 11, 5), (1, 12, 5)]
)
@pytest.mark.parametrize(("p", "m", "epsilon"), [(0.5, 3, 0.3), (0.25, 4, 0.9), (0.75, 2, 0.5)])
def test_exact_samples_are_all_outcomes(amount, size, sample, p, m, epsilon):
    asked = question(p, m, epsilon)
    low, high, square = exactly(amount, size, sample, asked)
    found = of_exact_sample(amount, size, sample, asked)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-13)
    assert found.error == pytest.approx(math.sqrt(square) / amount)
    assert (found.sample, found.nothing, found.above_bound) == (sample, 0, 0)


def by_coins(counts, place, mean, asked):
    """The same, what is published of nobody, and samples above their bound, of a sample as published."""
    size, amount = sum(counts), counts[place]
    share, found = Fraction(amount, size), [Fraction(0)] * 5
    p, taken = Fraction(asked.replacement.p), Fraction(mean) / size
    c = (1 - p) / asked.replacement.m
    for outcome in itertools.product(*(rounded(own * taken) for own in counts)):
        drawn, chance = [k for k, _ in outcome], math.prod((own for _, own in outcome), start=Fraction(1))
        sample, having = sum(drawn), drawn[place]
        if not chance:
            continue
        if not sample:
            found[2] += chance * amount**2
            found[3] += chance
            continue
        if sample > limit(drawn, asked) * (1 + 1e-12):
            found[4] += chance
        times, more = divmod(size, sample)
        again = Fraction(more, sample)
        for o, probability in enumerate(showing(having, sample, asked)):
            for u in range(o + 1):
                for v in range(sample - o + 1):
                    weight = chance * probability * binomial(o, u, again) * binomial(sample - o, v, again)
                    shown, rows = times * o + u, times * sample + u + v
                    for i, far in enumerate(judged(shown, rows, share, asked)):
                        found[i] += weight * far
                    found[2] += weight * ((shown - rows * c) / p - amount) ** 2
    return [float(own) for own in found]


@pytest.mark.parametrize(
    ("counts", "place", "p", "m", "epsilon", "delta"),
    [
        ((7, 2, 2), 0, 0.5, 4, 0.9, 0.5),
        ((7, 2, 2), 1, 0.5, 4, 0.9, 0.5),
        ((4, 4, 3), 2, 0.75, 3, 0.9, 0.4),
        ((9,), 0, 0.75, 2, 0.9, 0.5),
        ((5, 1), 0, 0.75, 2, 0.9, 0.9),  # often nobody is drawn
    ],
)
def test_samples_as_published_are_all_outcomes(counts, place, p, m, epsilon, delta):
    asked = question(p, m, epsilon, delta)
    mean = limit(counts, asked)
    assert mean < sum(counts)
    low, high, square, nothing, above = by_coins(counts, place, mean, asked)
    found = of_coin_sample(np.array(counts), place, mean, asked, SIMPLE)
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-12)
    assert (found.nothing, found.above_bound) == pytest.approx((nothing, above), abs=1e-12)
    assert found.error == pytest.approx(math.sqrt(square) / counts[place])


@given(st.integers(1, 400), st.integers(0, 2000), st.sampled_from([0.1, 0.5, 0.9]), st.sampled_from([2, 14]))
@settings(max_examples=examples(30))
def test_of_all_records_it_is_plain_perturbation(amount, rest, p, m):
    asked = question(p, m, 0.3)
    tails = exact_tails(np.array([amount]), np.array([amount + rest]), asked.replacement, 0.3)
    found = of_exact_sample(amount, amount + rest, amount + rest, asked)
    assert (found.low, found.high) == pytest.approx((tails.low[0], tails.high[0]), abs=1e-13)


@pytest.mark.parametrize(
    ("counts", "p", "epsilon", "above"),
    [
        ((100, 300), 0.5, 0.3, 0.606),
        ((900, 20, 20, 20, 10, 10, 10, 10), 0.5, 0.3, 0.757),
        ((30, 30, 30, 30), 0.5, 0.5, 0.997),
        ((50,), 0.5, 0.5, 0.640),
        ((5, 15), 0.7, 0.5, 0.321),
    ],
)
def test_so_many_samples_as_published_are_above_their_bound(counts, p, epsilon, above):
    asked = question(p, 14, epsilon)
    place = int(np.argmax(counts))
    found = of_coin_sample(np.array(counts), place, limit(counts, asked), asked, SIMPLE)
    assert found.above_bound == pytest.approx(above, abs=5e-4)


def test_large_samples_are_near_the_normal_law():
    """Of 25,551 drawn of a million: tails are those of the normal law to a hundredth of a percent or so."""
    asked = question(0.1, 50, 0.05)
    found = of_exact_sample(510_000, 1_000_000, 25_551, asked)
    normal = math.erfc(0.05 / found.error / math.sqrt(2))
    assert found.low + found.high == pytest.approx(normal, abs=5e-4)


def test_nobody_drawn_is_nothing_told():
    assert of_exact_sample(3, 4, 0, question(0.5, 2, 0.3)) == SUPPRESSED
    assert coins(np.array([0.0, 0.5, 1.0])).tolist() == [0, 0.5, 0.5, 0]
