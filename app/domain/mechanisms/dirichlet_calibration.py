"""How much prior noise a Dirichlet-multinomial synthesiser needs, and what that noise costs.

Machanavajjhala (2008), chapter 4, with corrections; earlier in Machanavajjhala et al. (2008).

A partition holds n people over K cells of which every cell's prior is at least α; as many people are drawn as
there are. Tables that differ in the cell of one person are neighbours. γ = e^ε − 1.

* ``pure``: every ratio of probabilities is within e^ε if and only if α ≥ n / γ.
* ``exact_tail``: a drawn count above its cap γ(α + [x − 1]⁺), where x people are, is the only way to a loss
  above ε. Of such a count t(x) is the beta-binomial probability; δ is the union bound over cells.
* ``reference_sample``: the reference sample, for n ≥ 2, e^ε > 3 and equal priors.

The search for α is in floating point; what is returned is proven for the rational α that is returned.

**First term.** Its logarithm is computed to forty-two digits; lnΓ is Stirling's series from 40 on, whose
error is below its first omitted term, 10⁻²⁸ here.

**Further terms.** With a = x + α and b = n − x + (the others' prior), P(j+1) / P(j) is
(j + a) / (j + 1) · (m − j) / (m − j − 1 + b). The first factor is at most max(1, (j + a) / (j + 1)) from j
on, the second falls if b > 1: the rest of a tail is at most geometric. A step rounds at most ten times, by
2⁻⁵³ each, and the sum is raised by as much.

**Many people.** For a whole r, Markov's inequality for the r-th factorial moment gives Pr[Y ≥ c] ≤
Π_{i<r} (m − i)(a + i) / ((a + b + i)(c − i)). With c = γ(x + α − 1) − 1 every factor falls with x, so the
product at X bounds every t(x) with x ≥ X. Between whole numbers g < f the log-convexity of Γ gives at most
the factor 1 + a / g (n − x + b ≥ 2), with which it bounds ρ too.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.ratios import as_written
from app.domain.errors import InvalidInput, NotSupported

Certificate = Literal["pure", "exact_tail", "reference_sample"]

GRID: Final = 10**12
"""Priors are multiples of 1 / GRID."""
_DIGITS: Final = 60
_DIGITS_OF_LOGARITHMS: Final = 42
"""They are below 10¹² each, so that their sum is right to some 10⁻²⁹ but for their own errors."""
_DOUBT: Final = Decimal("1e-20")
_ROUND: Final = 2.0**-53
_ALL_COUNTS: Final = 64
"""Up to so many counts x a search in floating point looks at all of them."""
_SLOPES: Final = np.geomspace(1e-3, 30, 400)
_EXACT_CELLS: Final = 2000
"""Up to so many cells the number of those kept is enumerated, else it is bounded by Chernoff's inequality."""


@dataclass(frozen=True)
class Calibration:
    """The prior of a partition.

    ``alpha`` is the least prior of a cell, ``delta`` an upper bound of the probability of a loss above ε,
    ``t_star`` the greatest harmless count in a cell where nobody is, and ``certificate`` what proves it.
    """

    alpha: Fraction
    delta: float
    t_star: int | None
    certificate: Certificate


@dataclass(frozen=True)
class SampledDomain:
    """What sampling the domain guarantees: ε′ and δ′, for the prior and the ``least_kept`` cells assumed."""

    alpha: Fraction
    epsilon: float
    delta: float
    least_kept: int
    t_star: int


def calibrate(
    n: int,
    cells: int,
    epsilon: Fraction | float,
    delta: Fraction | float,
    certificate: Certificate,
    shape: Mapping[Fraction, int] | None = None,
) -> Calibration:
    """The least prior found that makes drawing n people over the cells (ε, δ)-probabilistically private.

    ``shape`` tells how many cells have which multiple of the least prior, if not all have the same; its least
    multiple is 1. ``delta`` 0, one person, and e^ε ≤ 3 of a reference sample lead to ``pure``. InvalidInput
    for parameters out of range, NotSupported for a reference sample with unequal priors.
    """
    weights = shape or {Fraction(1): cells}
    faults = {
        "n": (n < 1, "at least 1"),
        "cells": (cells < 1, "at least 1"),
        "epsilon": (not 1e-9 <= epsilon <= 500, "at least 1e-9 and at most 500"),
        "delta": (not 0 <= delta < 0.5, "at least 0 and below 0.5"),
        "shape": (
            min(weights) != 1 or sum(weights.values()) != cells or min(weights.values()) < 1,
            "multiples of the least prior, the least of them 1, with the number of cells of each",
        ),
    }
    for name, (wrong, allowed) in faults.items():
        if wrong:
            raise InvalidInput.of(name, "out-of-range", f"{name} is out of range.", f"Give {allowed}.")
    if certificate == "reference_sample" and len(weights) > 1:
        raise NotSupported(
            "A reference sample certifies equal priors only: that the least prior is the worst is not proved "
            "for others.",
            "Choose the certificate exact_tail, or the same prior in all cells.",
        )
    return _calibrated(
        n, tuple(sorted(weights.items())), _as_fraction(epsilon), _as_fraction(delta), certificate
    )


