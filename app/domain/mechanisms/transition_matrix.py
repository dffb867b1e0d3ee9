"""The matrix by which a sensitive value is replaced: a diagonal and a matrix of rank one, not m × m numbers.

A value is kept with the probability α_i, its retention, and otherwise replaced by one of all m values, each
as likely as any other, itself included. Of a value c the published one is r with the probability

    PM[r][c] = Y_c + α_c · [r = c],    Y_c = (1 − α_c) / m,

so that PM = diag(α) + 1·Yᵀ and its columns sum to 1 (Cao and Karras (2012), equation 12).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.errors import TooLarge

DENSE_LIMIT: Final = 1_000
"""Values up to which the matrix may be written out."""


@dataclass(frozen=True, eq=False)
class TransitionMatrix:
    """PM in two vectors.

    Parameters
    ----------
    retention
        α, (m,). Negative where a value is likelier to become another one than to stay, down to −1 / (m − 1).
    """

    retention: Floats

    @property
    def n_values(self) -> int:
        """How many values there are, m."""
        return len(self.retention)

    @cached_property
    def elsewhere(self) -> Floats:
        """Y, (m,): the probability that a value becomes some one other."""
        return (1.0 - self.retention) / self.n_values

    @cached_property
    def kept(self) -> Floats:
        """X = α + Y, (m,): the probability that a value is published as itself."""
        return self.retention + self.elsewhere

    @cached_property
    def amplification(self) -> float:
        """γ, by what factor one published value changes odds between two values at most; may be infinite.

        It is the greatest quotient of two entries in one row of PM, of which row v has X_v and the Y of all
        other values.
        """
        if self.n_values == 1:
            return 1.0
        ascending = np.sort(self.elsewhere)
        least = np.where(self.elsewhere == ascending[0], ascending[1], ascending[0])
        greatest = np.where(self.elsewhere == ascending[-1], ascending[-2], ascending[-1])
        least, greatest = np.minimum(least, self.kept), np.maximum(greatest, self.kept)
        return math.inf if least.min() <= 0 else float((greatest / least).max())

    def dense(self) -> Floats:
        """(m, m) PM[published][true]; TooLarge for more values than are written out."""
        if self.n_values > DENSE_LIMIT:
            raise TooLarge(
                f"The matrix of {self.n_values:,} values has {self.n_values**2:,} entries.",
                f"Up to {DENSE_LIMIT:,} values are written out. Use retention and elsewhere: all entries of "
                "a column are its elsewhere, and retention comes on top on the diagonal.",
                DENSE_LIMIT,
            )
        return np.asarray(np.diag(self.retention) + self.elsewhere)

    def published(self, counts: Floats) -> Floats:
        """PM · counts, (m,): what is published of so many records of each value, in expectation."""
        return self.retention * counts + float(self.elsewhere @ counts)

    def greatest_posteriors(self, prior: Floats) -> Floats:
        """(m,) the greatest probability of each value after a published value, whichever that is.

        ``prior`` (m,) is positive and sums to 1. By Bayes, the posterior of i after v is
        p_i · PM[v][i] / (Σ_j p_j · Y_j + p_v · α_v). It is a maximum over m posteriors, of which only two can
        be the greatest: that after i itself, and that after the other v with the least denominator.
        """
        anything = float(prior @ self.elsewhere)
        shown = anything + prior * self.retention
        after_itself = prior * self.kept / shown
        if self.n_values == 1:
            return after_itself
        least, second = np.argpartition(shown, 1)[:2].tolist()
        other = np.full(self.n_values, shown[least])
        other[least] = shown[second]
        return np.asarray(np.maximum(after_itself, prior * self.elsewhere / other))
