"""The page that compares what is told of one group: its probabilities, from every possible outcome."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from app.domain.classes.noisy_ratios import tails_of_quotients
from app.domain.classes.reconstruction import Estimates, UniformReplacement
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.mechanisms.balanced_samples import balanced_sizes, fixed_size

PAGE = Path(__file__).parents[3] / "docs" / "reconstruction-privacy.md"
N, TOP, P, M, EPSILON = 102, 73, 0.5, 14, 0.3
OTHERS = (3, 3, 3, *[2] * 10)
C = (1 - P) / M
QUESTION = ReconstructionQuestion(UniformReplacement(P, M), EPSILON, 0.3)
GREATEST = Estimates(np.array([TOP]), np.array([N]), QUESTION.replacement, EPSILON).greatest_sizes(
    "chernoff_simple", 0.3
)[0]


def beyond(shown, rows):
    """Whether estimates are too low, and too high."""
    off = (shown / rows - C) / P / (TOP / N) - 1
    return off < -EPSILON, off > EPSILON


def showing(with_value, sample):
    """How probably so many of a sample show the value."""
    kept = stats.binom.pmf(np.arange(with_value + 1), with_value, P + C)
    return np.convolve(kept, stats.binom.pmf(np.arange(sample - with_value + 1), sample - with_value, C))


def coins(expected) -> Iterator[tuple[int, float]]:
    whole = math.floor(expected)
    yield whole, 1 - (expected - whole)
    yield whole + 1, expected - whole


def of_balanced(sample):
    """The sample has ⌊t⌋ or ⌈t⌉ with the value; of all shown, so many are copied once more by lot."""
    times, more = divmod(N, sample)
    found = np.zeros(2)
    for k, chance in coins(TOP * sample / N):
        for o, probability in enumerate(showing(k, sample)):
            again = np.arange(min(o, more) + 1)
            lots = stats.hypergeom.pmf(again, sample, o, more)
            found += (
                chance * probability * np.array([lots[far].sum() for far in beyond(times * o + again, N)])
            )
    return found


def of_coins():
    """As published: every value has a coin in the sample, and every sampled record one for a further copy."""
    rest, least = np.ones(1), 0
    for own in OTHERS:
        (whole, none), (_, one) = coins(own * GREATEST / N)
        rest, least = np.convolve(rest, [none, one]), least + whole
    found = np.zeros(2)
    for k, chance in coins(TOP * GREATEST / N):
        for more, also in enumerate(rest):
            sample = k + least + more
            if chance * also < 1e-12:
                continue
            times, left = divmod(N, sample)
            for o, probability in enumerate(showing(k, sample)):
                own, other = np.arange(o + 1), np.arange(sample - o + 1)
                both = np.outer(*(stats.binom.pmf(x, len(x) - 1, left / sample) for x in (own, other)))
                shown = (times * o + own)[:, None]
                rows = shown + (times * (sample - o) + other)[None, :]
                weight = chance * also * probability
                found += weight * np.array([both[far].sum() for far in beyond(shown, rows)])
    return found


def of_plain():
    probabilities = showing(TOP, N)
    return np.array([probabilities[far].sum() for far in beyond(np.arange(N + 1), N)])


def of_noise(rate):
    found = tails_of_quotients(np.array([TOP]), np.array([N]), rate, EPSILON)
    return np.array([found.low[0], found.high[0]])


def test_every_probability_of_the_page_is_that_of_all_outcomes():
    assert sum(OTHERS) + TOP == N
    balanced = int(balanced_sizes(np.array([TOP]), np.array([N]), QUESTION, "chernoff_simple")[0])
    assert (balanced, fixed_size(QUESTION, "chernoff_simple"), round(GREATEST)) == (81, 57, 82)
    expected = {
        "noisy counts, λ = 0.1": of_noise(0.1),
        "noisy counts, λ = 0.05": of_noise(0.05),
        "uniform perturbation, p = 0.5": of_plain(),
        "samples, mode `paper`: about 82 records": of_coins(),
        "samples, mode `balanced`: 81 records": of_balanced(81),
        "samples, mode `balanced_fixed`: 57 records": of_balanced(57),
    }
    rows = re.findall(
        r"^\| (.+?) \| ([\d.]+) % \| ([\d.]+) % \| ([\d.]+) % \|$", PAGE.read_text(), re.MULTILINE
    )
    found = {name: (float(low), float(high), float(within)) for name, low, high, within in rows}
    assert found.keys() == expected.keys()
    for name, (low, high) in expected.items():
        assert found[name] == pytest.approx((100 * low, 100 * high, 100 * (1 - low - high)), abs=0.0501)


def test_so_many_samples_as_published_are_above_their_own_bound_as_the_page_says():
    above = 0.0
    for parts in itertools.product(*(coins(own * GREATEST / N) for own in (TOP, *OTHERS))):
        counts = [k for k, _ in parts]
        own = Estimates(np.array([max(counts)]), np.array([sum(counts)]), QUESTION.replacement, EPSILON)
        if not own.within("chernoff_simple", QUESTION.delta)[0]:
            above += math.prod(chance for _, chance in parts)
    assert f"{100 * above:.1f} % of the samples" in " ".join(PAGE.read_text().split())