@lru_cache(maxsize=4096)
def _calibrated(
    n: int,
    weights: tuple[tuple[Fraction, int], ...],
    epsilon: Fraction,
    delta: Fraction,
    certificate: Certificate,
) -> Calibration:
    gamma = lower_gamma(epsilon)
    pure = Calibration(_raised(Decimal(n) / gamma), 0.0, None, "pure")
    if certificate == "pure" or delta == 0 or (n == 1 and certificate == "reference_sample"):
        return pure
    if certificate == "reference_sample":
        return _by_reference(n, weights[0][1], gamma, delta) or pure
    low, high, bound = 0, n, float(delta)
    while high - low > 1:
        middle = (low + high) // 2
        law = Tails(n, _priors(_raised(middle / gamma), weights), gamma)
        low, high = (low, middle) if law.bound(proven=False) <= bound else (middle, high)
    for t in range(high, n):
        alpha = _raised(t / gamma)
        reached = Tails(n, _priors(alpha, weights), gamma).bound()
        if Fraction(reached) <= delta:
            return Calibration(alpha, reached, t, "exact_tail")
    return Calibration(pure.alpha, 0.0, n, "exact_tail")


def proven_delta(
    n: int, shape: Mapping[Fraction, int], alpha: Fraction, epsilon: Fraction, certificate: Certificate
) -> float:
    """An upper bound of the probability of a loss above ε with this least prior, by this certificate.

    1 where it proves nothing: a prior below n / γ by ``pure``, one person, e^ε ≤ 3 or unequal priors by a
    reference sample.
    """
    gamma = lower_gamma(epsilon)
    if alpha >= _raised(Decimal(n) / gamma):
        return 0.0
    if certificate == "exact_tail":
        return Tails(n, _priors(alpha, tuple(shape.items())), gamma).bound()
    if certificate == "reference_sample" and n > 1 and gamma > 2 and len(shape) == 1:
        return min(1.0, reference_bound(n, sum(shape.values()), alpha, gamma))
    return 1.0


def _by_reference(n: int, cells: int, gamma: Decimal, delta: Fraction) -> Calibration | None:
    """By bisection for the reference sample; None where it does not apply, or helps nothing."""
    if gamma <= 2:
        return None
    low, high = 1e-12, (top := float(Decimal(n) / gamma))
    while high - low > 1e-12 * high:
        middle = math.sqrt(low * high) if high > 4 * low else (low + high) / 2
        near = _near_reference(n, cells, middle, float(gamma))
        low, high = (middle, high) if near > float(delta) else (low, middle)
    alpha, step = _raised(Decimal(high)), Fraction(1, 10**9)
    while alpha < top:
        reached = reference_bound(n, cells, alpha, gamma)
        if Fraction(reached) <= delta:
            return Calibration(alpha, reached, None, "reference_sample")
        alpha, step = Fraction(math.ceil(alpha * GRID * (1 + step)), GRID), 2 * step
    return None


def _near_reference(n: int, cells: int, alpha: float, gamma: float) -> float:
    """The left side of the reference sample in floating point, up to the first x after which it falls."""
    greatest = 0.0
    for x in range(n + 1):
        count = gamma * (alpha + max(0, x - 1))
        near = 0.0 if count >= n else _near_probability(n, count, x + alpha, n - x + (cells - 1) * alpha)
        if not near or (x > 1 and near < greatest):
            break
        greatest = max(greatest, near)
    return 2 * cells * (gamma + 1) / (gamma - 1) * greatest


def reference_bound(n: int, cells: int, alpha: Fraction, gamma: Decimal) -> float:
    """2K·e^ε / (e^ε − 2) · ρ(n, n, α, (K − 1)α, γ): the left side of the reference sample."""
    found = rho(n, n, alpha, (cells - 1) * alpha, gamma)
    factor = 2 * cells * float((gamma + 1) / (gamma - 1))
    return factor * found * (1 + 16 * _ROUND)


