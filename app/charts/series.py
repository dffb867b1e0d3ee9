"""Curves and clouds over two axes, with a legend: what the experiments draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Literal

from app.charts.axes import STYLE, Axis, amount_axis, frame, linear_axis, number_text

_WIDTH, _HEIGHT = 900, 600
_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 28, 84, 74
_LEGEND_ROW, _NOTE_ROW, _NOTE_LETTERS = 22, 18, 110
_COLOURS = ("#0f766e", "#b45309", "#1d4ed8", "#9d174d", "#4d7c0f", "#6d28d9", "#334155", "#0891b2")

Mark = Literal["line", "step", "points"]


@dataclass(frozen=True)
class Series:
    """Named points; ``y`` may hold +∞ and is at least 0."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    mark: Mark = "line"


def draw_series(title: str, x_label: str, y_label: str, series: Sequence[Series], note: str = "") -> str:
    """The picture as an SVG document; the y axis is logarithmic where values span more than a factor 30."""
    notes = wrap(note, _NOTE_LETTERS)
    legend = _TOP + _NOTE_ROW * max(0, len(notes) - 1)
    top = legend + _LEGEND_ROW * ((len(series) + 2) // 3)
    x = linear_axis([value for one in series for value in one.x], _LEFT, _WIDTH - _RIGHT)
    y = amount_axis([value for one in series for value in one.y], _HEIGHT - _BOTTOM, top)
    drawn = [
        part
        for number, one in enumerate(series)
        for part in _drawn(one, _COLOURS[number % len(_COLOURS)], x, y)
    ]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'aria-labelledby="series-title series-description">',
        f'<title id="series-title">{escape(title)}</title>',
        f'<desc id="series-description">{escape(f"{y_label} against {x_label}. {note}".strip())}</desc>',
        f"<style>{STYLE}.curve{{fill:none;stroke-width:2}}.point{{fill-opacity:.6}}</style>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text class="title" x="{_LEFT}" y="36">{escape(title)}</text>',
        *(
            f'<text class="note" x="{_LEFT}" y="{58 + _NOTE_ROW * i}">{escape(line)}</text>'
            for i, line in enumerate(notes)
        ),
        *_legend(series, legend),
        *frame(x, y, top, _HEIGHT - _BOTTOM, x_label, y_label + (" (logarithmic)" if y.log else "")),
        *drawn,
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _drawn(one: Series, colour: str, x: Axis, y: Axis) -> list[str]:
    places = [(x.at(a), y.at(b)) for a, b in zip(one.x, one.y, strict=True)]
    parts = [
        f'<circle class="point" fill="{colour}" cx="{a:.1f}" cy="{b:.1f}" r="3">'
        f"<title>{escape(one.name)}: {number_text(v)}, {number_text(w)}</title></circle>"
        for (a, b), v, w in zip(places, one.x, one.y, strict=True)
    ]
    if one.mark == "points" or not places:
        return parts
    path = [f"M{places[0][0]:.1f} {places[0][1]:.1f}"]
    for a, b in places[1:]:
        path.append(f"H{a:.1f}V{b:.1f}" if one.mark == "step" else f"L{a:.1f} {b:.1f}")
    return [f'<path class="curve" stroke="{colour}" d="{"".join(path)}"/>', *parts]


def _legend(series: Sequence[Series], top: float) -> list[str]:
    parts = []
    for number, one in enumerate(series):
        at_x, at_y = _LEFT + 260 * (number % 3), top + _LEGEND_ROW * (number // 3)
        parts.append(
            f'<circle fill="{_COLOURS[number % len(_COLOURS)]}" cx="{at_x + 6}" cy="{at_y - 5}" r="5"/>'
            f'<text x="{at_x + 18}" y="{at_y}">{escape(one.name)}</text>'
        )
    return parts
