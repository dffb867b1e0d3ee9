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

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from app.domain.arrays import Bools, Floats
from app.domain.classes.reconstructed_shares import likeliest_of_entries, variances
from app.domain.classes.reconstruction import UniformReplacement
from app.domain.mechanisms.transition_matrix import TransitionMatrix


def uniform_retention(matrix: TransitionMatrix) -> float | None:
    """The one probability 0 < p < 1 with which a matrix keeps every value, None if there is no such."""
    first = float(matrix.retention[0])
    return first if 0.0 < first < 1.0 and bool((matrix.retention == first).all()) else None


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
    def is_at_edge(self) -> Bools:
        """(q,) whether none or all of the records show one of the values."""
        return (self.shown <= 0) | (self.shown >= self.records)

    def wilson(self, level: float) -> tuple[Floats, Floats]:
        """(q,) ends of Wilson's interval of q at a level, as counts; of records that count once each."""
        z = quantile(level)
        n = np.maximum(self.records, 1.0)
        q = self.shown / n
        centre = (q + z**2 / (2 * n)) / (1 + z**2 / n)
        reach = z * np.sqrt(q * (1 - q) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
        low, high = (self.records * (centre + side * reach - self.elsewhere) / self.p for side in (-1, 1))
        return np.asarray(low), np.asarray(high)


def quantile(level: float) -> float:
    """How many standard errors an interval at a level reaches to either side, by the normal law."""
    # The lower tail: 1 + level is 2 in doubles for levels next to 1, of which no quantile is finite.
    return -NormalDist().inv_cdf((1 - level) / 2)


@dataclass(frozen=True, eq=False)
class UnderlyingIntervals:
    """(q,) standard errors and intervals if the records are drawn, too, and which intervals are Wilson's."""

    errors: Floats
    low: Floats
    high: Floats
    is_wilson: Bools


def underlying_intervals(
    shown: ShownRecords | None, estimates: Floats, is_told: Bools, level: float
) -> UnderlyingIntervals:
    """Of unbiased estimates (q,); not a number where nothing is told or shown."""
    nothing: Floats = np.full(len(estimates), np.nan)
    if shown is None:
        return UnderlyingIntervals(nothing, nothing, nothing, np.zeros(len(estimates), dtype=bool))
    errors = np.where(is_told, np.sqrt(shown.underlying_variances()), nothing)
    reach, is_wilson = quantile(level) * errors, is_told & shown.is_at_edge
    low, high = shown.wilson(level)
    return UnderlyingIntervals(
        errors,
        np.where(is_wilson, low, estimates - reach),
        np.where(is_wilson, high, estimates + reach),
        is_wilson,
    )


def likeliest_shares(shown: Floats, p: float) -> Floats:
    """(q, m) the shares, none below 0, under which the counts shown (q, m) are most probable; 0 without any.

    See :func:`~app.domain.classes.reconstructed_shares.likeliest_of_entries`.
    """
    found = np.zeros(shown.shape)
    of, values = np.nonzero(shown)
    own = UniformReplacement(p, shown.shape[1])
    found[of, values] = likeliest_of_entries(shown[of, values], of, len(shown), own)
    return found
