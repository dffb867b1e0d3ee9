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
    return likeliest_of_entries(counts.counts, counts.of_entry, counts.n_classes, replacement)


def likeliest_of_entries(
    shown: Longs | Floats, of: Longs, n_groups: int, replacement: UniformReplacement
) -> Floats:
    """(E,) the same of amounts above 0, each of a value of a group: ``of`` (E,) are the groups."""
    own = replacement
    is_left: Bools = np.ones(len(of), dtype=bool)
    while True:
        left = np.where(is_left, shown, 0)
        room = 1.0 - own.elsewhere * (own.m - np.bincount(of, is_left, n_groups))
        expected = left / np.bincount(of, left, n_groups)[of] * room[of]
        is_absent = is_left & (expected < own.elsewhere)
        if not is_absent.any():
            return np.where(is_left, np.minimum((expected - own.elsewhere) / own.p, 1.0), 0.0)
        is_left &= ~is_absent


def variances(
    amounts: Floats, sizes: Longs | Floats, replacement: UniformReplacement, asked: float | Floats = 1.0
) -> Floats:
    """Of n·F' over draws, for ``amounts`` records of n = ``sizes`` that have one of ``asked`` values."""
    own = replacement
    elsewhere = asked * own.elsewhere
    kept = own.p + elsewhere
    whole = amounts * kept * (1.0 - kept) + (sizes - amounts) * elsewhere * (1.0 - elsewhere)
    return np.asarray(np.maximum(whole, 0.0) / own.p**2)


def standard_errors(shown: Longs, sizes: Longs, replacement: UniformReplacement) -> Floats:
    """Of F' over draws, as a reader knows it: by the estimated count, kept from 0 to n, for the true one."""
    estimated = np.clip(estimated_shares(shown, sizes, replacement), 0.0, 1.0) * sizes
    return np.asarray(np.sqrt(variances(estimated, sizes, replacement)) / sizes)


@dataclass(frozen=True, eq=False)
class CopiedRows:
    """Rows of several groups, of each of which at most so many records were sampled, with exact totals.

    Samples of different groups are independent, so that the variances of groups add up (Definitions: errors
    of counts in copies).

    Attributes
    ----------
    rows, whole
        (k,) Σ n and Σ β·n over the groups.
    squares
        (k,) Σ β² over the groups of more records than were sampled.
    """

    rows: Longs
    whole: Floats
    squares: Floats

    @classmethod
    def of(cls, sizes: Longs, sample_size: int, of_union: Longs, n_unions: int) -> CopiedRows:
        """Unions of groups of these sizes (G,); ``of_union`` (G,) says of which each is a part."""
        samples = np.minimum(sizes, sample_size)
        times, _ = copies_of(sizes, samples)
        squares = np.where(samples < sizes, times**2, 0.0)
        rows: Longs = np.bincount(of_union, sizes, n_unions).astype(np.int64)  # below 2⁵³ doubles are exact
        whole, of_squares = (np.bincount(of_union, own, n_unions) for own in (times * sizes, squares))
        return cls(rows, whole, of_squares)

    def together(self, unions: Longs) -> CopiedRows:
        """The rows of some of these unions as one."""
        whole, squares = (own[unions].sum(keepdims=True) for own in (self.whole, self.squares))
        return CopiedRows(self.rows[unions].sum(keepdims=True), whole, squares)

    def standard_errors(self, weighted: Floats, pairs: Floats, replacement: UniformReplacement) -> Floats:
        """(k,) of F' over draws, at most, with ``weighted`` and ``pairs`` as :func:`variances_of_copies`."""
        found = variances_of_copies(weighted, self.whole, pairs, self.squares, replacement)
        return np.asarray(np.sqrt(found) / self.rows)


def copies_of(sizes: Longs | Floats, samples: Longs | Floats) -> tuple[Floats, Floats]:
    """(G,) β = n / n1 and κ = k / (β² − k), k = r·(n1 − r) / ((n1 − 1)·n1²), r = n mod n1, of groups.

    Of n records n1 are sampled, and published n div n1 times, r of them once more.
    """
    times, more = sizes / samples, np.mod(sizes, samples)
    k = more * (samples - more) / (np.maximum(samples - 1, 1) * samples**2)
    return np.asarray(times), np.asarray(k / (times**2 - k))


def variances_of_copies(
    weighted: Floats,
    whole: Floats,
    pairs: Floats,
    squares: Floats,
    replacement: UniformReplacement,
    asked: float | Floats = 1.0,
    stretches: float | Floats = 1.0,
) -> Floats:
    """(q,) of estimated counts of ``asked`` values over some groups, at most, as a reader knows them.

    Parameters
    ----------
    weighted, whole
        Sums over the groups of β·O and of β·n.
    pairs
        Of κ·O·(n − O): what comes of the records that are published once more.
    squares
        Of β² where a group is sampled. How its sample is rounded is not known: the most that it may add is
        taken, ¼ for each of the ``stretches`` of neighbouring values asked for, squared.
    """
    own = replacement
    estimated = np.clip((weighted - whole * asked * own.elsewhere) / own.p, 0.0, whole)
    rounded = stretches**2 * squares / 4
    return np.asarray(variances(estimated, whole, own, asked) + pairs / own.p**2 + rounded)


def beliefs_of_own_row(shares: Floats, replacement: UniformReplacement) -> Floats:
    """How probably somebody whose row shows a value has it, if it has these shares in the prior belief.

    f·a / (f·a + (1 − f)·c), by Bayes; the shares are from 0 to 1.
    """
    right = shares * replacement.kept
    return np.asarray(right / (right + (1.0 - shares) * replacement.elsewhere))
