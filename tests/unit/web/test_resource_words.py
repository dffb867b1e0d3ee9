"""What pages of resources say of levels, results and places, and how they name what is sent."""

from __future__ import annotations

from typing import get_args

import pytest

from app.domain.catalogue.catalogue_types import Guarantee
from app.web.dictionaries import field_of
from app.web.forms import Form
from app.web.measurements import GUARANTEES, paragraphs, shown_result
from app.web.new_names import name_faults
from app.web.rule_editor import level_in_words
from app.web.sent_tables import format_of, upload_name
from app.web.words import counted, prose, share

CHAIN = ["*", "Midwest", "Indiana", "Gary"]


@pytest.mark.parametrize(
    ("level", "height", "chain", "said"),
    [
        (0, 3, CHAIN, "0: as it is, such as Gary"),
        (1, 3, CHAIN, "1: such as Indiana"),
        (3, 3, CHAIN, "3: suppressed"),
        (1, 3, [], "1"),
        (0, 3, [], "0: as it is"),
        (1, 4, ["*", "abroad"], "1: such as abroad"),
        (0, 12, [str(depth) for depth in range(11)], "0: as it is"),
    ],
)
def test_a_level_shows_what_it_makes_of_a_value(level, height, chain, said):
    assert level_in_words(level, height, chain) == said


def test_a_fault_of_a_link_is_told_at_the_fields_of_its_attribute():
    chosen = [1, 3]
    assert field_of("links/1/column", chosen) == "links/3/column"
    assert field_of("links/0/attribute", chosen) == "links/1/column"
    assert field_of("links/1/transform/age/reference_date", chosen).startswith("links/3/transform/")
    assert field_of("links/1/transform/upload", chosen) == "links/3/transform/upload"
    assert field_of("links/0/transform", chosen) == "links/1/transform/kind"
    assert field_of("links/7/column", chosen) == "links/7/column"
    assert field_of("", chosen) == "name"
    assert field_of("links", chosen) == "links/1/column"


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("a.csv", "csv"), ("a.CSV.GZ", "csv.gz"), ("b.parquet", "parquet"), ("c.arrow", "arrow"),
        ("release.pdf", "csv"), ("", "csv"),
    ],
)  # fmt: skip
def test_the_format_is_what_the_name_of_the_file_says(file, kind):
    assert format_of(file) == kind


@pytest.mark.parametrize("beginning", ["my census ä", "..", "", "x" * 300, "-a"])
def test_names_of_uploads_are_names_and_differ(beginning):
    one, other = upload_name(beginning), upload_name(beginning)
    assert one != other
    assert not name_faults(Form({"name": [one]}))


@pytest.mark.parametrize("name", ["", "a b", "-a", "x" * 101, "ä"])
def test_what_is_no_name_is_told_in_words(name):
    (fault,) = name_faults(Form({"name": [name]}))
    assert fault.field == "name"
    assert "hyphens" in fault.remedy


def test_terms_are_set_apart_and_markup_is_shown():
    assert prose("`k` < 5 & <b>") == "<code>k</code> &lt; 5 &amp; &lt;b&gt;"


SCHEMA = {
    "description": "Title.\n\nWhat it says.",
    "properties": {
        "k": {"description": "The `k`."},
        "judged": {"anyOf": [{"$ref": "#/$defs/Judged"}, {"type": "null"}]},
        "sizes": {"description": "Sizes."},
    },
    "$defs": {"Judged": {"properties": {"records": {"description": "Records."}}}},
}


def test_a_result_is_shown_with_the_meaning_of_each_number():
    found = {
        "kind": "x", "version": 1, "judged": {"records": 4}, "k": 2, "city_names": ["birth_date", "a"],
        "sizes": [{"size": n, "classes": 1} for n in range(60)],
    }  # fmt: skip
    known = {"path": "judged.records", "kind": "whole number", "least": 0, "greatest": "inf", "safer": "high"}
    shown = shown_result(found, SCHEMA, [known])
    assert [tuple(one.values()) for one in shown.values] == [
        ("k", "2", "The `k`.", None, None),
        ("city names", "birth_date, a", "", None, None),
        ("judged: records", "4", "Records.", "0 to ∞", "higher"),
    ]  # fmt: skip
    (sizes,) = shown.lists
    assert (sizes.columns, len(sizes.rows), sizes.hidden) == (["size", "classes"], 50, 10)
    assert paragraphs(SCHEMA) == ["What it says."]
    assert shown_result({"judged": None, "k": "inf"}, {}, ()).values[1]["value"] == "∞"


def test_every_guarantee_has_words():
    assert set(get_args(Guarantee)) == set(GUARANTEES)


@pytest.mark.parametrize(
    ("part", "whole", "told"),
    [
        (0, 0, "–"),
        (0, 8, "0 %"),
        (1, 8, "12.5 %"),
        (1e-6, 1, "0.0001 %"),
        (3.55e-20, 1, "less than 1 in 10¹⁹"),
        (1e-7, 1, "less than 1 in 10⁶"),
        (0.99e-7, 1, "less than 1 in 10⁷"),
    ],
)
def test_shares_below_a_millionth_are_told_as_orders_of_magnitude(part, whole, told):
    assert share(part, whole) == told


def test_one_thing_is_no_plural():
    assert [counted(own, "record") for own in (0, 1, 2000)] == ["0 records", "1 record", "2,000 records"]
