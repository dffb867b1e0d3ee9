"""Intervals of counts that hold at least as often as their level says, however few the records are.

An estimate e of a count T of N records is a sum of parts that are drawn one after another, none of which
moves it by more than b, with a variance of at most V(T) = N·d0 + T·(d1 − d0) + v altogether. By Bernstein's
inequality, for any such sum,

    Pr[ |e − T| ≥ t ] ≤ 2·exp( −t² / (2·V(T) + 2·b·t / 3) ),

so that those T for which the right side is above 1 − level at t = |e − T| hold the count with at least the
level. By the normal law it is those with (|e − T| − b / 2)² ≤ z²·V(T), of which half a step makes good that
counts are whole. Both are the T with (e ± h − T)² ≤ 2·ℓ·( V(T) + s·|e − T| / 3 ), which end at

    e ± ( h + B + √(B² + 2·ℓ·A) ),    B = ℓ·( s / 3 ± (d1 − d0) ),    A = V(e ± h),

with ℓ = ln(2 / (1 − level)), s = b and h = 0, or ℓ = z² / 2, s = 0 and h = b / 2 (Definitions: errors of
counts).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats

ENOUGH: Final = 100.0
"""Parts, each as large as the largest, from which on an estimated variance may stand for the true one."""
LEAST_ENOUGH: Final = 4.0
ENOUGH_BY_QUANTILE: Final = 1.5
"""From the greater of this times z² and the former on the normal law is near enough for a known variance."""


def quantile(level: float) -> float:
    """How many standard errors an interval at a level reaches to either side, by the normal law."""
    # The lower tail: 1 + level is 2 in doubles for levels next to 1, of which no quantile is finite.
    return -NormalDist().inv_cdf((1 - level) / 2)


def least_variance(level: float) -> float:
    """The variance of a number of records from which on the normal law is near enough at a level."""
    return max(LEAST_ENOUGH, ENOUGH_BY_QUANTILE * quantile(level) ** 2)


@dataclass(frozen=True, eq=False)
class Spread:
    """(q,) what bounds how estimates are spread.

    Attributes
    ----------
    step
        b.
    lacking, having
        d0 and d1: what a record adds to the variance at most that does not count, and that does.
    beside
        v: what the variance has at most whatever the count is.
    is_exact
        (q,) whether V(T) is the variance itself.
    """

    step: Floats
    lacking: Floats
    having: Floats
    beside: Floats
    is_exact: Bools

    def is_few(self, variance: Floats, level: float) -> Bools:
        """(q,) whether the normal law is not near enough, of estimates with this estimated variance."""
        return np.asarray(variance < np.where(self.is_exact, least_variance(level), ENOUGH) * self.step**2)

    def bounded(self, estimates: Floats, records: Floats, level: float) -> tuple[Floats, Floats]:
        """(q,) both ends of the interval that holds in any case."""
        return self._ends(estimates, records, math.log(2 / (1 - level)), self.step, 0.0 * self.step)

    def normal(
        self, estimates: Floats, records: Floats, errors: Floats, level: float
    ) -> tuple[Floats, Floats]:
        """(q,) both ends of the interval by the normal law, by standard errors where V(T) is only a bound."""
        half = self.step / 2
        ends = self._ends(estimates, records, quantile(level) ** 2 / 2, 0.0 * half, half)
        reach = quantile(level) * errors + half
        low, high = (
            np.where(self.is_exact, end, estimates + side * reach)
            for side, end in zip((-1, 1), ends, strict=True)
        )
        return low, high

    def _ends(
        self, estimates: Floats, records: Floats, far: float, step: Floats, shift: Floats
    ) -> tuple[Floats, Floats]:
        more, ends = self.having - self.lacking, []
        for side in (-1, 1):
            own = far * (step / 3 + side * more)
            at = records * self.lacking + self.beside + (estimates + side * shift) * more
            reach = own + np.sqrt(np.maximum(own**2 + 2 * far * at, 0.0))
            ends.append(estimates + side * (shift + np.maximum(reach, 0.0)))
        return np.asarray(ends[0]), np.asarray(ends[1])