def rho(n: int, m: int, alpha: Fraction, others: Fraction, gamma: Decimal | float) -> float:
    """The greatest continued probability of a just unrepresentative count, over x; 0 if none is below m."""
    most = 0.0
    factor = Decimal(gamma)
    prior = float(alpha)
    # Where the bound for more people holds: f(x) < m, so that x is below this, and n − x + others ≥ 2.
    can_stop = n - m / factor - 2 >= 2
    for x in range(n + 1):
        with localcontext(Context(prec=_DIGITS)):
            count = factor * (_decimal(alpha) + max(0, x - 1))
        if count >= m:
            break
        if x > 1 and can_stop:
            beyond = _beyond(x, m, prior, float(n + alpha + others), float(factor))
            if beyond <= most:
                break
        most = max(most, _probability(m, count, x + alpha, n - x + others))
    return most


@dataclass(frozen=True)
class Tails:
    """Of n people, as many of them drawn: how likely a count is above its cap.

    ``priors`` are (α_i, number of cells with it); ``total`` is Σ α_i, if it is not their sum.
    """

    n: int
    priors: tuple[tuple[Fraction, int], ...]
    gamma: Decimal
    total: Fraction | None = None

    def bound(self, proven: bool = True) -> float:
        """min(K·max t(x), K·t(0) + n·max (t(x) − t(0))⁺ / x), summed over cells of different priors.

        What is subtracted is lowered by more than it may be too great.
        """
        worst = empty = 0.0
        rise = 0.0
        for alpha, cells in self.priors:
            tails = list(self._tails(alpha, proven))
            none = tails[0]
            worst += cells * max(tails)
            empty += cells * none
            rise = max(
                rise, *((tail - none * (1 - 1e-8)) / x for x, tail in enumerate(tails[1:], start=1)), 0.0
            )
        return min(worst, empty + self.n * rise, 1.0) * (1 + 1e-12)

    def sampled(self, expected: float, proven: bool = True) -> float:
        """(Σ f)·t(0) + n·max t(x) / x: the bound where ``expected`` empty cells are kept in the mean."""
        tails = list(self._tails(self.priors[0][0], proven))
        rise = max((tail / x for x, tail in enumerate(tails[1:], start=1)), default=0.0)
        return min(expected * tails[0] + self.n * rise, 1.0) * (1 + 1e-12)

    def at_counts(self, most: int) -> list[float]:
        """t(0), …, t(most), for the first of the priors; fewer where all further ones are 0."""
        return list(itertools.islice(self._tails(self.priors[0][0], proven=True), most + 1))

    def _tails(self, alpha: Fraction, proven: bool) -> Iterator[float]:
        """t(0), t(1), …; the last is a bound of all further ones."""
        total = (
            sum((prior * cells for prior, cells in self.priors), Fraction())
            if self.total is None
            else self.total
        )
        prior, sum_of_all, factor = float(alpha), float(self.n + total), float(self.gamma)
        none = most = rise = 0.0
        for x in range(self.n + 1):
            with localcontext(Context(prec=_DIGITS)):
                cap = int(self.gamma * (_decimal(alpha) + max(0, x - 1)))
            if cap >= self.n:
                yield 0.0
                return
            if x > 1:
                beyond = _beyond(x, self.n, prior, sum_of_all, factor)
                # Then none is greater, nor rises more for each person; or they are next to nothing.
                if beyond <= min(most, rise * x) or (x > _ALL_COUNTS and beyond <= 1e-9 * most):
                    yield beyond
                    return
            tail = upper_tail(self.n, cap + 1, x + alpha, self.n - x + total - alpha, proven)
            none, most = (none if x else tail), max(most, tail)
            rise = max(rise, (tail - none) / x) if x else 0.0
            yield tail


def upper_tail(m: int, least: int, a: Fraction, b: Fraction, proven: bool = True) -> float:
    """An upper bound of Pr[Y ≥ least] of a beta-binomial(m; a, b) Y, rounding included."""
    if b <= 0:
        return 1.0
    first, second = float(a), float(b)
    term = _probability(m, Decimal(least), a, b) if proven else _near_probability(m, least, first, second)
    total, j = term, least
    while j < m:
        term *= (j + first) / (j + 1) * ((m - j) / (m - j - 1 + second))
        total += term
        j += 1
        if total > 0.5:
            return 1.0
        ratio = max(1.0, (j + first) / (j + 1)) * ((m - j) / (m - j - 1 + second)) if second > 1 else 1.0
        if ratio < 1 and term * ratio <= 1e-13 * total * (1 - ratio):
            total += 2 * term * ratio / (1 - ratio)
            break
    return total * (1 + 12 * (j - least + 4) * _ROUND)


