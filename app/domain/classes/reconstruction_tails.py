"""How probable it really is that an estimate of a share is far off: no bound, the probability itself.

Of a group of n randomised records of which n_x have a value, the number that show it is the sum of two
independent binomials, Bin(n_x, a) + Bin(n − n_x, c). The estimate is too low or too high by more than ε of
the share where that number is below or above n·c + n_x·p·(1 ∓ ε), strictly (Definitions: reconstruction
privacy).

Of each binomial the terms within 40·σ + 534 of its mean are summed. By Bernstein's inequality a binomial is
farther off than t with a probability of at most 2·exp(−t² / (2·(σ² + t / 3))). For t = s·σ + b with
s² ≥ 2·E and b ≥ 2·E / 3 that is at most 2·exp(−E), as t² − (2·E / 3)·t ≥ t·s·σ ≥ 2·E·σ²; E = 800 makes it
less than the least double above 0. Who needs less says so by a smaller E.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.reconstruction import UniformReplacement

EXPONENT: Final = 800.0
"""E: what is left out has a probability of at most 2·exp(−E)."""

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


def far_off(
    amounts: Longs, sizes: Longs, replacement: UniformReplacement, epsilon: float
) -> tuple[Longs, Longs]:
    """How many of n records have to show a value at most, or at least, for an estimate that is far off."""
    tie, off = TIE * np.maximum(1, sizes), amounts * replacement.p * epsilon
    mean = sizes * replacement.elsewhere + amounts * replacement.p
    most_below = np.ceil(mean - off - tie).astype(np.int64) - 1
    return most_below, np.floor(mean + off + tie).astype(np.int64) + 1


class _Pairs:
    """Distinct pairs of amounts and sizes, (k,)."""

    def __init__(self, amounts: Longs, sizes: Longs, replacement: UniformReplacement, epsilon: float) -> None:
        self._amounts, self._sizes, self._replacement, self._epsilon = amounts, sizes, replacement, epsilon
        own = replacement
        self._kept = Binomials(amounts, own.kept, own.changed)
        self._come = Binomials(sizes - amounts, own.elsewhere, own.p + own.changed)

    @property
    def terms(self) -> Longs:
        """(k,) how many terms are summed of each."""
        return self._kept.terms + self._come.terms

    def only(self, places: Longs) -> _Pairs:
        return _Pairs(self._amounts[places], self._sizes[places], self._replacement, self._epsilon)

    def summed(self) -> tuple[Floats, Floats]:
        """Sums over the j records with the value that show it: Σ_j P(A = j)·P(C beyond what is left)."""
        most_below, least_above = far_off(self._amounts, self._sizes, self._replacement, self._epsilon)
        kept = self._kept.probabilities
        shown = self._kept.first[:, None] + np.arange(kept.shape[1])
        low = kept * self._come.up_to(most_below[:, None] - shown)
        high = kept * self._come.from_on(least_above[:, None] - shown)
        return low.sum(axis=1), high.sum(axis=1)


class WholeLaws(ABC):
    """Laws of whole numbers (k,), as rows whose modes stand in one column.

    Parameters
    ----------
    mode
        (k,) the most probable number of each law.
    below, above
        (k,) how many numbers below and above it may be so probable that they count.
    """

    def __init__(self, mode: Longs, below: Longs, above: Longs) -> None:
        self._mode, self._below, self._above = mode, below, above

    @abstractmethod
    def _rising(self, numbers: Longs) -> Floats:
        """How many times as probable each number (k, n), above the mode, is as the one below it."""

    @abstractmethod
    def _falling(self, numbers: Longs) -> Floats:
        """How many times as probable the number below each (k, n), at most the mode, is as it."""

    @property
    def terms(self) -> Longs:
        """(k,) terms that are not left out."""
        return np.asarray(self._below + self._above + 1)

    @cached_property
    def first(self) -> Longs:
        """(k,) the number in the first column; below 0 where there are none so few."""
        return np.asarray(self._mode - int(self._below.max()))

    @cached_property
    def probabilities(self) -> Floats:
        """(k, columns) of the numbers from ``first`` on, 0 of numbers that are not possible.

        Products of ratios of neighbours, from the mode on, made to sum to 1.
        """
        below, above, mode = int(self._below.max()), int(self._above.max()), self._mode[:, None]
        found = np.ones((len(mode), below + 1 + above))
        found[:, below + 1 :] = np.cumprod(self._rising(mode + np.arange(1, above + 1)), axis=1)
        found[:, :below] = np.cumprod(self._falling(mode - np.arange(below)), axis=1)[:, ::-1]
        found /= found.sum(axis=1, keepdims=True)
        return found

    def up_to(self, numbers: Longs) -> Floats:
        """(k, n) the probability of at most each of the numbers (k, n)."""
        found = np.zeros((len(self.probabilities), self.probabilities.shape[1] + 1))
        np.cumsum(self.probabilities, axis=1, out=found[:, 1:])
        return self._taken(found, numbers - self.first[:, None] + 1)

    def from_on(self, numbers: Longs) -> Floats:
        """(k, n) the probability of at least each of the numbers (k, n)."""
        found = np.zeros((len(self.probabilities), self.probabilities.shape[1] + 1))
        np.cumsum(self.probabilities[:, ::-1], axis=1, out=found[:, -2::-1])
        return self._taken(found, numbers - self.first[:, None])

    @staticmethod
    def _taken(rows: Floats, places: Longs) -> Floats:
        return np.asarray(np.take_along_axis(rows, np.clip(places, 0, rows.shape[1] - 1), axis=1))


class Binomials(WholeLaws):
    """Successes of ``trials`` (k,) with one chance of success."""

    def __init__(self, trials: Longs, success: float, failure: float, exponent: float = EXPONENT) -> None:
        self._trials, self._odds = trials[:, None], success / failure
        mode = np.minimum((trials + 1) * success, trials).astype(np.int64)
        reach = reach_of(np.sqrt(trials * success * failure), exponent)
        super().__init__(mode, np.minimum(mode, reach), np.minimum(trials - mode, reach))

    def _rising(self, numbers: Longs) -> Floats:
        return np.asarray(np.maximum(self._trials - numbers + 1, 0) / numbers * self._odds)

    def _falling(self, numbers: Longs) -> Floats:
        return np.asarray(np.maximum(numbers, 0) / (self._trials - numbers + 1) / self._odds)


def reach_of(deviations: Floats, exponent: float = EXPONENT) -> Longs:
    """(k,) how far from their modes laws of these standard deviations are summed."""
    beside = math.ceil(2 * exponent / 3) + 1
    return np.ceil(math.sqrt(2 * exponent) * deviations).astype(np.int64) + beside
