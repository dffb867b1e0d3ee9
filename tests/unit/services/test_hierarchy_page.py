"""The page on hierarchies defines every kind once, and its pictures are of these definitions."""

from __future__ import annotations

import pytest

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.hierarchies.hierarchy_definitions import MADE_OF_LEAVES, ParentsDefinition, RowsDefinition
from tests.hierarchy_pictures import PAGE, PICTURES, defined, drawn

SHOWN = dict(defined())


def test_every_kind_is_defined_on_the_page_and_shown():
    kinds = [kind for kind, _ in defined()]
    assert sorted(kinds) == sorted({*MADE_OF_LEAVES, ParentsDefinition.kind, RowsDefinition.kind})
    text = PAGE.read_text(encoding="utf-8")
    assert all(f"](hierarchies/{kind}.svg)" in text for kind in kinds)


@pytest.mark.parametrize(("kind", "hierarchy"), SHOWN.items(), ids=SHOWN)
def test_a_picture_is_of_the_definition_on_the_page(kind: str, hierarchy: Hierarchy):
    kept = (PICTURES / f"{kind}.svg").read_text(encoding="utf-8")
    assert kept == drawn(kind, hierarchy), "Draw it anew by python -m tests.hierarchy_pictures."


def test_pictures_show_the_levels_that_the_page_speaks_of():
    texts = {kind: (PICTURES / f"{kind}.svg").read_text(encoding="utf-8") for kind in SHOWN}
    for kind, labels in {
        "bounds": ("minor", "90 or more", "working age"),
        "diagnoses": ("I21.4", "I21", "I20-I25", "IX I00-I99"),
        "countries": ("Western Europe", "Europe", "Americas"),
        "rare_values": ("elsewhere", "Gary"),
        "times": ("09:15", "09:00-09:59", "night"),
    }.items():
        assert all(f"<title>{label}: " in texts[kind] for label in labels)
