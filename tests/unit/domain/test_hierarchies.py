"""Hierarchies: derived notions, the two ways to define them, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from tests.unit.domain.fixture_f import CITY

DAG = Hierarchy.from_parents(
    {"p": [None], "q": [None], "r": ["q"], "a": ["p", "r"], "b": ["p"], "c": ["r"], "d": ["q"]}
)


def by_label(h: Hierarchy, values: np.ndarray) -> dict[str, int]:
    return dict(zip(h.labels, values.tolist(), strict=True))


@pytest.mark.spec("TV-1")
def test_the_city_tree_has_the_depths_and_leaf_counts_of_the_specification():
    depth, leaves = by_label(CITY, CITY.depth), by_label(CITY, CITY.leaf_count)
    assert CITY.height == 5
    assert {
        k: depth[k] for k in ("Lafayette", "West Lafayette", "Greater Lafayette", "Dayton", "Indianapolis")
    } == {"Lafayette": 5, "West Lafayette": 5, "Greater Lafayette": 4, "Dayton": 4, "Indianapolis": 4}
    assert {
        k: depth[k]
        for k in ("Chicago", "Los Angeles", "Tippecanoe", "Cook", "Indiana", "California", "Midwest")
    } == {
        "Chicago": 4,
        "Los Angeles": 4,
        "Tippecanoe": 3,
        "Cook": 3,
        "Indiana": 2,
        "California": 2,
        "Midwest": 1,
    }
    assert depth["*"] == 0
    expected = {
        "*": 7,
        "Midwest": 6,
        "Indiana": 4,
        "Tippecanoe": 3,
        "Greater Lafayette": 2,
        "Illinois": 2,
        "Marion": 1,
        "West": 1,
    }
    assert {k: leaves[k] for k in expected} == expected
    assert not CITY.is_balanced
    assert CITY.is_tree


@pytest.mark.spec("TV-1")
@pytest.mark.parametrize(
    ("cut", "value", "image"),
    [(4, "Lafayette", "Greater Lafayette"), (4, "Dayton", "Dayton"), (3, "Dayton", "Tippecanoe")],
)
def test_a_depth_cut_leaves_shallower_values_unchanged(cut, value, image):
    assert CITY.labels[CITY.ancestors_at(CITY.height - cut)[CITY.node_of(value)]] == image


def share_a_leaf(h, a, b):
    return bool(set(h.leaves_of(a).tolist()) & set(h.leaves_of(b).tolist()))


def meet_of(h, a, b):
    """What two values say together: the more specific one, both if they only share leaves, or nothing."""
    if h.is_above(a, b):
        return (b,)
    if h.is_above(b, a):
        return (a,)
    return (a, b) if share_a_leaf(h, a, b) else ()


@pytest.mark.spec("TV-1")
def test_the_city_tree_has_the_upper_bounds_and_compatibilities_of_the_specification():
    n = CITY.node_of
    assert CITY.least_above((n("Lafayette"), n("Chicago"))) == [n("Midwest")]
    assert CITY.least_above((n("Dayton"), n("Lafayette"))) == [n("Tippecanoe")]
    assert share_a_leaf(CITY, n("Indiana"), n("Lafayette"))
    assert not share_a_leaf(CITY, n("Marion"), n("Tippecanoe"))


@pytest.mark.spec("TV-2")
def test_depth_in_a_dag_follows_the_longest_path_and_leaves_are_counted_once():
    depth, leaves = by_label(DAG, DAG.depth), by_label(DAG, DAG.leaf_count)
    assert depth == {"*": 0, "p": 1, "q": 1, "r": 2, "a": 3, "b": 2, "c": 3, "d": 2}
    assert {k: leaves[k] for k in ("p", "q", "r", "*")} == {"p": 2, "q": 3, "r": 2, "*": 4}


@pytest.mark.spec("TV-2")
def test_a_dag_knows_what_is_above_and_what_is_compatible():
    n = DAG.node_of
    assert {DAG.labels[v] for v in DAG.up(n("a"))} == {"a", "p", "r", "q", "*"}
    assert share_a_leaf(DAG, n("p"), n("r"))
    assert not share_a_leaf(DAG, n("b"), n("c"))
    assert not share_a_leaf(DAG, n("b"), n("q"))
    assert {DAG.labels[v]: sorted(DAG.labels[p] for p in DAG.parents[v]) for v in DAG.up(n("a")) if v} == {
        "a": ["p", "r"],
        "r": ["q"],
        "q": ["*"],
        "p": ["*"],
    }


@pytest.mark.parametrize(
    ("a", "b", "meet"),
    [("Indiana", "Lafayette", ["Lafayette"]), ("Lafayette", "Lafayette", ["Lafayette"]),
     ("Marion", "Indianapolis", ["Indianapolis"]), ("Marion", "Tippecanoe", []), ("Cook", "*", ["Cook"])],
)  # fmt: skip
def test_two_values_of_a_tree_say_what_the_more_specific_one_says_or_contradict(a, b, meet):
    code = {label: i for i, label in enumerate(CITY.labels)}
    assert [CITY.labels[v] for v in meet_of(CITY, code[a], code[b])] == meet
    assert meet_of(CITY, code[b], code[a]) == meet_of(CITY, code[a], code[b])


@pytest.mark.spec("TV-2")
def test_incomparable_values_of_a_dag_that_share_leaves_stay_a_pair():
    n = DAG.node_of
    assert meet_of(DAG, n("p"), n("r")) == (n("p"), n("r"))
    assert meet_of(DAG, n("p"), n("a")) == (n("a"),)
    assert meet_of(DAG, n("b"), n("c")) == ()


@pytest.mark.spec("E-17")
def test_children_are_many_and_below_is_the_converse_of_above():
    for h in (CITY, DAG):
        child, parent = h.edges
        below = {v: set() for v in range(h.n_nodes)}
        for c, p in sorted(zip(child.tolist(), parent.tolist(), strict=True), reverse=True):
            below[p] |= {c} | below[c]
        pairs = [(v, w) for v in range(h.n_nodes) for w in range(h.n_nodes)]
        assert all((v in below[w]) == (w in h.up(v) - {v}) for v, w in pairs)
        lower, upper = (np.array(column, dtype=np.int32) for column in zip(*pairs, strict=True))
        assert h.are_above(upper, lower).tolist() == [w == v or v in below[w] for v, w in pairs]
    children = CITY.edges[0][CITY.edges[1] == CITY.node_of("Tippecanoe")]
    assert [CITY.labels[v] for v in children] == ["Greater Lafayette", "Dayton"]


def test_a_dag_refuses_levels_and_steps_and_names_the_value():
    for refused in (lambda: DAG.ancestors_at(1), lambda: DAG.ancestor_steps(1)):
        with pytest.raises(NotSupported, match="'a' has several parents"):
            refused()


def test_two_upper_bounds_without_a_least_one_are_both_told():
    h = Hierarchy.from_parents({"p": [None], "q": [None], "a": ["p", "q"], "b": ["p", "q"]})
    assert h.least_above((h.node_of("a"), h.node_of("b"))) == sorted((h.node_of("p"), h.node_of("q")))


@pytest.mark.parametrize(
    ("parents", "codes"),
    [
        ({"a": ["b"], "b": ["a"]}, ["cycle", "cycle"]),
        ({"a": ["a"]}, ["cycle"]),
        ({"a": ["x"]}, ["undefined-parent"]),
        ({"a": []}, ["no-path-to-top"]),
        ({"*": [None]}, ["duplicate-label"]),
        ({"": [None]}, ["empty-label"]),
        ({"a": ["x"], "b": []}, ["undefined-parent", "no-path-to-top"]),
    ],
)
def test_a_broken_definition_is_refused_with_every_offender(parents, codes):
    with pytest.raises(InvalidInput) as caught:
        Hierarchy.from_parents(parents, pointer="/parents")
    assert [fault.code for fault in caught.value.faults] == codes
    assert all(fault.pointer.startswith("/parents/") and fault.remedy for fault in caught.value.faults)


@pytest.mark.parametrize("broken", [["nowhere"], []])
def test_beyond_a_hundred_offenders_the_rest_are_counted(broken):
    with pytest.raises(InvalidInput) as caught:
        Hierarchy.from_parents({f"v{i}": broken for i in range(107)}, pointer="/parents")
    *named, last = caught.value.faults
    assert [fault.pointer for fault in named] == [f"/parents/v{i}" for i in range(100)]
    assert (last.code, last.message[:6]) == ("more-faults", "7 more")


def test_edges_implied_by_others_are_dropped_with_a_warning():
    h = Hierarchy.from_parents({"s": ["r", None], "r": [None], "c": ["s", "r"]})
    assert by_label(h, h.depth) == {"*": 0, "r": 1, "s": 2, "c": 3}
    assert len(h.warnings) == 2
    assert h.is_tree


def test_a_label_repeated_on_the_next_level_counts_as_a_level():
    h = Hierarchy.from_rows([["0", "10", "10", "11"], ["1", "12", "13", "11"]])
    assert h.height == 3
    assert h.labels[TOP] == "11"
    assert h.is_balanced
    assert h.node_of("0") is not None
    both = [code for code, label in enumerate(h.labels) if label == "10"]
    assert h.node_of("10") == max(both, key=lambda code: h.depth[code]), "one is all that is in the other"


def test_a_label_of_nodes_that_differ_in_what_is_in_them_is_of_none():
    labels, parents = ("*", "12", "13", "10", "10", "0", "1"), ((), (0,), (0,), (1,), (2,), (3,), (4,))
    beside = Hierarchy(labels, parents)
    assert beside.labels.count("10") == 2
    assert beside.node_of("10") is None
    above = Hierarchy.from_rows([["0", "10", "10", "*"], ["1", "12", "10", "*"]])
    assert above.labels.count("10") == 2
    assert above.node_of("10") is None


def test_a_last_column_with_several_values_gets_a_top_above_it():
    h = Hierarchy.from_rows([["a", "x"], ["b", "y"]])
    assert (h.height, h.labels[TOP]) == (2, "*")
    assert Hierarchy.from_rows([["a"], ["b"]]).height == 1
    assert Hierarchy.from_rows([["a", "*"], ["b", "*"]]).height == 1


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([], "empty"),
        ([["a", "x"], ["b"]], "ragged-row"),
        ([["a", "x", "t"], ["a", "y", "t"]], "two-parents"),
        ([["a", ""]], "empty-label"),
    ],
)
def test_bad_rows_are_refused_with_their_number(rows, code):
    with pytest.raises(InvalidInput) as caught:
        Hierarchy.from_rows(rows)
    assert caught.value.faults[0].code == code


def test_values_encode_to_nodes_with_missing_as_the_top_and_unknown_values_named():
    codes, unknown = CITY.encode(["Dayton", None, "Indiana", "Paris"])
    assert codes.tolist() == [CITY.node_of("Dayton"), TOP, CITY.node_of("Indiana"), -1]
    assert unknown == {"Paris"}


def test_a_leaf_is_preferred_to_an_inner_node_of_the_same_label():
    h = Hierarchy.from_rows([["x", "y", "*"], ["y", "x", "*"]])
    assert h.is_leaf[h.node_of("x")]
    assert h.is_leaf[h.node_of("y")]


def test_attached_values_become_leaves_below_the_top_and_old_codes_stay():
    wider = CITY.with_attached(["Paris", "Dayton", "Paris"])
    assert wider.labels[: CITY.n_nodes] == CITY.labels
    assert wider.n_nodes == CITY.n_nodes + 1
    assert wider.depth[wider.node_of("Paris")] == 1
    assert CITY.with_attached(["Dayton"]) is CITY


def test_a_document_gives_the_same_hierarchy_back():
    for h in (CITY, DAG):
        again = Hierarchy.from_document(h.to_document())
        assert (again.labels, again.parents) == (h.labels, h.parents)


def test_a_hierarchy_of_the_top_alone_has_one_leaf_and_no_height():
    h = Hierarchy(("*",), ((),))
    assert (h.height, h.n_leaves, h.leaf_count.tolist()) == (0, 1, [1])
    assert h.is_balanced


def test_a_node_of_a_tree_covers_the_leaves_of_its_range():
    for node in range(CITY.n_nodes):
        below = [i for i, leaf in enumerate(CITY.leaves.tolist()) if CITY.is_above(node, leaf)]
        assert below == list(range(CITY.leaf_lo[node], CITY.leaf_hi[node])) == CITY.leaves_of(node).tolist()
