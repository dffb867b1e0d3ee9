"""All constants of the sampled generalisation that is certified (theorem C), from public numbers alone.

A quarter of ε pays for which generalisations are frequent, which noisy counts decide; the rest for the drawn
sample. δ is split in three: a generalisation that is frequent by noise alone, a sample that is too large, and
one copy more that stands out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Final

from app.domain.mechanisms.exchange_bounds import (
    SIZE_RATE,
    SIZE_SLACK,
    exchange_factor,
    exchange_tail,
    least_mass,
    size_tail,
)

SHARE_OF_FREQUENT: Final = Fraction(1, 4)
DRIFT_SHARE: Final = 0.5
"""ψ: of what ε allows, so much pays for the drift of all scores by one record."""
PARTS_OF_DELTA: Final = 3
KEPT: Final = 256
"""Constants that are kept: a release asks for the same ones again when it is planned, checked and drawn."""
MOST_RECORDS: Final = 10**9
MOST_RANGE: Final = 21.0
"""No more fits below the size of a table of so many records: e^21 is above 10⁹."""
_ROUNDING: Final = 2.0**-52
_LARGEST_EXPONENT: Final = 600.0
_LEAST_SCORE: Final = 1e-290
"""What differs by less is worth the same: its exponent would be no number."""
_BELOW: Final = 1.0 - 2.0**-40
"""Keeps products with rounded scores within the range that is declared of them."""


def most_rate(epsilon: Fraction) -> float:
    """1 − e^(−ε_m), rounded down: the sampling rate must be below, or being there tells a sampled record."""
    return -math.expm1(-float((1 - SHARE_OF_FREQUENT) * epsilon)) * (1.0 - 4.0 * _ROUNDING)


def rounding_epsilon(rate: float, n_attributes: int, exponent_range: float = MOST_RANGE) -> float:
    """What rounding of the weights adds to ε at most, for tables of any size; taken from ε beforehand.

    Each probability is off by a part of (k + 9)(R + 1)·2⁻⁵² at most, R the range of exponents, where that is
    21 or less: of the 82 bits of a weight the last is worth less than a rounding of its exponential. Beyond,
    it is worth e^(R − 21) such roundings.
    """
    reach = max(exponent_range, MOST_RANGE)
    last_bit = math.exp(min(reach - MOST_RANGE, _LARGEST_EXPONENT))
    each = (n_attributes + 9) * (reach + 1.0) * _ROUNDING * last_bit
    return 4.0 * (1.0 + SIZE_SLACK) * rate * MOST_RECORDS * each


@dataclass(frozen=True)
class SampleQuestion:
    """What the constants follow from.

    Parameters
    ----------
    epsilon
        ε as a fraction.
    delta
        δ.
    rate
        s, the probability with which a record is sampled.
    generalisations
        H: no record has more.
    least
        Records that both neighbours have at least.
    rounding
        What of ε is kept for rounding.
    """

    epsilon: Fraction
    delta: float
    rate: float
    generalisations: int
    least: int
    rounding: float = 0.0

    @property
    def of_sample(self) -> float:
        """ε_m: what is left of ε for the sample."""
        return float((1 - SHARE_OF_FREQUENT) * self.epsilon) - self.rounding

    @property
    def part(self) -> float:
        """A third of δ."""
        return self.delta / PARTS_OF_DELTA

    @property
    def scale(self) -> int:
        """B of the noise, a whole number, rounded up: (H − 1) / ε_t. 0 where only ⊥ is left."""
        return math.ceil((self.generalisations - 1) / (SHARE_OF_FREQUENT * self.epsilon))


@dataclass(frozen=True)
class SampleConstants:
    """What the mechanism works with.

    Parameters
    ----------
    drift
        ρ: scores of all sampled records together change probabilities by no more than e^ρ.
    exponent
        E: a generalisation is drawn with a probability proportional to exp(E · score).
    exponent_range
        No two exponents of a record differ by more.
    factor, mass
        K and S of :func:`~app.domain.mechanisms.exchange_bounds.exchange_tail`.
    crowd
        t: so many records are below every frequent generalisation.
    scale, gap, threshold
        b, and t_hi = t + gap, which a noisy count must reach.
    size_needed
        The fewest records by which the sample's size takes a third of δ at most.
    of_frequent, of_size, of_exchange
        The parts of δ as they are, each a third at most where the table is large enough.
    """

    drift: float
    exponent: float
    exponent_range: float
    factor: float
    mass: float
    crowd: float
    scale: int
    gap: int
    threshold: float
    size_needed: float
    of_frequent: float
    of_size: float
    of_exchange: float
    needed: float = field(init=False)
    """The fewest records that both neighbours must have."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "needed", max(self.threshold, math.ceil(self.size_needed)))


@lru_cache(maxsize=KEPT)
def drifting(asked: SampleQuestion, score: float) -> SampleConstants:
    """For scores that are counted in the data: one record changes all of them a little.

    ``score`` is R = λ/φ_l + ν^κ/m: no score per record of the table is greater, and one record changes none
    by more than 2R/m.
    """
    drift = max(0.0, DRIFT_SHARE * (asked.of_sample + math.log1p(-asked.rate)))
    reach = drift / (2.0 * (1.0 + SIZE_SLACK) * asked.rate)
    exponent = _BELOW * reach / score if score > _LEAST_SCORE else 0.0
    return _constants(asked, drift, exponent, reach)


@lru_cache(maxsize=KEPT)
def steady(asked: SampleQuestion, width: float, exponent_range: float) -> SampleConstants:
    """For scores against what is public: no record changes any. ``width`` bounds their range."""
    exponent = _BELOW * exponent_range / width if width > _LEAST_SCORE else 0.0
    return _constants(asked, 0.0, exponent, exponent_range)


def _constants(asked: SampleQuestion, drift: float, exponent: float, reach: float) -> SampleConstants:
    factor = exchange_factor(asked.of_sample, drift, asked.rate)
    paid = asked.rate * math.exp(drift)
    # One record less has e^(ρ − ln β) for a factor where it is not sampled: no crowd makes up for that.
    is_within = drift - math.log1p(-asked.rate) <= asked.of_sample
    mass = least_mass(asked.part / paid, asked.rate, factor) if is_within else math.inf
    spread = asked.generalisations * math.exp(reach) if reach <= MOST_RANGE else math.inf
    crowd = math.ceil(mass * spread) if math.isfinite(mass * spread) else math.inf
    others = asked.generalisations - 1
    gap = math.ceil(asked.scale * math.log(others / asked.part)) if others else 0
    return SampleConstants(
        drift=drift,
        exponent=exponent,
        exponent_range=reach,
        factor=factor,
        mass=mass,
        crowd=crowd,
        scale=asked.scale,
        gap=gap,
        threshold=crowd + gap,
        size_needed=math.log(1.0 / asked.part) / (asked.rate * SIZE_RATE),
        of_frequent=others * math.exp(-gap / asked.scale) if others else 0.0,
        of_size=size_tail(asked.rate, asked.least),
        of_exchange=paid * exchange_tail(crowd / spread, asked.rate, factor),
    )


def at_rate(asked: SampleQuestion, rate: float, n_attributes: int) -> SampleQuestion:
    """The same with another sampling rate."""
    return replace(asked, rate=rate, rounding=rounding_epsilon(rate, n_attributes))
