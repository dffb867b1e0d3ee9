"""The law of two-sided geometric noise, to sixty digits: its tails, its spread, and thresholds that follow.

Pr[Z = z] = (1 − α) / (1 + α) · α^|z| with α = exp(−ε). Only what is told or compared is computed here;
nothing that is released is drawn from these numbers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Final

from app.domain.classes.ratios import as_written

DIGITS: Final = 60
IN_DOUBT: Final = Decimal("1e-40")
"""A tail that is nearer to its bound than this part of it counts as above: the logarithms of rationals that
are compared are never equal."""


@dataclass(frozen=True)
class NoiseLaw:
    """Noise z with a probability proportional to exp(−epsilon · |z|), epsilon above 0."""

    epsilon: Fraction

    @cached_property
    def alpha(self) -> Decimal:
        """exp(−ε)."""
        with localcontext(Context(prec=DIGITS)):
            return (-_decimal(self.epsilon)).exp()

    def tail(self, least: int) -> Decimal:
        """Pr[Z ≥ least]."""
        with localcontext(Context(prec=DIGITS)):
            if least <= 0:
                return 1 - self.tail(1 - least)
            return (-_decimal(self.epsilon) * least).exp() / (1 + self.alpha)

    def probability(self, z: int) -> Decimal:
        """Pr[Z = z]."""
        with localcontext(Context(prec=DIGITS)):
            return (1 - self.alpha) / (1 + self.alpha) * (-_decimal(self.epsilon) * abs(z)).exp()

    @property
    def standard_deviation(self) -> float:
        """√(2α) / (1 − α)."""
        with localcontext(Context(prec=DIGITS)):
            return float((2 * self.alpha).sqrt() / (1 - self.alpha))

    @property
    def mean_above_zero(self) -> float:
        """E[max(0, Z)] = α / (1 − α²)."""
        with localcontext(Context(prec=DIGITS)):
            return float(self.alpha / (1 - self.alpha**2))

    def threshold(self, delta: Fraction) -> int:
        """The least τ ≥ 1 by which a count of 1 with noise reaches τ with a probability of at most delta."""
        with localcontext(Context(prec=DIGITS)):
            bound = _decimal(delta)
            steps = (-(bound * (1 + self.alpha)).ln() / _decimal(self.epsilon)).to_integral_value(
                ROUND_CEILING
            )
            found = max(1, 1 + int(steps))
            while self.tail(found - 1) * (1 + IN_DOUBT) > bound:
                found += 1
            while found > 1 and self.tail(found - 2) * (1 + IN_DOUBT) <= bound:
                found -= 1
            return found

    def reaching(self, threshold: int, chance: Fraction) -> int:
        """The least count from the threshold on that reaches it with a probability of at least ``chance``."""
        with localcontext(Context(prec=DIGITS)):
            wanted = _decimal(chance)
            steps = -((1 - wanted) * (1 + self.alpha)).ln() / _decimal(self.epsilon)
            found = max(threshold, threshold - 1 + int(steps.to_integral_value(ROUND_CEILING)))
            while self.tail(threshold - found) < wanted:
                found += 1
            while found > threshold and self.tail(threshold - found + 1) >= wanted:
                found -= 1
            return found


def _decimal(number: Fraction) -> Decimal:
    with localcontext(Context(prec=DIGITS)):
        return Decimal(number.numerator) / number.denominator


def not_less(number: Decimal | Fraction) -> float:
    """The nearest float that is, as the decimal it is written as, not below the number.

    What is promised is never stated smaller than it is.
    """
    found = float(number)
    return found if as_written(found) >= Fraction(number) else math.nextafter(found, math.inf)
