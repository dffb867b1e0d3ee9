"""Whether samples may be of one distribution: the chi-square test of homogeneity of two of them.

With R_j and S_j the counts of value j in two samples of R and S in all, over values that either has,

    X² = Σ (√(S/R)·R_j − √(R/S)·S_j)² / (R_j + S_j)

has about the chi-square law with one degree of freedom fewer than such values, if both are of one
distribution. That is Pearson's statistic of the table of two rows. The law is a poor one where fewer than 5
are expected of some value in either sample.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Longs

LEAST_EXPECTED: Final = 5.0
"""Fewer expected records of a value make the law a poor one."""


def homogeneity(left: Longs, right: Longs) -> tuple[Floats, Longs, Bools]:
    """(k,) statistics and degrees of freedom of pairs of counts (k, m), and whether the law is a poor one.

    No sample is empty.
    """
    r, s = left.sum(axis=1, keepdims=True), right.sum(axis=1, keepdims=True)
    both = left + right
    occurs = both > 0
    parts = (np.sqrt(s / r) * left - np.sqrt(r / s) * right) ** 2 / np.where(occurs, both, 1)
    least = np.where(occurs, both, np.inf).min(axis=1) * np.minimum(r, s)[:, 0] / (r + s)[:, 0]
    freedom = occurs.sum(axis=1).astype(np.int64) - 1
    return np.where(occurs, parts, 0.0).sum(axis=1), freedom, np.asarray(least < LEAST_EXPECTED)


def chi_square_tail(statistics: Floats, freedom: Longs) -> Floats:
    """(k,) the probability of at least each statistic with so many degrees of freedom; 1 of none.

    Finite sums of positive terms: e^(−h)·Σ_i h^i / i! for an even number of degrees, h half of the statistic,
    and erfc(√h) + e^(−h)·Σ_i h^(i − ½) / Γ(i + ½) for an odd one.
    """
    found = np.ones(len(statistics))
    for degrees in np.unique(freedom[freedom > 0]).tolist():
        places = np.flatnonzero((freedom == degrees) & (statistics > 0))
        half = statistics[places, None] / 2
        odd = degrees % 2
        powers = np.arange(degrees // 2) + odd / 2
        scale = np.array([math.lgamma(power + 1) for power in powers])
        total = np.exp(powers * np.log(half) - half - scale).sum(axis=1)
        if odd:
            total += np.array([math.erfc(math.sqrt(own)) for own in half[:, 0].tolist()])
        found[places] = np.minimum(total, 1.0)
    return found
