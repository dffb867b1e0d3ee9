"""How probable it really is that an estimate of a share is far off: no bound, the probability itself.

Of a group of n randomised records of which n_x have a value, the number that show it is the sum of two
independent binomials, Bin(n_x, a) + Bin(n − n_x, c). The estimate is too low or too high by more than ε of
the share where that number is below or above n·c + n_x·p·(1 ∓ ε), strictly (Definitions: reconstruction
privacy).

Of each binomial the terms within 40·σ + 534 of its mean are summed. By Bernstein's inequality a binomial is
farther off than t with a probability of at most 2·exp(−t² / (2·(σ² + t / 3))). For t = s·σ + b with
s² ≥ 2·E and b ≥ 2·E / 3 that is at most 2·exp(−E), as t² − (2·E / 3)·t ≥ t·s·σ ≥ 2·E·σ²; E = 800 makes it
less than the least double above 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.reconstruction import UniformReplacement

DEVIATIONS: Final = 40
BESIDE: Final = 534
"""What is summed of a binomial: so many standard deviations, and so many terms more, on either side."""

CELLS: Final = 1 << 19
TIE: Final = 1e-9
"""Share of n (at least 1) by which a threshold may miss a whole number and still be equal to it."""


@dataclass(frozen=True, eq=False)
class Tails:
    """Probabilities that the estimate is too low and too high."""

    low: Floats
    high: Floats

    @property
    def total(self) -> Floats:
        """The probability that it is too low or too high."""
        return np.asarray(self.low + self.high)

    @property
    def least(self) -> Floats:
        """The less probable of both."""
        return np.asarray(np.minimum(self.low, self.high))


def exact_tails(amounts: Longs, sizes: Longs, replacement: UniformReplacement, epsilon: float) -> Tails:
    """The tails of estimates of ``amounts`` (k,) of ``sizes`` (k,) records; each distinct pair is done once.

    Exact to about 1e-11 of each probability, for groups of any size up to 10⁹. Time and memory of a pair grow
    as the square root of its size; some millions of terms are held at a time, or those of one pair.
    """
    _, first, inverse = np.unique(_keys(amounts, sizes), return_index=True, return_inverse=True)
    pairs = _Pairs(amounts[first], sizes[first], replacement, epsilon)
    low, high = np.empty(len(first)), np.empty(len(first))
    for places in _batches(pairs.terms):
        low[places], high[places] = pairs.only(places).summed()
    return Tails(low[inverse], high[inverse])


def terms_to_sum(amounts: Longs, sizes: Longs, replacement: UniformReplacement) -> int:
    """How many terms :func:`exact_tails` sums: what its time grows with."""
    first = np.unique(_keys(amounts, sizes), return_index=True)[1]
    return int(_Pairs(amounts[first], sizes[first], replacement, 0.0).terms.sum())


def _keys(amounts: Longs, sizes: Longs) -> Longs:
    """(k,) a number of each pair, the same of equal ones."""
    return np.asarray(sizes * (int(amounts.max(initial=0)) + 1) + amounts)


def _batches(terms: Longs) -> list[Longs]:
    """The places, those with fewer terms first, cut so that each part fills a rectangle of bounded area."""
    ordered = np.argsort(terms, kind="stable").astype(np.int64)
    found, start = [], 0
    for end in range(1, len(ordered) + 1):
        if end == len(ordered) or (end - start + 1) * int(terms[ordered[end]]) > CELLS:
            found.append(ordered[start:end])
            start = end
    return found


class _Pairs:
    """Distinct pairs of amounts and sizes, (k,)."""

    def __init__(self, amounts: Longs, sizes: Longs, replacement: UniformReplacement, epsilon: float) -> None:
        self._amounts, self._sizes, self._replacement, self._epsilon = amounts, sizes, replacement, epsilon
        own = replacement
        self._kept = _Binomials(amounts, own.kept, own.changed)
        self._come = _Binomials(sizes - amounts, own.elsewhere, own.p + own.changed)

    @property
    def terms(self) -> Longs:
        """(k,) how many terms are summed of each."""
        return self._kept.terms + self._come.terms

    def only(self, places: Longs) -> _Pairs:
        return _Pairs(self._amounts[places], self._sizes[places], self._replacement, self._epsilon)

    def summed(self) -> tuple[Floats, Floats]:
        """Sums over the j records with the value that show it: Σ_j P(A = j)·P(C beyond what is left)."""
        own = self._replacement
        middle, tie = self._sizes * own.elsewhere, TIE * np.maximum(1, self._sizes)
        off = self._amounts * own.p * self._epsilon
        mean = middle + self._amounts * own.p
        most_below = np.ceil(mean - off - tie).astype(np.int64) - 1
        least_above = np.floor(mean + off + tie).astype(np.int64) + 1
        kept, come = self._kept.probabilities, self._come.probabilities
        shown = self._kept.first[:, None] + np.arange(kept.shape[1])
        last, first = come.shape[1], self._come.first[:, None]
        up_to, from_on = np.zeros((2, len(come), last + 1))
        np.cumsum(come, axis=1, out=up_to[:, 1:])
        np.cumsum(come[:, ::-1], axis=1, out=from_on[:, -2::-1])
        low = kept * _taken(up_to, np.clip(most_below[:, None] - shown - first + 1, 0, last))
        high = kept * _taken(from_on, np.clip(least_above[:, None] - shown - first, 0, last))
        return low.sum(axis=1), high.sum(axis=1)


def _taken(rows: Floats, places: Longs) -> Floats:
    return np.asarray(np.take_along_axis(rows, places, axis=1))


class _Binomials:
    """Binomials of ``trials`` (k,) and one chance of success, as rows whose modes stand in one column."""

    def __init__(self, trials: Longs, success: float, failure: float) -> None:
        self._trials, self._odds = trials, success / failure
        self._mode = np.minimum((trials + 1) * success, trials).astype(np.int64)
        reach = np.ceil(DEVIATIONS * np.sqrt(trials * success * failure)).astype(np.int64) + BESIDE + 1
        self._below = np.minimum(self._mode, reach)
        self._above = np.minimum(trials - self._mode, reach)

    @property
    def terms(self) -> Longs:
        """(k,) terms that are not left out."""
        return np.asarray(self._below + self._above + 1)

    @cached_property
    def first(self) -> Longs:
        """(k,) the number of successes in the first column; below 0 where there are none so few."""
        return np.asarray(self._mode - int(self._below.max()))

    @cached_property
    def probabilities(self) -> Floats:
        """(k, columns) of the successes from ``first`` on, 0 of numbers that are not possible.

        Products of ratios of neighbours, from the mode on, made to sum to 1.
        """
        below, above = int(self._below.max()), int(self._above.max())
        trials, mode = self._trials[:, None], self._mode[:, None]
        found = np.ones((len(trials), below + 1 + above))
        more = mode + np.arange(1, above + 1)
        rising = np.maximum(trials - more + 1, 0) / more * self._odds
        found[:, below + 1 :] = np.cumprod(rising, axis=1)
        fewer = mode - np.arange(below)
        falling = np.maximum(fewer, 0) / (trials - fewer + 1) / self._odds
        found[:, :below] = np.cumprod(falling, axis=1)[:, ::-1]
        found /= found.sum(axis=1, keepdims=True)
        return found
