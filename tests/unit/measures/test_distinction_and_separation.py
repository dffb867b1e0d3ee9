"""Distinction and separation of sets of columns, against counting by hand."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.distinction_and_separation import DISTINCTION_AND_SEPARATION
from app.domain.errors import InvalidInput
from app.domain.rules.rule import TableRule
from tests.unit.measures import diversity_tables as tables

NAMES = ("p", "q", "r")


def table_of(rows):
    columns = [tables.flat(sorted({row[j] for row in rows})) for j in range(len(rows[0]))]
    return tables.table(NAMES[: len(rows[0])], tuple(columns), rows, {"q"})


def found_in(rows, rule=None, **parameters):
    return tables.measured(DISTINCTION_AND_SEPARATION, table_of(rows), rule, **parameters)


def told(own):
    return own.combinations, own.pairs_separated, own.unique_records


def test_the_example_of_the_documentation():
    found = found_in([("a", "1"), ("a", "2"), ("b", "1"), ("b", "1")])
    assert (found.records, found.pairs, found.columns) == (4, 6, ("p", "q"))
    first, second = found.by_size[0].shown
    assert (first.columns, told(first)) == (("p",), (2, 4, 0))
    assert (second.columns, told(second)) == (("q",), (2, 3, 1))
    assert found.by_size[1].shown == (found.all_columns,)
    assert told(found.all_columns) == (3, 5, 2)
    assert (found.all_columns.distinction, found.all_columns.separation) == (3 / 4, 5 / 6)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=1, max_size=12),
    st.integers(1, 3),
    st.integers(1, 4),
)
def test_every_set_is_counted_as_by_hand_and_the_most_separating_are_shown(rows, largest, shown):
    found = found_in(rows, largest_set=largest, shown=shown)
    assert [of.size for of in found.by_size] == list(range(1, largest + 1))
    for of in found.by_size:
        by_hand = []
        for columns in itertools.combinations(range(3), of.size):
            seen = Counter(tuple(row[j] for j in columns) for row in rows)
            apart = sum(
                any(one[j] != other[j] for j in columns) for one, other in itertools.combinations(rows, 2)
            )
            names = tuple(NAMES[j] for j in columns)
            by_hand.append((-apart, -len(seen), len(by_hand), names, list(seen.values()).count(1)))
        assert of.looked_at == len(by_hand)
        assert [
            (own.columns, -own.pairs_separated, -own.combinations, own.unique_records) for own in of.shown
        ] == [(names, apart, size, alone) for apart, size, _, names, alone in sorted(by_hand)[:shown]]
        for own in of.shown:
            assert own.distinction == own.combinations / len(rows)
            assert own.separation == (own.pairs_separated / math.comb(len(rows), 2) if rows[1:] else 1.0)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from("abc")] * 3), min_size=1, max_size=12))
def test_what_is_left_without_each_column_is_counted_as_by_hand(rows):
    found = found_in(rows, largest_set=1, leave_one_out=True)
    assert [own.columns for own in found.all_but_one] == [("q", "r"), ("p", "r"), ("p", "q")]
    for left_out, own in enumerate(found.all_but_one):
        seen = Counter(tuple(cell for j, cell in enumerate(row) if j != left_out) for row in rows)
        assert (own.combinations, own.unique_records) == (len(seen), list(seen.values()).count(1))


def test_without_its_only_column_a_table_tells_nobody_apart_but_a_single_record():
    alone = found_in([("a", "1"), ("b", "1")], columns=("p",), leave_one_out=True).all_but_one
    assert [(own.columns, *told(own)) for own in alone] == [((), 1, 0, 0)]
    single = found_in([("a", "1")], columns=("p",), leave_one_out=True).all_but_one
    assert [own.unique_records for own in single] == [1]
    assert found_in([("a", "1")]).all_but_one == ()


def test_a_rule_that_suppresses_a_column_leaves_it_nothing_to_tell_apart():
    found = found_in([("a", "1"), ("b", "2"), ("c", "1")], TableRule((1, 0)))
    by_column = {own.columns: told(own) for own in found.by_size[0].shown}
    assert by_column == {("p",): (1, 0, 0), ("q",): (2, 2, 1)}


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"columns": ("p", "p")}, "duplicate-attribute"),
        ({"columns": ("x",)}, "unknown-attribute"),
    ],
)
def test_columns_that_there_are_not_are_refused(parameters, code):
    with pytest.raises(InvalidInput) as refused:
        found_in([("a", "1")], **parameters)
    assert refused.value.faults[0].code == code


def test_more_sets_than_the_limit_are_refused_with_their_number():
    names = tuple(f"c{n}" for n in range(100))
    wide = tables.table(names, (tables.flat("a"),) * 100, [("a",) * 100], ())
    with pytest.raises(InvalidInput, match="166,750 sets"):
        tables.measured(DISTINCTION_AND_SEPARATION, wide, largest_set=3)
