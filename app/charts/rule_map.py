"""The risk–utility map of a page: every rule a link, thresholds as lines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from app.charts.axes import Axis, amount_axis, frontier, linear_axis, number_text
from app.charts.drawing import Caption, framed, linked, picture

_WIDTH, _HEIGHT = 960, 600
_LEFT, _RIGHT, _TOP, _BOTTOM = 92, 30, 30, 66
_WORD, _LINE = 160, 18


BEST = "best"
"""Name of the rule that a search found; it comes first."""


@dataclass(frozen=True)
class RuleMark:
    """A rule at its utility and risk (which may be infinite); ``name`` marks one that stands out."""

    utility: float
    risk: float
    label: str
    href: str
    name: str | None = None


@dataclass(frozen=True)
class Threshold:
    """A limit on one axis; what is on the ``wrong`` side of it does not pass."""

    axis: Literal["risk", "utility"]
    value: float
    label: str


def draw_rule_map(
    caption: Caption,
    marks: Sequence[RuleMark],
    thresholds: Sequence[Threshold] = (),
    risk_label: str = "Risk (mean of the records)",
    utility_label: str = "Utility (mean of the records)",
) -> str:
    """The map as an SVG element; risk is on a logarithmic axis where it spans more than a factor of 30.

    Marks with a name come first in the order of links, then from the greatest utility down.
    """
    shown = [line for line in thresholds if math.isfinite(line.value)]
    utilities = [mark.utility for mark in marks] + [t.value for t in shown if t.axis == "utility"]
    risks = [mark.risk for mark in marks] + [t.value for t in shown if t.axis == "risk"]
    x = linear_axis(utilities, _LEFT, _WIDTH - _RIGHT)
    y = amount_axis(risks, _HEIGHT - _BOTTOM, _TOP)
    scale = ", logarithmic" if y.log else ""
    ordered = sorted(
        marks,
        key=lambda mark: (mark.name is None, mark.name != BEST, -mark.utility, mark.risk, mark.label),
    )
    plain = [mark for mark in ordered if mark.name is None]
    named = [mark for mark in ordered if mark.name is not None]
    drawn = [
        _named(mark, i, x, y, word)
        for i, (mark, word) in enumerate(zip(named, _words(named, x, y), strict=True))
    ]
    parts = [
        *framed(x, y, (_TOP, _HEIGHT - _BOTTOM), utility_label, risk_label + scale),
        frontier(marks, x, y),
        *(_line(line, x, y) for line in shown),
        *(linked(m.href, _said(m), shape, "mark named") for m, shape in zip(named, drawn, strict=True)),
        *(linked(m.href, _said(m), _dot(m, x, y)) for m in plain),
        # What comes first for who walks the links would lie under the others: it is drawn again on top.
        '<g class="named over" aria-hidden="true">',
        *reversed(drawn),
        "</g>",
    ]
    return picture(caption, _WIDTH, _HEIGHT, parts)


def _said(mark: RuleMark) -> str:
    who = f"{mark.name}: " if mark.name else ""
    return f"{who}{mark.label}; risk {number_text(mark.risk)}, utility {number_text(mark.utility)}"


def _line(line: Threshold, x: Axis, y: Axis) -> str:
    label = escape(line.label)
    if line.axis == "utility":
        at = x.at(line.value)
        side, anchor = (-6, "end") if at > _WIDTH / 2 else (6, "start")
        return (
            f'<path class="threshold" d="M{at:.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>'
            f'<text class="threshold-label" x="{at + side:.1f}" y="{_TOP + 14}" '
            f'text-anchor="{anchor}">{label}</text>'
        )
    at = y.at(line.value)
    return (
        f'<path class="threshold" d="M{_LEFT} {at:.1f}H{_WIDTH - _RIGHT}"/>'
        f'<text class="threshold-label" x="{_WIDTH - _RIGHT - 6}" y="{at - 6:.1f}" '
        f'text-anchor="end">{label}</text>'
    )


def _dot(mark: RuleMark, x: Axis, y: Axis) -> str:
    return f'<circle cx="{x.at(mark.utility):.1f}" cy="{y.at(mark.risk):.1f}" r="4.5"/>'


def _words(named: Sequence[RuleMark], x: Axis, y: Axis) -> list[float]:
    """How far below its mark each word stands, so that words of neighbours do not meet."""
    below: dict[int, float] = {}
    taken: list[tuple[float, float]] = []
    for i in sorted(range(len(named)), key=lambda i: y.at(named[i].risk)):
        at_x, at_y = x.at(named[i].utility), y.at(named[i].risk) + 5
        for other_x, other_y in taken:
            if abs(other_x - at_x) < _WORD:
                at_y = max(at_y, other_y + _LINE)
        taken.append((at_x, at_y))
        below[i] = at_y - y.at(named[i].risk)
    return [below[i] for i in range(len(named))]


def _named(mark: RuleMark, number: int, x: Axis, y: Axis, below: float) -> str:
    """Shapes tell them apart without their colours; a word stands beside each."""
    at_x, at_y = x.at(mark.utility), y.at(mark.risk)
    shapes = ('<circle r="8.5"/>', '<path d="M0-11 11 0 0 11-11 0Z"/>', '<path d="M-8-8H8V8H-8Z"/>')
    side, anchor = (-15, "end") if at_x > _WIDTH - _RIGHT - 120 else (15, "start")
    return (
        f'<g class="named-{number % 3}" transform="translate({at_x:.1f} {at_y:.1f})">'
        f'{shapes[number % 3]}<text x="{side}" y="{below:.1f}" text-anchor="{anchor}">'
        f"{escape(mark.name or '')}</text></g>"
    )
