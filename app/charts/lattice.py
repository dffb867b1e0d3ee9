"""The lattice of rules as a Hasse diagram: one row per sum of levels, coloured by risk."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from app.charts.axes import number_text
from app.charts.drawing import Caption, Steps, linked, picture, steps_of

CLASSES = 7
"""Colours of the scale of risk."""

_WIDTH, _ROW, _MARGIN, _LEGEND = 960.0, 52.0, 34.0, 76.0

Levels = tuple[int, ...]


@dataclass(frozen=True)
class LatticeRule:
    """One rule; ``risk`` is None where it was not computed."""

    levels: Levels
    risk: float | None
    label: str
    href: str


def draw_lattice(
    caption: Caption, rules: Sequence[LatticeRule], chosen: Levels | None, path: Sequence[Levels]
) -> str:
    """The diagram as an SVG element: what discloses more is lower, edges join rules one step apart.

    ``path`` are neighbouring rules, drawn strong; the rule that is ``chosen`` has a ring and a word.
    """
    places, height = _places(rules)
    scale = steps_of([rule.risk for rule in rules if rule.risk is not None], CLASSES)
    widest = max(map(len, _rows(rules).values()))
    radius = max(3.0, min(9.0, 0.36 * (_WIDTH - 2 * _MARGIN) / widest))
    on_path = set(path)
    nodes = []
    for rule in sorted(rules, key=lambda rule: (sum(rule.levels), places[rule.levels])):
        x, y = places[rule.levels]
        tone = "q-unknown" if rule.risk is None else f"q-{scale.shade(scale.of(rule.risk), CLASSES)}"
        circle = f'<circle class="{tone}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>'
        risk = "not computed" if rule.risk is None else number_text(rule.risk)
        mark = " chosen" if rule.levels == chosen else " on-way" if rule.levels in on_path else ""
        nodes.append(linked(rule.href, f"{rule.label}; risk {risk}", circle, f"node{mark}"))
    parts = [
        *_legend(scale),
        f'<path class="edges" d="{"".join(_edges(places))}"/>',
        _way(path, places),
        *nodes,
        _word(chosen, places, radius),
    ]
    return picture(caption, _WIDTH, height, parts)


def _rows(rules: Sequence[LatticeRule]) -> Mapping[int, list[Levels]]:
    rows: dict[int, list[Levels]] = defaultdict(list)
    for rule in rules:
        rows[sum(rule.levels)].append(rule.levels)
    return rows


def _places(rules: Sequence[LatticeRule]) -> tuple[dict[Levels, tuple[float, float]], float]:
    """Centre of every rule; rows from the most general at the top down, each spread over the width."""
    rows = _rows(rules)
    places: dict[Levels, tuple[float, float]] = {}
    for number, total in enumerate(sorted(rows, reverse=True)):
        row = sorted(rows[total], reverse=True)
        step = (_WIDTH - 2 * _MARGIN) / len(row)
        for i, levels in enumerate(row):
            places[levels] = (_MARGIN + step * (i + 0.5), _LEGEND + _MARGIN + _ROW * number)
    return places, _LEGEND + 2 * _MARGIN + _ROW * (len(rows) - 1)


def _edges(places: Mapping[Levels, tuple[float, float]]) -> Iterator[str]:
    for levels, (x, y) in places.items():
        for j in range(len(levels)):
            above = (*levels[:j], levels[j] + 1, *levels[j + 1 :])
            if above in places:
                to_x, to_y = places[above]
                yield f"M{x:.0f} {y:.0f}L{to_x:.0f} {to_y:.0f}"


def _way(path: Sequence[Levels], places: Mapping[Levels, tuple[float, float]]) -> str:
    points = [places[levels] for levels in path if levels in places]
    if len(points) < 2:
        return ""
    return f'<path class="way" d="M{"L".join(f"{x:.1f} {y:.1f}" for x, y in points)}"/>'


def _word(chosen: Levels | None, places: Mapping[Levels, tuple[float, float]], radius: float) -> str:
    if chosen is None or chosen not in places:
        return ""
    x, y = places[chosen]
    ring = f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="{radius + 4:.1f}"/>'
    return f'{ring}<text class="halo" x="{x:.1f}" y="{y - radius - 9:.1f}" text-anchor="middle">chosen</text>'


def _legend(scale: Steps) -> Iterator[str]:
    """The colours with the risks between them."""
    width = 112  # room for a number of five digits, also where narrow screens enlarge it
    yield f'<text class="tick" x="{_MARGIN}" y="22">risk of the rule, low to high</text>'
    for i in range(scale.n):
        tone = scale.shade(i, CLASSES)
        yield f'<rect class="q-{tone}" x="{_MARGIN + i * width}" y="32" width="{width}" height="12"/>'
    for i, edge in enumerate(scale.edges):
        if not math.isinf(edge):
            yield (
                f'<text class="tick small" x="{_MARGIN + (i + 1) * width}" y="68" text-anchor="middle">'
                f"{edge:.2g}</text>"
            )
