"""How exactly a share is told by the quotient of two noisy counts.

Who is answered how many records a group has, o1, and how many of them have a value, o2, each with Laplace
noise of the density λ·exp(−λ·|ξ|) / 2 of its own, divides the answers. The noise is as large for every group,
so that of a large one the quotient is close to f = o2 / o1 (Wang et al. (2012), example 2). The probabilities
that it is farther than ε·f above or below f are integrals of exponentials over the first answer, here in
closed form, answers below 0 included (Definitions: quotients of noisy counts).
"""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.reconstruction_tails import Tails


def tails_of_quotients(amounts: Longs, sizes: Longs, rate: float, epsilon: float) -> Tails:
    """Of o2 = ``amounts`` (k,) ≥ 1 and o1 = ``sizes`` (k,) ≥ o2, at the rate λ > 0; 0 < ε < 1."""
    with_value: Floats = np.asarray(rate * amounts, dtype=np.float64)
    records: Floats = np.asarray(rate * sizes, dtype=np.float64)
    above = _of_positive(with_value, records, (1 + epsilon) * amounts / sizes)
    below = _of_positive(with_value, records, (1 - epsilon) * amounts / sizes)
    # An answer below 0 turns the comparison round.
    is_negative = 0.5 * np.exp(-records)

    def of_both(quotient: Floats) -> Floats:
        return np.asarray(np.exp(-records - with_value) / (4 * (1 + quotient)))

    low = below + is_negative - of_both((1 - epsilon) * amounts / sizes)
    high = above + of_both((1 + epsilon) * amounts / sizes)
    return Tails(np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0))


def _of_positive(with_value: Floats, records: Floats, quotient: Floats) -> Floats:
    """The first answer is above 0, and the second beyond ``quotient`` times it on the far side of f.

    Counts are in units of 1/λ. With r = o2/k for a quotient k the far side is above where r is at most o1,
    and below else: the first answer runs from 0 to the lesser of r and o1, to the greater, and on from there.
    """
    middle = with_value / quotient
    distance = np.abs(middle - records)
    between = np.exp(-np.minimum(quotient, 1.0) * distance) * _reached(np.abs(1.0 - quotient), distance)
    outer = np.exp(-quotient * distance) / (1 + quotient)
    inner = 0.5 * np.exp(-distance) - 0.25 * np.exp(-distance) / (1 + quotient)
    both = 0.25 * np.exp(-records - with_value) / (1 + quotient)
    is_above = middle <= records
    # From 0 on one side the part of answers below 0 is taken off what would be integrated from −∞ on.
    off = np.where(is_above, 0.5 * np.exp(-records) - both, both)
    return np.asarray(inner + 0.25 * (between + outer) - off)


def _reached(rate: Floats, distance: Floats) -> Floats:
    """(1 − exp(−rate·distance)) / rate, and ``distance`` where the rate is 0."""
    safe = np.where(rate == 0, 1.0, rate)
    return np.where(rate == 0, distance, -np.expm1(-rate * distance) / safe)
