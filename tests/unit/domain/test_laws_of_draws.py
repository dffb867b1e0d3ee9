"""Whole draws of small tables against their exact laws by hand: χ², p < 1e-4 rejects, all streams seeded."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from scipy.stats import binom, chi2

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.laplace_histogram import LAPLACE_HISTOGRAM, LaplaceHistogram
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.sampled_generalisation_published import (
    SAMPLED_GENERALISATION_PUBLISHED,
    SampledGeneralisationPublished,
)
from app.domain.mechanisms.stability_histogram import STABILITY_HISTOGRAM, StabilityHistogram
from app.domain.tables.table import Table
from tests.oracles.noise_by_hand import chance_from, chance_of_noise
from tests.oracles.perturbation_by_hand import stream

REJECTED = 1e-4
RUNS = 10_000
DRAWS = 600
EPSILON = 1.0
STABLE = {"epsilon": EPSILON, "delta": 0.01, "least_records": 1}
PUBLIC = frozenset({"release", "leaf"})
LEAVES = Hierarchy.from_parents({"a": [None], "b": [None]})
COUNTS = (4, 6)
"""How many records have a, and how many b."""


def is_likely(seen, law):
    """Of outcomes that are drawn independently; what is expected less than ten times counts as one."""
    runs = sum(seen.values())
    common = {outcome: runs * p for outcome, p in law.items() if runs * p >= 10}
    rest = runs - math.fsum(common.values())
    found = [(seen[outcome], n) for outcome, n in common.items()]
    found += [(runs - sum(own for own, _ in found), rest)] if rest >= 10 else []
    assert len(found) > 5
    return sum((own - n) ** 2 / n for own, n in found) < chi2.isf(REJECTED, len(found) - 1)


def releases(mechanism, asked):
    """How often each of many tables, drawn together as the values of one more attribute, shows (⊥, a, b)."""
    each = Hierarchy.from_parents({f"r{at:05}": [None] for at in range(RUNS)})
    leaves = [LEAVES.node_of("a")] * COUNTS[0] + [LEAVES.node_of("b")] * COUNTS[1]
    codes = np.stack([np.repeat(each.leaves, sum(COUNTS)), np.tile(leaves, RUNS)], axis=1).astype(np.int32)
    names = ("release", "leaf")
    context = MechanismContext(Table(names, (each, LEAVES), codes), public=PUBLIC)
    release, leaf = mechanism.draw(context, asked, stream("whole draws")).columns
    shown = np.zeros((each.n_nodes, LEAVES.n_nodes), dtype=int)
    np.add.at(shown, (release, leaf), 1)
    return Counter(map(tuple, shown[each.leaves].tolist()))


def from_threshold(n, least):
    law = {value: chance_of_noise(EPSILON, value - n) for value in range(least, n + 40)}
    return {0: 1 - chance_from(EPSILON, least - n), **law}


def above_zero(n):
    return {0: chance_from(EPSILON, n), **{v: chance_of_noise(EPSILON, v - n) for v in range(1, n + 40)}}


def together(*laws):
    found = {(): 1.0}
    for law in laws:
        found = {(*own, value): p * chance for own, p in found.items() for value, chance in law.items()}
    return found


def stable(**more):
    asked = StabilityHistogram(**STABLE, **more)
    return asked, lambda n: from_threshold(n, asked.threshold)


@pytest.mark.spec("DN-5.6", "DN-10")
def test_whole_draws_of_histograms_have_their_law():
    """With a dictionary of ten entities at a and one at b, λ = ½: b becomes ⊥, a does not."""
    (a, b), nothing = COUNTS, {0: 1.0}
    laplace = releases(LAPLACE_HISTOGRAM, LaplaceHistogram(epsilon=EPSILON))
    assert is_likely(laplace, together(above_zero(0), above_zero(a), above_zero(b)))
    asked, law = stable()
    plain = releases(STABILITY_HISTOGRAM, asked)
    assert is_likely(plain, together(nothing, law(a), law(b)))
    known = {"leaf": ("a",) * 10 + ("b",)}
    asked, law = stable(dictionary=known, trade_off=0.5, sensitivity={"release": (0, 0), "leaf": (0, 0)})
    chosen = releases(STABILITY_HISTOGRAM, asked)
    assert is_likely(chosen, together(law(b), law(a), nothing))
    # What is a little off is told apart.
    assert not is_likely(plain, together(nothing, law(a), law(b + 1)))
    assert not is_likely(laplace, together(above_zero(1), above_zero(a), above_zero(b)))


@pytest.mark.spec("DN-3.3", "DN-10")
def test_whole_draws_of_the_published_sample_have_their_law():
    """One θ a draw: up to 60/160 both leaves are frequent, up to 100/160 a is; then ⊥ is all that is left."""
    m, a, b, rate, least, trade_off, epsilon = 160, 100, 60, 0.4, 0.2, 0.3, 2.0
    asked = SampledGeneralisationPublished(
        epsilon=epsilon, delta=0.006, sampling_rate=rate, least_records=m, least_share=least,
        trade_off=trade_off, sensitivity={"leaf": (0.1, 1.0)}, phi_offset=0.0,
    )  # fmt: skip
    codes = np.repeat([LEAVES.node_of("a"), LEAVES.node_of("b")], [a, b]).astype(np.int32)[:, None]
    context, bits = MechanismContext(Table(("leaf",), (LEAVES,), codes), public=PUBLIC), stream("samples")
    drawn = [SAMPLED_GENERALISATION_PUBLISHED.draw(context, asked, bits).columns[0] for _ in range(DRAWS)]
    shown = np.array([np.bincount(own[:-1], minlength=3) for own in drawn]) // 4  # The last row is always ⊥.

    def laws(theta_0, s):
        """Of how many rows show both leaves, and of how many show ⊥, in fours."""
        exponent = (epsilon + math.log(1 - rate)) / (3 * 2 * (trade_off / 0.1 + 1) * rate)
        at = [s / (1 + math.exp(exponent * (trade_off / 0.1 - trade_off * n / m - 1 / m))) for n in (a, b)]
        of_leaves, of_root, fours = np.zeros((a // 4 + 1, b // 4 + 1)), np.zeros(m + 1), np.arange(m + 1) // 4
        for width, p in ((b / m - theta_0, at), ((a - b) / m, [at[0], 0]), (1 - a / m, [0, 0])):
            each = [
                np.bincount(fours[: n + 1], binom.pmf(range(n + 1), n, q))
                for n, q in zip((a, b), p, strict=True)
            ]
            of_leaves += width / (1 - theta_0) * np.outer(*each)
            rest = [binom.pmf(range(n + 1), n, s - q) for n, q in zip((a, b), p, strict=True)]
            of_root += width / (1 - theta_0) * np.convolve(*rest)
        return dict(np.ndenumerate(of_leaves)), dict(enumerate(np.bincount(fours, of_root)))

    of_leaves, of_root = Counter(map(tuple, shown[:, 1:].tolist())), Counter(shown[:, 0].tolist())
    leaves, root = laws(least, rate)
    assert is_likely(of_leaves, leaves)
    assert is_likely(of_root, root)
    for off in ((0.35, rate), (least, 0.37)):
        assert not (is_likely(of_leaves, laws(*off)[0]) and is_likely(of_root, laws(*off)[1]))
