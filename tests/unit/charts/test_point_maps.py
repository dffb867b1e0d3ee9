"""Maps side by side: areas are counts, places are where their coordinates say, and texts cannot break out."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import pytest

from app.charts.drawing import Caption
from app.charts.point_maps import MOST_CIRCLES, Place, draw_point_maps

CAPTION = Caption("map", "Title <b>", "Description")
SQUARE = [Place("south-west", 0, 0), Place("south-east", 1, 0), Place("north-west", 0, 1)]


def circles(picture: str) -> list[tuple[str, float, float, float]]:
    """What is said of each circle, its centre and its radius."""
    ElementTree.fromstring(picture)
    found = re.findall(
        r'<circle class="place" cx="([^"]+)" cy="([^"]+)" r="([^"]+)"><title>([^<]*)</title>', picture
    )
    return [(said, float(x), float(y), float(radius)) for x, y, radius, said in found]


def test_areas_are_counts_on_one_scale_for_all_maps():
    maps = {"drawn": [4, 1, 0], "original": [16, 0, 4]}
    radii = [(said, radius) for said, _, _, radius in circles(draw_point_maps(CAPTION, SQUARE, maps))]
    assert radii == [
        ("south-west: 4", 8.0), ("south-east: 1", 4.0), ("south-west: 16", 16.0), ("north-west: 4", 8.0)
    ]  # fmt: skip


def test_x_grows_to_the_right_and_y_upwards_by_one_scale():
    picture = draw_point_maps(CAPTION, SQUARE, {"drawn": [3, 2, 1]})
    (_, x, y, _), (_, east, same, _), (_, west, north, _) = circles(picture)
    assert (west, same) == (x, y)
    assert east - x == pytest.approx(y - north)
    assert east > x


@pytest.mark.parametrize(
    "places",
    [
        [Place("one", 5, 5)],
        [Place("one", 0, 0), Place("two", 0, 1e-9)],
        [Place("one", 0, 0), Place("two", 1e9, 0)],
    ],
)
def test_all_circles_are_within_the_picture_however_places_lie(places):
    picture = draw_point_maps(CAPTION, places, {"drawn": [1] * len(places)})
    width, height = map(float, re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', picture).groups())
    for _, x, y, radius in circles(picture):
        assert radius <= x <= width - radius
        assert radius <= y <= height - radius


def test_of_many_places_those_of_the_greatest_counts_are_drawn():
    places = [Place(str(i), i, 0) for i in range(MOST_CIRCLES + 1)]
    found = circles(draw_point_maps(CAPTION, places, {"drawn": range(1, len(places) + 1)}))
    assert len(found) == MOST_CIRCLES
    assert "0: 1" not in {said for said, *_ in found}


def test_names_are_texts():
    places = [Place("<script>", 0, 0)]
    picture = draw_point_maps(CAPTION, places, {"<i>": [1]})
    assert "<script>" not in picture
    assert "<i>" not in picture
