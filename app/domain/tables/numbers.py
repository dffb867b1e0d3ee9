"""How numbers are compared and summed, the same everywhere.

Feasibility and thresholds on reals carry the tolerance 1e-9, for thresholds beyond 1000 the 1e-12 of
their size that sums in another order may differ by, ties 1e-12·max(1, |value|), integers are compared
exactly (Definitions: tolerance, order of ties).
Searches and scores call these functions and never compare by hand, so that
a rule found feasible never fails its own check.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_DOWN, Context, Decimal

import numpy as np

from app.domain.arrays import Floats

FEASIBILITY_TOLERANCE = 1e-9
TIE_TOLERANCE = 1e-12
SUMMED_AT_ONCE = 2**14
SUMMED_IN_PARTS = 512
MOST_PARTS = 8
MOST_SPLIT = 2.0**900


def _tolerance(threshold: float) -> float:
    return max(FEASIBILITY_TOLERANCE, TIE_TOLERANCE * abs(threshold))


def lowest_accepted(floor: float) -> float:
    """The least value that passes ``value ≥ floor``."""
    return floor - _tolerance(floor)


def highest_accepted(cap: float) -> float:
    """The greatest value that passes ``value ≤ cap``."""
    return cap + _tolerance(cap)


def tie_margin(value: float) -> float:
    """Largest distance from ``value`` that still counts as a tie; infinite values tie only with equals."""
    return TIE_TOLERANCE * max(1.0, abs(value)) if math.isfinite(value) else 0.0


def tie_margins(values: Floats) -> Floats:
    """:func:`tie_margin` of each value."""
    finite = np.isfinite(values)
    return np.where(finite, TIE_TOLERANCE * np.maximum(1.0, np.abs(np.where(finite, values, 0.0))), 0.0)


def rounded_down(number: float) -> str:
    """Six digits of a number above 0 that are no greater."""
    return f"{Decimal(number).normalize(Context(prec=6, rounding=ROUND_DOWN)):f}"


def exact_sum(values: Floats | Iterable[float]) -> float:
    """Correctly rounded sum, hence independent of order; never NaN for terms ≥ 0.

    +∞ if any term is, or if the sum is greater than any number.
    """
    if isinstance(values, np.ndarray):
        if values.size and np.isposinf(values).any():
            return math.inf
        if values.size >= SUMMED_IN_PARTS and np.abs(values).max() < MOST_SPLIT:
            values = values.reshape(-1)
            blocks = range(0, values.size, SUMMED_AT_ONCE)
            return math.fsum(part for i in blocks for part in _parts_of_sum(values[i : i + SUMMED_AT_ONCE]))
        values = values.tolist()
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


def _parts_of_sum(values: Floats) -> list[float]:
    """Few doubles with exactly the sum of at most 2¹⁴ finite ones below 2⁹⁰⁰ in size.

    What the values have above a unit is split off and summed: whole multiples of it below 2⁵³ in all, which
    doubles hold exactly in any order (ExtractVector of Rump et al. (2008)).
    """
    parts: list[float] = []
    rest = values
    while (greatest := float(np.abs(rest).max(initial=0.0))) > 0:
        if len(parts) == MOST_PARTS:
            return [*parts, *rest.tolist()]
        sigma = math.ldexp(1.0, math.frexp(greatest)[1] + SUMMED_AT_ONCE.bit_length() + 1)
        upper = (rest + sigma) - sigma
        parts.append(float(upper.sum()))
        rest = rest - upper
    return parts


def to_json_number(value: float) -> float | str:
    """The number, or ``"inf"``: JSON has no infinity. NaN is refused."""
    if math.isnan(value):
        raise ValueError("NaN is not a result")
    return ("inf" if value > 0 else "-inf") if math.isinf(value) else value
