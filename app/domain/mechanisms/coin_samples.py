"""Samples of groups, and their copies, rounded by coins that know nothing of one another.

Wang et al. (2012), algorithm 1, as published: of a group of n records of which at most s may be drawn, a
value of n_x records is taken ⌊n_x·s / n⌋ times, and once more with the probability that is left over; each of
the n1 values that are drawn for these is published ⌊n / n1⌋ times, and once more with the probability that is
left over. How many records are drawn is therefore chance, as is how many are published (Definitions: samples
of random size).
"""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.reconstruction import Bound, Estimates
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.mechanisms.balanced_samples import BYTES_PER_WORD
from app.domain.mechanisms.mechanism import Bits


def coin_limits(tops: Longs, sizes: Longs, question: ReconstructionQuestion, bound: Bound) -> Floats:
    """(G,) the real number of records that may be drawn of each group, ∞ of one that is within its bound.

    ``tops`` are the records of the most frequent value.
    """
    found = Estimates(tops, sizes, question.replacement, question.epsilon)
    limits = found.greatest_sizes(bound, question.delta)
    return np.where(found.within(bound, question.delta), np.inf, limits)


def expected_counts(counts: SensitiveCounts, limits: Floats) -> Floats:
    """(E,) how many records of each value are taken in the mean, of ``limits`` (G,) records of each group.

    All of a group that is no larger than its limit, which may be ∞.
    """
    share = np.minimum(1.0, limits / counts.sizes)
    return np.asarray(counts.counts * share[counts.of_entry])


def chances_of_nothing(counts: SensitiveCounts, limits: Floats) -> Floats:
    """(G,) the probability that no record of a group is taken; 0 where some value is taken surely."""
    with np.errstate(divide="ignore"):
        none = np.log1p(-np.minimum(expected_counts(counts, limits), 1.0))
    return np.asarray(np.exp(np.add.reduceat(none, counts.starts[:-1])))


def coin_sampled_counts(counts: SensitiveCounts, limits: Floats, bits: Bits) -> Longs:
    """(E,) how many records of each value are taken. Takes 8 bytes a value of a group."""
    whole, rest = np.divmod(expected_counts(counts, limits), 1.0)
    return np.asarray(whole.astype(np.int64) + (_uniform(len(whole), bits) < rest))


def coin_copies(owners: Longs, sizes: Longs, bits: Bits) -> Longs:
    """(s,) how often each sampled record is published, ``sizes[g]`` of group g together in the mean.

    ``owners`` (s,) is the group of each. Takes 8 bytes a record.
    """
    samples = np.bincount(owners, minlength=len(sizes))
    times, more = np.divmod(sizes, np.maximum(samples, 1))
    coins = _uniform(len(owners), bits) * samples[owners] < more[owners]
    return np.asarray(times[owners] + coins)


def _uniform(n: int, bits: Bits) -> Floats:
    """(n,) in [0, 1), multiples of 2⁻⁵³."""
    words = np.frombuffer(bits(BYTES_PER_WORD * n), dtype="<u8") >> np.uint64(11)
    return np.ldexp(words.astype(np.float64), -53)
