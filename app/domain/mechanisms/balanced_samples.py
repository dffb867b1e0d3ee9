"""Samples of groups that keep their shares, and the copies that bring them back to the size of the group.

Wang et al. (2012), algorithm 1, with rounding that keeps every total exact (Definitions: balanced samples):
of a group of n records n1 are taken, of each value ⌊n1·n_x / n⌋ or one more; of the n1 values drawn for them
each is published n div n1 times, and n mod n1 of them, chosen at random, once more.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.classes.reconstruction import EQUAL, Bound, Estimates
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.mechanisms.mechanism import Bits

BYTES_PER_WORD: Final = 8
MOST: Final = 1 << 53
"""A sample that no group is larger than, where nothing bounds it."""
_HALF: Final = 32


def fixed_size(question: ReconstructionQuestion, bound: Bound) -> int:
    """⌊s(1)⌋: the largest sample that is within the bound whatever its shares are; 0 if none is."""
    one = np.ones(1, dtype=np.int64)
    own = question
    found = Estimates(one, one, own.replacement, own.epsilon).greatest_sizes(bound, own.delta)
    return int(min(np.floor(found[0] * (1 + EQUAL)), MOST))


def balanced_sizes(tops: Longs, sizes: Longs, question: ReconstructionQuestion, bound: Bound) -> Longs:
    """(G,) the largest sample of each group of which every rounding is within its bound; 0 if none is.

    ``tops`` are the records of the most frequent value. A group that is within its bound is taken whole. Of
    samples in which that value is at most k times the largest is the last to be above its bound; where it is,
    so are all others with k, and the largest with k − 1 is next.
    """
    own = question

    def within(amounts: Longs, trials: Longs) -> Bools:
        return Estimates(amounts, trials, own.replacement, own.epsilon).within(bound, own.delta)

    found = np.where(within(tops, sizes), sizes, 0)
    open_groups = np.flatnonzero(found == 0)
    whole = Estimates(tops[open_groups], sizes[open_groups], own.replacement, own.epsilon)
    limits = np.floor(whole.greatest_sizes(bound, own.delta) * (1 + EQUAL))
    trials = np.minimum(limits, sizes[open_groups]).astype(np.int64)
    while len(open_groups := open_groups[trials > 0]):
        trials = trials[trials > 0]
        tops_of_samples = -(-trials * tops[open_groups] // sizes[open_groups])
        fits = within(tops_of_samples, trials)
        found[open_groups[fits]] = trials[fits]
        open_groups, fewer = open_groups[~fits], tops_of_samples[~fits] - 1
        trials = fewer * sizes[open_groups] // tops[open_groups]
    return found


def sampled_counts(counts: SensitiveCounts, samples: Longs, bits: Bits) -> Longs:
    """(E,) how many records of each value are taken, ``samples`` (G,) of each group together.

    Systematic rounding: with S_j the counts up to the value j and one uniform u a group, the value gets
    ⌊n1·S_j / n + u⌋ − ⌊n1·S_{j−1} / n + u⌋, whose mean is n1·n_j / n to within 2⁻³². Takes 8 bytes a group.
    """
    words = np.frombuffer(bits(BYTES_PER_WORD * counts.n_classes), dtype="<u8") >> np.uint64(_HALF)
    of, sizes = counts.of_entry, counts.sizes
    ends = np.cumsum(counts.counts)
    before = (ends - counts.counts)[counts.starts[:-1]]
    up_to = ends - before[of]
    u, n, taken = words.astype(np.int64)[of], sizes[of], samples[of]

    def rounded(sums: Longs) -> Longs:
        whole, rest = np.divmod(taken * sums, n)
        return np.asarray(whole + (u * n + (rest << _HALF) >= n << _HALF))

    return rounded(up_to) - rounded(up_to - counts.counts)


def copies(owners: Longs, sizes: Longs, samples: Longs, bits: Bits) -> Longs:
    """(s,) how often each sampled record is published, all of group g together ``sizes[g]`` times.

    ``owners`` (s,) ascending is the group of each. Takes 8 bytes a record of the groups in which n mod n1 is
    above 0: those with the least words, so many of them, are published once more than the others.
    """
    times, more = np.divmod(sizes, np.maximum(samples, 1))
    found = times[owners]
    unequal = np.flatnonzero(more[owners])
    of = owners[unequal]
    words = np.frombuffer(bits(BYTES_PER_WORD * len(of)), dtype="<u8")
    order = np.lexsort((words, of))
    # In that order the records of a group stand together, the first of which was the first before.
    rank = np.arange(len(of)) - np.searchsorted(of, of)
    found[unequal[order[rank < more[of]]]] += 1
    return np.asarray(found)


def expanded(counts: SensitiveCounts, taken: Longs) -> tuple[Longs, Ints]:
    """(s,) group and value of each record that is taken, groups ascending."""
    owners = np.repeat(counts.of_entry, taken)
    return owners, np.repeat(counts.values, taken).astype(np.int32)
