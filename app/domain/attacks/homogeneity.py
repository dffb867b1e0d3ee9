"""Classes whose records have one sensitive value in common (Machanavajjhala (2008), section 3.1.1)."""

from __future__ import annotations

import math

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.classes.diversity import most_frequent
from app.domain.classes.ratios import as_written, is_below
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.tables.numbers import exact_sum

NO_VALUE = -1


def leading_values(counts: SensitiveCounts) -> Ints:
    """(G,) number of the most frequent value of each class, the least one of equals.

    −1 for classes none of whose records has a value.
    """
    values = np.full(counts.n_classes, NO_VALUE, dtype=np.int32)
    tops = np.flatnonzero(counts.counts == most_frequent(counts)[counts.of_entry])
    # Written last to first, so that the first of equals stays.
    values[counts.of_entry[tops[::-1]]] = counts.values[tops[::-1]]
    return values


def homogeneous(counts: SensitiveCounts, theta: float) -> Bools:
    """(G,) classes in which one value has at least the share θ, which is inclusive: 19 of 20 are 0.95."""
    return ~is_below(most_frequent(counts), as_written(theta), counts.sizes) & (counts.sizes > 0)


def expected_if_independent(counts: SensitiveCounts, records: Longs) -> tuple[float, float]:
    """Classes with a single value, and their records, to expect if values had nothing to do with classes.

    Every record draws its value from the whole table's distribution: Σ over classes of Σ_v p_v^size, where
    the size counts whatever has a value and may be of the class, and ``records`` (G,) are the class's own.
    """
    judged = counts.sizes > 0
    sizes, of_class, classes = np.unique(counts.sizes[judged], return_inverse=True, return_counts=True)
    owned = np.bincount(of_class.reshape(-1), records[judged], len(sizes))
    shares = counts.totals / int(counts.totals.sum())
    chances = [math.fsum(np.power(shares, size).tolist()) for size in sizes.tolist()]
    return exact_sum(classes * chances), exact_sum(owned * chances)
