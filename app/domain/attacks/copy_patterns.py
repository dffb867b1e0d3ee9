"""What the copies of samples tell: how large each sample was, and what share its size followed from.

A group of n records is published in ⌊n / n1⌋ copies of each of n1 sampled values, or one more. All counts of
values are then between B and B + 1 times a whole number, for B = ⌊n / n1⌋, and the largest such B tells n1 to
about one in 2·B, unless counts of this size fit it by chance: all from B·(B − 1) on do. Where the size is the
greatest that the group's most frequent value allows, it falls as that value's share grows, so that it tells
the share (Definitions: sizes of samples).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.reconstruction import Bound, Estimates
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.classes.sensitive_counts import SensitiveCounts, least_by_class

FACTORS_AT_ONCE: Final = 1024
_WHOLE: Final = 1 << 40
"""Shares are tried as whole numbers of so many parts."""


def copy_factors(counts: SensitiveCounts, most: Longs) -> Longs:
    """(G,) the largest B, at most ``most`` (G,), such that every count is from B·k to (B + 1)·k for some k.

    0 where ``most`` is.
    """
    least = least_by_class(counts, counts.counts, int(counts.counts.max(initial=1)))
    found, most = np.minimum(most, 1), np.minimum(most, least)
    for group in np.flatnonzero(most > 1).tolist():
        own = counts.counts[counts.starts[group] : counts.starts[group + 1]]
        found[group] = _factor(own, int(most[group]))
    return found


def chance_of_fitting(counts: Floats, factor: int, most: int) -> float:
    """How many B from ``factor`` to ``most`` these counts would fit by chance, as far as 1.

    Of all counts from B·k to B·(k + 1) the k + 1 first ones fit B, and every count from B·(B − 1) on does.
    The least count is left out: it fits itself.
    """
    rest, least = np.sort(counts)[1:], float(counts.min())
    factors = np.arange(factor, min(most, int(least)) + 1)
    chances = np.minimum(1.0, (np.floor_divide.outer(rest, factors) + 1.0) / factors)
    return min(1.0, float(chances.prod(axis=0).sum()))


def _factor(counts: Longs, most: int) -> int:
    """B = 1 always fits."""
    for start in range(most, 0, -FACTORS_AT_ONCE):
        factors = np.arange(start, max(start - FACTORS_AT_ONCE, 0), -1)
        # Some k is from o / (B + 1), rounded up, to o / B, rounded down.
        fits = -np.floor_divide.outer(-counts, factors + 1) <= np.floor_divide.outer(counts, factors)
        every = np.flatnonzero(fits.all(axis=0))
        if len(every):
            return int(factors[every[0]])
    return 1


def shares_of_sizes(sizes: Floats, question: ReconstructionQuestion, bound: Bound) -> Floats:
    """(k,) of which share of a most frequent value these are the greatest samples, by halving; 1 of fewer.

    The greatest sample falls as the share grows, so that 1 stands for every one that is at most that of 1.
    """
    low, high = np.zeros(len(sizes), dtype=np.int64), np.full(len(sizes), _WHOLE)
    whole, own = np.full(len(sizes), _WHOLE), question
    while (high - low > 1).any():
        middle = np.maximum((low + high) // 2, 1)
        tried = Estimates(middle, whole, own.replacement, own.epsilon)
        is_larger = tried.greatest_sizes(bound, own.delta) > sizes
        low, high = np.where(is_larger, middle, low), np.where(is_larger, high, middle)
    return np.asarray(high / _WHOLE)
