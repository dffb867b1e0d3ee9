"""A histogram with few bars: records by a number of theirs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise

from app.charts.axes import number_text
from app.charts.drawing import Caption, picture

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 620, 240, 14, 14, 26, 58


def draw_bars(
    caption: Caption, edges: Sequence[float], records: Sequence[int], beyond: int, label: str
) -> str:
    """Bars between the ``edges``, and one of the records ``beyond`` them, at infinity."""
    names = [f"{number_text(a)}–{number_text(b)}" for a, b in pairwise(edges)]
    counts = list(records)
    if beyond:
        names.append("∞")
        counts.append(beyond)
    return picture(caption, _WIDTH, _HEIGHT, _parts(edges, names, counts, label))


def _parts(edges: Sequence[float], names: Sequence[str], counts: Sequence[int], label: str) -> Iterator[str]:
    step = (_WIDTH - _LEFT - _RIGHT) / max(len(counts), 1)
    bottom, greatest = _HEIGHT - _BOTTOM, max(counts, default=0) or 1
    every = 1 + len(counts) // 13
    for i, (name, count) in enumerate(zip(names, counts, strict=True)):
        height = (bottom - _TOP) * count / greatest
        left = _LEFT + i * step
        yield (
            f'<g><title>{escape(name)}: {count:,} records</title><rect class="bar" x="{left + 1:.1f}" '
            f'y="{bottom - height:.1f}" width="{max(step - 2, 1):.1f}" height="{height:.1f}"/></g>'
        )
        if count and len(counts) <= 16:
            yield (
                f'<text class="tick small" x="{left + step / 2:.1f}" y="{bottom - height - 5:.1f}" '
                f'text-anchor="middle">{count:,}</text>'
            )
        if name == "∞":
            yield (
                f'<text class="tick small" x="{left + step / 2:.1f}" y="{bottom + 17}" '
                'text-anchor="middle">∞</text>'
            )
    for i, edge in enumerate(edges):
        if i % every == 0:
            anchor = "start" if i == 0 else "end" if i == len(counts) else "middle"
            yield (
                f'<text class="tick small" x="{_LEFT + i * step:.1f}" y="{bottom + 17}" '
                f'text-anchor="{anchor}">{number_text(edge)}</text>'
            )
    yield f'<path class="axis" d="M{_LEFT} {bottom}H{_WIDTH - _RIGHT}"/>'
    yield (
        f'<text class="label" x="{_WIDTH / 2}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(label)}</text>'
    )