def _beyond(x: int, m: int, alpha: float, total: float, gamma: float) -> float:
    """A bound of t and of ρ for x people or more: the least product of the module's docstring over r."""
    least = gamma * (x + alpha - 1) - 1
    found = 1.0
    for i in range(min(m, 2000)):
        if least - i <= 0:
            break
        factor = (m - i) / (total + i) * (x + alpha + i) / (least - i)
        if factor >= 1:
            break
        found *= factor
    return found * (1 + (x + alpha) / least) * (1 + 1e-9) if least > 0 else math.inf


def _near_probability(m: int, count: float, a: float, b: float) -> float:
    """The beta-binomial probability of a count, continued to real ones, in floating point."""
    log = math.lgamma
    return math.exp(
        log(m + 1) - log(count + 1) - log(m - count + 1) + log(a + b) - log(a) - log(b)
        + log(a + count) + log(b + m - count) - log(a + b + m)
    )  # fmt: skip


def _probability(m: int, count: Decimal, a: Fraction, b: Fraction) -> float:
    """The same, proven not too small."""
    with localcontext(Context(prec=_DIGITS_OF_LOGARITHMS)):
        first_, second_, all_ = _decimal(a), _decimal(b), _decimal(a + b)
        logarithm = (
            _log_gamma(Decimal(m + 1)) - _log_gamma(count + 1) - _log_gamma(m - count + 1)
            + _log_gamma(all_) - _log_gamma(first_) - _log_gamma(second_)
            + _log_gamma(first_ + count) + _log_gamma(second_ + m - count) - _log_gamma(all_ + m)
        )  # fmt: skip
        return math.nextafter(float(logarithm.exp() * (1 + _DOUBT)), math.inf)


_STIRLING: Final = tuple(
    Fraction(*bernoulli) / (2 * k * (2 * k - 1))
    for k, bernoulli in enumerate(
        ((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798)),
        start=1,
    )
)
_HALF_LOG_TWO_PI: Final = Decimal("0.918938533204672741780329736405617639861397473637783412817")


@lru_cache(maxsize=2**12)
def _log_gamma(z: Decimal) -> Decimal:
    """lnΓ(z), z > 0, with an error below 10⁻²⁷; half of a probability is that of one person more."""
    product = Decimal(1)
    while z < 40:
        product *= z
        z += 1
    inverse = 1 / z
    square = inverse * inverse
    series = Decimal(0)
    for coefficient in reversed(_STIRLING):
        series = series * square + Decimal(coefficient.numerator) / coefficient.denominator
    return (z - Decimal("0.5")) * z.ln() - z + _HALF_LOG_TWO_PI + series * inverse - product.ln()


def sampled_domain(
    n: int,
    inclusion: Mapping[float, int],
    epsilon: Fraction | float,
    delta: Fraction | float,
) -> SampledDomain:
    """The least prior found for a domain of which empty cells are kept by public probabilities.

    ``inclusion`` tells how many cells have which probability. δ′ = Pr[kept < k₀] + (Σ f)·t(0; k₀) +
    n·max t(x; k₀) / x, for the k₀ that makes it least (any k₀ is valid: kept cells are stochastically not
    fewer than independent draws, and t falls with their number). ε′ = ε + max ln(1/f) + ⌈α⌉·ln 2;
    where t* = n there is no output above ε′, and δ′ = 0. InvalidInput for a probability out of (0, 1].
    """
    if not inclusion or not all(0 < f <= 1 for f in inclusion) or min(inclusion.values()) < 1:
        raise InvalidInput.of(
            "inclusion",
            "out-of-range",
            "Inclusion probabilities must be above 0 and at most 1.",
            "Give every cell a probability above 0, from public data.",
        )
    start = calibrate(n, sum(inclusion.values()), epsilon, delta, "exact_tail")
    gamma, wanted = lower_gamma(_as_fraction(epsilon)), float(delta)
    low, high = (start.t_star or n) - 1, n
    while high - low > 1:
        middle = (low + high) // 2
        found = sampled_delta(n, inclusion, _raised(middle / gamma), gamma, proven=False)
        low, high = (low, middle) if found[0] <= wanted else (middle, high)
    best: tuple[float, int] = (0.0, 1)
    while high < n and (best := sampled_delta(n, inclusion, _raised(high / gamma), gamma))[0] > wanted:
        high += 1
    if high == n:
        best = (0.0, 1)
    alpha = _raised(high / gamma)
    spent = float(epsilon) + math.log(1 / min(inclusion)) + math.ceil(alpha) * math.log(2)
    return SampledDomain(alpha, spent * (1 + 1e-14), best[0], best[1], high)


