"""Which hierarchy is proposed for a column, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy_definitions import (
    CodePrefixesDefinition,
    CountriesDefinition,
    DatesDefinition,
    DiagnosesDefinition,
    FlatDefinition,
    FreeBoundsDefinition,
    IntervalsDefinition,
    LeafColumn,
    LeafRange,
    PostcodesDefinition,
    RareValuesDefinition,
    TimesDefinition,
    UsStatesDefinition,
    VocabularyDefinition,
)
from app.domain.hierarchies.proposals import ColumnCounts, HierarchyProposal, propose_bands, propose_hierarchy
from app.services.datasets.hierarchy_building import build

COLUMN = LeafColumn("upload", "column")


def proposed(name: str, type_: str, values: Iterable[str], is_whole: bool = True) -> HierarchyProposal:
    return propose_hierarchy(ColumnCounts(name, type_, Counter(values), COLUMN, is_whole))


AGES = [str(17 + i % 74) for i in range(1_000)]
DOSES = ["0.5", "1", "1.5", "2", "9", "10"]
SEVERAL_STATES = ["IN", "CA", "NY", "TX", "WA"] * 20


@pytest.mark.parametrize(
    ("name", "type_", "values", "expected"),
    [
        (
            "born",
            "date",
            ["1975-05-10", "1983-01-01"],
            DatesDefinition(LeafRange("1975-01-01", "1983-12-31"), ("day", "month", "year")),
        ),
        (
            "born",
            "date",
            ["1935-05-10", "1983-01-01"],
            DatesDefinition(LeafRange("1935-01-01", "1983-12-31"), ("day", "month", "year", "decade")),
        ),
        ("age", "number", AGES, IntervalsDefinition(LeafRange("0", "99"), ("5", "10", "20"))),
        ("x", "number", map(str, range(-7, 8)), IntervalsDefinition(LeafRange("-10", "9"), ("2", "10"))),
        ("dose", "number", DOSES, IntervalsDefinition(COLUMN, ("0.5", "1", "2"))),
        ("flag", "number", ["0", "1"] * 9, FlatDefinition(COLUMN)),
        ("zip", "number", ["47906", "10115"], PostcodesDefinition(COLUMN, "US")),
        ("zip_code", "categorical", ["47906", "02139-4307"], PostcodesDefinition(COLUMN, "US")),
        ("PLZ", "categorical", ["10115", "01067"], PostcodesDefinition(COLUMN, "DE")),
        ("postal_code", "categorical", ["K1A 0B1", "M5V 2T6"], PostcodesDefinition(COLUMN, "CA")),
        ("where", "categorical", ["SW1A 1AA", "M1 1AE"], PostcodesDefinition(COLUMN, "GB")),
        ("cause", "categorical", ["I21.4", "E11.9", "I25"], DiagnosesDefinition(COLUMN)),
        ("icd", "categorical", ["I21"] * 99 + ["none"], DiagnosesDefinition(COLUMN, others="other")),
        ("country", "categorical", ["DE", "FR"], CountriesDefinition(COLUMN)),
        ("from", "categorical", ["Germany", "France", "Peru", "Chad", "Fiji"], CountriesDefinition(COLUMN)),
        ("home", "categorical", SEVERAL_STATES, UsStatesDefinition(COLUMN)),
        ("state", "categorical", ["CA", "IN"], UsStatesDefinition(COLUMN)),
        ("isco_08", "number", ["2511", "3112"], CodePrefixesDefinition(COLUMN, (3, 2, 1))),
        ("at", "categorical", ["14:35", "09:10:11"], TimesDefinition(COLUMN)),
        ("sex", "categorical", ["f", "m"] * 9, FlatDefinition(COLUMN)),
        (
            "city",
            "text",
            ["Gary"] * 50 + ["Muncie"] * 30 + [f"village {i}" for i in range(30)],
            RareValuesDefinition(COLUMN, 5),
        ),
        (
            "ward",
            "text",
            ["other"] * 50 + ["A"] * 30 + [f"ward {i}" for i in range(30)],
            RareValuesDefinition(COLUMN, 5, "other values"),
        ),
        (
            "schooling",
            "categorical",
            ["HS-grad", "9th", "11th", "Bachelor's degree", "Masters", "?"] * 9,
            VocabularyDefinition(COLUMN, "education", "en", "other"),
        ),
        (
            "Familienstand",
            "categorical",
            ["ledig", "verheiratet", "geschieden", "VERWITWET"],
            VocabularyDefinition(COLUMN, "marital_status", "de", "andere"),
        ),
        (
            "Job Title",
            "categorical",
            ["Senior Data Analyst II", "Accountant", "Truck Driver", "Forklift Driver"],
            VocabularyDefinition(COLUMN, "occupations", "en", "other"),
        ),
        ("x", "categorical", ["Data Analyst II", "Accountant", "Truck Driver"], FlatDefinition(COLUMN)),
        ("city", "categorical", "a" * 50 + "b" * 30 + "c" * 9 + "d" * 7, RareValuesDefinition(COLUMN, 24)),
        ("city", "categorical", "a" * 50 + "b" * 30 + "c" * 9, FlatDefinition(COLUMN)),
        ("tract", "categorical", map(str, range(700, 760)), CodePrefixesDefinition(COLUMN, (2, 1))),
        ("note", "text", [f"note {i}" for i in range(100)], None),
        ("nothing", "categorical", [], None),
    ],
)  # fmt: skip
def test_a_column_gets_the_hierarchy_that_suits_it(name, type_, values, expected):
    found = proposed(name, type_, values)
    assert found.definition == expected
    assert found.reason.endswith(".")


def test_where_rows_are_unknown_the_leaves_are_the_whole_column():
    for name, type_, values in (("age", "number", AGES), ("born", "date", ["1975-05-10"])):
        found = proposed(name, type_, values, is_whole=False).definition
        assert found is not None
        assert found.leaves == COLUMN


def test_where_rows_are_unknown_values_that_are_no_codes_have_a_label():
    found = proposed("country", "categorical", ["DE", "FR"], is_whole=False)
    assert found.definition == CountriesDefinition(COLUMN, others="other")
    assert found.reason == "All its rows hold countries; any other values are put below one label."


def test_numbers_that_crowd_at_one_end_get_bounds_between_equally_many_rows():
    incomes = [str(round(1_000 * 1.01**i)) for i in range(800)]
    found = proposed("income", "number", incomes).definition
    assert isinstance(found, FreeBoundsDefinition)
    assert [len(level) for level in found.bounds] == [7, 3, 1]
    hierarchy = build(found, Counter(incomes))
    sizes = Counter(hierarchy.ancestors_at(1)[hierarchy.leaves].tolist())
    assert max(sizes.values()) - min(sizes.values()) <= 1


def test_reasons_repeat_no_value():
    columns = [("city", "text", ["Zebulon"] * 9 + [f"Xanadu{i}" for i in range(30)]), ("age", "number", AGES)]
    for name, type_, values in columns:
        assert not any(value in proposed(name, type_, values).reason for value in values if len(value) > 2)


@settings(max_examples=80)
@given(
    st.one_of(
        st.tuples(st.just("number"), st.lists(st.integers(-(10**6), 10**6).map(str), min_size=1)),
        st.tuples(
            st.just("number"),
            st.lists(st.decimals(-(10**9), 10**9, places=3, allow_nan=False).map(str), min_size=1),
        ),
        st.tuples(
            st.just("number"), st.lists(st.sampled_from(["1e400", "1e-40", "7", "8", "9", "10"]), min_size=1)
        ),
        st.tuples(st.just("date"), st.lists(st.dates().map(str), min_size=1)),
        st.tuples(st.just("text"), st.lists(st.text(min_size=1, max_size=5), min_size=1)),
        st.tuples(st.just("categorical"), st.lists(st.sampled_from(["DE", "I21", "9:00", "x"]), min_size=1)),
    ),
    st.booleans(),
)
def test_what_is_proposed_can_be_built_and_holds_every_value(column, is_whole):
    type_, values = column
    found = proposed("column", type_, values, is_whole)
    if found.definition is not None:
        hierarchy = build(found.definition, Counter(values))
        assert (hierarchy.encode(values)[0] >= 0).all()


def test_sensitive_amounts_are_put_into_bands_between_round_bounds_open_at_both_ends():
    incomes = [str(round(9_000 * 1.005**i)) for i in range(600)]
    found = propose_bands(ColumnCounts("income", "number", Counter(incomes), COLUMN, True))
    finest, *coarser = found.definition.bounds
    assert all(len(own.rstrip("0")) <= 2 for own in finest)
    assert all({*level} < {*below} for below, level in zip((finest, *coarser), coarser, strict=False))
    assert found.reason.startswith(f"Sensitive numbers: in up to {len(finest) + 1} bands")
    assert propose_bands(ColumnCounts("grade", "number", Counter(["1", "2", "3"] * 9), COLUMN, True)) is None
    assert propose_bands(ColumnCounts("name", "text", Counter(incomes), COLUMN, True)) is None


@settings(max_examples=80)
@given(
    st.lists(
        st.one_of(
            st.integers(-(10**6), 10**6).map(str),
            st.decimals(-(10**4), 10**4, places=2, allow_nan=False).map(str),
            st.sampled_from(["0", "0.0", "7", "1e3"]),
        ),
        min_size=1,
        max_size=300,
    )
)
def test_bands_cover_all_values_and_each_has_five_rows_at_least(values):
    found = propose_bands(ColumnCounts("income", "number", Counter(values), COLUMN, True))
    if found is None:
        return
    for level in found.definition.bounds:
        cuts = [Decimal(own) for own in level]
        assert cuts == sorted({*cuts})
        sizes = Counter(sum(cut <= Decimal(value) for cut in cuts) for value in values)
        assert {*sizes} == {*range(len(cuts) + 1)}
        assert min(sizes.values()) >= 5
    assert (build(found.definition, Counter(values)).encode(values)[0] >= 0).all()
