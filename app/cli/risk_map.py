"""The risk–utility map: every rule as a mark, drawn as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from app.charts.axes import STYLE, Axis, amount_axis, frame, frontier, linear_axis, number_text

_WIDTH, _HEIGHT = 900, 680
_LEFT, _RIGHT, _TOP, _BOTTOM = 96, 28, 178, 74
_LONGEST_LABEL = 115
_RULE, _PROPOSED, _OPTIMAL = "#5b7c99", "#b45309", "#0f766e"
_UTILITY = "Utility (depths of the disclosed values, summed over attributes, mean of the records)"
_STYLE = (
    STYLE
    + f".rule{{fill:{_RULE};fill-opacity:.55}}"
    + f".frontier{{fill:none;stroke:{_RULE};stroke-width:1.5}}"
    + ".marked{stroke:#fff;stroke-width:1.5}"
    + ".halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}"
)


@dataclass(frozen=True)
class Point:
    """A rule at its utility and risk (which may be infinite); the label is its levels in words."""

    utility: float
    risk: float
    label: str


def draw_map(
    points: Sequence[Point],
    proposed: Point,
    optimal: Point | None,
    *,
    n_rules: int,
    all_shown: bool,
) -> str:
    """The map as an SVG document.

    ``points`` are all rules, or the frontier if not ``all_shown``. Risk is drawn on a logarithmic axis
    where it spans more than a factor of 30.
    """
    marked = [proposed] if optimal is None else [proposed, optimal]
    drawn = [*points, *marked]
    x = linear_axis([point.utility for point in drawn], _LEFT, _WIDTH - _RIGHT)
    y = amount_axis([point.risk for point in drawn], _HEIGHT - _BOTTOM, _TOP)
    scale = ", logarithmic" if y.log else ""
    shown = f"all {n_rules:,} rules" if all_shown else f"the frontier of {n_rules:,} rules"
    description = f"{shown.capitalize()} by utility and risk. Proposed: {_words(proposed)}. " + (
        "No rule satisfies the objective." if optimal is None else f"Optimal: {_words(optimal)}."
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'aria-labelledby="map-title map-description">',
        '<title id="map-title">Risk and utility of disclosure rules</title>',
        f'<desc id="map-description">{escape(description)}</desc>',
        f"<style>{_STYLE}</style>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text class="title" x="{_LEFT}" y="36">Risk and utility of disclosure rules</text>',
        f'<text class="note" x="{_LEFT}" y="60">Each mark is a rule for the whole table: {shown}. '
        "The line is the least risk at a utility of at least so much.</text>",
        *frame(x, y, _TOP, _HEIGHT - _BOTTOM, _UTILITY, f"Risk (mean expected harm per record{scale})"),
        frontier(points, x, y),
        *(_mark(point, x, y) for point in points),
        *_marked(proposed, optimal, x, y),
        *_legend(proposed, optimal),
    ]
    return "\n".join([*(part for part in parts if part), "</svg>"]) + "\n"


def _mark(point: Point, x: Axis, y: Axis) -> str:
    centre = f'cx="{x.at(point.utility):.1f}" cy="{y.at(point.risk):.1f}"'
    return f'<circle class="rule" {centre} r="4"><title>{escape(_words(point))}</title></circle>'


def _marked(proposed: Point, optimal: Point | None, x: Axis, y: Axis) -> list[str]:
    """The two rules of interest, over the others, with a word beside each."""
    named = [("Proposed", proposed, _diamond, _PROPOSED, -8)]
    if optimal is not None:
        named.append(("Optimal", optimal, _disc, _OPTIMAL, 18))
    parts = []
    for name, point, shape, colour, below in named:
        at_x, at_y = x.at(point.utility), y.at(point.risk)
        parts.append(shape(at_x, at_y, f"{name}: {_words(point)}"))
        side, anchor = (-14, "end") if at_x > _WIDTH - _RIGHT - 90 else (14, "start")
        parts.append(
            f'<text class="halo" style="fill:{colour}" x="{at_x + side:.1f}" y="{at_y + below:.1f}" '
            f'text-anchor="{anchor}">{name}</text>'
        )
    return parts


def _diamond(x: float, y: float, title: str) -> str:
    return (
        f'<path class="marked" fill="{_PROPOSED}" transform="translate({x:.1f} {y:.1f})" '
        f'd="M0-10 10 0 0 10-10 0Z"><title>{escape(title)}</title></path>'
    )


def _disc(x: float, y: float, title: str) -> str:
    return (
        f'<circle class="marked" fill="{_OPTIMAL}" cx="{x:.1f}" cy="{y:.1f}" r="9">'
        f"<title>{escape(title)}</title></circle>"
    )


def _legend(proposed: Point, optimal: Point | None) -> list[str]:
    """What the two marked rules are, above the picture."""
    entries = [(_diamond, "Proposed rule", proposed)]
    if optimal is not None:
        entries.append((_disc, "Optimal rule", optimal))
    parts = []
    for i, (shape, name, point) in enumerate(entries):
        at = 92 + 44 * i
        label = point.label if len(point.label) <= _LONGEST_LABEL else point.label[:_LONGEST_LABEL] + "…"
        parts += [
            shape(_LEFT + 10, at - 5, name),
            f'<text x="{_LEFT + 30}" y="{at}">{name}: risk {number_text(point.risk)}, '
            f"utility {number_text(point.utility)}</text>",
            f'<text class="note" x="{_LEFT + 30}" y="{at + 19}">{escape(label)}</text>',
        ]
    return parts


def _words(point: Point) -> str:
    return f"{point.label}; risk {number_text(point.risk)}, utility {number_text(point.utility)}"
