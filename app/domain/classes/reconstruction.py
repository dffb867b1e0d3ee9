"""How well the shares of values in a group can be computed from uniformly randomised records.

A value is kept with the probability p and else replaced by any of m, itself included, each as likely
(Wang et al. (2012), equation 1). Of a group of n records with n_x of the value x, f = n_x / n, a randomised
record shows x with the probability w = f·p + c, c = (1 − p) / m, and F' = (O / n − c) / p estimates f from
the O records that show it. F' is off by more than ε of f exactly if O is off by more than θ = ε·p·f / w of
its mean μ = n·w (Wang et al. (2012), theorem 4.6). Chernoff's inequality bounds the probability of that,

    simple   ln L = −μ·θ² / 2                       ln U = −μ·θ² / (2 + θ)
    full     ln L = −μ·(θ + (1 − θ)·ln(1 − θ))      ln U = −μ·((1 + θ)·ln(1 + θ) − θ)

for the estimate being too low and too high. L is never above U, and falls as f grows, so that the most
frequent value of a group decides: the group passes if L is at least δ. That is a lower limit of an upper
bound, and does not say that the estimate is bad (Definitions: upper bounds of errors); the probabilities
themselves are in :mod:`app.domain.classes.reconstruction_tails`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Bools, Floats, Longs

Bound = Literal["chernoff_simple", "chernoff_full"]

EQUAL: Final = 1e-12
"""Share of a bound that a group may be above it: what rounding makes of an equality."""

SMALL: Final = 0.05
"""Below this θ the exponents are summed as series, of which nothing cancels."""

NEARLY_ALL: Final = 0.9
"""From this probability on that a value is published as itself, hardly anything is hidden."""

TERMS: Final = 14
STEPS: Final = 100
"""Halvings of an interval: more than a double has digits."""


@dataclass(frozen=True)
class UniformReplacement:
    """A value is kept with the probability p, else replaced by any of m ≥ 2 values; 0 < p < 1."""

    p: float
    m: int

    @property
    def elsewhere(self) -> float:
        """c: the probability that a value becomes some one other."""
        return (1.0 - self.p) / self.m

    @property
    def kept(self) -> float:
        """The probability a = p + c that a value is published as itself."""
        return self.p + self.elsewhere

    def nearly_all_kept(self) -> str | None:
        """A warning where nearly every value is published as it is; None elsewhere."""
        if self.kept < NEARLY_ALL:
            return None
        return (
            f"With p = {self.p:.6g} a published value is the record's own with a probability of "
            f"{self.kept:.6g}: next to nothing is hidden of one record. Small groups pass upper "
            "bounds all the same, which say nothing of that."
        )

    @property
    def changed(self) -> float:
        """1 − a, without cancellation."""
        return (self.m - 1) * self.elsewhere

    @property
    def amplification(self) -> float:
        """γ = a / c: no odds change by more than this factor when the record's published value is seen."""
        return 1.0 + self.m * self.p / (1.0 - self.p)

    def least_error(self, records: int) -> float:
        """√(c·(1 − c) / n) / p: the standard error of an estimated share, of a value that none of n has."""
        return math.sqrt(self.elsewhere * (1.0 - self.elsewhere) / records) / self.p


def greatest_p(rho_1: float, rho_2: float, m: int) -> float:
    """The greatest p with which what was at most ρ1 likely is at most ρ2 likely after the published value.

    0 < ρ1 < ρ2 < 1. (γ − 1) / (m − 1 + γ) with γ = ρ2·(1 − ρ1) / (ρ1·(1 − ρ2)) (Evfimievski et al. (2003)).
    """
    above = (rho_2 - rho_1) / (rho_1 * (1.0 - rho_2))
    return above / (m + above)


