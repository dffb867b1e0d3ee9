"""Rows of bars with their names and numbers: few values that are compared with each other or a threshold."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from app.charts.drawing import Caption, picture

_WIDTH, _ROW, _BAR, _TOP = 620, 26, 14, 8
_NAME, _NUMBER = 170, 150
_LETTERS = 26


@dataclass(frozen=True)
class Amount:
    """A named number ≥ 0, which may be infinite, as ``text`` writes it."""

    name: str
    value: float
    text: str


@dataclass(frozen=True)
class Margin:
    """By how much a value keeps its threshold, relative to the threshold: below 0 it does not.

    Infinite margins are drawn as far as there is room; ``text`` says value and threshold.
    """

    name: str
    relative: float
    passes: bool
    text: str


def draw_amounts(caption: Caption, amounts: Sequence[Amount]) -> str:
    """One bar from 0 per amount, on one scale; an infinite one fills the row."""
    finite = [own.value for own in amounts if math.isfinite(own.value)]
    greatest = max(finite, default=0.0) or 1.0
    room = _WIDTH - _NAME - _NUMBER
    infinite = len(finite) < len(amounts)

    def parts() -> Iterator[str]:
        for i, own in enumerate(amounts):
            share = min(own.value / greatest, 1.0) * (0.8 if infinite else 1.0)
            width = room * (share if math.isfinite(own.value) else 1.0)
            kind = "bar" if math.isfinite(own.value) else "bar beyond"
            yield from _row(i, own.name, own.text, kind, _NAME, width)
        yield _axis(_NAME, len(amounts))

    return picture(caption, _WIDTH, _height(len(amounts)), parts())


def draw_margins(caption: Caption, margins: Sequence[Margin]) -> str:
    """Bars to the right of the threshold for what passes, to the left for what fails.

    The length is the share of the threshold, at most all of it.
    """
    half = (_WIDTH - _NAME - _NUMBER) / 2
    middle = _NAME + half

    def parts() -> Iterator[str]:
        for i, own in enumerate(margins):
            # What only just passes or fails is still seen.
            width = max(half * min(abs(own.relative), 1.0), 2.0)
            left = middle if own.passes else middle - width
            yield from _row(i, own.name, own.text, "bar pass" if own.passes else "bar fail", left, width)
        yield _axis(middle, len(margins))

    return picture(caption, _WIDTH, _height(len(margins)), parts())


def _height(rows: int) -> int:
    return 2 * _TOP + rows * _ROW


def _axis(x: float, rows: int) -> str:
    return f'<path class="axis" d="M{x:.1f} {_TOP}V{_TOP + rows * _ROW}"/>'


def _row(i: int, name: str, text: str, kind: str, left: float, width: float) -> Iterator[str]:
    top = _TOP + i * _ROW
    base = top + _ROW / 2 + 5
    short = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
    yield (
        f'<g><title>{escape(name)}: {escape(text)}</title><text class="tick" x="{_NAME - 10}" y="{base:.1f}" '
        f'text-anchor="end">{escape(short)}</text>'
    )
    yield (
        f'<rect class="{kind}" x="{left:.1f}" y="{top + (_ROW - _BAR) / 2:.1f}" width="{width:.1f}" '
        f'height="{_BAR}"/>'
    )
    yield f'<text class="tick" x="{_WIDTH - _NUMBER + 10}" y="{base:.1f}">{escape(text)}</text></g>'
