"""Shares of values in a group as a reader computes them from uniformly replaced values.

Of n records of which O show a value after uniform replacement, F' = (O / n − c) / p estimates its share
without bias (Wang et al. (2012), lemma 1); it may be below 0 or above 1, and the estimated counts of disjoint
sets of records add up to that of their union (Wang et al. (2012), lemma 4.3). The likeliest shares are other
ones: those that are not negative and under which what is seen is most probable. A value of which F' would be
below 0 has none of them, and the rest are estimated anew without it (Definitions: reconstructed shares).
"""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.classes.reconstruction import UniformReplacement
from app.domain.classes.sensitive_counts import SensitiveCounts


def estimated_shares(shown: Longs, sizes: Longs, replacement: UniformReplacement) -> Floats:
    """F', unbiased, of values that ``shown`` of ``sizes`` records show; never clipped."""
    return np.asarray((shown / sizes - replacement.elsewhere) / replacement.p)


def likeliest_shares(counts: SensitiveCounts, replacement: UniformReplacement) -> Floats:
    """(E,) the likeliest shares in each group of m values, of those that its records show; all others have 0.

    They sum to 1 in each group. Each round leaves out values below what comes of the others by chance alone,
    so that there are at most as many rounds as a group shows values.
    """
    own, of = replacement, counts.of_entry
    is_left: Bools = np.ones(len(of), dtype=bool)
    while True:
        left = np.where(is_left, counts.counts, 0)
        room = 1.0 - own.elsewhere * (own.m - _by_group(counts, is_left.astype(np.int64)))
        expected = left / _by_group(counts, left)[of] * room[of]
        is_absent = is_left & (expected < own.elsewhere)
        if not is_absent.any():
            return np.where(is_left, np.minimum((expected - own.elsewhere) / own.p, 1.0), 0.0)
        is_left &= ~is_absent


def _by_group(counts: SensitiveCounts, numbers: Longs) -> Longs:
    """(G,) the sum of the entries of each group."""
    return np.add.reduceat(np.append(numbers, 0), counts.starts[:-1]) * (counts.distinct > 0)


def variances(amounts: Floats, sizes: Longs, replacement: UniformReplacement) -> Floats:
    """Of n·F' over draws, for n_x = ``amounts`` records of n = ``sizes`` that have the value."""
    own = replacement
    kept, come = own.kept * own.changed, own.elsewhere * (1.0 - own.elsewhere)
    return np.asarray((amounts * kept + (sizes - amounts) * come) / own.p**2)


def standard_errors(shown: Longs, sizes: Longs, replacement: UniformReplacement) -> Floats:
    """Of F' over draws, as a reader knows it: by the estimated count, kept from 0 to n, for the true one."""
    estimated = np.clip(estimated_shares(shown, sizes, replacement), 0.0, 1.0) * sizes
    return np.asarray(np.sqrt(variances(estimated, sizes, replacement)) / sizes)


def standard_errors_of_copies(
    shown: Longs, sizes: Longs, sample_size: int, replacement: UniformReplacement
) -> Floats:
    """The same where at most so many records of a group were sampled, with exact totals, and copied.

    Each of n1 sampled records is published n div n1 times, or once more. With V1 the variance of how many of
    them show the value, β = n / n1 and r = n mod n1, that of n·F' is (β²·V1 + H)/p², where H is what comes of
    the r that are published once more (Definitions: reconstructed shares). How the sample is rounded is not
    known: the most that it may add is taken.
    """
    own, samples = replacement, np.minimum(sizes, sample_size)
    having = np.clip(estimated_shares(shown, sizes, own), 0.0, 1.0) * samples
    mean = having * own.kept + (samples - having) * own.elsewhere
    rounding = np.where(samples < sizes, 0.25, 0.0)
    spread = own.p**2 * (variances(having, samples, own) + rounding)
    more = sizes % samples
    pairs = np.maximum(samples * mean - spread - mean**2, 0.0) / samples**2
    copied = more * (samples - more) / np.maximum(samples - 1, 1) * pairs
    whole = (sizes / samples) ** 2 * spread + copied
    return np.asarray(np.sqrt(whole) / own.p / sizes)


def beliefs_of_own_row(shares: Floats, replacement: UniformReplacement) -> Floats:
    """How probably somebody whose row shows a value has it, if it has these shares in the prior belief.

    f·a / (f·a + (1 − f)·c), by Bayes; the shares are from 0 to 1.
    """
    right = shares * replacement.kept
    return np.asarray(right / (right + (1.0 - shares) * replacement.elsewhere))
