"""Hierarchies by free bounds, by the structure of codes and by how rare values are."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.domain.hierarchies.bounds import bounded
from app.domain.hierarchies.code_tables.countries import COUNTRIES
from app.domain.hierarchies.code_tables.diagnoses import ICD_9_CHAPTERS, ICD_10_BLOCKS, icd_10_block
from app.domain.hierarchies.code_tables.postcodes import POSTCODES
from app.domain.hierarchies.code_tables.us_states import US_STATES
from app.domain.hierarchies.code_tables.vocabularies import VOCABULARIES, entries_of
from app.domain.hierarchies.coded import (
    code_prefixes,
    coded,
    diagnosis_ancestors,
    postcode_ancestors,
    rare_values,
    time_ancestors,
)
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.hierarchies.hierarchy_definitions import (
    Coded,
    CountriesDefinition,
    DiagnosesDefinition,
    LeafValues,
    PostcodesDefinition,
    TimesDefinition,
    UsStatesDefinition,
    VocabularyDefinition,
)
from app.services.datasets.hierarchy_building import build


def path(hierarchy: Hierarchy, leaf: str) -> list[str]:
    """Labels from a leaf to the top."""
    node = next(node for node in hierarchy.leaves.tolist() if hierarchy.labels[node] == leaf)
    labels = [hierarchy.labels[node]]
    while hierarchy.parents[node]:
        node = hierarchy.parents[node][0]
        labels.append(hierarchy.labels[node])
    return labels


def of(definition: Coded) -> Hierarchy:
    assert isinstance(definition.leaves, LeafValues)
    return coded(definition.leaves.values, definition)


@st.composite
def nested_bounds(draw: st.DrawFn) -> list[list[int]]:
    finest = sorted(draw(st.sets(st.integers(-50, 50), min_size=2, max_size=8)))
    kept = sorted(draw(st.sets(st.sampled_from(finest), min_size=1, max_size=len(finest) - 1)))
    return [finest, kept]


@settings(max_examples=60)
@given(nested_bounds(), st.sets(st.integers(-60, 60), min_size=1, max_size=20))
def test_values_share_a_part_if_no_bound_lies_between_them(levels, numbers):
    texts = [[str(bound) for bound in level] for level in levels]
    hierarchy = bounded([str(number) for number in numbers], texts)
    for a in numbers:
        for b in numbers:
            for level, bounds in enumerate(levels, start=1):
                apart = any(min(a, b) < bound <= max(a, b) for bound in bounds)
                same = path(hierarchy, str(a))[level] == path(hierarchy, str(b))[level]
                assert same is not apart


def test_bounds_code_the_bottom_and_the_top():
    hierarchy = bounded(["17", "18", "64.5", "90", "104"], [["18", "65", "90"], ["18"]])
    assert path(hierarchy, "17") == ["17", "below 18", "below 18", "*"]
    assert path(hierarchy, "64.5") == ["64.5", "[18, 65[", "18 or more", "*"]
    assert path(hierarchy, "104") == ["104", "90 or more", "18 or more", "*"]


def test_bounds_take_labels():
    hierarchy = bounded(["3", "30", "70"], [["18", "65"]], [["minor", "adult", "senior"]])
    assert [path(hierarchy, age)[1] for age in ("3", "30", "70")] == ["minor", "adult", "senior"]


def test_codes_stand_below_their_prefixes():
    hierarchy = code_prefixes(["2511", "2512", "251", "3"], [3, 1])
    assert path(hierarchy, "2511") == ["2511", "251", "2", "*"]
    assert path(hierarchy, "251") == ["251", "251", "2", "*"]
    assert path(hierarchy, "3") == ["3", "3", "3", "*"]


@pytest.mark.parametrize(
    ("country", "postcode", "areas"),
    [
        ("AT", "1010", ("10", "1")),
        ("BE", "1000", ("10", "1")),
        ("CA", "K1A 0B1", ("K1A", "K")),
        ("CH", "8001", ("80", "8")),
        ("DE", "10115", ("101", "10", "1")),
        ("DK", "2100", ("21", "2")),
        ("ES", "28013", ("280", "28")),
        ("FR", "75001", ("75",)),
        ("FR", "97110", ("971",)),
        ("GB", "SW1A 1AA", ("SW1A", "SW")),
        ("GB", "m11ae", ("M1", "M")),
        ("IT", "00118", ("001", "00", "0")),
        ("NL", "1012 AB", ("1012", "10")),
        ("NO", "0150", ("01", "0")),
        ("PL", "00-950", ("00", "0")),
        ("SE", "114 55", ("11", "1")),
        ("US", "02139", ("02139", "021", "0")),
        ("US", "02139-4307", ("02139", "021", "0")),
    ],
)
def test_a_postcode_stands_below_its_areas(country, postcode, areas):
    assert postcode_ancestors(postcode, country) == areas
    assert postcode_ancestors(postcode + "0", country) is None


def test_every_country_gives_its_postcodes_equally_many_areas():
    assert all(pattern.groups for pattern in POSTCODES.values())


def test_a_level_that_changes_nothing_is_left_out():
    short = of(PostcodesDefinition(LeafValues(("02139", "10115")), "US"))
    assert path(short, "02139") == ["02139", "021", "0", "*"]
    long = of(PostcodesDefinition(LeafValues(("02139", "10115-1234")), "US"))
    assert path(long, "10115-1234") == ["10115-1234", "10115", "101", "1", "*"]


@pytest.mark.parametrize(
    ("code", "above"),
    [
        ("I21.4", ("I21", "I20-I25", "IX I00-I99")),
        ("i214", ("I21", "I20-I25", "IX I00-I99")),
        ("D48", ("D48", "D37-D48", "II C00-D48")),
        ("D50", ("D50", "D50-D53", "III D50-D89")),
        ("H60.1", ("H60", "H60-H62", "VIII H60-H95")),
        ("X95", ("X95", "X85-Y09", "XX V01-Y98")),
        ("U07.1", ("U07", "U00-U49", "XXII U00-U99")),
        ("S72.001A", ("S72", "S70-S79", "XIX S00-T98")),
    ],
)
def test_a_diagnosis_stands_below_category_block_and_chapter(code, above):
    assert diagnosis_ancestors(code) == above


@pytest.mark.parametrize("code", ["A10", "A1", "I21.", "I21.44444", "C7A.0", "Z3A", "D49", "21.4", ""])
def test_what_stands_in_no_block_is_no_diagnosis(code):
    assert diagnosis_ancestors(code) is None


@pytest.mark.parametrize(
    ("code", "above"),
    [
        ("250.01", ("250", "240-279")),
        ("V10.1", ("V10", "V01-V91")),
        ("E850", ("E850", "E000-E999")),
        ("V00", None),
        ("25", None),
    ],
)
def test_a_diagnosis_of_icd_9_stands_below_category_and_chapter(code, above):
    assert diagnosis_ancestors(code, "icd-9-cm") == above


def test_icd_10_has_22_chapters_and_263_blocks_that_do_not_overlap():
    assert len({chapter for _, _, chapter in ICD_10_BLOCKS}) == 22
    assert len({block for _, block, _ in ICD_10_BLOCKS}) == len(ICD_10_BLOCKS) == 263
    for (first, block, chapter), following in zip(ICD_10_BLOCKS, [*ICD_10_BLOCKS[1:], ("ZZZ",)], strict=True):
        start, end = chapter.split(" ")[1].split("-")
        assert first == block[:3] <= block[-3:] < following[0]
        assert start <= first <= block[-3:] <= end
        assert icd_10_block(first) == icd_10_block(block[-3:]) == (block, chapter)
    assert len(ICD_9_CHAPTERS) == 17 + 2


def test_every_country_of_iso_3166_has_one_of_22_subregions_or_antarctica():
    lines = files("tzdata.zoneinfo").joinpath("iso3166.tab").read_text(encoding="utf-8").splitlines()
    codes = {line.split("\t")[0] for line in lines if not line.startswith("#")}
    assert len(codes) == 249
    assert {spelling.upper() for spelling in COUNTRIES if len(spelling) == 2} - {"UK"} == codes
    assert len({COUNTRIES[code.lower()][0] for code in codes}) == 23
    assert {COUNTRIES[code.lower()][1] for code in codes} == {
        "Africa", "Americas", "Antarctica", "Asia", "Europe", "Oceania",
    }  # fmt: skip


def test_a_country_is_found_by_code_and_by_name():
    names = ("DE", "deu", "Germany", "South Korea", "Korea, Republic of", "Brazil")
    hierarchy = of(CountriesDefinition(LeafValues(names)))
    assert {tuple(path(hierarchy, name)[1:]) for name in names[:3]} == {("Western Europe", "Europe", "*")}
    assert path(hierarchy, names[3])[1:] == path(hierarchy, names[4])[1:] == ["Eastern Asia", "Asia", "*"]
    assert path(hierarchy, "Brazil")[1:] == ["South America", "Americas", "*"]


def test_51_states_stand_in_9_divisions_and_4_regions():
    codes = {spelling for spelling in US_STATES if len(spelling) == 2}
    assert len(codes) == len(US_STATES) - len(codes) == 51
    assert len({division for division, _ in US_STATES.values()}) == 9
    sizes = {"Northeast": 9, "Midwest": 12, "South": 17, "West": 13}
    assert {r: sum(US_STATES[code][1] == r for code in codes) for r in sizes} == sizes
    hierarchy = of(UsStatesDefinition(LeafValues(("IN", "West Virginia"))))
    assert path(hierarchy, "IN") == ["IN", "East North Central", "Midwest", "*"]
    assert path(hierarchy, "West Virginia") == ["West Virginia", "South Atlantic", "South", "*"]


@pytest.mark.parametrize(
    ("time", "above"),
    [
        ("00:00", ("00:00", "00:00-00:59", "night")),
        ("05:59:59", ("05:59", "05:00-05:59", "night")),
        ("06:00", ("06:00", "06:00-06:59", "morning")),
        ("12:30", ("12:30", "12:00-12:59", "afternoon")),
        ("23:59:59.5", ("23:59", "23:00-23:59", "evening")),
        ("24:00", None),
        ("7:00", None),
    ],
)
def test_a_time_stands_below_minute_hour_and_part_of_the_day(time, above):
    assert time_ancestors(time) == above


def test_values_that_are_no_such_codes_are_refused_or_collected():
    mixed = LeafValues(("I21.4", "unknown", "A10"))
    with pytest.raises(InvalidInput, match="2 of 3 values are not codes of ICD-10: 'unknown', 'A10'"):
        of(DiagnosesDefinition(mixed))
    hierarchy = of(DiagnosesDefinition(mixed, others="other"))
    assert path(hierarchy, "A10") == ["A10", "other", "other", "other", "*"]
    nothing = of(TimesDefinition(LeafValues(("soon",)), others="other"))
    assert path(nothing, "soon") == ["soon", "other", "*"]


@settings(max_examples=50)
@given(st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 9), min_size=1), st.integers(2, 9))
def test_values_of_too_few_rows_become_one(counts, at_least):
    hierarchy = rare_values(counts, at_least, "rare")
    for value, rows in counts.items():
        assert path(hierarchy, value)[1] == (value if rows >= at_least else "rare")


@pytest.mark.parametrize(
    ("values", "definition"),
    [
        (["10115", "unknown"], PostcodesDefinition(LeafValues(()), "DE", "1")),
        (["DE", "unknown"], CountriesDefinition(LeafValues(()), "Western Europe")),
    ],
)
def test_unread_values_are_not_put_below_a_node_that_means_something_else(values, definition):
    with pytest.raises(InvalidInput) as caught:
        coded(values, definition)
    (fault,) = caught.value.faults
    assert (fault.pointer, fault.code) == ("/others", "label-taken")
    coded(values[:1], definition)


def test_rare_values_do_not_pass_for_a_value_that_is_kept():
    with pytest.raises(InvalidInput) as caught:
        rare_values({"Berlin": 9, "Ulm": 1}, 5, "Berlin")
    assert caught.value.faults[0].pointer == "/other"
    assert path(rare_values({"Berlin": 9, "Ulm": 1}, 5, "Ulm"), "Ulm")[1] == "Ulm"


@pytest.mark.parametrize(("name", "language"), VOCABULARIES)
def test_a_vocabulary_puts_every_word_into_one_group_that_is_called_otherwise(name, language):
    entries = list(entries_of(name, language))
    groups = {}
    for value, above in entries:
        assert groups.setdefault(value, above) == above, value
    assert len(set(groups.values())) > 1
    assert not {"other", "andere"}.intersection(*zip(*groups.values(), strict=True))
    parents = {}
    assert all(parents.setdefault(group, broader) == broader for group, broader in groups.values())


def test_a_later_delivery_is_grouped_like_the_first():
    definition = VocabularyDefinition(LeafValues(()), "marital_status", "en", "other")
    first = build(replace(definition, leaves=LeafValues(("married", "single", "divorced"))), None)
    later = build(replace(definition, leaves=LeafValues(("Married", "It's complicated"))), None)

    def shown(hierarchy, value):
        return hierarchy.labels[hierarchy.ancestors_at(1)[hierarchy.encode([value])[0]][0]]

    assert shown(first, "married") == shown(later, "Married") == "with a spouse or partner"
    assert shown(later, "It's complicated") == "other"


def test_a_vocabulary_that_a_language_lacks_is_refused_by_name():
    with pytest.raises(InvalidInput, match="no vocabulary 'regions'"):
        build(VocabularyDefinition(LeafValues(("Bayern",)), "regions", "en", "other"), None)
