"""Pictures inside pages: parsed as XML, every mark a link, nothing that a strict content policy forbids."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree

import pytest

from app.charts.bars import draw_bars
from app.charts.curves import Curve, draw_curves
from app.charts.drawing import Caption, steps_of
from app.charts.icicle import IcicleNode, draw_icicle
from app.charts.lattice import LatticeRule, draw_lattice
from app.charts.matrix import draw_matrix
from app.charts.neighbourhood import draw_neighbourhood
from app.charts.rule_map import RuleMark, Threshold, draw_rule_map

CAPTION = Caption("one", "A title <b>", "What it shows & more")
NASTY = '"><script>alert(1)</script>'


def parsed(svg: str) -> ElementTree.Element:
    assert "style" not in svg
    root = ElementTree.fromstring(svg)
    assert [child.tag for child in root][:2] == ["title", "desc"]
    assert root.get("aria-labelledby") == "one-title one-description"
    return root


def links(root: ElementTree.Element) -> list[tuple[str, str]]:
    return [(a.get("href"), a.get("aria-label")) for a in root.iter("a")]


def test_the_map_links_named_rules_first_and_then_from_the_greatest_utility_down():
    marks = [
        RuleMark(1, 0.5, "coarse", "/1"),
        RuleMark(9, math.inf, "as it is", "/2"),
        RuleMark(5, 0.1, NASTY, "/3"),
        RuleMark(6, 0.0, "own", "/4", "mine"),
        RuleMark(4, 0.2, "found", "/5", "best"),
    ]
    lines = [Threshold("risk", 0.3, "risk ≤ 0.3"), Threshold("utility", math.inf, "never")]
    root = parsed(draw_rule_map(CAPTION, marks, lines))
    assert [href for href, _ in links(root)] == ["/5", "/4", "/2", "/3", "/1"]
    assert links(root)[0][1] == "best: found; risk 0.2, utility 4"
    assert len([path for path in root.iter("path") if path.get("class") == "threshold"]) == 1


def test_the_frontier_of_the_map_is_the_least_risk_at_each_utility():
    marks = [RuleMark(2, 1, "a", "/a"), RuleMark(1, 0, "b", "/b"), RuleMark(1, 5, "c", "/c")]
    root = parsed(draw_rule_map(CAPTION, marks))
    (path,) = [one.get("d") for one in root.iter("path") if one.get("class") == "frontier"]
    assert path.count("V") == 1


def test_the_lattice_links_every_rule_from_the_bottom_up_and_marks_the_unknown():
    rules = [
        LatticeRule((i, j), i + j if i < 2 else None, NASTY, f"/{i}-{j}") for i in range(3) for j in (0, 1)
    ]
    root = parsed(draw_lattice(CAPTION, rules, (1, 1), [(0, 0), (1, 0), (1, 1)]))
    hrefs = [href for href, _ in links(root)]
    assert (hrefs[0], hrefs[-1], len(hrefs)) == ("/0-0", "/2-1", 6)
    assert sum(circle.get("class") == "q-unknown" for circle in root.iter("circle")) == 2
    (edges,) = [path.get("d") for path in root.iter("path") if path.get("class") == "edges"]
    assert edges.count("M") == 7
    (way,) = [path.get("d") for path in root.iter("path") if path.get("class") == "way"]
    assert way.count("L") == 2


def test_a_lattice_of_one_rule_is_a_picture_too():
    parsed(draw_lattice(CAPTION, [LatticeRule((0,), 0.0, "as it is", "/0")], (0,), [(0,)]))


def test_the_icicle_leaves_out_only_what_has_no_share():
    leaf = IcicleNode(NASTY, 3, 0.5, NASTY, None, ())
    none = IcicleNode("empty", 0, None, "empty", "/empty", ())
    inner = IcicleNode("inner", 3, 0.2, "inner, 3 records", "/inner", (leaf,))
    root = parsed(draw_icicle(CAPTION, IcicleNode("*", 3, 0.0, "all", None, (inner, none))))
    assert links(root) == [("/inner", "inner, 3 records")]
    assert len(list(root.iter("rect"))) == 3
    parsed(draw_icicle(CAPTION, IcicleNode("*", 0, None, "nothing", None, (none,))))


def test_bars_say_how_many_records_each_holds():
    root = parsed(draw_bars(CAPTION, [0, 1, 2], [3, 0], 4, "harm"))
    assert [title.text for title in root.iter("title")][1:] == [
        "0–1: 3 records", "1–2: 0 records", "∞: 4 records",
    ]  # fmt: skip
    parsed(draw_bars(CAPTION, [0.0], [], 0, "nothing"))


@pytest.mark.parametrize("values", [[0.0, 0.0], [], [math.inf], [0.0, 1e-9, 5.0], [1.0, 2.0, 3.0]])
def test_a_scale_puts_the_least_value_first_and_the_greatest_last(values):
    scale = steps_of(values, 7)
    finite = [value for value in values if math.isfinite(value)]
    if len(set(finite)) > 1:
        assert (scale.of(min(finite)), scale.of(max(finite))) == (0, 6)
    assert scale.of(math.inf) == scale.n - 1


def test_a_matrix_has_a_cell_for_every_entry_and_says_what_it_is():
    names = ["flu", NASTY, "a long name of an illness"]
    entries = [[0.6, 0.2, 0.25], [0.2, 0.6, 0.25], [0.2, 0.2, 0.5]]
    root = parsed(draw_matrix(CAPTION, names, entries))
    cells = [one for one in root.iter("rect") if one.find("title") is not None]
    said = [one.find("title").text for one in cells]
    assert len(said) == 9
    assert said[1] == f"{NASTY} published as flu: 0.2"
    assert cells[0].get("class") == "q-6"
    assert cells[1].get("class") == "q-0"


def test_curves_fall_from_left_to_right_where_their_numbers_do():
    curves = [Curve("often", (10, 1000), (1.0, 0.1)), Curve(NASTY, (10, 1000), (0.5, 0.05))]
    root = parsed(draw_curves(CAPTION, curves, "records", "error"))
    points = [(float(one.get("cx")), float(one.get("cy"))) for one in root.iter("circle")]
    (a, b), (c, d), (_, lower), _ = points
    assert a < c
    assert b < d
    assert lower > b
    assert {one.get("class") for one in root.iter("path")} >= {"curve curve-0", "curve curve-1"}


def near(name, distance, risk, trust, *friends):
    return {"id": name, "distance": distance, "risk": risk, "trust": trust, "friends": friends}


def test_a_neighbourhood_draws_each_line_once_the_riskiest_largest_and_the_least_trusted_darkest():
    people = [
        near("<bo>", 1, 0.4, 1.0, "cy", "di"),
        near("cy", 1, 0.1, 0.0, "<bo>"),
        near("di", 2, 0.9, -1.0),
    ]
    root = parsed(draw_neighbourhood(CAPTION, "ann", people))
    marks = {mark[0].text.partition(": ")[0]: mark[1] for mark in root if mark.tag == "g"}
    radii = {name: float(circle.get("r")) for name, circle in marks.items()}
    assert radii["di"] > radii["<bo>"] > radii["cy"]
    assert [marks[name].get("class") for name in ("<bo>", "cy", "di")] == ["q-0", "q-3", "q-6"]
    (lines,) = [own.get("d") for own in root if own.get("class") == "edges"]
    assert lines.count("M") == 4
    middle = marks["ann"]
    away = {
        name: math.hypot(*(float(circle.get(c)) - float(middle.get(c)) for c in ("cx", "cy")))
        for name, circle in marks.items()
    }
    assert away["<bo>"] == pytest.approx(away["cy"], abs=0.2)
    assert away["di"] == pytest.approx(2 * away["cy"], abs=0.2)


def test_the_neighbourhood_of_nobody_and_of_equals_is_a_picture_too():
    assert len(parsed(draw_neighbourhood(CAPTION, "ann", []))) == 3
    parsed(draw_neighbourhood(CAPTION, "ann", [near("bo", 1, 0.0, 0.0), near("cy", 2, 0.0, 0.0)]))
