"""What pictures with two scales share: the frame with its ticks, and the frontier of risk and utility."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape
from typing import Protocol

from app.charts.axes import Axis, number_text


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
