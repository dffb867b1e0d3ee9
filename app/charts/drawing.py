"""What the pictures inside pages have in common: no styles of their own, a title, a description, links.

The page's stylesheet gives classes their colours, light and dark; a strict content policy forbids styles
within the picture.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from app.charts.axes import Axis, number_text


@dataclass(frozen=True)
class Caption:
    """What a picture is called and what it shows, for those who do not see it; ``id`` is unique on a page."""

    id: str
    title: str
    description: str


def picture(caption: Caption, width: float, height: float, parts: Iterable[str]) -> str:
    """The parts as one SVG element whose links can be walked."""
    return "\n".join(
        [
            f'<svg class="picture" viewBox="0 0 {width:g} {height:g}" role="group" '
            f'aria-labelledby="{caption.id}-title {caption.id}-description">',
            f'<title id="{caption.id}-title">{escape(caption.title)}</title>',
            f'<desc id="{caption.id}-description">{escape(caption.description)}</desc>',
            *(part for part in parts if part),
            "</svg>",
        ]
    )


def linked(href: str, label: str, shape: str, classes: str = "mark") -> str:
    """A shape that leads somewhere; the label is what is read aloud and shown beside the pointer."""
    said = escape(label)
    return f'<a class="{classes}" href="{escape(href)}" aria-label="{said}"><title>{said}</title>{shape}</a>'


def framed(x: Axis, y: Axis, height: tuple[float, float], x_label: str, y_label: str) -> Iterator[str]:
    """Grid, ticks and labels between the top and the bottom of a picture; the axes may end before these."""
    (top, bottom), left, right = height, x.start, x.end
    for tick in x.ticks():
        at = x.at(tick)
        yield f'<path class="grid" d="M{at:.1f} {top}V{bottom}"/>'
        yield _tick(at, bottom + 20, "middle", tick)
    for tick in y.ticks():
        at = y.at(tick)
        yield f'<path class="grid" d="M{left} {at:.1f}H{right}"/>'
        yield _tick(left - 9, at + 4, "end", tick)
    yield f'<path class="axis" d="M{left} {top}V{bottom}H{right}"/>'
    yield (
        f'<text class="label" x="{(left + right) / 2}" y="{bottom + 48}" text-anchor="middle">'
        f"{escape(x_label)}</text>"
    )
    yield (
        f'<text class="label" transform="translate(24 {(top + bottom) / 2}) rotate(-90)" '
        f'text-anchor="middle">{escape(y_label)}</text>'
    )


def _tick(x: float, y: float, anchor: str, value: float) -> str:
    return f'<text class="tick" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{number_text(value)}</text>'


@dataclass(frozen=True)
class Steps:
    """A scale of few colours: the classes 0 to ``n - 1`` between the least and the greatest value."""

    edges: tuple[float, ...]

    def of(self, value: float) -> int:
        """The class of a value; whatever is above all edges is in the last one."""
        return sum(value > edge for edge in self.edges)

    @property
    def n(self) -> int:
        """How many classes there are."""
        return len(self.edges) + 1

    def shade(self, place: int, colours: int) -> int:
        """The colour of a class: classes are spread over all colours, however few there are."""
        return round(place * (colours - 1) / max(self.n - 1, 1))


def steps_of(values: Sequence[float], n: int) -> Steps:
    """``n`` classes of equal width, by the logarithm where the values span more than a factor of 30.

    Values ≥ 0; 0 and infinities fall into the first and last class.
    """
    finite = sorted(value for value in values if math.isfinite(value))
    if not finite or finite[0] == finite[-1]:
        return Steps(())
    low, high = finite[0], finite[-1]
    positive = next(value for value in finite if value > 0)
    if high > 30 * positive:
        ratio = (high / positive) ** (1 / n)
        return Steps(tuple(positive * ratio**i for i in range(1, n)))
    return Steps(tuple(low + (high - low) * i / n for i in range(1, n)))
