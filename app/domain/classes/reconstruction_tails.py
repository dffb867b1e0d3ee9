"""How probable it really is that an estimate of a share is far off: no bound, the probability itself.

Of a group of n randomised records of which n_x have a value, the number that show it is the sum of two
independent binomials, Bin(n_x, a) + Bin(n − n_x, c). The estimate is too low or too high by more than ε of
the share where that number is below or above n·c + n_x·p·(1 ∓ ε), strictly (Definitions: reconstruction
privacy).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Longs
from app.domain.classes.reconstruction import UniformReplacement

EXACT_UP_TO: Final = 200_000
"""Records of a group up to which the sum is taken term by term; a larger one has a normal distribution."""

CELLS: Final = 1 << 20
TIE: Final = 1e-9
"""Share of n (at least 1) by which a threshold may miss a whole number and still be equal to it."""

STIRLING_FROM: Final = 16


@dataclass(frozen=True, eq=False)
class Tails:
    """Probabilities that the estimate is too low and too high, and which of them are approximate."""

    low: Floats
    high: Floats
    is_normal: Bools

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

    Exact to about 1e-11 of each probability, for groups of more than 200,000 records the normal
    approximation with a correction for continuity. Memory for a million terms at a time, or those of one
    group.
    """
    keys = sizes * (int(amounts.max(initial=0)) + 1) + amounts
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    pairs = _Pairs(amounts[first], sizes[first], replacement, epsilon)
    low, high = np.empty(len(first)), np.empty(len(first))
    is_large = pairs.sizes > EXACT_UP_TO
    for places in _batches(pairs.sizes, np.flatnonzero(~is_large)):
        low[places], high[places] = pairs.only(places).summed()
    for i in np.flatnonzero(is_large).tolist():
        low[i], high[i] = pairs.normal(i)
    return Tails(low[inverse], high[inverse], is_large[inverse])


def _batches(sizes: Longs, places: npt.NDArray[np.intp]) -> list[Longs]:
    """The places, smaller groups first, cut so that each part fills a rectangle of bounded area."""
    ordered = places[np.argsort(sizes[places], kind="stable")].astype(np.int64)
    found, start = [], 0
    for end in range(1, len(ordered) + 1):
        if end == len(ordered) or (end - start + 1) * (int(sizes[ordered[end]]) + 2) > CELLS:
            found.append(ordered[start:end])
            start = end
    return found


class _Pairs:
    """Distinct pairs of amounts and sizes, (k,)."""

    def __init__(self, amounts: Longs, sizes: Longs, replacement: UniformReplacement, epsilon: float) -> None:
        self.amounts, self.sizes, self._replacement, self._epsilon = amounts, sizes, replacement, epsilon
        own = replacement
        middle, tie = sizes * own.elsewhere, TIE * np.maximum(1, sizes)
        self._below = np.ceil(middle + amounts * own.p * (1 - epsilon) - tie).astype(np.int64) - 1
        self._above = np.floor(middle + amounts * own.p * (1 + epsilon) + tie).astype(np.int64) + 1

    def only(self, places: Longs) -> _Pairs:
        return _Pairs(self.amounts[places], self.sizes[places], self._replacement, self._epsilon)

    def summed(self) -> tuple[Floats, Floats]:
        """Sums over the j records with the value that show it: Σ_j P(A = j)·P(C beyond what is left)."""
        own, rests = self._replacement, self.sizes - self.amounts
        logs = log_factorials(int(self.sizes.max()))
        with_value = _binomials(self.amounts, math.log(own.kept), math.log(own.changed), logs)
        log_else = math.log(own.p + own.changed)
        without = _binomials(rests, math.log(own.elsewhere), log_else, logs)
        last = without.shape[1]
        shown = np.arange(with_value.shape[1])
        up_to = np.zeros((len(rests), last + 1))
        np.cumsum(without, axis=1, out=up_to[:, 1:])
        low = with_value * _taken(up_to, np.clip(self._below[:, None] - shown + 1, 0, last))
        from_on = np.zeros((len(rests), last + 1))
        np.cumsum(without[:, ::-1], axis=1, out=from_on[:, -2::-1])
        high = with_value * _taken(from_on, np.clip(self._above[:, None] - shown, 0, last))
        return low.sum(axis=1), high.sum(axis=1)

    def normal(self, i: int) -> tuple[float, float]:
        """The same of one pair, by the normal distribution."""
        own, amount, size = self._replacement, int(self.amounts[i]), int(self.sizes[i])
        mean = own.p * amount + own.elsewhere * size
        of_rest = own.elsewhere * (own.p + own.changed)
        spread = math.sqrt(2 * (amount * own.kept * own.changed + (size - amount) * of_rest))
        low = math.erfc((mean - int(self._below[i]) - 0.5) / spread) / 2
        return low, math.erfc((int(self._above[i]) - 0.5 - mean) / spread) / 2


def _taken(rows: Floats, places: Longs) -> Floats:
    return np.asarray(np.take_along_axis(rows, places, axis=1))


def _binomials(trials: Longs, log_success: float, log_failure: float, logs: Floats) -> Floats:
    """(k, greatest + 1) probabilities of 0, 1, … successes of each number of trials; 0 beyond it."""
    successes = np.arange(int(trials.max()) + 1)
    failures = trials[:, None] - successes
    possible = failures >= 0
    failures = np.where(possible, failures, 0)
    found = logs[trials][:, None] - logs[successes] - logs[failures]
    found += successes * log_success + failures * log_failure
    return np.where(possible, np.exp(found), 0.0)


def log_factorials(greatest: int) -> Floats:
    """(greatest + 1,) ln 0!, ln 1!, … to about 1e-15 of each, by Stirling's series."""
    x = np.arange(greatest + 1, dtype=np.float64)
    x[:STIRLING_FROM] = STIRLING_FROM
    inverse = 1 / x
    square = inverse**2
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    found = (x + 0.5) * np.log(x) - x + 0.5 * math.log(2 * math.pi) + series
    small = min(greatest + 1, STIRLING_FROM)
    found[:small] = [math.lgamma(k + 1) for k in range(small)]
    return np.asarray(found)
