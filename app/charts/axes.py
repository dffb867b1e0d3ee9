"""Scales from values to pixels, and how numbers and letters look in every picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

INK, GRID = "#1f2933", "#d9dee4"
STYLE = (
    f"text{{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:{INK};font-size:14px}}"
    ".title{font-size:20px;font-weight:600}.axis{font-size:15px}.note{font-size:13px}"
    f".grid{{stroke:{GRID}}}.frame{{stroke:{INK};fill:none}}"
)
APART = 20
WIDE_RANGE = 30.0


@dataclass(frozen=True)
class Axis:
    """A scale from values to pixels; ``apart``: values beyond it (0 of a logarithm, ∞) that get own lines."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False
    apart: tuple[float, ...] = ()

    def at(self, value: float) -> float:
        """Pixels of a value."""
        if self.log and value <= 0:
            return self.start - math.copysign(APART, self.end - self.start)
        if math.isinf(value):
            return self.end + math.copysign(APART, self.end - self.start)
        low, high, value = (
            (math.log10(self.low), math.log10(self.high), math.log10(value))
            if self.log
            else (self.low, self.high, value)
        )
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values along the scale, and those apart from it."""
        if self.log:
            exponents = range(math.ceil(math.log10(self.low)), math.floor(math.log10(self.high)) + 1)
            return [*(10.0**exponent for exponent in exponents), *self.apart]
        step = round_step((self.high - self.low) / 8)
        first = math.ceil(self.low / step - 1e-9)
        return [step * i for i in range(first, math.floor(self.high / step + 1e-9) + 1)] + list(self.apart)


def linear_axis(values: Sequence[float], start: float, end: float) -> Axis:
    """A scale that holds all values with some margin."""
    low, high = min(values), max(values)
    margin = 0.04 * (high - low) or 0.5
    return Axis(low - margin, high + margin, start, end)


def amount_axis(values: Sequence[float], bottom: float, top: float) -> Axis:
    """An upward scale for numbers in [0, ∞]: from 0, or logarithmic where they span more than a factor 30."""
    finite = [value for value in values if math.isfinite(value)]
    positive = [value for value in finite if value > 0]
    apart = [math.inf] if len(finite) < len(values) else []
    upper = top + 2 * APART * len(apart)
    if positive and max(positive) > WIDE_RANGE * min(positive):
        if len(positive) < len(finite):
            apart.append(0.0)
            bottom -= 2 * APART
        return Axis(min(positive) / 1.5, max(positive) * 1.5, bottom, upper, True, tuple(apart))
    return Axis(0.0, 1.06 * max(finite, default=1.0) or 1.0, bottom, upper, False, tuple(apart))


def number_text(value: float) -> str:
    """A number as the pictures write it."""
    return "∞" if math.isinf(value) else f"{value:.4g}"


def round_step(step: float) -> float:
    """The least of 1, 2, 5 times a power of ten that is not below ``step``."""
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= step * (1 - 1e-9))
