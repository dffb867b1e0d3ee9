"""The house stays as docs/architecture.md describes it."""

from __future__ import annotations

import re

import pytest

from tests.house import TOP, House, measured

PAGE = (TOP / "docs" / "architecture.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def house() -> House:
    return measured()


def test_every_path_that_the_page_names_exists():
    paths = set(re.findall(r"`((?:app|privacy_risk|tests)/[\w/]*(?:\.py|/))`", PAGE))
    assert len(paths) > 30
    assert not {path for path in paths if not (TOP / path).exists()}


def test_the_room_of_query_views_stands_beside_the_others(house):
    assert {arrow for arrow in house.arrows if "views" in arrow} == {("views", "errors")}


def test_every_room_of_the_domain_is_on_the_page(house):
    assert not {room for room in house.rooms if not re.search(rf"`{room}(?:/|\.py)`", PAGE)}


def test_the_domain_has_at_most_22_rooms_with_at_most_136_arrows_none_of_them_upwards(house):
    assert len(house.rooms) <= 22
    assert len(house.arrows) <= 136
    assert house.upward == []
