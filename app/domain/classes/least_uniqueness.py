"""Records that have to be suppressed at least before an estimate of uniques in the population is low enough.

A rule makes u classes of n records, c_1 of them unique, in a sample of N people. If any a records are
suppressed, u' ≥ u − a classes and c' ≥ c_1 − a uniques of n' ≥ n − a records are left, and the population is
scaled to N' ≤ N. What follows grows with u and c_1, hence it holds at every more specific rule.

*Zayatz.* A class of i ≥ 2 people is sampled once with probability i · (n'/N') · q at most, with
q = (N' − n')/(N' − 1). So the estimated share is at least x² / (x + (1 − x) · q) with x = c'/n', which grows
with x, and x ≥ (c_1 − a)/(n − a).

*Pitman.* θ solves F = Σ_{i<u'} 1/(θ + iα) − Σ_{i<n'} 1/(θ + i) = 0, and F falls through 0. It falls with α
and with n', grows with u', and falls if a class of one record goes, since (u' − 1) · α ≤ n' − 1. So θ is at
least that of u − a and n − a. The share Γ(θ + 1)/Γ(θ + α) · N'^(α − 1) grows with θ, and with α as long as
θ + α ≤ N, and falls with N'. If F is above 0 for the greatest α of an interval at some θ ≤ N − 1 by which the
share at the least α is t, all estimates with α in the interval are above t.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.classes.libraries import Library
from app.domain.classes.uniqueness import ALPHAS

if TYPE_CHECKING:
    import scipy
else:
    scipy = Library("scipy")

SAFE: Final = 1e-6
"""Share that estimates may be wrong by, for the tolerances of their equations."""
HALVINGS: Final = 60
EDGES: Final[Floats] = np.concatenate(
    [np.linspace(ALPHAS[0], 0.9, 91), 1 - np.geomspace(0.09, 1 - ALPHAS[-1], 40)]
)
"""Ends of the intervals of α between which the likeliest is looked for."""


def least_gone(
    classes: int, unique: int, records: int, people: int, threshold: float, by_pitman: bool
) -> int:
    """Records that go at least so that a share of the people no greater than ``threshold`` is estimated.

    By the estimator of Zayatz or, if ``by_pitman``, the lesser of his and Pitman's estimates. Without uniques
    none is estimated: no more than ``unique`` are told.
    """
    most = threshold * (1 + SAFE) + SAFE**2
    low, high = -1, unique
    while high - low > 1:
        gone = (low + high) // 2
        is_above = _by_zayatz(unique - gone, records - gone, people / records) > most and (
            not by_pitman or _is_above_by_pitman(classes - gone, records - gone, people, most)
        )
        low, high = (gone, high) if is_above else (low, gone)
    return high


def _by_zayatz(unique: int, records: int, people_per_record: float) -> float:
    """A lower bound of the share of people who are estimated to be unique."""
    x = unique / records
    q = 1 - (records - 1) / max(people_per_record * records - 0.5, 1.0)
    return x * x / (x + (1 - x) * min(1.0, max(q, 0.0)))


def _is_above_by_pitman(classes: int, records: int, people: int, share: float) -> bool:
    """Whether Pitman's estimate is above a share of the people, whatever the likeliest α is."""
    if classes < 2:
        return False
    theta, alpha = _thetas(people, share), EDGES[1:]
    # Sums of a falling convex function are above those of trapezoids and below those of midpoints.
    first, last = 1 / (theta + alpha), 1 / (theta + (classes - 1) * alpha)
    blocks = np.log1p((classes - 2) * alpha / (theta + alpha)) / alpha + (first + last) / 2
    draws = 1 / (theta + 1) + np.log1p(max(0, records - 2) / (theta + 1.5))
    return bool((blocks > draws * (1 + SAFE)).all())


@lru_cache(maxsize=8)
def _thetas(people: int, share: float) -> Floats:
    """A θ per interval of α at which the share is no lower at its least α; ∞ if there is none up to N − 1."""
    alpha = EDGES[:-1]
    # Kershaw 1983: Γ(θ + 1)/Γ(θ + α) > (θ + α/2)^(1 − α) for θ > 0.
    found = np.maximum(people * share ** (1 / (1 - alpha)) - alpha / 2, 0.0)
    logs = (alpha - 1) * np.log(people)
    low, high = -alpha, np.zeros(len(alpha))
    is_below_0 = logs - scipy.special.gammaln(alpha) >= np.log(share)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        enough = scipy.special.gammaln(middle + 1) - scipy.special.gammaln(middle + alpha) + logs >= np.log(
            share
        )
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    found = np.where(is_below_0, high, found)
    return np.where(found <= people - 1, found, np.inf)
