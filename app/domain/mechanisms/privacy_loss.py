"""What differentially private releases of one table spend together, in exact numbers (basic composition).

Of releases that are each (ε_i, δ_i)-differentially private, with random bits of their own, all together are
(Σ ε_i, Σ δ_i)-differentially private, also where each was chosen in the light of those before (Dwork and Roth
(2014), theorem 3.16). No number is rounded: a sum that is a quadrillionth above a limit is above it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction


@dataclass(frozen=True)
class PrivacyLoss:
    """ε and δ of one release, of several together, or the limits of a budget; each a finite decimal."""

    epsilon: Fraction
    delta: Fraction

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        return PrivacyLoss(self.epsilon + other.epsilon, self.delta + other.delta)

    def __sub__(self, other: PrivacyLoss) -> PrivacyLoss:
        return PrivacyLoss(self.epsilon - other.epsilon, self.delta - other.delta)

    def is_within(self, limits: PrivacyLoss) -> bool:
        """Whether neither number is above its limit; one that equals it is not."""
        return self.epsilon <= limits.epsilon and self.delta <= limits.delta


NOTHING = PrivacyLoss(Fraction(0), Fraction(0))


def composed(losses: Iterable[PrivacyLoss]) -> PrivacyLoss:
    """What all of them are together: the sums."""
    return sum(losses, NOTHING)


def as_decimal(number: Fraction) -> Decimal:
    """The same number as a decimal, with all of its places; ValueError if they never end."""
    places, rest = 0, number.denominator
    while rest % 10 == 0:
        places, rest = places + 1, rest // 10
    for factor in (2, 5):
        while rest % factor == 0:
            places, rest = places + 1, rest // factor
    if rest != 1:
        raise ValueError("the number has no end as a decimal")
    digits = number.numerator * 10**places // number.denominator
    with localcontext() as context:
        context.prec = max(len(str(abs(digits))), 1)
        return Decimal(digits).scaleb(-places)


def decimal_text(number: Fraction) -> str:
    """The same with its digits written out, such as 0.000001; ValueError as above."""
    text = format(as_decimal(number), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
