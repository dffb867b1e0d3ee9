"""A matrix of probabilities as a grid of cells: the darker, the greater."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from app.charts.axes import number_text
from app.charts.drawing import Caption, Steps, picture, steps_of

_WIDTH, _LEFT, _RIGHT, _LEGEND, _TOP = 620, 150, 10, 84, 30
_CLASSES = 7
_LETTERS = 9


def draw_matrix(caption: Caption, names: Sequence[str], entries: Sequence[Sequence[float]]) -> str:
    """Rows and columns have the same names, which are numbered; a cell tells its row, column and entry."""
    scale = steps_of([entry for row in entries for entry in row], _CLASSES)
    size = (_WIDTH - _LEFT - _RIGHT) / len(names)
    height = _LEGEND + _TOP + size * len(names) + 10
    return picture(caption, _WIDTH, height, [*_legend(scale), *_cells(names, entries, scale, size)])


def _cells(
    names: Sequence[str], entries: Sequence[Sequence[float]], scale: Steps, size: float
) -> Iterator[str]:
    top = _LEGEND + _TOP
    for j in range(len(names)):
        yield (
            f'<text class="tick" x="{_LEFT + (j + 0.5) * size:.1f}" y="{top - 8}" text-anchor="middle">'
            f"{j + 1}</text>"
        )
    for i, (name, row) in enumerate(zip(names, entries, strict=True)):
        short = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
        yield (
            f'<text class="tick" x="{_LEFT - 8}" y="{top + (i + 0.5) * size + 5:.1f}" text-anchor="end">'
            f"{i + 1} {escape(short)}</text>"
        )
        for j, entry in enumerate(row):
            said = f"{escape(names[j])} published as {escape(name)}: {number_text(entry)}"
            tone = scale.shade(scale.of(entry), _CLASSES)
            yield (
                f'<rect class="q-{tone}" x="{_LEFT + j * size:.1f}" '
                f'y="{top + i * size:.1f}" width="{size:.1f}" height="{size:.1f}">'
                f"<title>{said}</title></rect>"
            )


def _legend(scale: Steps) -> Iterator[str]:
    """The colours with the probabilities between them."""
    width = (_WIDTH - 2 * _RIGHT) / scale.n
    yield f'<text class="tick" x="{_RIGHT}" y="22">probability, low to high</text>'
    for i in range(scale.n):
        tone = scale.shade(i, _CLASSES)
        yield f'<rect class="q-{tone}" x="{_RIGHT + i * width:.1f}" y="32" width="{width:.1f}" height="12"/>'
    for i, edge in enumerate(scale.edges):
        yield (
            f'<text class="tick small" x="{_RIGHT + (i + 1) * width:.1f}" y="66" text-anchor="middle">'
            f"{edge:.2g}</text>"
        )
