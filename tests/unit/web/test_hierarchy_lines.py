"""A hierarchy in lines: read and written alike, told what is wrong, and changed so that it stays one."""

from __future__ import annotations

import pytest

from app.domain.hierarchies.hierarchy import Hierarchy
from app.web.hierarchy_lines import (
    definition_of,
    groups_of,
    is_whole,
    levels_of,
    merged,
    moved,
    rows_of,
    rows_of_tree,
    text_of,
    with_level,
    without_level,
)

LINES = "Gary;Lake;Indiana\nHammond;Lake;Indiana\nLima;Allen;Ohio\nDayton;Montgomery;Ohio"
ROWS = rows_of(LINES)[0]
RECORDS = {"Gary": 5, "Hammond": 1, "Lima": 0, "Dayton": 3}


def is_hierarchy(rows) -> bool:
    """Whether the lines of the rows would be accepted."""
    return rows_of(text_of(rows)) == (rows, [])


def test_lines_are_read_as_they_were_written():
    rows = (("a;b", 'say "x"'), ("é", " blank "))
    assert rows_of(text_of(rows)) == (rows, [])
    assert text_of(ROWS) == LINES
    assert rows_of("\r\n" + LINES.replace("\n", "\r\n") + "\r\n\r\n") == (ROWS, [])


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("", "There are no lines. Give one per value."),
        (" \n;;\n", "There are no lines. Give one per value."),
        ("a;x\n;x", "Line 2 has an empty label."),
        ("a;x\nb", "Line 2 has 0 groups, line 1 has 1."),
        ("a;x\n\nb;", "Line 3 has an empty label."),
        ("a;x\nb;x\na;x", "Line 3 repeats the value of line 1."),
        ("a;x;y\nb;x;z", "Line 2 puts the group x into z, line 1 into y."),
        ('a;"x', "Line 1: its quotes do not end, or stand within a label."),
    ],
)
def test_what_is_wrong_names_its_line(lines, said):
    assert said in rows_of(lines)[1]


def test_of_many_faults_the_first_are_told_and_how_many_more():
    faults = rows_of("a;x\n" * 20)[1]
    assert len(faults) == 6
    assert faults[-1] == "14 more things are wrong with the lines."


def test_a_label_on_two_levels_is_two_groups_and_no_cycle():
    rows, faults = rows_of("New York;Kings;New York\nKings;New York;New York")
    assert faults == []
    assert Hierarchy.from_rows(definition_of(rows, "*")["rows"]).height == 3


def test_values_put_into_a_group_that_is_there_get_what_is_above_it():
    rows = moved(ROWS, 0, {"Gary", "Lima"}, "Montgomery")
    assert rows[0] == ("Gary", "Montgomery", "Ohio")
    assert rows[2] == ("Lima", "Montgomery", "Ohio")
    assert is_hierarchy(rows)


def test_values_put_into_a_new_group_split_the_old_one():
    rows = moved(ROWS, 0, {"Gary"}, "Gary alone")
    assert [row[1] for row in rows] == ["Gary alone", "Lake", "Allen", "Montgomery"]
    assert rows[0][2] == "Indiana"
    assert is_hierarchy(rows)


def test_a_group_may_be_given_a_name_that_its_values_had_before():
    """All of the old group is moved: what is above it comes from the first of those that are moved."""
    assert moved(ROWS, 0, {"Gary", "Hammond"}, "Lake") == ROWS
    assert is_hierarchy(moved(ROWS, 0, {"Hammond", "Lima"}, "Allen"))


def test_merged_groups_are_one_and_a_single_one_is_renamed():
    rows = merged(ROWS, 1, {"Allen", "Lake"}, "Lakes")
    assert [row[1:] for row in rows] == [("Lakes", "Indiana")] * 3 + [("Montgomery", "Ohio")]
    assert is_hierarchy(rows)
    assert [row[2] for row in merged(ROWS, 2, {"Ohio"}, "OH")] == ["Indiana", "Indiana", "OH", "OH"]
    assert merged(ROWS, 1, {"nothing"}, "x") == ROWS


def test_a_level_is_added_and_removed():
    assert with_level(ROWS, 1)[0] == ("Gary", "Lake", "Lake", "Indiana")
    assert without_level(with_level(ROWS, 2), 3) == ROWS
    assert is_hierarchy(without_level(ROWS, 1))


def test_groups_say_exactly_how_many_records_they_have():
    groups = groups_of(ROWS, 1, RECORDS)
    assert [(one.label, one.above, one.values, one.records) for one in groups] == [
        ("Lake", "Indiana", 2, 6), ("Allen", "Ohio", 1, 0), ("Montgomery", "Ohio", 1, 3),
    ]  # fmt: skip
    assert [(one.groups, one.smallest, one.greatest) for one in levels_of(ROWS, RECORDS)] == [
        (4, 1, 5), (3, 3, 6), (2, 3, 6),
    ]  # fmt: skip
    assert groups_of(ROWS, 2, None)[0].records is None
    assert levels_of(ROWS, None)[0].smallest is None


def node(label, *children, n_children=None):
    n = len(children) if n_children is None else n_children
    return {"label": label, "children": list(children), "n_children": n}


def test_a_tree_becomes_the_lines_that_make_it_again():
    tree = node("*", node("Indiana", node("Lake", node("Gary"))), node("abroad"))
    rows = rows_of_tree(tree, 3)
    assert rows == (("Gary", "Lake", "Indiana"), ("abroad", "abroad", "abroad"))
    assert is_whole(tree)
    assert not is_whole(node("*", node("a", n_children=1)))


def test_the_top_is_added_unless_the_lines_have_it():
    assert definition_of(ROWS, "all")["rows"][0] == ["Gary", "Lake", "Indiana", "all"]
    assert definition_of((("a", "*"), ("b", "*")), "*")["rows"] == [["a", "*"], ["b", "*"]]
    assert definition_of((("a",), ("b",)), "*")["rows"] == [["a", "*"], ["b", "*"]]
