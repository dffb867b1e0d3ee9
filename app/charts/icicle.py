"""A hierarchy as an icicle: a column per generation, a value's height its share of the records."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from app.charts.axes import number_text
from app.charts.drawing import Caption, Steps, linked, picture, steps_of

CLASSES = 5
"""Colours of the scale of weights."""

_WIDTH, _GAP = 960.0, 2.0
_LOWEST, _HIGHEST, _ROW = 320.0, 1500.0, 19.0
_LEAST, _LEAST_FOR_TEXT, _LETTER = 3.0, 16.0, 7.4


@dataclass(frozen=True)
class IcicleNode:
    """A value: its share is ``size``; ``href`` leads below it, None where there is nothing below."""

    label: str
    size: float
    weight: float | None
    said: str
    href: str | None
    children: tuple[IcicleNode, ...]


def draw_icicle(caption: Caption, root: IcicleNode) -> str:
    """The root in the first column, its descendants to the right; values too small to draw are left out."""
    columns = _depth(root) + 1
    weights = [weight for weight in _weights(root) if weight is not None]
    scale = steps_of(weights, CLASSES)
    width, height = _WIDTH / columns, max(_LOWEST, min(_ROW * _widest(root), _HIGHEST))
    return picture(caption, _WIDTH, height, _drawn(root, 0, 0.0, height, width, scale))


def _depth(node: IcicleNode) -> int:
    return 1 + max(map(_depth, node.children)) if node.children else 0


def _widest(root: IcicleNode) -> int:
    """Values of the fullest generation."""
    widest, generation = 1, [root]
    while generation:
        widest = max(widest, len(generation))
        generation = [child for node in generation for child in node.children]
    return widest


def _weights(node: IcicleNode) -> Iterator[float | None]:
    yield node.weight
    for child in node.children:
        yield from _weights(child)


def _drawn(
    node: IcicleNode, column: int, top: float, height: float, width: float, scale: Steps
) -> Iterator[str]:
    yield _box(node, column * width, top, width, height, scale)
    for child, at, own in _shares(node.children, node.size, top, height):
        if own >= _LEAST:
            yield from _drawn(child, column + 1, at, own, width, scale)


def _shares(
    children: Sequence[IcicleNode], size: float, top: float, height: float
) -> Iterator[tuple[IcicleNode, float, float]]:
    at = top
    for child in children:
        own = height * child.size / size if size else 0.0
        yield child, at, own
        at += own


def _box(node: IcicleNode, left: float, top: float, width: float, height: float, scale: Steps) -> str:
    tone = "w-none" if node.weight is None else f"w-{scale.shade(scale.of(node.weight), CLASSES)}"
    inner = max(height - _GAP, 1.0)
    shape = (
        f'<rect class="{tone}" x="{left + 1:.1f}" y="{top + _GAP / 2:.1f}" '
        f'width="{width - _GAP:.1f}" height="{inner:.1f}" rx="2"/>'
    )
    if height >= _LEAST_FOR_TEXT:
        shape += (
            f'<text x="{left + 9:.1f}" y="{top + height / 2 + 5:.1f}">{escape(_fitting(node, width))}</text>'
        )
    if node.href is None:
        return f"<g><title>{escape(node.said)}</title>{shape}</g>"
    return linked(node.href, node.said, shape, "box")


def _fitting(node: IcicleNode, width: float) -> str:
    """Label and size as far as they fit."""
    letters = int((width - 18) / _LETTER)
    whole = f"{node.label}  {number_text(node.size) if node.size < 1000 else f'{node.size:,.0f}'}"
    if len(whole) <= letters:
        return whole
    return node.label if len(node.label) <= letters else node.label[: max(letters - 1, 1)] + "…"
