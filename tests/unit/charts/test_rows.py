"""Rows of bars: lengths follow the numbers, on the right side, with texts that cannot break out."""

from __future__ import annotations

import math
import re

from app.charts.drawing import Caption
from app.charts.rows import Amount, Margin, draw_amounts, draw_margins

CAPTION = Caption("here", "Title", "Description")


def bars(picture: str) -> list[tuple[str, float, float]]:
    """Class, left edge and width of each bar."""
    found = re.findall(r'<rect class="([^"]+)" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', picture)
    return [(kind, float(left), float(width)) for kind, left, width in found]


def test_bars_are_as_long_as_their_numbers():
    (_, left, one), (_, same, two), (*_, none) = bars(
        draw_amounts(CAPTION, [Amount("a", 1, "1"), Amount("b", 2, "2"), Amount("c", 0, "0")])
    )
    assert (left, two, none) == (same, 2 * one, 0.0)


def test_an_infinite_amount_is_longer_than_all_others():
    (_, _, finite), (kind, _, infinite) = bars(
        draw_amounts(CAPTION, [Amount("a", 1e300, "1e300"), Amount("b", math.inf, "∞")])
    )
    assert kind == "bar beyond"
    assert infinite > finite > 0


def test_what_passes_goes_right_and_what_fails_goes_left_even_by_nothing():
    margins = [
        Margin("a", 0.5, True, "a"), Margin("b", -0.5, False, "b"), Margin("c", 0.0, True, "c"),
        Margin("d", -1e-12, False, "d"), Margin("e", -math.inf, False, "e"), Margin("f", 7.0, True, "f"),
    ]  # fmt: skip
    a, b, c, d, e, f = bars(draw_margins(CAPTION, margins))
    middle = a[1]
    assert [own[0] for own in (a, b, c, d, e, f)] == [
        "bar pass", "bar fail", "bar pass", "bar fail", "bar fail", "bar pass"
    ]  # fmt: skip
    assert all(own[1] == middle for own in (a, c, f))
    assert all(abs(own[1] + own[2] - middle) < 0.11 for own in (b, d, e))
    assert a[2] == b[2]
    assert c[2] == d[2] > 0
    assert e[2] == f[2] == 2 * a[2]


def test_names_are_texts_and_long_ones_are_cut():
    picture = draw_amounts(CAPTION, [Amount("<script>" + "x" * 100, 1, "<b>")])
    assert "<script>" not in picture
    assert "<b>" not in picture
    assert "x…" in picture
