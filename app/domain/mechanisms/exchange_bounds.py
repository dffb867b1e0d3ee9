"""How well a sample hides one record: the tails of theorem C.

Every record is released with the probability s, as one generalisation that is drawn for it; with β = 1 − s it
is not. One record more adds one copy of one generalisation x to what is released. Where others are below x,
too, one copy more of x looks much as one more of them would have been sampled: how often x is released, and
how much of it was left unsampled, are sums of independent coins, and Chernoff's bounds say how rarely either
is far from its mean (Fouad (2012), section 6.4, where an identity
counts sampled sets several times; with n_x(G) · Pr[M = G] = (s/β) · E[W_x; M = G − {x}] in its place).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from app.domain.arrays import Floats

SIZE_SLACK: Final = 0.5
"""τ2: samples larger than 1 + τ2 times what is expected count to δ."""
_SHARES: Final[Floats] = np.arange(1, 1000) / 1000.0
_STEPS: Final = 200


def upper_rate(slack: Floats | float) -> Floats:
    """(1+τ)·ln(1+τ) − τ: a sum of coins of mean μ is 1 + τ times μ or more with e^(−μ·rate) at most."""
    return np.asarray((1.0 + slack) * np.log1p(slack) - slack)


def lower_rate(slack: Floats | float) -> Floats:
    """τ + (1−τ)·ln(1−τ): the same for 1 − τ times μ or less."""
    return np.asarray(slack + (1.0 - slack) * np.log1p(-slack))


SIZE_RATE: Final = float(upper_rate(SIZE_SLACK))


def size_tail(rate: float, records: float) -> float:
    """No sample of so many records is larger than 1 + τ2 times what is expected with more than this."""
    return math.exp(-rate * records * SIZE_RATE)


def exchange_tail(mass: float, rate: float, factor: float) -> float:
    """D_x(S, β, K): how often one copy more of x changes probabilities by more than K, at most.

    Parameters
    ----------
    mass
        S: expected copies of x if all records were sampled.
    rate
        s, with which each is.
    factor
        K.

    Returns
    -------
    float
        1 where the bound says nothing. The least over shares of S that are left unsampled, on a grid: each
        point of it is a bound.
    """
    if mass <= 0:
        return 1.0
    over = factor * (1.0 - _SHARES) - 1.0 - 1.0 / (rate * mass)
    says = over > 0
    if not says.any():
        return 1.0
    shares, over = _SHARES[says], over[says]
    tails = np.exp(-(1.0 - rate) * mass * lower_rate(shares)) + np.exp(-rate * mass * upper_rate(over))
    return min(1.0, float(tails.min()))


def least_mass(bound: float, rate: float, factor: float) -> float:
    """The least S of which the tail is at most the bound, to a part in 10¹², from above; ∞ if none is."""
    if factor <= 1:
        return math.inf
    above = 1.0
    while exchange_tail(above, rate, factor) > bound:
        above *= 2.0
        if math.isinf(above):
            return above
    below = above / 2.0 if above > 1.0 else 0.0
    for _ in range(_STEPS):
        middle = (below + above) / 2.0
        if above - below <= 1e-12 * above:
            break
        if exchange_tail(middle, rate, factor) > bound:
            below = middle
        else:
            above = middle
    return above


def exchange_factor(epsilon: float, drift: float, rate: float) -> float:
    """K = (e^(ε−ρ) − β) / s: what is left for the copy once the drift ρ of all other records is paid."""
    return (math.exp(epsilon - drift) - (1.0 - rate)) / rate
