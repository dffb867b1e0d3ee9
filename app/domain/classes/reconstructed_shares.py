"""Shares of values in a group as a reader computes them from uniformly replaced values.

Of n records of which O show a value after uniform replacement, F' = (O / n − c) / p estimates its share
without bias (Wang et al. (2012), lemma 1); it may be below 0 or above 1, and the estimated counts of disjoint
sets of records add up to that of their union (Wang et al. (2012), lemma 4.3). The likeliest shares are other
ones: those that are not negative and under which what is seen is most probable. A value of which F' would be
below 0 has none of them, and the rest are estimated anew without it (Definitions: reconstructed shares).
"""

from __future__ import annotations

from dataclasses import dataclass

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


def variances(amounts: Floats, sizes: Longs | Floats, replacement: UniformReplacement) -> Floats:
    """Of n·F' over draws, for n_x = ``amounts`` records of n = ``sizes`` that have the value."""
    own = replacement
    kept, come = own.kept * own.changed, own.elsewhere * (1.0 - own.elsewhere)
    return np.asarray((amounts * kept + (sizes - amounts) * come) / own.p**2)


def standard_errors(shown: Longs, sizes: Longs, replacement: UniformReplacement) -> Floats:
    """Of F' over draws, as a reader knows it: by the estimated count, kept from 0 to n, for the true one."""
    estimated = np.clip(estimated_shares(shown, sizes, replacement), 0.0, 1.0) * sizes
    return np.asarray(np.sqrt(variances(estimated, sizes, replacement)) / sizes)


@dataclass(frozen=True, eq=False)
class CopiedRows:
    """Rows of several groups, of each of which at most so many records were sampled, with exact totals.

    Each of the n1 sampled records of a group of n is published n div n1 times, or once more. With V1 the
    variance of how many of them show a value, β = n / n1 and r = n mod n1, that of n·F' is (β²·V1 + H)/p² in
    a group, where H is what comes of the r that are published once more; samples of different groups are
    independent, so that the variances of groups add up (Definitions: reconstructed shares).

    Attributes
    ----------
    sample_size
        Greatest sample of a group.
    rows
        (k,) Σ n over the groups.
    weights
        (k,) Σ β·n.
    squares, left
        (k,) Σ β² and Σ r·(n1 − r)/(n1 − 1) over the groups of more records than were sampled.
    """

    sample_size: int
    rows: Longs
    weights: Floats
    squares: Floats
    left: Floats

    @classmethod
    def of(cls, sizes: Longs, sample_size: int, of_union: Longs, n_unions: int) -> CopiedRows:
        """Unions of groups of these sizes (G,); ``of_union`` (G,) says of which each is a part."""
        times, is_cut, more = sizes / np.minimum(sizes, sample_size), sizes > sample_size, sizes % sample_size
        squares = np.where(is_cut, times**2, 0.0)
        left = np.where(is_cut, more * (sample_size - more) / max(sample_size - 1, 1), 0.0)
        rows: Longs = np.bincount(of_union, sizes, n_unions).astype(np.int64)  # below 2⁵³ doubles are exact
        weights, of_squares, of_left = (
            np.bincount(of_union, own, n_unions) for own in (times * sizes, squares, left)
        )
        return cls(sample_size, rows, weights, of_squares, of_left)

    def together(self, unions: Longs) -> CopiedRows:
        """The rows of some of these unions as one."""
        own = (self.weights, self.squares, self.left)
        weights, squares, left = (numbers[unions].sum(keepdims=True) for numbers in own)
        return CopiedRows(self.sample_size, self.rows[unions].sum(keepdims=True), weights, squares, left)

    def standard_errors(self, weighted: Floats, replacement: UniformReplacement) -> Floats:
        """(k,) of F' over draws, for values that rows show whose weights β sum to ``weighted`` (k,).

        Of shares the reader's estimate is taken; what is linear in them is estimated without bias, over all
        groups together. How a sample is rounded is not known: the most that it may add is taken, and for
        what comes of copies once more the shares of all groups together, which make it no smaller.
        """
        own, n1 = replacement, self.sample_size
        shares = np.clip((weighted / self.weights - own.elsewhere) / own.p, 0.0, 1.0)
        kept, come = own.kept * own.changed, own.elsewhere * (1.0 - own.elsewhere)
        each = shares * kept + (1.0 - shares) * come
        whole = self.weights * each + self.squares * own.p**2 * 0.25
        mean = n1 * (shares * own.p + own.elsewhere)
        pairs = np.maximum(n1 * mean - (n1 * each + own.p**2 * 0.25) - mean**2, 0.0) / n1**2
        return np.asarray(np.sqrt(whole + self.left * pairs) / own.p / self.rows)


def beliefs_of_own_row(shares: Floats, replacement: UniformReplacement) -> Floats:
    """How probably somebody whose row shows a value has it, if it has these shares in the prior belief.

    f·a / (f·a + (1 − f)·c), by Bayes; the shares are from 0 to 1.
    """
    right = shares * replacement.kept
    return np.asarray(right / (right + (1.0 - shares) * replacement.elsewhere))
