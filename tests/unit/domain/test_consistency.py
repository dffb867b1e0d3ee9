"""The consistency modes on the specification's vectors, on texts, sets, chains and many labels."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from rapidfuzz.distance import Jaro

from app.domain.counting.counter import Counter
from app.domain.dictionaries.consistency import Consistency, under
from app.domain.dictionaries.dictionary import Dictionary, link_age, link_identity, link_lookup
from app.domain.errors import InvalidInput
from app.domain.hierarchies.builders import dates, flat, leaf_range
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import CITY, DICTIONARIES, T, nodes

SUBSUMED, JARO = Consistency("subsumed"), Consistency("jaro")

TV_3 = [
    ("MARTHA", "MARHTA", 17 / 18, True), ("DIXON", "DICKSONX", 23 / 30, False),
    ("DWAYNE", "DUANE", 37 / 45, True), ("abcdef", "bcadef", 17 / 18, True),
    ("abcdefghij", "abcdefgxyz", 0.8, True), ("West Lafayette", "W Lafayette", 373 / 462, True),
    ("Lafayette", "Lafeyete", 1193 / 1512, False), ("Jonathan", "Johnathan", 95 / 108, True),
    ("ab", "ba", 0, False), ("", "", 1, True), ("", "a", 0, False),
]  # fmt: skip


def candidates(dictionary: Dictionary, table: Table, row: np.ndarray) -> set[int]:
    """Numbers (from 1) of the entities that are consistent with one disclosed row."""
    counter = Counter(table, dictionary)
    passed = np.ones(dictionary.n_entities, dtype=bool)
    for j, compatibility in zip(counter.linked, counter.compatibilities, strict=True):
        node = np.full(dictionary.n_entities, row[j], dtype=np.int32)
        passed &= compatibility.consistent(node, compatibility.link.column)
    assert counter.count_records(row[None, :]).values[0] == passed.sum()
    return set((np.flatnonzero(passed) + 1).tolist())


def names(values, dictionary_values, consistency=JARO, hierarchy=None):
    """Candidates of each value of a table of names."""
    hierarchy = hierarchy or flat([value for value in dict.fromkeys(values) if value])
    table = Table(("name",), (hierarchy,), hierarchy.encode(values)[0][:, None])
    link = link_identity("name", hierarchy, dictionary_values)
    dictionary = under(Dictionary(len(dictionary_values), (link,)), consistency)
    return [candidates(dictionary, table, row) for row in table.codes]


@pytest.mark.spec("TV-3")
@pytest.mark.parametrize(("s", "t", "similarity", "is_consistent"), TV_3)
def test_the_similarities_are_those_of_the_specification(s, t, similarity, is_consistent):
    assert Jaro.similarity(s, t) == pytest.approx(similarity, abs=1e-15)
    if s and t:
        assert names([s], [t]) == [{1} if is_consistent else set()]


@pytest.mark.spec("TV-3")
def test_a_similarity_of_exactly_the_threshold_is_consistent_in_spite_of_rounding():
    assert Jaro.similarity("abcdefghij", "abcdefgxyz") < 0.8, "the doubles fall short of 4/5"
    assert names(["abcdefghij"], ["abcdefgxyz"]) == [{1}]
    assert names(["abcdefghij"], ["abcdefgxyz"], Consistency("jaro", 0.8 + 2e-9)) == [set()]


@pytest.mark.spec("TV-3")
def test_empty_texts_are_equal_to_each_other_only():
    h = flat(["a"])
    link = link_identity("name", h, ["", "a", None])
    table = Table(("name",), (h,), h.encode(["a"])[0][:, None])
    assert candidates(under(Dictionary(3, (link,)), JARO), table, table.codes[0]) == {2, 3}


@pytest.mark.spec("TV-3")
def test_names_find_those_of_the_specification():
    dictionary = ["Jonathan Smith", "Jon Smyth", "Maria Lopez", "Marie Lopes", "Mary Jones", None]
    assert names(["Johnathan Smith", "Maria Lopez"], dictionary) == [{1, 6}, {3, 4, 6}]
    similarities = [Jaro.similarity("Johnathan Smith", name) for name in dictionary[:5]]
    assert similarities == pytest.approx([0.930159, 0.682407, 0.460101, 0.379798, 0.477778], abs=5e-7)
    similarities = [Jaro.similarity("Maria Lopez", name) for name in dictionary[:5]]
    assert similarities == pytest.approx([0.466450, 0.400673, 1, 0.878788, 0.715152], abs=5e-7)


@pytest.mark.spec("TV-4", "E-7")
@pytest.mark.parametrize(
    ("row", "compatible", "subsumed"),
    [
        (("Lafayette", "Chinese", "20-39"), {1, 6, 12}, set()),
        (("Lafayette", None, None), {1, 3, 5, 6, 7, 12}, {6, 7}),
        (("Greater Lafayette", "Asian", None), {1, 2, 3, 6, 12}, {1}),
        (("Tippecanoe", "Asian", "High"), {1, 2, 3, 6, 11, 12}, {3}),
        (("Indiana", "White", None), {2, 5, 6, 7, 11}, {5, 7}),
        (("Illinois", None, None), {4, 8, 9, 12}, {4, 8, 9}),
        (("Los Angeles", "Japanese", None), {12}, set()),
        ((None, None, None), set(range(1, 13)), set(range(1, 13))),
    ],
)
def test_the_consistent_entities_of_d1_in_both_modes_are_those_of_the_specification(
    row, compatible, subsumed
):
    disclosed = nodes(row)[0]
    d1 = DICTIONARIES["D1"]
    assert candidates(d1, T, disclosed) == compatible
    assert candidates(under(d1, SUBSUMED), T, disclosed) == subsumed


def test_modes_are_chosen_per_attribute_and_may_be_chosen_again():
    row, d1 = nodes(("Greater Lafayette", "Asian", None))[0], DICTIONARIES["D1"]
    mixed = under(d1, Consistency(), {"race": SUBSUMED})
    assert candidates(mixed, T, row) == {1, 3, 12}
    assert [link.mode for link in mixed.links] == ["compatible", "subsumed", "compatible"]
    again = under(mixed, Consistency())
    assert candidates(again, T, row) == {1, 2, 3, 6, 12}
    assert under(d1, Consistency()) is d1
    assert again.links[1] is d1.links[1]


def test_an_inner_value_in_jaro_mode_is_compared_by_its_leaves_never_by_its_label():
    h = Hierarchy.from_parents({"Lafayete": [None], "Chicago": ["Lafayete"], "Lafayette": [None]})
    assert names(["Lafayete", "Lafayette"], ["Lafayete", "Lafayette"], JARO, h) == [{1}, {2}]


def test_texts_outside_the_hierarchy_keep_their_label():
    assert names(["Lafayette"], ["Lafayete", "Lafeyete", "Chicago"]) == [{1}]
    lookup = {"47906": "West Lafayete", "60601": "Chicago", "0": None}
    link = link_lookup("city", CITY, ["47906", "60601", "0", "99999"], lookup, "elsewhere")
    dictionary = under(Dictionary(4, (link,)), Consistency(), {"city": JARO})
    table = Table(("city",), (CITY,), CITY.encode(["West Lafayette", "Indiana"])[0][:, None])
    assert [candidates(dictionary, table, row) for row in table.codes] == [{1, 3}, {1, 3}]
    assert candidates(dictionary, table, np.zeros(1, np.int32)) == {1, 2, 3, 4}
    assert dictionary.elsewhere == {"city": 2}, "they are still outside the dataset's hierarchy"


def test_preprocessing_is_off_unless_asked_for():
    assert names(["ZOE\u0308"], [" zoë "]) == [set()]
    assert names(["ZOE\u0308"], [" zoë "], Consistency("jaro", 1.0, normalise=True)) == [{1}]


@pytest.mark.deep
def test_many_labels_are_compared_in_blocks(monkeypatch):
    labels = [f"{i:05d}" for i in range(3000)]
    h = flat(labels)
    table = Table(("zip",), (h,), h.encode(["00000", "02999"])[0][:, None])
    link = link_identity("zip", h, [*labels, "0000", None])
    counts = []
    for pairs in (1 << 22, 5000):
        monkeypatch.setattr("app.domain.dictionaries.consistency.PAIRS_AT_ONCE", pairs)
        dictionary = under(Dictionary(3002, (link,)), JARO)
        counts.append(Counter(table, dictionary).count_records(table.codes).values.tolist())
    by_hand = [
        1 + sum(Jaro.similarity(shown, label) >= 0.8 - 1e-9 for label in [*labels, "0000"])
        for shown in ("00000", "02999")
    ]
    assert counts == [by_hand, by_hand]


def test_subsumed_tells_an_only_child_from_its_parent():
    row = nodes(("Indianapolis", None, None))[0]
    link = link_identity("city", CITY, ["Marion", "Indianapolis"])
    dictionary = Dictionary(2, (link,))
    assert candidates(dictionary, T, row) == {1, 2}
    assert candidates(under(dictionary, SUBSUMED), T, row) == {2}
    above = nodes(("Marion", None, None))[0]
    assert candidates(under(dictionary, SUBSUMED), T, above) == {1, 2}


def test_a_set_of_leaves_is_subsumed_where_one_node_covers_all_of_it():
    births = dates(leaf_range("1974-01-01", "1976-12-31"), ["day", "year"])
    rows = [births.node_of("1975-05-10"), births.node_of("1975"), TOP]
    table = Table(("birth",), (births,), np.array(rows, dtype=np.int32)[:, None])
    link = link_age("birth", births, ["34", "34", None, "99"], date(2009, 12, 31))
    found = [candidates(under(Dictionary(4, (link,)), SUBSUMED), table, row) for row in table.codes]
    assert found == [set(), {1, 2}, {1, 2, 3, 4}], "34 on the last day of 2009: born in 1975"
    link = link_age("birth", births, ["34"], date(2009, 6, 30))
    assert candidates(under(Dictionary(1, (link,)), SUBSUMED), table, table.codes[1]) == set()


def test_several_nodes_of_a_dag_may_be_the_least_that_cover_a_set():
    h = Hierarchy.from_parents({"p": [None], "q": [None], "a": ["p", "q"], "b": ["p", "q"], "c": ["q"]})
    place = {h.labels[leaf]: i for i, leaf in enumerate(h.leaves.tolist())}
    covers = [h.labels[v] for v in h.least_above(h.leaves[[place["a"], place["b"]]].tolist())]
    assert sorted(covers) == ["p", "q"]
    assert h.least_above(h.leaves[[place["a"]]].tolist()) == [h.node_of("a")]


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"mode": "jaro_mean"}, "unknown-choice"), ({"threshold": 1.5}, "out-of-range"),
     ({"threshold": float("nan")}, "out-of-range")],
)  # fmt: skip
def test_a_mode_that_is_none_and_a_threshold_outside_its_range_are_refused(fields, code):
    with pytest.raises(InvalidInput) as caught:
        Consistency(**fields)
    assert caught.value.faults[0].code == code
