"""A bar that fills towards a limit, one length per entry; and odds before and after, as parts of a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from app.charts.drawing import Caption, picture

_WIDTH, _ROW, _BAR, _TOP = 620, 46, 20, 22
_NAME, _RIGHT = 46, 14


@dataclass(frozen=True)
class Length:
    """What one entry takes of a bar, in the bar's unit; ``said`` is read aloud."""

    amount: float
    kind: Literal["spent", "reserved"]
    said: str


@dataclass(frozen=True)
class Filled:
    """A bar with its limit (None: there is none), filled from the left; ``text`` says its numbers."""

    name: str
    lengths: tuple[Length, ...]
    limit: float | None
    text: str


def draw_filled(caption: Caption, bars: Sequence[Filled]) -> str:
    """One bar per number, each on a scale of its own that ends at its limit or at what is taken."""
    height = _TOP + _ROW * len(bars)
    return picture(caption, _WIDTH, height, (part for i, own in enumerate(bars) for part in _filled(i, own)))


def draw_odds(caption: Caption, rows: Sequence[tuple[str, float, str]]) -> str:
    """Of each name the probability from 0 to 1, as a part of a whole bar, with what is said of it."""
    bars = [Filled(name, (Length(share, "spent", text),), 1.0, text) for name, share, text in rows]
    return draw_filled(caption, bars)


def _filled(i: int, own: Filled) -> Iterator[str]:
    top, room = _TOP + i * _ROW, _WIDTH - _NAME - _RIGHT
    taken = sum(part.amount for part in own.lengths)
    whole = max(own.limit or 0.0, taken) or 1.0
    yield f'<text class="label" x="0" y="{top + _BAR / 2 + 5:.1f}">{escape(own.name)}</text>'
    yield f'<text class="tick" x="{_NAME}" y="{top - 6}">{escape(own.text)}</text>'
    if own.limit is not None:
        yield f'<rect class="room" x="{_NAME}" y="{top}" width="{room:.1f}" height="{_BAR}"/>'
    left = float(_NAME)
    for part in own.lengths:
        width = room * part.amount / whole
        # A gap tells entries apart, where there is room for one.
        shown = max(width - 2, width / 2)
        yield (
            f'<g><title>{escape(part.said)}</title><rect class="bar {part.kind}" x="{left:.1f}" y="{top}" '
            f'width="{shown:.1f}" height="{_BAR}"/></g>'
        )
        left += width
