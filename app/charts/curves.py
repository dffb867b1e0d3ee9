"""Curves of a page over two axes, each of several with a word beside its line, the highest first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from app.charts.axes import Axis, linear_axis, number_text
from app.charts.drawing import Caption, framed, picture

_WIDTH, _HEIGHT = 720, 460
_LEFT, _RIGHT, _TOP, _BOTTOM = 100, 30, 30, 84


@dataclass(frozen=True)
class Curve:
    """Named points from left to right; on logarithmic axes their numbers are above 0."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]


def draw_curves(
    caption: Caption, curves: Sequence[Curve], x_label: str, y_label: str, *, is_linear: bool = False
) -> str:
    """The curves as an SVG element, over logarithmic axes if they are not linear."""
    axis, note = (linear_axis, "") if is_linear else (_axis, ", logarithmic")
    x = axis([value for one in curves for value in one.x], _LEFT, _WIDTH - _RIGHT)
    y = axis([value for one in curves for value in one.y], _HEIGHT - _BOTTOM, _TOP)
    frame = framed(x, y, (_TOP, _HEIGHT - _BOTTOM), f"{x_label}{note}", f"{y_label}{note}")
    is_alone = len(curves) == 1
    drawn = [
        part for number, one in enumerate(curves) for part in _drawn(one, number, x, y, is_alone=is_alone)
    ]
    return picture(caption, _WIDTH, _HEIGHT, [*frame, *drawn])


def _axis(values: Sequence[float], start: float, end: float) -> Axis:
    """From a power of ten to another, so that there are two ticks at least."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return Axis(10.0**low, 10.0 ** max(high, low + 1), start, end, log=True)


def _drawn(one: Curve, number: int, x: Axis, y: Axis, *, is_alone: bool) -> Iterator[str]:
    places = [(x.at(a), y.at(b)) for a, b in zip(one.x, one.y, strict=True)]
    yield f'<path class="curve curve-{number % 3}" d="M{"L".join(f"{a:.1f} {b:.1f}" for a, b in places)}"/>'
    for (a, b), value, amount in zip(places, one.x, one.y, strict=True):
        said = f"{escape(one.name)}: {number_text(value)}, {number_text(amount)}"
        yield f'<circle class="point" cx="{a:.1f}" cy="{b:.1f}" r="4"><title>{said}</title></circle>'
    if is_alone:
        return
    # A curve that falls leaves room to the right of its beginning and to the left of its end.
    (a, b), side, anchor = (places[0], 14, "start") if number == 0 else (places[-1], -14, "end")
    yield (
        f'<text class="halo" x="{a + side:.1f}" y="{b + 5 - side:.1f}" text-anchor="{anchor}">'
        f"{escape(one.name)}</text>"
    )
