"""How a measured value is compared with a policy's threshold, and said: once, for every gate and search.

Whole numbers are compared exactly, reals with the tolerance of :mod:`app.domain.tables.numbers` in favour of
the comparisons that include the threshold; ``above`` and ``below`` are the complements of ``at_most`` and
``at_least``. Infinities are equal to themselves only. A boolean is only ever equal or not.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Final, Literal

import numpy as np

from app.domain.models.criterion import Criterion
from app.domain.tables.numbers import highest_accepted, lowest_accepted

Comparison = Literal["at_least", "at_most", "above", "below", "equals"]
Value = bool | int | float

WORDS: Final[dict[Comparison, str]] = {
    "at_least": "at least",
    "at_most": "at most",
    "above": "above",
    "below": "below",
    "equals": "equal to",
}
SYMBOLS: Final = {"l": "ℓ", "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε"}
"""Names of parameters as the field writes them."""


def holds(value: Value, comparison: Comparison, threshold: Value) -> bool:
    """Whether the value keeps the threshold.

    ValueError for NaN, for a boolean beside a number, and for a boolean that is not asked to be equal: what
    cannot be compared must not pass.
    """
    value, threshold = _comparable(value, comparison, threshold)
    if isinstance(value, int) or math.isinf(value) or math.isinf(threshold):
        least, greatest = threshold, threshold
    else:
        least, greatest = lowest_accepted(threshold), highest_accepted(threshold)
    match comparison:
        case "at_least":
            return value >= least
        case "at_most":
            return value <= greatest
        case "above":
            return value > greatest
        case "below":
            return value < least
        case "equals":
            return least <= value <= greatest


def margin(value: Value, comparison: Comparison, threshold: Value) -> float:
    """How far the value may get worse before it fails, in its unit; negative by how much it must get better.

    At least 0 exactly if :func:`holds`; −∞…∞, never NaN. A real that fails although it is within the
    tolerance of the threshold is short by that tolerance. A boolean counts as 0 or 1. ValueError as
    :func:`holds`.
    """
    passes = holds(value, comparison, threshold)
    value, threshold = _comparable(value, comparison, threshold)
    room = _room(value, comparison, threshold)
    if math.isinf(value) or math.isinf(threshold):
        return room if not math.isnan(room) else (0.0 if passes else -math.inf)
    if passes:
        return max(0.0, room)
    short = 0.0 if isinstance(value, int) else highest_accepted(threshold) - threshold
    return min(room, -short)


def _comparable(value: Value, comparison: Comparison, threshold: Value) -> tuple[int | float, int | float]:
    """Both as Python numbers, booleans as 0 and 1; ValueError where they cannot be compared."""
    plain, bound = _plain(value), _plain(threshold)
    if isinstance(plain, bool) != isinstance(bound, bool):
        raise ValueError("a boolean is compared with a boolean, a number with a number")
    if isinstance(plain, bool) and comparison != "equals":
        raise ValueError("a boolean can only be asked to be equal")
    if math.isnan(plain) or math.isnan(bound):
        raise ValueError("NaN cannot be compared")
    return (int(plain), int(bound)) if isinstance(plain, bool) else (plain, bound)


def _plain(value: Value) -> Value:
    """A numpy scalar as a Python one; ValueError for anything that is no number."""
    plain = value.item() if isinstance(value, np.generic) else value
    if not isinstance(plain, bool | int | float):
        raise ValueError("only numbers and booleans can be compared")
    return plain


def _room(value: int | float, comparison: Comparison, threshold: int | float) -> float:
    """The distance on the passing side; NaN for two equal infinities.

    Whole numbers step over a strict threshold.
    """
    steps = isinstance(value, int) and math.isfinite(threshold)
    match comparison:
        case "above" if steps:
            return float(value - (math.floor(threshold) + 1))
        case "below" if steps:
            return float((math.ceil(threshold) - 1) - value)
        case "at_least" | "above":
            return float(value - threshold)
        case "at_most" | "below":
            return float(threshold - value)
        case "equals":
            return -abs(float(value - threshold))


def number(value: Value) -> str:
    """A number in words and digits: whole ones in full, reals to six digits."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"{value:,}"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinity"
    return f"{value:,.6g}"


def model_in_short(model: Criterion) -> str:
    """``k-anonymity (k = 11)``: its name with the numbers it requires; values of cells are left out."""
    given = {own.name: getattr(model, own.name) for own in fields(model) if own.name != "version"}
    numbers = [
        f"{SYMBOLS.get(name, name.replace('_', ' '))} = {number(value)}"
        for name, value in given.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    name = model.title.partition(":")[0]
    return f"{name} ({', '.join(numbers)})" if numbers else name
