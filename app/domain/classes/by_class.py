"""What the entries of a class have together: sums, extremes, whether any of them is of some kind."""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.classes.sensitive_counts import SensitiveCounts

Numbers = TypeVar("Numbers", Floats, Longs)


def sum_by_class(counts: SensitiveCounts, amounts: Longs) -> Longs:
    """(G,) sums of the (E,) whole numbers of each class's entries, exact; 0 for a class without entries."""
    sums: Longs = np.add.reduceat(np.append(amounts, amounts.dtype.type(0)), counts.starts[:-1])
    return np.where(counts.distinct > 0, sums, 0)


def greatest_by_class(counts: SensitiveCounts, scores: Numbers, without: float) -> Numbers:
    """(G,) greatest of the (E,) scores of each class's entries, ``without`` for a class that has none."""
    greatest = np.maximum.reduceat(np.append(scores, without), counts.starts[:-1])
    return np.where(counts.distinct > 0, greatest, without)


def least_by_class(counts: SensitiveCounts, scores: Numbers, without: float) -> Numbers:
    """(G,) least of the (E,) scores of each class's entries, ``without`` for a class that has none."""
    return -greatest_by_class(counts, -scores, -without)


def any_by_class(counts: SensitiveCounts, entries: Bools) -> Bools:
    """(G,) whether any entry of a class is among these."""
    found: Bools = np.zeros(counts.n_classes, dtype=bool)
    found[counts.of_entry[entries]] = True
    return found
