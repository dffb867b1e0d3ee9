"""Noise whose law is exact: whole numbers from random bytes, with no floating-point number on the way.

Who knows that noise was rounded from floating-point numbers can read from the least digits of what is
published more than it promises (Mironov (2012)). Here every decision is a comparison of whole numbers with
uniform ones (Canonne et al. (2020), algorithms 1 and 2), made of many draws at once.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Longs
from app.domain.mechanisms.mechanism import Bits

LARGEST_SCALE_PART: Final = 2**40
"""Numerator and denominator of a rate stay below: sums of their multiples are then exact in 64 bits."""
DRAWS_AT_ONCE: Final = 2**16
_WORD_BYTES: Final = 8
_LAST_WORD: Final = np.uint64(2**64 - 1)

_Words = npt.NDArray[np.uint64]


def two_sided_geometric(n: int, rate: Fraction, bits: Bits) -> Longs:
    """(n,) independent whole numbers, each z with a probability proportional to exp(−rate · |z|), exactly.

    Parameters
    ----------
    rate
        Above 0, with numerator and denominator below 2^40; ValueError for another.
    bits
        Random bytes. How many are taken is chance, about 200 for a number.
    """
    if not 0 < rate.numerator < LARGEST_SCALE_PART or rate.denominator >= LARGEST_SCALE_PART:
        raise ValueError("the rate is a fraction above 0 of numbers below 2^40")
    found = np.empty(n, dtype=np.int64)
    for start in range(0, n, DRAWS_AT_ONCE):
        piece = found[start : start + DRAWS_AT_ONCE]
        open_draws = np.arange(len(piece))
        while len(open_draws):
            drawn, is_accepted = _attempts(len(open_draws), rate, bits)
            piece[open_draws[is_accepted]] = drawn[is_accepted]
            open_draws = open_draws[~is_accepted]
    return found


def _attempts(n: int, rate: Fraction, bits: Bits) -> tuple[Longs, Bools]:
    """(n,) candidates, and which of them stand.

    A uniform number u below the rate's denominator d stands with exp(−u/d); with a geometric number v of
    exp(−1) the whole u + d·v then has a probability proportional to its exponential, and divided by the
    numerator it is the magnitude. The magnitude 0 with the sign − is drawn again, or 0 would have two signs.
    """
    below = rate.denominator
    uniform = uniform_below(n, below, bits)
    is_accepted = _is_exponential(uniform, below, bits)
    size = uniform.astype(np.int64)
    still = np.flatnonzero(is_accepted)
    one = np.uint64(1)
    while len(still):
        goes_on = _is_exponential(np.full(len(still), one), 1, bits)
        still = still[goes_on]
        size[still] += below
    size //= rate.numerator
    is_negative = uniform_below(n, 2, bits).astype(bool)
    is_accepted &= ~(is_negative & (size == 0))
    return np.where(is_negative, -size, size), is_accepted


def _is_exponential(numerators: _Words, denominator: int, bits: Bits) -> Bools:
    """(n,) true with exp(−g) exactly, for g = numerator / denominator of 0 to 1.

    By von Neumann: the first k whose coin of g/k fails is odd with that probability. A coin of g/k is one of
    g and one of 1/k, so that no product can grow too large.
    """
    n = len(numerators)
    is_odd = np.zeros(n, dtype=bool)
    running, k = np.arange(n), 1
    while len(running):
        own = numerators[running]
        holds = uniform_below(len(own), denominator, bits) < own
        if k > 1:
            holds &= uniform_below(len(own), k, bits) == 0
        is_odd[running[~holds]] = k % 2 == 1
        running, k = running[holds], k + 1
    return is_odd


def uniform_below(n: int, bounds: int | _Words, bits: Bits) -> _Words:
    """(n,) whole numbers from 0 to below the bound, or below each of (n,) bounds, each exactly as likely.

    A word of 64 bits that is above the greatest multiple of its bound is drawn again. Such a word is one of
    the last: 2^64 mod bound, which costs a division, is computed for these alone.
    """
    words = np.frombuffer(bits(_WORD_BYTES * n), dtype="<u8")
    own = np.asarray(bounds, dtype=np.uint64)
    found = words % own
    (late,) = (words > _LAST_WORD - own).nonzero()
    if len(late):
        own = np.broadcast_to(own, n)[late]
        excess = (_LAST_WORD % own + np.uint64(1)) % own
        is_above = words[late] > _LAST_WORD - excess
        if is_above.any():
            again = late[is_above]
            found[again] = uniform_below(len(again), own[is_above], bits)
    return found
