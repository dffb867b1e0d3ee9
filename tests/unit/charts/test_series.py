"""Curves and clouds as SVG."""

import math
import xml.etree.ElementTree as ET

from app.charts.series import Series, draw_series

SVG = "{http://www.w3.org/2000/svg}"


def drawn(*series, note=""):
    return ET.fromstring(draw_series("A & B", "x", "y", series, note))


def test_every_point_is_drawn_inside_the_picture_with_its_numbers():
    picture = drawn(
        Series("curve <1>", (0.0, 1.0, 2.0), (0.0, 1e-3, 5.0)), Series("cloud", (1.5,), (2.0,), "points")
    )
    circles = [c for c in picture.iter(f"{SVG}circle") if c.get("class") == "point"]
    assert [c.find(f"{SVG}title").text for c in circles] == [
        "curve <1>: 0, 0",
        "curve <1>: 1, 0.001",
        "curve <1>: 2, 5",
        "cloud: 1.5, 2",
    ]
    assert all(0 < float(c.get("cx")) < 900 and 0 < float(c.get("cy")) < 600 for c in circles)


def test_a_greater_value_is_drawn_higher_and_infinity_highest_of_all():
    picture = drawn(Series("s", (1.0, 2.0, 3.0, 4.0), (0.0, 0.1, 50.0, math.inf), "points"))
    heights = [float(c.get("cy")) for c in picture.iter(f"{SVG}circle") if c.get("class") == "point"]
    assert heights == sorted(heights, reverse=True)
    assert len(set(heights)) == 4


def test_steps_go_across_before_they_go_up():
    picture = drawn(Series("s", (0.0, 1.0), (0.0, 1.0), "step"))
    (path,) = [p for p in picture.iter(f"{SVG}path") if p.get("class") == "curve"]
    assert path.get("d").index("H") < path.get("d").index("V")
    assert "L" not in path.get("d")


def test_a_long_note_goes_over_several_lines():
    lines = [
        t
        for t in drawn(Series("s", (0.0,), (1.0,)), note="word " * 60).iter(f"{SVG}text")
        if t.get("class") == "note"
    ]
    assert len(lines) == 3
    assert len({line.get("y") for line in lines}) == 3
