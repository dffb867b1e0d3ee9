"""Ratios of counts against thresholds that were written as decimals, decided exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from app.domain.arrays import Bools, Floats, Longs

LONGEST = 2**63 - 1
DOUBT = 1e-12


def as_written(number: float) -> Fraction:
    """The decimal that a number is written as: 0.1 is a tenth, not the nearest binary fraction."""
    return Fraction(repr(float(number)))


def is_below(left: Longs, threshold: Fraction, right: Longs) -> Bools:
    """Whether ``left < threshold · right``, exactly.

    ``left`` and ``right`` are counts of the same shape, at least 0; the threshold is at least 0.
    """
    p, q = threshold.numerator, threshold.denominator
    if left.dtype == object:
        return np.asarray(left * q < right * p, dtype=bool)
    greatest_left, greatest_right = int(left.max(initial=1)), int(right.max(initial=1))
    if greatest_left * q <= LONGEST and greatest_right * p <= LONGEST:
        return np.asarray(left * q < right * p)
    scaled = float(threshold) * right
    below = np.asarray(left < scaled)
    near = np.abs(left - scaled) <= DOUBT * np.maximum(left, scaled)
    for entry in np.flatnonzero(near).tolist():
        below[entry] = int(left[entry]) * q < int(right[entry]) * p
    return below


def is_at_most(left: Longs, threshold: Fraction, right: Longs) -> Bools:
    """Whether ``left ≤ threshold · right``, exactly; as :func:`is_below`."""
    p, q = threshold.numerator, threshold.denominator
    if not p:
        return np.asarray(left <= 0)
    return ~is_below(right, Fraction(q, p), left)


@dataclass(frozen=True, eq=False)
class Quotients:
    """Quotients of whole numbers at least 0, no denominator being 0."""

    numerators: Longs
    denominators: Longs

    @property
    def floats(self) -> Floats:
        """The quotients, rounded once."""
        return np.asarray(self.numerators / self.denominators, dtype=np.float64)

    def below(self, bound: Fraction) -> Bools:
        """Which quotients are < the bound, exactly."""
        return is_below(self.numerators, bound, self.denominators)

    def at_most(self, bound: Fraction) -> Bools:
        """Which quotients are ≤ the bound, exactly."""
        return is_at_most(self.numerators, bound, self.denominators)
