"""How far counts are off that were estimated from uniformly replaced values (Wang et al. (2012), 3.1).

Of N records of a release O show one of r values, R. A record that has one of them shows one with the
probability a = p + r·c, any other with r·c, c = (1 − p) / m; N' = (O − N·r·c) / p estimates the N_R that have
one, and over draws of the same records

    V = ( N_R·a·(1 − a) + (N − N_R)·r·c·(1 − r·c) ) / p²,

of which the records of the release give N' for N_R. Where the records are themselves a sample of a
distribution, and what is asked for is N times its share, every record shows R with one probability q, and the
variance is N·q·(1 − q) / p², greater by N·f·(1 − f) in expectation. It is 0 where none or all show R, where
Wilson's interval of q is told (Definitions: errors of counts).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats
from app.domain.classes.reconstructed_shares import likeliest_of_entries, variances
from app.domain.classes.reconstruction import UniformReplacement
from app.domain.mechanisms.count_intervals import Spread, least_variance, quantile
from app.domain.mechanisms.transition_matrix import TransitionMatrix

EQUAL: Final = 1e-12
"""By this part of it retentions may differ that are one but for their rounding."""


def uniform_retention(matrix: TransitionMatrix) -> float | None:
    """The one probability 0 < p < 1 with which a matrix keeps every value, None if there is no such."""
    first = float(matrix.retention[0])
    is_one = np.abs(matrix.retention - first) <= EQUAL * abs(first)
    return first if 0.0 < first < 1.0 and bool(is_one.all()) else None


@dataclass(frozen=True, eq=False)
class ShownRecords:
    """Records that queries select, and how many of them show one of the values asked for.

    Parameters
    ----------
    records, shown
        (q,) N and O. Where records count with weights, sums of squared weights.
    asked
        (q,) r: how many values are asked for.
    p, m
        Of the replacement.
    """

    records: Floats
    shown: Floats
    asked: Floats
    p: float
    m: int

    @property
    def elsewhere(self) -> Floats:
        """(q,) r·c: with this probability a record without one of the values shows one."""
        return np.asarray((1.0 - self.p) / self.m * self.asked)

    @property
    def having(self) -> Floats:
        """(q,) N', within 0 and N: how many have one of the values."""
        estimates = (self.shown - self.records * self.elsewhere) / self.p
        return np.asarray(np.clip(estimates, 0.0, self.records))

    def variances(self) -> Floats:
        """(q,) V over draws of the same records, estimated."""
        return np.asarray(self.of_true(self.having))

    def of_true(self, having: Floats) -> Floats:
        """(q,) V if so many records have one of the values."""
        own = UniformReplacement(self.p, self.m)
        return variances(having, self.records, own, self.asked)

    def underlying_variances(self) -> Floats:
        """(q,) the variance if the records are drawn, too."""
        q = self.shown / np.maximum(self.records, 1e-300)
        return np.asarray(self.records * q * (1 - q) / self.p**2)

    @property
    def underlying_spread(self) -> Spread:
        """By how much one record moves the estimate, and adds to its variance, if the records are drawn."""
        of_one = self.elsewhere / self.p**2
        nothing = np.zeros(len(self.records))
        return Spread(nothing + 1 / self.p, of_one, of_one + 1 / self.p, nothing, nothing > 0)

    @property
    def is_at_edge(self) -> Bools:
        """(q,) whether none or all of the records show one of the values."""
        return (self.shown <= 0) | (self.shown >= self.records)

    def wilson_holds(self, level: float) -> Bools:
        """(q,) whether Wilson's interval holds as often as the level says where none or all show a value.

        With the q = z² / (n + z²) at which it ends nobody shows one with a probability of 1 − level at most.
        """
        n = np.maximum(self.records, 1.0)
        return np.asarray(n * np.log1p(quantile(level) ** 2 / n) >= -math.log(1 - level))

    def wilson(self, level: float, shift: float = 0.0) -> tuple[Floats, Floats]:
        """(q,) ends of Wilson's interval of q at a level, as counts; of records that count once each.

        By ``shift`` fewer shown for the lower end and more for the upper one.
        """
        z = quantile(level)
        n, ends = np.maximum(self.records, 1.0), []
        for side in (-1, 1):
            q = np.clip(self.shown + side * shift, 0.0, n) / n
            centre = (q + z**2 / (2 * n)) / (1 + z**2 / n)
            reach = z * np.sqrt(q * (1 - q) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
            ends.append(self.records * (centre + side * reach - self.elsewhere) / self.p)
        return np.asarray(ends[0]), np.asarray(ends[1])


@dataclass(frozen=True, eq=False)
class UnderlyingIntervals:
    """(q,) standard errors and intervals if the records are drawn, too, and which are by which law."""

    errors: Floats
    low: Floats
    high: Floats
    is_wilson: Bools
    is_bounded: Bools


def underlying_intervals(
    shown: ShownRecords | None, estimates: Floats, is_told: Bools, level: float
) -> UnderlyingIntervals:
    """Of unbiased estimates (q,); not a number where nothing is told or shown."""
    nothing: Floats = np.full(len(estimates), np.nan)
    if shown is None:
        none = np.zeros(len(estimates), dtype=bool)
        return UnderlyingIntervals(nothing, nothing, nothing, none, none)
    variance = shown.underlying_variances()
    errors = np.where(is_told, np.sqrt(variance), nothing)
    is_wilson = is_told & shown.is_at_edge & shown.wilson_holds(level)
    is_bounded = is_told & ~is_wilson & (shown.p**2 * variance < least_variance(level))
    ends = [
        np.where(is_wilson, wilson, np.where(is_bounded, bound, np.where(is_told, normal, np.nan)))
        for normal, wilson, bound in zip(
            shown.wilson(level, 0.5),
            shown.wilson(level),
            shown.underlying_spread.bounded(estimates, shown.records, level),
            strict=True,
        )
    ]
    return UnderlyingIntervals(errors, ends[0], ends[1], is_wilson, is_bounded)


def likeliest_shares(shown: Floats, p: float) -> Floats:
    """(q, m) the shares, none below 0, under which the counts shown (q, m) are most probable; 0 without any.

    See :func:`~app.domain.classes.reconstructed_shares.likeliest_of_entries`.
    """
    found = np.zeros(shown.shape)
    of, values = np.nonzero(shown)
    own = UniformReplacement(p, shown.shape[1])
    found[of, values] = likeliest_of_entries(shown[of, values], of, len(shown), own)
    return found
