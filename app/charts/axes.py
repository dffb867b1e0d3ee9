"""Scales from values to pixels, the frame of two of them, and how numbers look in every picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Protocol

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


class Rated(Protocol):
    """What has a risk, which may be infinite, and a utility."""

    @property
    def risk(self) -> float:
        """In the unit of the weights, perhaps ∞."""

    @property
    def utility(self) -> float:
        """Mean utility, finite."""


def frame(x: Axis, y: Axis, top: float, bottom: float, x_label: str, y_label: str) -> list[str]:
    """Grid, ticks and labels of a rectangle; ``top`` and ``bottom`` may be beyond the scale of y."""
    left, right = x.start, x.end
    parts = []
    for tick in x.ticks():
        at = x.at(tick)
        parts.append(f'<line class="grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>')
        parts.append(f'<text x="{at:.1f}" y="{bottom + 22}" text-anchor="middle">{number_text(tick)}</text>')
    for tick in y.ticks():
        at = y.at(tick)
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{at:.1f}" y2="{at:.1f}"/>')
        parts.append(f'<text x="{left - 10}" y="{at + 5:.1f}" text-anchor="end">{number_text(tick)}</text>')
    return [
        *parts,
        f'<rect class="frame" x="{left}" y="{top}" width="{right - left}" height="{bottom - top}"/>',
        f'<text class="axis" x="{(left + right) / 2}" y="{bottom + 52}" text-anchor="middle">'
        f"{escape(x_label)}</text>",
        f'<text class="axis" transform="translate(26 {(top + bottom) / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(y_label)}</text>",
    ]


def frontier(marks: Sequence[Rated], x: Axis, y: Axis) -> str:
    """The least risk at a utility of at least so much, as steps; nothing if no risk is finite."""
    best, corners = math.inf, []
    for mark in sorted(marks, key=lambda mark: (-mark.utility, mark.risk)):
        if mark.risk < best:
            best = mark.risk
            corners.append(mark)
    if not corners:
        return ""
    first, *rest = corners
    path = [f"M{x.at(first.utility):.1f} {y.at(first.risk):.1f}"]
    path += [f"H{x.at(mark.utility):.1f}V{y.at(mark.risk):.1f}" for mark in rest]
    path.append(f"H{x.at(min(mark.utility for mark in marks)):.1f}")
    return f'<path class="frontier" d="{"".join(path)}"/>'
