"""What notebooks show first: a headline, a picture and a few rows; the rest is folded. No scripts."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from privacy_risk.text_tables import Rows, html_list, html_table

ROWS_FIRST: Final = 12
"""Most rows of tables that stand before what is folded."""
_BARS: Final = 8
_LABEL, _WIDTH, _LINE = 190, 220, 20
GOOD, PLAIN, BAD = "#0f766e", "#94a3b8", "#b91c1c"


class Bar(NamedTuple):
    """A bar of a picture: its share of the whole width, from 0 to 1, and what stands beside it."""

    label: str
    share: float
    text: str
    colour: str = PLAIN


def view(
    headline: str, picture: str, lines: Iterable[str], rows: Rows = (), folded: Sequence[tuple[str, str]] = ()
) -> str:
    """Headline, picture, sentences and the first rows; below other rows, and what is ``folded`` by name."""
    head, more = rows[: ROWS_FIRST + 1], rows[ROWS_FIRST + 1 :]
    rest = [(f"{len(more)} more", html_table([rows[0], *more]))] if more else []
    parts = [f"<p><b>{html.escape(headline)}</b></p>", picture, html_list(lines)]
    parts += [html_table(head)] if head else []
    parts += [
        f"<details><summary>{html.escape(name)}</summary>{content}</details>"
        for name, content in (*rest, *folded)
        if content
    ]
    return "".join(parts)


def bars(title: str, shown: Sequence[Bar]) -> str:
    """The first bars as an SVG picture with its title."""
    height = _LINE * min(len(shown), _BARS) + 22
    name = html.escape(title)
    drawn = "".join(_bar(number, own) for number, own in enumerate(shown[:_BARS]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{name}" '
        f'width="{_LABEL + _WIDTH + 130}" height="{height}" font-family="sans-serif" font-size="12" '
        f'fill="currentColor"><title>{name}</title><text x="0" y="13">{name}</text>{drawn}</svg>'
    )


def _bar(number: int, own: Bar) -> str:
    top, width = 22 + _LINE * number, max(1.0, _WIDTH * min(max(own.share, 0.0), 1.0))
    label = own.label if len(own.label) <= 28 else f"{own.label[:27]}…"
    return (
        f'<text x="{_LABEL - 6}" y="{top + 12}" text-anchor="end">{html.escape(label)}</text>'
        f'<rect x="{_LABEL}" y="{top}" width="{width:.1f}" height="15" fill="{own.colour}">'
        f"<title>{html.escape(f'{own.label}: {own.text}')}</title></rect>"
        f'<text x="{_LABEL + width + 5:.1f}" y="{top + 12}">{html.escape(own.text)}</text>'
    )
