"""What a reader gains on each sensitive value: β-likeness and δ-disclosure privacy.

A reader knows the shares p_i = N_i / N of the values in the whole table (or another reference) and finds the
shares q_i = n_i / |G| in a class. The relative gain on a value is D = (q_i − p_i) / p_i: +1 means twice as
likely (Cao and Karras (2012), definition 1). Basic β-likeness bounds it by β, the enhanced one by
min(β, −ln p_i), value by value: the share in a class is at most

    f(p) = p · (1 + β)      if p ≤ e^−β, exactly as a rational number
         = p · (1 − ln p)   else, to 1e-12 of its size: it is irrational but for p = 1.

δ-disclosure privacy bounds |ln(q_i / p_i)| strictly by δ, so that no value of the table may be absent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.classes.ratios import as_written, is_at_most, is_below
from app.domain.classes.sensitive_counts import (
    SensitiveCounts,
    any_by_class,
    greatest_by_class,
    least_by_class,
)

LikenessBound = Literal["enhanced", "basic"]
LogBase = Literal["e", "2"]

CAP_TOLERANCE: Final = 1e-12
"""Share of an irrational bound that a frequency may be above it."""

NEAR: Final = 1e-9
"""More than a bound computed in doubles is wrong by, as a share of it."""

DIGITS: Final = Context(prec=60)
"""Enough to tell e^δ from every quotient of whole numbers of 64 bits."""


@dataclass(frozen=True, eq=False)
class Gains:
    """What is gained on single values or groups of them in classes, one element each.

    Parameters
    ----------
    amounts, sizes
        Records of the class with the value, at least 1, and records of the class; or persons, as the counts.
    totals, population
        N_i of the value, 0 where the reference does not know it, and N.
    """

    amounts: Longs
    sizes: Longs
    totals: Longs
    population: int

    @classmethod
    def of(cls, counts: SensitiveCounts) -> Gains:
        """One element per entry of the counts."""
        return cls(
            counts.counts,
            counts.sizes[counts.of_entry],
            counts.totals[counts.values],
            counts.population,
        )

    @cached_property
    def found(self) -> Longs:
        """n_i · N, the numerators of q_i / p_i."""
        return self.amounts * self.population

    @cached_property
    def expected(self) -> Longs:
        """|G| · N_i, the denominators of q_i / p_i."""
        return self.sizes * self.totals

    @cached_property
    def relative(self) -> Floats:
        """D of each element, from whole numbers, rounded once; ∞ for a value that the reference lacks."""
        with np.errstate(divide="ignore"):
            return (self.found - self.expected) / self.expected

    @cached_property
    def absolute(self) -> Floats:
        """q_i − p_i of each element."""
        return (self.found - self.expected) / (self.sizes * self.population)

    @cached_property
    def logarithms(self) -> Floats:
        """ln(q_i / p_i) of each element; ∞ for a value that the reference lacks."""
        with np.errstate(divide="ignore"):
            return np.log(self.found / self.expected)

    @cached_property
    def breaks_cap(self) -> Bools:
        """Which gains exceed −ln p_i, so that enhanced β-likeness holds for no β."""
        factor = (1 + surprisals(self.totals, self.population)) * (1 + CAP_TOLERANCE)
        with np.errstate(invalid="ignore"):
            return np.asarray(self.found > self.expected * factor)

    def exceed(self, beta: Fraction, bound: LikenessBound) -> Bools:
        """Which shares are above what β-likeness allows the value."""
        above: Bools = ~is_at_most(self.found, 1 + beta, self.expected)
        if bound == "enhanced":
            is_frequent = surprisals(self.totals, self.population) < float(beta)
            above = np.where(is_frequent, self.breaks_cap, above)
        return above

    def within_factor(self, factor: Fraction) -> Bools:
        """Which shares are above p_i / factor and below p_i · factor, strictly."""
        return is_below(self.found, factor, self.expected) & is_below(self.expected, factor, self.found)


def surprisals(totals: Longs | Floats, population: float) -> Floats:
    """−ln p_i of each value; ∞ where N_i is 0. Of shares times a population, N_i need not be whole."""
    rest = population - totals
    with np.errstate(divide="ignore"):
        rare: Floats = -np.log(totals / population)
    return np.where(2 * totals > population, -np.log1p(-np.minimum(rest / population, 0.5)), rare)


def frequency_bounds(
    totals: Longs | Floats, population: float, beta: Fraction, bound: LikenessBound
) -> Floats:
    """f(p_i) of each value: the largest share that β-likeness allows it in a class, at most 1."""
    gain = np.full(len(totals), float(beta))
    if bound == "enhanced":
        gain = np.minimum(gain, surprisals(totals, population))
    p = totals / population
    with np.errstate(invalid="ignore"):
        return np.where(totals > 0, np.minimum(p * (1 + gain), 1.0), 0.0)


def saturation(totals: Longs | Floats) -> float:
    """−ln of the least share: from this β on enhanced β-likeness no longer depends on β."""
    return float(surprisals(totals[totals > 0].min(keepdims=True), float(totals.sum()))[0])


def implied_delta(totals: Longs | Floats, beta: float, population: float | None = None) -> float:
    """The δ (natural) of the δ-disclosure privacy that implies enhanced β-likeness.

    ``population`` is what the totals are shares of, where persons may have several values.
    """
    population = float(totals.sum()) if population is None else population
    most = float(surprisals(totals.max(keepdims=True), population)[0])
    return math.log1p(min(beta, most))


def always_within(
    totals: Longs | Floats, beta: float, bound: LikenessBound, population: float | None = None
) -> int:
    """Every class of at least so many records satisfies β-likeness (L5): N / (1 + min(β, −ln p_max))."""
    population = round(totals.sum() if population is None else population)
    gain = beta
    if bound == "enhanced":
        gain = min(beta, float(surprisals(totals.max(keepdims=True), population)[0]))
    return min(population, math.ceil(population / (1 + gain) * (1 + CAP_TOLERANCE)))


def delta_factor(delta: Fraction, base: LogBase) -> Fraction:
    """e^δ or 2^δ: exactly where it is rational, else to 60 digits."""
    if base == "2" and delta.denominator == 1:
        return Fraction(2) ** int(delta)
    exponent = DIGITS.divide(Decimal(delta.numerator), Decimal(delta.denominator))
    if base == "2":
        exponent = DIGITS.multiply(exponent, DIGITS.ln(Decimal(2)))
    return Fraction(DIGITS.exp(exponent))


def lacks_values(counts: SensitiveCounts) -> Bools:
    """(G,) which classes lack a value of the reference; none does that has no values at all."""
    known = np.bincount(counts.of_entry, counts.totals[counts.values] > 0, counts.n_classes)
    return (known < np.count_nonzero(counts.totals)) & (counts.distinct > 0)


def greatest_gains(counts: SensitiveCounts, gains: Gains) -> Floats:
    """(G,) the greatest relative gain in each class, at least 0."""
    return np.maximum(greatest_by_class(counts, gains.relative, 0.0), 0.0)


def greatest_losses(counts: SensitiveCounts, gains: Gains) -> Floats:
    """(G,) the greatest (p_i − q_i) / p_i in each class, at least 0: 1 where a value is absent."""
    lost = -least_by_class(counts, gains.relative, 0.0)
    return np.where(lacks_values(counts), 1.0, np.maximum(lost, 0.0))


def greatest_ratios(counts: SensitiveCounts, gains: Gains, absent_count: bool = True) -> Floats:
    """(G,) the greatest |ln(q_i / p_i)| in each class.

    ∞ where a value of the reference is absent, unless absent values do not count: that is what other tools
    measure, and no privacy guarantee.
    """
    present = greatest_by_class(counts, np.abs(gains.logarithms), 0.0)
    return np.where(lacks_values(counts), np.inf, present) if absent_count else present


def exceeding(own: Gains, limits: Floats, beta: Fraction, bound: LikenessBound) -> Bools:
    """Which shares are above the ``limits`` of their values, which are as of :func:`frequency_bounds`."""
    most = limits * own.sizes
    above: Bools = own.amounts > most * (1 + NEAR)
    # What rounding may decide, few of them, is compared exactly.
    near = np.flatnonzero(~above & (own.amounts > most * (1 - NEAR)))
    if len(near):
        compared = Gains(own.amounts[near], own.sizes[near], own.totals[near], own.population)
        above[near] = compared.exceed(beta, bound)
    return above


def unlike(counts: SensitiveCounts, beta: Fraction, bound: LikenessBound) -> Bools:
    """(G,) which classes violate β-likeness."""
    limits = frequency_bounds(counts.totals, counts.population, beta, bound)[counts.values]
    return any_by_class(counts, exceeding(Gains.of(counts), limits, beta, bound))


def losing(counts: SensitiveCounts, most: float | None) -> Bools:
    """(G,) which classes have a relative loss (p_i − q_i) / p_i above ``most``, below 1; None: none has."""
    if most is None:
        return np.zeros(counts.n_classes, dtype=bool)
    gains = Gains.of(counts)
    lost = is_below(gains.found, 1 - as_written(most), gains.expected)
    return any_by_class(counts, lost) | lacks_values(counts)


def disclosing(counts: SensitiveCounts, delta: Fraction, base: LogBase) -> Bools:
    """(G,) which classes violate δ-disclosure privacy."""
    outside = ~Gains.of(counts).within_factor(delta_factor(delta, base))
    return any_by_class(counts, outside) | lacks_values(counts)
