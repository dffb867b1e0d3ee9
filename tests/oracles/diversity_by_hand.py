"""The ℓ-diversity family of one class, by loops over its counts (dissertation, chapter 3)."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np

from app.domain.classes.sensitive_counts import SensitiveCounts


def ranks(counts):
    return sorted((n for n in counts.values() if n), reverse=True)


def entropy_at_least(counts, ell):
    """N^N ≥ ℓ^N · Π r^r for whole ℓ."""
    r = ranks(counts)
    return sum(r) ** sum(r) >= ell ** sum(r) * math.prod(n**n for n in r)


def least_c(counts, ell):
    """Section 4.1; +∞ as None."""
    r = ranks(counts)
    if ell == 1:
        return Fraction(0)
    return None if ell > len(r) else Fraction(r[0], sum(r[ell - 1 :]))


def posterior(counts, j):
    """Section 5.1: the most that a belief can be once any j other values are ruled out, by trying all."""
    best = Fraction(0)
    for value, n in counts.items():
        others = [own for other, own in counts.items() if other != value]
        for out in combinations(range(len(others)), min(j, len(others))):
            left = sum(own for i, own in enumerate(others) if i not in out)
            best = max(best, Fraction(n, n + left))
    return best


def negations(counts, confidence):
    return next(j for j in range(len(counts) + 1) if posterior(counts, j) >= confidence)


def discloses(counts, ell, c, harmless):
    """Whether pd-recursive (c, ℓ)-diversity fails, for every value outside Y (section 5.1)."""
    if ell == 1:
        return False
    for value, n in counts.items():
        others = sorted((own for other, own in counts.items() if other != value), reverse=True)
        if value not in harmless and not n < c * sum(others[ell - 2 :]):
            return True
    return False


def least_c_of_disclosure(counts, ell, harmless):
    """Infimum of the c with which it holds, over the values outside Y; +∞ as None."""
    found = Fraction(0)
    for value, n in counts.items():
        if ell > 1 and value not in harmless:
            others = sorted((own for other, own in counts.items() if other != value), reverse=True)
            tail = sum(others[ell - 2 :])
            if not tail:
                return None
            found = max(found, Fraction(n, tail))
    return found


def share_of_rarest(counts, protected):
    """Percentage of the rarest protected value."""
    size = sum(counts.values())
    return min((Fraction(100 * counts.get(value, 0), size) for value in protected), default=Fraction(100))


N_VALUES = 7


def counts_of(blocks, n_values=N_VALUES):
    """Blocks {value: count} as the domain counts them."""
    rows = [(g, v, n) for g, block in enumerate(blocks) for v, n in sorted(block.items())]
    starts = np.searchsorted([g for g, _, _ in rows], np.arange(len(blocks) + 1)).astype(np.int64)
    return SensitiveCounts(
        starts,
        np.array([v for _, v, _ in rows], dtype=np.int32),
        np.array([n for _, _, n in rows], dtype=np.int64),
        np.ones(n_values, dtype=np.int64),
        np.arange(1, n_values + 1, dtype=np.int32),
    )


def partitions(items):
    """All ways to split a list into classes, as lists of class numbers."""
    found = [[]]
    for _ in items:
        found = [[*own, g] for own in found for g in range(max(own, default=-1) + 2)]
    return found
