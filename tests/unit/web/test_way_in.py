"""The parts of the way in that need no service: what a file looks like, and what a profile says."""

from __future__ import annotations

import gzip

import pytest

from app.domain.hierarchies.cell_formats import DATE_FORMATS, NUMBER_FORMATS
from app.services.datasets.dataset_schema import AttributeType, OnUnknown, OnUnreadable, Role
from app.web import declared_columns as declared
from app.web import profiles, uploads


def test_the_choices_are_those_of_the_interface():
    assert {own for own, _ in declared.ROLES} == set(Role)
    assert {own for own, _ in declared.TYPES} == set(AttributeType)
    assert {own for own, _ in declared.ON_UNREADABLE} == set(OnUnreadable)
    assert {own for own, _ in declared.ON_UNKNOWN} == set(OnUnknown)
    assert {"date": DATE_FORMATS, "number": NUMBER_FORMATS} == declared.FORMATS


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("patients.csv", "patients"), ("Patienten 2024.csv.gz", "Patienten-2024"), ("C:\\x\\a.parquet", "a"),
        ("../../etc/passwd", "passwd"), (".csv", "table"), ("äö.csv", "table"),
        ("a" * 200 + ".csv", "a" * 80),
    ],
)  # fmt: skip
def test_a_table_is_called_like_its_file(file, name):
    assert uploads.proposed_name(file) == name


def test_formats_are_told_by_their_first_bytes():
    beginnings = {b"PAR1..": "parquet", gzip.compress(b"a"): "csv.gz", b"a,b\n": "csv", b"": "csv"}
    assert {head: uploads.format_of(head) for head in beginnings} == beginnings
    assert uploads.unpacked(gzip.compress(b"a,b\n1,2\n")[:-4]) == b"a,b\n1,2\n"
    assert uploads.unpacked(b"\x1f\x8bdamaged") == b""


@pytest.mark.parametrize(
    ("head", "delimiter"), [(b"a;b;c,d\n1,2,3,4\n", ";"), (b"a\tb\n", "\t"), (b"a\nb,c\n", ""), (b"", "")]
)
def test_the_likely_delimiter_is_the_most_frequent_one_of_the_first_line(head, delimiter):
    assert uploads.likely_delimiter(head) == delimiter


def test_replacements_are_lines_with_an_arrow():
    assert declared.mapping_of(" 31.02.1975 → 1975-02-28\n\nM->male \n") == {
        "31.02.1975": "1975-02-28", "M": "male",
    }  # fmt: skip
    for text, said in (("a", "Line 1"), ("a → b\n → c", "Line 2"), ("a → b\na → c", "Line 2")):
        with pytest.raises(ValueError, match=said):
            declared.mapping_of(text)


def test_a_place_in_the_body_is_the_field_of_the_column_that_stands_there():
    attributes = [{}, {"on_unreadable": "refuse"}, {}, {"on_unreadable": "missing"}]
    places = [1, 3]
    for pointer, field in (
        ("attributes/0/hierarchy", "attributes/1/hierarchy"),
        ("attributes/0", "attributes/1/on_unreadable"),
        ("attributes/1", "attributes/3/role"),
        ("", "name"),
        ("name", "name"),
        ("attributes", ""),
    ):
        assert declared._place(attributes, places, pointer) == field


def found(unique: int, people: int, persons: int | None = None) -> dict[str, object]:
    judged = {"quasi_identifiers": ["c0", "c1"], "persons": persons}
    return {"judged": judged, "persons": people, "singled_out": unique}


@pytest.mark.parametrize(
    ("unique", "said"),
    [
        (0, "None of the 1,000 records is unique by c0 and c1."),
        (1, "1 of 1,000 records is unique by c0 and c1."),
        (990, "990 of 1,000 records are unique by c0 and c1."),
        (1000, "All 1,000 records are unique by c0 and c1."),
    ],
)
def test_the_first_sentence_says_how_many_records_are_unique_by_what(unique, said):
    assert profiles.headline(found(unique, 1000)) == said
    assert profiles.headline(found(unique, 1000, 1000)) == said.replace("record", "person")


def test_what_is_given_away_is_said_by_column():
    figures = {
        ("k", None): 3.0,
        ("prosecutor.average_per_record", None): 0.25,
        ("complete.share_of_records", "ill"): 0.5,
        ("complete.share_of_records", "paid"): 0.0,
    }
    said = list(profiles.consequences(figures))
    assert said[0] == "Every record hides among at least 3 that look alike."
    assert "25 %" in said[1]
    assert said[2].startswith("For 50 % of the records they also learn ill")
    assert len(said) == 3
