"""Counts of consistent entities on the specification's vectors, by either engine."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from app.domain.counting.counter import Counter, Matching, dictionary_of
from app.domain.dictionaries.dictionary import Dictionary, link_age, link_identity, link_lookup
from app.domain.errors import InvalidInput
from app.domain.hierarchies.builders import dates, flat, leaf_range
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.rules.rule import TableRule, apply
from app.domain.search.record_risk import threshold_histogram
from app.domain.tables.table import Table
from tests.oracles.record_thresholds import record_thresholds
from tests.unit.domain.fixture_f import CITY, CUTS, DICTIONARIES, T, levels_of, nodes

ENGINES = ["cube", "sorted_keys"]

TV_4 = {
    ("Lafayette", "Chinese", "20-39"): ({1}, {1, 6, 12}, {1, 6, 13, 14}, {1}),
    ("Lafayette", None, None): ({1, 6}, {1, 3, 5, 6, 7, 12}, {1, 6, 13, 14}, {1, 2, 3, 5, 7, 19}),
    ("Greater Lafayette", "Asian", None): ({1, 6}, {1, 2, 3, 6, 12}, {1, 2, 6, 13, 14, 15}, {1, 3, 19}),
    ("Tippecanoe", "Asian", "High"): ({3}, {1, 2, 3, 6, 11, 12}, {1, 2, 3, 6, 13, 14, 15, 16}, {1, 3, 19}),
    ("Indiana", "White", None): ({2, 5, 6}, {2, 5, 6, 7, 11}, {1, 2, 3, 5, 6, 13, 14, 15, 16, 18}, {2, 5, 7}),
    ("Illinois", None, None): ({4}, {4, 8, 9, 12}, {4, 17}, {1, 2, 3, 5, 7, 19}),
    ("Los Angeles", "Japanese", None): (set(), {12}, set(), {3}),
    (None, None, None): (
        set(range(1, 7)),
        set(range(1, 13)),
        {1, 2, 3, 4, 5, 6, *range(13, 19)},
        {1, 2, 3, 5, 7, 19},
    ),
}


@pytest.mark.spec("TV-4")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["T", "D1", "D2", "D3"])
def test_the_consistent_entities_are_those_of_the_specification(name, engine):
    counter = Counter(T, DICTIONARIES[name])
    disclosed = nodes(*TV_4)[:, list(counter.linked)]
    expected = [len(sets[["T", "D1", "D2", "D3"].index(name)]) for sets in TV_4.values()]
    assert counter.count(disclosed, engine=engine).values.tolist() == expected


@pytest.mark.spec("TV-4")
def test_the_consistent_entities_of_d1_are_the_named_ones():
    counter = Counter(T, DICTIONARIES["D1"])
    dictionary = DICTIONARIES["D1"]
    for row, sets in TV_4.items():
        passed = np.ones(dictionary.n_entities, dtype=bool)
        for j, compatibility in enumerate(counter.compatibilities):
            node = np.full(dictionary.n_entities, nodes(row)[0, j])
            passed &= compatibility.consistent(node, compatibility.link.column)
        assert {int(entity) for entity in dictionary.entity_ids[passed]} == sets[1]


@pytest.mark.parametrize("name", ["T", "D1", "D2", "D3"])
def test_a_compatibility_keeps_no_more_than_it_says(name):
    for own in Matching(T, DICTIONARIES[name]).compatibilities:
        height = own.link.hierarchy.height
        made = [
            own.of_all_nodes,
            *(classes(number) for classes in (own.at_level, own.at_depth) for number in range(height + 1)),
        ]
        _ = own.consistent(*own.link.pairs)
        arrays = [own._pair_keys]
        for classes in made:
            arrays += [classes.of_node, classes.starts, classes.members]
            arrays += [] if classes.of_code is None else [classes.of_code]
        assert sum(array.nbytes for array in arrays) <= own.most_bytes


@pytest.mark.spec("TV-4")
def test_the_threshold_vectors_of_record_1_are_those_of_the_specification():
    expected = {
        1: (0, 0, 0),
        2: (1, 0, 0),
        3: (0, 1, 2),
        4: (4, 2, 0),
        5: (0, 2, 0),
        6: (0, 0, 0),
        7: (0, 2, 0),
        8: (4, 2, 2),
        9: (4, 2, 0),
        10: (5, 0, 0),
        11: (2, 0, 2),
        12: (0, 0, 0),
    }
    thresholds = record_thresholds(Counter(T, DICTIONARIES["D1"]), 0)
    assert [tuple(vector) for vector in thresholds.tolist()] == list(expected.values())
    at_2_1_1 = {entity for entity, vector in expected.items() if (np.array(vector) <= (2, 1, 1)).all()}
    assert at_2_1_1 == {1, 2, 6, 12}
    counts = threshold_histogram(thresholds, (5, 2, 2))
    assert (counts[2, 1, 1], counts[0, 0, 0], counts[5, 2, 2]) == (4, 3, 12)


@pytest.mark.spec("TV-8")
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("rule", "name", "expected"),
    [
        ("identity", "T", [1, 1, 1, 1, 1, 1]),
        ("identity", "D1", [3, 2, 3, 1, 1, 5]),
        ("identity", "D2", [4, 2, 2, 2, 2, 4]),
        ("identity", "D3", [1, 3, 1, 0, 3, 6]),
        ("G1", "T", [2, 2, 1, 1, 1, 3]),
        ("G1", "D1", [4, 4, 3, 1, 1, 7]),
        ("G1", "D2", [6, 6, 2, 2, 2, 6]),
        ("G1", "D3", [1, 3, 1, 0, 3, 6]),
        ("G2", "T", [2, 2, 1, 1, 1, 3]),
        ("G2", "D1", [4, 4, 6, 2, 1, 6]),
        ("G2", "D2", [8, 8, 8, 2, 2, 8]),
        ("G3", "T", [3, 3, 3, 1, 3, 5]),
        ("G3", "D1", [6, 5, 6, 2, 5, 8]),
        ("G3", "D2", [10, 10, 10, 2, 10, 10]),
        ("suppress", "T", [6] * 6),
        ("suppress", "D1", [12] * 6),
    ],
)
def test_table_level_rules_have_the_counts_of_the_specification(rule, name, expected, engine):
    counter = Counter(T, DICTIONARIES[name])
    levels = levels_of(CUTS[rule])
    disclosed = apply(TableRule(levels), T)[:, list(counter.linked)]
    chosen = [levels[j] for j in counter.linked]
    assert counter.count(disclosed, chosen, engine).values.tolist() == expected
    assert counter.count(disclosed, None, engine).values.tolist() == expected


def test_an_age_counts_both_of_its_birth_years_and_not_twice():
    births = dates(leaf_range("1974-01-01", "1976-12-31"), ["day", "year"])
    table = Table(("birth",), (births,), births.encode(["1975-05-10", "1975-01-01"])[0][:, None])
    link = link_age("birth", births, ["34", "34", "33", "35", None, "99"], date(2009, 6, 30))
    dictionary = Dictionary(6, (link,))
    for engine in ENGINES:
        counter = Counter(table, dictionary)
        day = counter.count(table.codes, engine=engine).values
        assert day.tolist() == [3, 3], "born 10 May 1975: 34 on 30 June 2009, and ⊥ may be anybody"
        years = apply(TableRule((1,)), table)
        assert counter.count(years, engine=engine).values.tolist() == [4, 4], (
            "1975: 34 or 33 years old, and ⊥"
        )
        top = apply(TableRule((2,)), table)
        assert counter.count(top, engine=engine).values.tolist() == [6, 6], "⊥ also counts the elsewhere"
    assert dictionary.elsewhere == {"birth": 1}


@pytest.mark.parametrize(
    ("birth", "reference", "age"),
    [
        ("2004-02-29", date(2009, 2, 28), 4),
        ("2004-02-29", date(2009, 3, 1), 5),
        ("2004-02-29", date(2008, 2, 29), 4),
        ("1975-05-10", date(2009, 5, 9), 33),
        ("1975-05-10", date(2009, 5, 10), 34),
    ],
)
def test_age_is_completed_years_and_29_february_counts_as_1_march(birth, reference, age):
    h = flat([birth])
    link = link_age("b", h, [str(age), str(age + 1), str(max(0, age - 1))], reference)
    assert [len(link.leaves[link.starts[c] : link.starts[c + 1]]) for c in link.column] == [1, 0, 0]


def test_a_month_or_year_leaf_may_have_several_ages():
    h = flat(["1975-05", "1975"])
    link = link_age("b", h, ["33", "34"], date(2009, 5, 10))
    assert link.leaves.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("bad", ["-1", "34.5", "abc", ""])
def test_what_is_no_age_is_refused_without_repeating_it(bad):
    with pytest.raises(InvalidInput, match="1 values of the column linked to 'b' are not ages"):
        link_age("b", flat(["1975-05-10"]), ["34", bad], date(2009, 1, 1))


def test_leaves_that_are_no_dates_cannot_be_linked_to_ages():
    with pytest.raises(InvalidInput, match="1 of 2 leaves"):
        link_age("b", flat(["1975-05-10", "unknown"]), ["34"], date(2009, 1, 1))


def test_a_lookup_maps_dictionary_values_to_dataset_values():
    table = {"47906": "West Lafayette", "47907": "Atlantis"}
    with pytest.raises(InvalidInput, match="1 distinct values linked to 'city' have no entry"):
        link_lookup("city", CITY, ["47906", "60601"], table)
    missing = link_lookup("city", CITY, ["47906", "60601", None, "47907"], table, "missing")
    assert missing.everything[missing.column].tolist() == [False, True, True, False]
    elsewhere = link_lookup("city", CITY, ["47906", "60601", None, "47907"], table, "elsewhere")
    assert elsewhere.elsewhere[elsewhere.column].tolist() == [False, True, False, True]


def test_values_per_distinct_entry_and_per_entity_link_alike():
    rows = link_identity("city", CITY, ["Dayton", "Paris", "Dayton", None])
    positions = link_identity("city", CITY, ["Dayton", "Paris", None], np.array([0, 1, 0, 2]))
    assert rows.column.tolist() == positions.column.tolist()
    assert rows.n_elsewhere == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_an_elsewhere_entity_is_consistent_with_the_top_only(engine):
    link = link_identity("city", CITY, ["Paris", "Dayton"])
    counter = Counter(T, Dictionary(2, (link,)))
    disclosed = np.array([[CITY.node_of("Dayton")], [CITY.node_of("Midwest")], [TOP], [CITY.node_of("West")]])
    assert counter.count(disclosed, engine=engine).values.tolist() == [1, 1, 2, 0]


def test_an_empty_dictionary_counts_nobody_and_says_so():
    empty = Dictionary(0, (link_identity("city", CITY, []),))
    assert Counter(T, empty).count_records(T.codes).values.tolist() == [0] * 6
    assert "probability is 0" in empty.warnings_under("zero")[0]
    assert "probability is 1" in empty.warnings_under("add_self")[0]


def test_a_dictionary_without_links_counts_everybody():
    counter = Counter(T, Dictionary(3, ()))
    assert counter.count_records(T.codes).values.tolist() == [3] * 6


def test_identifiers_must_be_unique():
    link = link_identity("city", CITY, ["Lafayette", "Dayton"])
    with pytest.raises(InvalidInput, match="repeats an identifier in 1 rows"):
        Dictionary(2, (link,), np.array(["1", "1"], dtype=object))


def test_a_link_through_another_hierarchy_is_refused():
    other = Hierarchy.from_parents({"Lafayette": [None]})
    with pytest.raises(InvalidInput, match="through another hierarchy"):
        Counter(T, Dictionary(1, (link_identity("city", other, ["Lafayette"]),)))


def test_own_rows_need_comparable_identifiers():
    link = link_identity("city", CITY, ["Lafayette"])
    with pytest.raises(InvalidInput, match="mean the same entities"):
        _ = Counter(T, Dictionary(1, (link,))).own_rows


@pytest.mark.parametrize("name", ["T", "D1", "D2", "D3"])
def test_own_rows_are_those_of_the_same_entity_where_they_are_consistent(name):
    counter = Counter(T, DICTIONARIES[name])
    ids = counter.dictionary.entity_ids.tolist()
    for cut in CUTS.values():
        levels = levels_of(cut)
        disclosed = apply(TableRule(levels), T)
        found = counter.own_rows.consistent(disclosed).tolist()
        assert counter.own_rows.consistent(disclosed, levels).tolist() == found
        for i, entity in enumerate(T.entity_ids.tolist()):
            expected = entity in ids and all(
                bool(c.consistent(disclosed[i : i + 1, j], c.link.column[[ids.index(entity)]])[0])
                for j, c in zip(counter.linked, counter.compatibilities, strict=True)
            )
            assert found[i] == expected


def test_the_memory_ceiling_keeps_the_cube_away():
    assert Counter(T, DICTIONARIES["D1"]).choose(6, 1_000_000).engine == "cube"
    counter = Counter(T, DICTIONARIES["D1"], memory_ceiling=100)
    assert counter.choose(6, 1_000_000).engine == "sorted_keys"
    assert counter.count(T.codes).engine == "sorted_keys"


def test_the_table_as_its_own_dictionary_has_one_entity_per_record():
    assert dictionary_of(T).n_entities == T.n_records


@pytest.mark.parametrize("unknown", [0, 61, 62, 63, 66])
def test_a_missing_cell_of_any_of_many_attributes_is_consistent_with_every_value(unknown):
    h, names = flat(["x", "y"]), tuple(f"a{j}" for j in range(67))
    codes = np.ones((3, len(names)), dtype=np.int32)
    codes[1, unknown] = TOP
    codes[2, [5, 65]] = 2
    table = Table(names, (h,) * len(names), codes)
    counts = Counter(table, dictionary_of(table)).count(codes, engine="sorted_keys").values
    assert counts.tolist() == [2, 2, 1]


@pytest.mark.parametrize("link", ["identity", "lookup"])
def test_a_label_repeated_on_the_next_level_means_its_leaves_wherever_it_stands(link):
    h = Hierarchy.from_rows(
        [
            ["Paris", "France", "France"],
            ["Rome", "Italy", "Italy"],
            ["x", "y", "Italy"],
            ["z", "Italy", "Italy"],
        ]
    )
    cells = ["France", "Paris", "Italy"]
    if link == "identity":
        linked = link_identity("city", h, cells)
    else:
        linked = link_lookup("city", h, ["1", "2", "3"], dict(zip("123", cells, strict=True)))
    table = Table(("city",), (h,), np.array([[h.node_of("Paris")]], dtype=np.int32))
    counts = Counter(table, Dictionary(3, (linked,))).count(table.codes).values
    assert counts.tolist() == [2]
    assert linked.n_elsewhere == 1, "the two nodes called Italy do not cover the same leaves"
