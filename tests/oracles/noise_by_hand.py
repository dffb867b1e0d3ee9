"""Two-sided geometric noise one by one, as the source writes it, and the exact law of small releases."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction

Below = Callable[[int], int]
"""A uniform whole number from 0 to below the bound."""


def coin(p: Fraction, below: Below) -> bool:
    return below(p.denominator) < p.numerator


def exponential_coin(g: Fraction, below: Below) -> bool:
    """True with exp(−g)."""
    while g > 1:
        if not exponential_coin(Fraction(1), below):
            return False
        g -= 1
    k = 1
    while coin(g / k, below):
        k += 1
    return k % 2 == 1


def geometric_by_hand(rate: Fraction, below: Below) -> int:
    """One number z with a probability proportional to exp(−rate · |z|) (Canonne et al. (2020), algorithm
    2)."""
    num, den = rate.denominator, rate.numerator
    while True:
        u = below(num)
        if not exponential_coin(Fraction(u, num), below):
            continue
        v = 0
        while exponential_coin(Fraction(1), below):
            v += 1
        size, is_negative = (u + num * v) // den, below(2) == 1
        if not (is_negative and size == 0):
            return -size if is_negative else size


def chance_of_noise(epsilon: float, z: int) -> float:
    """Pr[Z = z] of two-sided geometric noise."""
    alpha = math.exp(-epsilon)
    return (1 - alpha) / (1 + alpha) * alpha ** abs(z)


def chance_from(epsilon: float, least: int) -> float:
    """Pr[Z ≥ least]."""
    alpha = math.exp(-epsilon)
    return alpha**least / (1 + alpha) if least > 0 else 1 - alpha ** (1 - least) / (1 + alpha)


def threshold_of(epsilon: float, delta: float) -> int:
    """τ = 1 + ⌈ln(1 / (δ·(1 + e^−ε))) / ε⌉, at least 1."""
    return max(1, 1 + math.ceil(math.log(1 / (delta * (1 + math.exp(-epsilon)))) / epsilon))


def hockey_stick(one: dict[object, float], other: dict[object, float], factor: float) -> float:
    """Σ max(0, P(o) − factor · Q(o)): the least δ of P over Q."""
    return sum(max(0.0, p - factor * other.get(outcome, 0.0)) for outcome, p in one.items())


def law_of(outcomes: Iterable[tuple[object, float]]) -> dict[object, float]:
    """Probabilities by outcome."""
    found: dict[object, float] = defaultdict(float)
    for outcome, probability in outcomes:
        found[outcome] += probability
    return found
