"""The transition matrix that makes randomised values β-like (Cao and Karras (2012), section 5).

With the prior p_i and the bound f(p_i) of enhanced β-likeness, a reader's posterior of a value stays within
the bound if no two probabilities of a row differ by more than the factor

    γ_i = f(p_i) / p_i · (1 − p_i) / (1 − f(p_i)).

Cao and Karras (2012), theorem 3, keeps a value with α_i = (m·γ_i·C − 1) / (m − 1), C = 1 / (γ_max + m − 1).
Where a value is so frequent that its γ is huge, that is negative for others, and the bound fails
(Definitions: perturbation). With any C from lo to hi

    X_i = min(γ_i·C, 1 − (m − 1)·C),    lo = (1 + (m − 1)·a) / (m·γ_min),    hi = (1 − a) / m,

all α_i are at least a, all entries of a row at least C, and that of i at most γ_i·C: the bound holds.

The work is done in g_i = γ_i − 1 and d = 1 − m·C, of which α_i = min((g_i − (1 + g_i)·d) / (m − 1), d), so
that nothing cancels where β is small. d is the greatest α.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.gains import surprisals
from app.domain.mechanisms.transition_matrix import TransitionMatrix

Objective = Literal["paper", "retention"]

LEAST_RETENTION: Final = 1e-6
"""From which α on the published formula is used as it is."""

NEARLY_ALL: Final = 0.999
"""Share from which on 1 − f(p) is not computed as a difference."""

TIE: Final = 1e-12


@dataclass(frozen=True, eq=False)
class LikenessMatrix:
    """A matrix and how it was found.

    Parameters
    ----------
    matrix
        PM.
    excess
        γ − 1, (m,).
    greatest
        d = 1 − m·C.
    floor
        The α that no value goes below, None for the formula as published.
    """

    matrix: TransitionMatrix
    excess: Floats
    greatest: float
    floor: float | None

    @property
    def least_entry(self) -> float:
        """C."""
        return (1 - self.greatest) / self.matrix.n_values


def excess_amplification(totals: Longs, beta: Fraction) -> Floats:
    """γ − 1 of each value, (m,): b / (1 − p·(1 + b)) with the greatest relative gain b that it is allowed.

    ``totals`` (m,) is how often each occurs in the prior, at least once; there are at least two.
    """
    population = int(totals.sum())
    rare = surprisals(totals, population)
    gain = np.minimum(float(beta), rare)
    room = (population - totals) / population - gain * (totals / population)
    for i in np.flatnonzero(totals > NEARLY_ALL * population).tolist():
        others, own = Fraction(population - int(totals[i]), population), Fraction(int(totals[i]), population)
        if float(beta) < rare[i]:
            room[i] = float(others - beta * own)
        else:
            e = float(others)
            room[i] = e**2 * (1 / 2 + e / 6 + e**2 / 12 + e**3 / 20)
    return np.asarray(gain / room)


def greatest_floor(excess: Floats) -> float:
    """The greatest α that all values can have: (γ_min − 1) / (γ_min + m − 1)."""
    least = float(excess.min())
    return least / (least + len(excess))


def published_matrix(excess: Floats) -> LikenessMatrix:
    """The formula as published, whose α may be negative."""
    m, greatest = len(excess), float(excess.max())
    retention = (m * excess - greatest) / ((m - 1) * (greatest + m))
    return LikenessMatrix(TransitionMatrix(retention), excess, greatest / (greatest + m), None)


def safe_matrix(
    excess: Floats, prior: Floats, objective: Objective = "paper", floor: float | None = None
) -> LikenessMatrix:
    """The matrix with the largest ``objective`` of those that are proved to keep the bound.

    Parameters
    ----------
    excess, prior
        γ − 1 and p, (m,).
    objective
        ``paper``: the formula as published where its α are at least the floor, else the nearest C to it.
        ``retention``: as many values kept as possible, in expectation.
    floor
        The α that no value goes below, at most :func:`greatest_floor`. None: the published formula's if that
        is positive, and half the greatest otherwise.
    """
    published = published_matrix(excess)
    least = float(published.matrix.retention.min())
    if floor is None and least >= LEAST_RETENTION and objective == "paper":
        return published
    if floor is None:
        floor = greatest_floor(excess) / 2
        floor = min(floor, least) if least >= LEAST_RETENTION else floor
    m, low = len(excess), float(excess.min())
    most = max(floor, (low - (m - 1) * floor) / (1 + low))
    if objective == "paper":
        greatest = min(max(published.greatest, floor), most)
    else:
        # The d from ``floor`` to ``most`` with the greatest Σ p·α, the greatest of equals. The sum is
        # concave and linear between the points g_k / (g_k + m), at each of which a value goes over
        # from the one branch of α to the other. Below it, that is the values with a greater g, α is d
        order = np.argsort(excess)
        g, p = excess[order], prior[order]
        points = np.concatenate([g / (g + m), [floor, most]])
        below = np.searchsorted(g / (g + m), points)
        shares, gains, losses = (np.concatenate([[0.0], np.cumsum(own)]) for own in (p, p * g, p * (1 + g)))
        kept = (gains[below] - losses[below] * points) / (m - 1) + (shares[-1] - shares[below]) * points
        kept[(points < floor) | (points > most)] = -np.inf
        greatest = float(points[kept >= kept.max() * (1 - TIE)].max())
    # α of a d.
    retention = np.minimum((excess - (1 + excess) * greatest) / (len(excess) - 1), greatest)
    return LikenessMatrix(TransitionMatrix(retention), excess, greatest, floor)