def sampled_delta(
    n: int, inclusion: Mapping[float, int], alpha: Fraction, gamma: Decimal, proven: bool = True
) -> tuple[float, int]:
    """The least δ′ found for a prior, and its k₀; which that is, a search in floating point says."""
    cells = sum(inclusion.values())
    expected = sum(f * many for f, many in inclusion.items())

    def at(kept: int, proven: bool = False) -> float:
        tails = Tails(n, ((alpha, 1),), gamma, kept * alpha)
        return min(1.0, fewer_kept(inclusion, kept) + tails.sampled(expected, proven))

    low, high = 1, min(cells, max(1, math.ceil(expected)))
    while high - low > 2:
        third = (high - low) // 3
        left, right = at(low + third), at(high - third)
        low, high = (low, high - third) if left <= right else (low + third, high)
    found = min((at(kept), kept) for kept in range(low, high + 1))
    return (at(found[1], proven=True), found[1]) if proven else found


def fewer_kept(inclusion: Mapping[float, int], kept: int) -> float:
    """An upper bound of the probability that fewer than so many cells are kept, each by its chance."""
    if sum(inclusion.values()) <= _EXACT_CELLS:
        return min(1.0, float(_law_of_kept(tuple(inclusion.items()))[:kept].sum()) * (1 + 1e-12))
    exponents = _logarithms_of_kept(tuple(inclusion.items())) + _SLOPES * (kept - 1)
    return min(1.0, math.exp(float(exponents.min())) * (1 + 1e-9))


@lru_cache(maxsize=16)
def _law_of_kept(inclusion: tuple[tuple[float, int], ...]) -> Floats:
    """(K + 1,) the probability that so many cells are kept."""
    law = np.ones(1)
    for f, many in inclusion:
        for _ in range(many):
            law = np.convolve(law, (1 - f, f))
    return law


@lru_cache(maxsize=16)
def _logarithms_of_kept(inclusion: tuple[tuple[float, int], ...]) -> Floats:
    """Ln E[e^(−s·kept)] at the slopes s of Chernoff's inequality."""
    chances, cells = np.array(inclusion).T
    return np.asarray(np.log1p(np.expm1(-_SLOPES)[:, None] * chances) @ cells)


def noise_share(n: int, total: float) -> float:
    """|α| / (n + |α|): which part of the drawn people is expected to come from the prior."""
    return total / (n + total)


def expected_counts(counts: Longs, priors: Floats, m: int) -> Floats:
    """(k,) m·w_i / W, w = counts + priors: how many of m people each cell is expected to get."""
    weights = counts + priors
    return np.asarray(m * weights / weights.sum(), dtype=np.float64)


def variances(counts: Longs, priors: Floats, m: int) -> Floats:
    """(k,) m·(w_i / W)(1 − w_i / W)(W + m) / (W + 1)."""
    weights = counts + priors
    total = weights.sum()
    shares = weights / total
    return np.asarray(m * shares * (1 - shares) * (total + m) / (total + 1), dtype=np.float64)


def expected_distance(counts: Longs, priors: Floats, distances: Floats) -> float:
    """Σ w_i / W·distance_i: the mean distance that a drawn person is expected to have."""
    weights = counts + priors
    return float(weights @ distances / weights.sum())


def lower_gamma(epsilon: Fraction) -> Decimal:
    """e^ε − 1, not rounded up: caps by it are not above the true ones."""
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_FLOOR)):
        least = (_decimal(epsilon) * (1 - Decimal("1e-57"))).exp()
        return least * (1 - Decimal("1e-55")) - 1


def _priors(alpha: Fraction, weights: tuple[tuple[Fraction, int], ...]) -> tuple[tuple[Fraction, int], ...]:
    return tuple((alpha * weight, cells) for weight, cells in weights)


def _raised(number: Decimal) -> Fraction:
    """The least multiple of 1 / GRID not below a number computed to sixty digits, in doubt the next."""
    with localcontext(Context(prec=_DIGITS, rounding=ROUND_CEILING)):
        return Fraction(int((number * GRID * (1 + Decimal("1e-26"))).to_integral_value(ROUND_CEILING)), GRID)


def _decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / number.denominator


def _as_fraction(number: Fraction | float) -> Fraction:
    return number if isinstance(number, Fraction) else as_written(number)
