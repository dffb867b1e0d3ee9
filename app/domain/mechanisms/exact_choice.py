"""One of several with probabilities proportional to e^exponent, by whole numbers and random bytes alone.

An exponential is rounded once, to a whole number of 82 bits; from there on sums and comparisons are exact, in
two words, so that no digit of a floating-point sum tells what was not chosen.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.mechanisms.exact_noise import uniform_below
from app.domain.mechanisms.mechanism import Bits
from app.domain.tables.distinct import starts_of_runs

_HIGH: Final = 40
_LOW: Final = 42
"""Sums of a million of either word stay below 2⁶³."""
MOST_CHOICES: Final = 2**20
_NUMBERS_AT_ONCE: Final = 2**20


def sampled(n: int, rate: Fraction, bits: Bits) -> Bools:
    """(n,) each true with the probability ``rate``, exactly."""
    below = uniform_below(n, rate.denominator, bits)
    return np.asarray(below < np.uint64(rate.numerator))


def numbered(ordered: Longs) -> tuple[Longs, Longs]:
    """The distinct values of an ascending array, and which of them stands at each place."""
    starts = starts_of_runs(ordered)
    return ordered[starts], np.repeat(np.arange(len(starts)), np.diff(starts, append=len(ordered)))


def whole_weights(exponents: Floats) -> tuple[Longs, Longs]:
    """(n, c) high and low word of 2⁸² · e^(exponent − greatest of the row); −∞ weighs nothing.

    Each row has one finite exponent at least; ValueError for what is no number, and for +∞.
    """
    if not (exponents < math.inf).all() or not np.isfinite(exponents.max(axis=1)).all():
        raise ValueError("an exponent is no number, or is infinite")
    shares = np.exp(exponents - exponents.max(axis=1, keepdims=True)) * 2.0**_HIGH
    high = np.floor(shares)
    low = np.floor((shares - high) * 2.0**_LOW)
    return high.astype(np.int64), low.astype(np.int64)


def running_sums(exponents: Floats) -> tuple[Longs, Longs]:
    """(n, c) high and low word of the sums of a row's weights up to each column, exactly."""
    high, low = (np.cumsum(word, axis=1) for word in whole_weights(exponents))
    high += low >> _LOW
    low &= (1 << _LOW) - 1
    return high, low


def require_range(exponents: Floats, most: float) -> None:
    """ValueError if finite exponents of a row differ by more: a guarantee that rests on it would not hold."""
    if not exponents.size:
        return
    least = exponents.min(axis=1, where=exponents != -math.inf, initial=math.inf)
    with np.errstate(invalid="ignore"):
        # False of what is no number, too.
        is_within = exponents.max(axis=1) - least <= most
    if not is_within.all():
        raise ValueError("exponents differ by more than is declared")


def chosen(exponents: Floats, rows: Longs, bits: Bits) -> Ints:
    """(s,) which column is drawn for each of ``rows``, which number rows of the exponents, ascending."""
    if exponents.shape[1] > MOST_CHOICES:
        raise ValueError("at most 2^20 choices")
    found = np.empty(len(rows), dtype=np.int32)
    at_once = max(1, _NUMBERS_AT_ONCE // max(1, exponents.shape[1]))
    for start in range(0, len(rows), at_once):
        piece = rows[start : start + at_once]
        own, of_row = numbered(piece)
        found[start : start + at_once] = _chosen_of(exponents[own], of_row, bits)
    return found


def _chosen_of(exponents: Floats, of_row: Longs, bits: Bits) -> Ints:
    high, low = running_sums(exponents)
    places = _below(high[of_row, -1], low[of_row, -1], bits)
    found = np.empty(len(of_row), dtype=np.int32)
    for own in range(0, len(of_row), 2**12):
        part = slice(own, own + 2**12)
        at_high, at_low = (word[part, None] for word in places)
        sums_high, sums_low = high[of_row[part]], low[of_row[part]]
        passed = (sums_high < at_high) | ((sums_high == at_high) & (sums_low <= at_low))
        found[part] = passed.sum(axis=1)
    return found


def _below(high: Longs, low: Longs, bits: Bits) -> tuple[Longs, Longs]:
    """Whole numbers of two words, each below its bound and as likely as any other; drawn again if not."""
    n = len(high)
    at_high = uniform_below(n, (high + 1).astype(np.uint64), bits).astype(np.int64)
    at_low = uniform_below(n, 1 << _LOW, bits).astype(np.int64)
    again = np.flatnonzero((at_high > high) | ((at_high == high) & (at_low >= low)))
    if len(again):
        at_high[again], at_low[again] = _below(high[again], low[again], bits)
    return at_high, at_low
