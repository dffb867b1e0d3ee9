import math
import re
import xml.etree.ElementTree as ElementTree

import pytest

from app.cli.risk_map import Point, draw_map

SVG = "{http://www.w3.org/2000/svg}"
PROPOSED = Point(3.0, 0.5, "city 1, race 0")
OPTIMAL = Point(3.0, 0.001, "city 0, race 1")
POINTS = [PROPOSED, OPTIMAL, Point(4.0, 0.7, "city 0, race 0"), Point(0.0, 0.0001, "city 4, race 2")]


def drawn(points=POINTS, proposed=PROPOSED, optimal=OPTIMAL, n_rules=4, all_shown=True):
    return ElementTree.fromstring(draw_map(points, proposed, optimal, n_rules=n_rules, all_shown=all_shown))


def texts(root):
    return " ".join(element.text or "" for element in root.iter(f"{SVG}text"))


def numbers(root):
    for element in root.iter():
        for value in element.attrib.values():
            yield from (float(n) for n in re.findall(r"(?<![\w#.])-?\d+\.?\d*(?![\w])", value))


def test_every_rule_has_a_mark_that_names_its_levels():
    titles = [
        mark.findtext(f"{SVG}title") for mark in drawn().iter(f"{SVG}circle") if mark.get("class") == "rule"
    ]
    assert len(titles) == 4
    assert all(any(point.label in title for title in titles) for point in POINTS)


def test_the_map_says_in_words_what_it_shows():
    root = drawn()
    assert root.get("role") == "img"
    title, description = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert root.get("aria-labelledby").split() == [title.get("id"), description.get("id")]
    assert "Proposed: city 1, race 0; risk 0.5" in description.text
    assert "Optimal: city 0, race 1; risk 0.001" in description.text
    assert "Utility" in texts(root)
    assert "Risk" in texts(root)


def test_lower_risk_is_drawn_lower_and_greater_utility_further_right():
    marks = [mark for mark in drawn().iter(f"{SVG}circle") if mark.get("class") == "rule"]
    at = {point: (float(m.get("cx")), float(m.get("cy"))) for point, m in zip(POINTS, marks, strict=True)}
    assert at[OPTIMAL][1] > at[PROPOSED][1] > at[POINTS[2]][1]
    assert at[OPTIMAL][0] == at[PROPOSED][0] < at[POINTS[2]][0]


def test_a_frontier_is_said_to_be_one():
    assert "the frontier of 12,960 rules" in texts(drawn(n_rules=12_960, all_shown=False))


def test_without_an_optimal_rule_the_map_says_so():
    root = drawn(optimal=None)
    assert "No rule satisfies the objective" in root.find(f"{SVG}desc").text
    assert "Optimal" not in texts(root)


@pytest.mark.parametrize(
    "risks",
    [
        [0.0, 0.0, 0.0, 0.0],
        [math.inf, 0.1, 0.2, 0.3],
        [math.inf] * 4,
        [0.0, 1e-9, 1.0, math.inf],
        [1.0, 1.0, 1.0, 1.0],
    ],
)
def test_zero_and_infinite_risks_stay_inside_the_picture(risks):
    points = [Point(i, risk, f"city {i}") for i, risk in enumerate(risks)]
    root = drawn(points, points[0], points[1])
    marks = list(root.iter(f"{SVG}circle"))
    assert all(0 <= float(m.get("cx")) <= 900 and 0 <= float(m.get("cy")) <= 680 for m in marks)
    assert all(math.isfinite(number) for number in numbers(root))


def test_a_single_rule_can_be_drawn():
    assert drawn([PROPOSED], PROPOSED, PROPOSED, n_rules=1) is not None


def test_names_of_attributes_cannot_break_the_document():
    evil = Point(1.0, 1.0, '<script>alert("&")</script> 1')
    assert "<script>" not in draw_map([evil], evil, evil, n_rules=1, all_shown=True)
    drawn([evil], evil, evil, n_rules=1)
