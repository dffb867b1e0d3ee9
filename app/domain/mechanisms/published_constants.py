"""The constants of Fouad (2012), section 6.4, as they are printed, and what can be proved of them.

They rest on an identity that is false, and on a rate of 1/m² for how rarely the frequent set differs
between neighbours, which is 1/m. What is left by the repaired argument is :func:`corrected_delta`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from app.domain.mechanisms.exchange_bounds import (
    SIZE_RATE,
    SIZE_SLACK,
    exchange_factor,
    exchange_tail,
    size_tail,
)
from app.domain.mechanisms.sampled_constants import rounding_epsilon

_LARGEST: Final = 700.0


@dataclass(frozen=True)
class PublishedQuestion:
    """What the constants follow from: ε, δ, s, h^k, λ/φ_l and the printed bound η of the sensitivity.

    With a number of attributes k, what is proved also pays for rounding.
    """

    epsilon: float
    delta: float
    rate: float
    lattice: int
    share: float
    sensitivity: float
    n_attributes: int | None = None

    @property
    def left_out(self) -> float:
        """β."""
        return 1.0 - self.rate


@dataclass(frozen=True)
class PublishedConstants:
    """As printed.

    Parameters
    ----------
    exponent
        ε′ = (ε + ln β) / (3η(1 − β)).
    exponent_range
        ε′·t_f with t_f = λ/φ_l + 1.
    floor
        t′, below which no generalisation may have unsampled records.
    shortfall
        τ1.
    least_crowd
        t_min: the fewest records below a frequent generalisation.
    size_needed
        The fewest records of a table.
    """

    exponent: float
    exponent_range: float
    floor: float
    shortfall: float
    least_crowd: float
    size_needed: float


def published_constants(asked: PublishedQuestion) -> PublishedConstants:
    """ε′, t′, τ1 and t_min; β is above e^(−ε)."""
    beta, rate = asked.left_out, asked.rate
    exponent = (asked.epsilon + math.log(beta)) / (3.0 * asked.sensitivity * rate)
    reach = exponent * (asked.share + 1.0)
    floor = beta**2 * asked.lattice * math.exp(min(reach, _LARGEST)) / rate
    a, b = floor / beta, 2.0 * math.log(2.0 * asked.lattice / asked.delta) / beta
    # The root of A·τ² = B·(1 − τ), in the form that loses no digits where A is far above B.
    shortfall = 2.0 * b / (b + math.sqrt(b * b + 4.0 * a * b))
    return PublishedConstants(
        exponent,
        reach,
        floor,
        shortfall,
        b / shortfall**2 if shortfall**2 > 0 else math.inf,
        math.log(2.0 / asked.delta) / (rate * SIZE_RATE),
    )


def exchange_delta(
    epsilon: float, rate: float, reach: float, generalisations: int, crowd: float, records: int
) -> float:
    """δ_m of theorem C: what a sample of generalisations takes of δ if each has so many records.

    ``reach`` is E·R; ``records`` are those of the smaller neighbour. 1 where nothing can be said.
    """
    drift = 2.0 * reach * (1.0 + SIZE_SLACK) * rate
    if drift - math.log1p(-rate) > epsilon or crowd <= 0:
        return 1.0
    mass = crowd * math.exp(-reach) / generalisations
    tail = exchange_tail(mass, rate, exchange_factor(epsilon, drift, rate))
    return min(1.0, size_tail(rate, records) + rate * math.exp(drift) * tail)


def frequent_set_delta(lattice: int, records: int, least_share: float) -> float:
    """2·h^k / (m·(1 − θ0)): how often the frequent set differs between neighbours, at most."""
    return min(1.0, 2.0 * lattice / (records * (1.0 - least_share)))


def corrected_delta(
    asked: PublishedQuestion, score: float, records: int, least_share: float
) -> tuple[float, float]:
    """What is proved of the algorithm as printed: parts of δ of the sample and of the frequent set.

    ``score`` is R = λ/φ_l + ν^κ/(m − 1), or what bounds the drift of risks in its place; θ is drawn from θ0
    on.
    """
    found = published_constants(asked)
    reach = found.exponent * score
    rounding = 0.0 if asked.n_attributes is None else rounding_epsilon(asked.rate, asked.n_attributes, reach)
    of_sample = exchange_delta(
        asked.epsilon - rounding, asked.rate, reach, asked.lattice, least_share * records - 1.0, records - 1
    )
    return of_sample, frequent_set_delta(asked.lattice, records, least_share)
