"""A person's friends in a ring, and theirs around them: larger is riskier, darker is less trusted."""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from app.charts.axes import number_text
from app.charts.drawing import Caption, picture

_SIZE: Final = 720
_RINGS: Final = {1: 122.0, 2: 244.0}
_LEAST, _GREATEST = 4.0, 14.0
_SHADES: Final = 7
_LETTERS: Final = 10


def draw_neighbourhood(caption: Caption, owner: str, people: Sequence[Mapping[str, Any]]) -> str:
    """The owner in the middle of people as a measurement of diffusion lists them; each line is drawn once."""
    pairs = {tuple(sorted((owner, one["id"]))) for one in people if one["distance"] == 1}
    pairs |= {tuple(sorted((one["id"], friend))) for one in people for friend in one["friends"]}
    places = {owner: (_SIZE / 2, _SIZE / 2)} | _places(people, pairs)
    lines = "".join("M{:.1f} {:.1f}L{:.1f} {:.1f}".format(*places[a], *places[b]) for a, b in sorted(pairs))
    riskiest = max((one["risk"] for one in people), default=0.0) or 1.0
    trusts = [one["trust"] for one in people] or [0.0]
    span = (max(trusts) - min(trusts)) or 1.0
    marks = [_mark(owner, "the owner", places[owner], _GREATEST, "q-unknown")]
    for one in people:
        shade = round((_SHADES - 1) * (max(trusts) - one["trust"]) / span)
        radius = _LEAST + (_GREATEST - _LEAST) * math.sqrt(one["risk"] / riskiest)
        said = f"risk {number_text(one['risk'])}, trust {number_text(one['trust'])}"
        marks.append(_mark(one["id"], said, places[one["id"]], radius, f"q-{shade}"))
    return picture(caption, _SIZE, _SIZE, [f'<path class="edges" d="{lines}"/>' if lines else "", *marks])


def _places(
    people: Sequence[Mapping[str, Any]], pairs: set[tuple[str, ...]]
) -> dict[str, tuple[float, float]]:
    """Evenly on two rings; on the outer one in the mean direction of friends on the inner."""
    inner, outer = ([one["id"] for one in people if one["distance"] == ring] for ring in _RINGS)
    angles = {name: 2 * math.pi * i / len(inner) for i, name in enumerate(inner)}
    mean = dict.fromkeys(outer, 0j)
    for a, b in (*pairs, *(pair[::-1] for pair in pairs)):
        if a in angles and b in mean:
            mean[b] += cmath.rect(1, angles[a])
    outer.sort(key=lambda name: cmath.phase(mean[name]) % (2 * math.pi))
    around = {1: angles, 2: {name: 2 * math.pi * i / len(outer) for i, name in enumerate(outer)}}
    return {
        name: (_SIZE / 2 + _RINGS[ring] * math.sin(angle), _SIZE / 2 - _RINGS[ring] * math.cos(angle))
        for ring, own in around.items()
        for name, angle in own.items()
    }


def _mark(name: str, said: str, place: tuple[float, float], radius: float, tone: str) -> str:
    """A circle that says its numbers to who points at it or has it read aloud; its name leads outwards."""
    (x, y), short = place, name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
    turn = math.degrees(math.atan2(y - _SIZE / 2, x - _SIZE / 2))
    is_left = not -90 <= turn <= 90
    along = -radius - 4 if is_left else radius + 4
    return (
        f'<g class="node"><title>{escape(name)}: {said}</title>'
        f'<circle class="{tone}" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/><text class="tick small" '
        f'transform="translate({x:.1f} {y:.1f}) rotate({turn + 180 * is_left:.1f})" x="{along:.1f}" y="4" '
        f'text-anchor="{"end" if is_left else "start"}">{escape(short)}</text></g>'
    )