def greatest_posterior(replacement: UniformReplacement, rho_1: float) -> float:
    """The ρ2 that is reached for a ρ1: γ·ρ1 / (1 − ρ1 + γ·ρ1)."""
    odds = replacement.amplification * rho_1
    return odds / (1.0 - rho_1 + odds)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates of the share of one value in one group each.

    Parameters
    ----------
    amounts, sizes
        n_x ≥ 1 and n ≥ n_x: records with the value, and of the group. Of r independent releases r times
        these.
    replacement
        What was done to the records.
    epsilon
        ε ≥ 0: the relative error that counts as large.
    """

    amounts: Longs
    sizes: Longs
    replacement: UniformReplacement
    epsilon: float

    @cached_property
    def mean(self) -> Floats:
        """μ: how many records show the value, in expectation."""
        own = self.replacement
        return np.asarray(own.p * self.amounts + own.elsewhere * self.sizes)

    @cached_property
    def share(self) -> Floats:
        """The share f."""
        return np.asarray(self.amounts / self.sizes)

    @cached_property
    def deviation(self) -> Floats:
        """θ."""
        return np.asarray(self.epsilon * self.replacement.p * self.amounts / self.mean)

    @cached_property
    def is_low_possible(self) -> Bools:
        """Whether θ ≤ 1: for a greater one the estimate cannot be too low at all."""
        return np.asarray(self.deviation <= 1.0 + EQUAL)

    def log_low(self, bound: Bound) -> Floats:
        """The logarithm of L, −∞ where the estimate cannot be too low by so much."""
        if bound == "chernoff_simple":
            found = -self.mean * self.deviation**2 / 2
        else:
            found = -self.mean * low_exponent(np.minimum(self.deviation, 1.0))
        return np.where(self.is_low_possible, found, -np.inf)

    def greatest_sizes(self, bound: Bound, delta: float) -> Floats:
        """s: the greatest group, of the same shares, of which L is at least δ; ∞ if every one is.

        Wang et al. (2012), equations 9 and 10. 0 where the estimate cannot be too low by so much, unless δ
        is 0.
        """
        needed = _evidence(delta)
        if needed == math.inf or self.epsilon == 0:
            return np.full(len(self.sizes), np.inf)
        found = -needed * self.sizes / np.where(self.is_low_possible, self.log_low(bound), -1.0)
        return np.where(self.is_low_possible, found, 0.0)

    def within(self, bound: Bound, delta: float) -> Bools:
        """Whether L is at least δ, up to 1e-12 of its logarithm: equality passes."""
        needed = _evidence(delta)
        if needed == math.inf:
            return np.ones(len(self.sizes), dtype=bool)
        if bound == "chernoff_full":
            return np.asarray(-self.log_low(bound) <= needed * (1 + EQUAL))
        own = self.replacement
        # As counts: (ε·p·n_x)² ≤ 2·ln(1/δ)·(p·n_x + c·n).
        simple = (self.epsilon * own.p * self.amounts) ** 2 <= 2 * needed * self.mean * (1 + EQUAL)
        return np.asarray(simple & self.is_low_possible)

    def greatest_epsilons(self, bound: Bound, delta: float) -> Floats:
        """The greatest ε with which L is at least δ, at most the one from which on it is 0: w / (p·f)."""
        evidence = _evidence(delta) / self.mean
        if bound == "chernoff_simple":
            deviation = np.sqrt(2 * evidence)
        else:
            deviation = _low_deviation(np.minimum(evidence, 1.0))
        return np.asarray(np.minimum(deviation, 1.0) * self.mean / (self.replacement.p * self.amounts))


def _evidence(delta: float) -> float:
    """Λ = ln(1 / δ)."""
    return math.inf if delta == 0 else abs(math.log(delta))


def low_exponent(deviation: Floats) -> Floats:
    """θ + (1 − θ)·ln(1 − θ) for 0 ≤ θ ≤ 1, which is Σ θ^k / (k·(k − 1)) over k ≥ 2."""
    rest = 1.0 - deviation
    safe = np.where(rest > 0, rest, 1.0)
    direct = np.where(rest > 0, deviation + rest * np.log(safe), 1.0)
    return np.where(deviation < SMALL, _series(deviation), direct)


def _series(deviation: Floats) -> Floats:
    found = np.zeros_like(deviation)
    for k in range(TERMS, 1, -1):
        found = found * deviation + 1.0 / (k * (k - 1))
    return np.asarray(found * deviation**2)


def _low_deviation(exponent: Floats) -> Floats:
    """The θ of a :func:`low_exponent` from 0 to 1, which rises with it."""
    low, high = np.zeros_like(exponent), np.ones_like(exponent)
    for _ in range(STEPS):
        middle = (low + high) / 2
        below = low_exponent(middle) < exponent
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(high)


def greatest_retentions(
    amounts: Longs, sizes: Longs, m: int, epsilon: float, delta: float, trials: int = 1
) -> Floats:
    """The greatest p with which L of the simple bound is at least δ; 1 or more if it is for every p below 1.

    The root of (ε·p·f)²·n = 2·Λ·w in p, and no greater than the p with θ = 1 where ε is above 1.
    """
    evidence = _evidence(delta)
    share = amounts / sizes
    if evidence == math.inf or epsilon == 0:
        return np.full(len(sizes), np.inf)
    squared = trials * sizes * (epsilon * share) ** 2
    linear = 2 * evidence * (share - 1.0 / m)
    root = np.sqrt(linear**2 + 8 * evidence * squared / m)
    # Of two forms of the root the one in which nothing cancels.
    found = np.where(
        linear >= 0,
        (linear + root) / (2 * squared),
        4 * evidence / m / np.where(linear < 0, root - linear, 1.0),
    )
    if epsilon > 1:
        found = np.minimum(found, 1.0 / (1.0 + m * share * (epsilon - 1.0)))
    return np.asarray(found)


def greatest_retention(
    bound: Bound, amounts: Longs, sizes: Longs, m: int, epsilon: float, delta: float, trials: int = 1
) -> float:
    """The greatest p with which all groups pass; 1 if they do for every p below 1, ∞ without any group.

    The groups are given by their most frequent values. L falls as p grows, for either bound.
    """
    if not len(sizes):
        return math.inf
    simple = min(1.0, float(greatest_retentions(amounts, sizes, m, epsilon, delta, trials).min()))
    if bound == "chernoff_simple" or simple == 0:
        return simple
    # L of the full bound is at most that of the simple one.
    low, high = 0.0, simple
    for _ in range(STEPS):
        middle = (low + high) / 2
        if not 0 < middle < 1:
            break
        own = Estimates(trials * amounts, trials * sizes, UniformReplacement(middle, m), epsilon)
        if own.within(bound, delta).all():
            low = middle
        else:
            high = middle
    return 1.0 if high == 1.0 and 1.0 - low <= EQUAL else low
