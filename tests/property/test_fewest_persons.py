"""The fewest persons that the classes of a file can have, against all choices of records."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.rules.release_alignment import ReleasedColumn, fewest_persons
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.persons_by_hand import tables_of_persons

QUASI = ("q0", "q1")


@st.composite
def files(draw):
    """A table, some of its records in any order, and what the file shows of each of their attributes.

    Each cell is the original or any node above it, whatever the other records of its value show.
    """
    table = draw(tables_of_persons(most_records=2))
    order = draw(st.permutations(range(table.n_records)))
    records = order[: draw(st.integers(1, table.n_records))]
    shown = [
        tuple(
            draw(st.sampled_from(sorted(tree.up(code))))
            for tree, code in zip(table.hierarchies, table.codes[record].tolist(), strict=True)
        )
        for record in records
    ]
    return table, records, shown


def columns_of(table, shown, names):
    """The file's columns of these attributes; ⊥ is an empty cell."""
    found = {}
    for name in names:
        j = table.position(name)
        texts = sorted({row[j] for row in shown} - {0})
        positions = [texts.index(row[j]) if row[j] else -1 for row in shown]
        labels = tuple((table.hierarchies[j].labels[node],) for node in texts)
        found[name] = ReleasedColumn(labels, np.array(positions, dtype=np.int32))
    return found


def rows_by_class(shown, columns):
    found = defaultdict(list)
    for row, codes in enumerate(shown):
        found[tuple(codes[j] for j in columns)].append(row)
    return found


def by_all_choices(table, codes, columns, rows):
    """Of all sets of so many records that may show this: the fewest persons, the most records of one."""
    fitting = [
        record
        for record in range(table.n_records)
        if all(
            code in table.hierarchies[j].up(int(table.codes[record, j]))
            for j, code in zip(columns, codes, strict=True)
        )
    ]
    choices = [Counter(table.persons[list(own)].tolist()) for own in itertools.combinations(fitting, rows)]
    return min(map(len, choices)), max(max(own.values()) for own in choices)


@settings(max_examples=examples(400), deadline=None)
@given(files(), st.sampled_from([("q0", "q1"), ("q0", "q1", "s"), ("q1", "s"), ("q0",)]))
def test_the_bound_is_the_fewest_of_all_choices_and_no_more_than_the_true_persons(made, released):
    table, records, shown = made
    found = fewest_persons(table, columns_of(table, shown, released))
    columns = [table.position(name) for name in released if name in QUASI]
    for codes, rows in rows_by_class(shown, columns).items():
        persons = Counter(found[rows].tolist())
        true = Counter(table.persons[[records[row] for row in rows]].tolist())
        assert len(persons) <= len(true)
        assert max(persons.values()) >= max(true.values())
        assert (len(persons), max(persons.values())) == by_all_choices(table, codes, columns, len(rows))
        assert persons[0] == max(persons.values())


@settings(max_examples=examples(200), deadline=None)
@given(files())
def test_classes_by_fewer_quasi_identifiers_are_bounded_as_well(made):
    table, records, shown = made
    found = fewest_persons(table, columns_of(table, shown, QUASI))
    for columns in ([0], [1]):
        for rows in rows_by_class(shown, columns).values():
            persons, true = (
                Counter(own)
                for own in (found[rows].tolist(), table.persons[[records[r] for r in rows]].tolist())
            )
            assert len(persons) <= len(true)
            assert max(persons.values()) >= max(true.values())


def patients(originals, persons, tree):
    codes = np.array([[tree.node_of(own)] for own in originals], dtype=np.int32)
    return Table(("place",), (tree,), codes, persons=np.array(persons, dtype=np.int32))


PLACES = Hierarchy.from_parents({"I": [None], "J": [None], "Rome": ["I"], "Bari": ["I", "J"], "Oslo": ["J"]})


def test_a_value_with_several_parents_fits_under_each_of_them():
    table = patients(["Rome", "Bari", "Bari", "Oslo"], [0, 1, 1, 2], PLACES)
    column = ReleasedColumn((("I",), ("J",)), np.array([0, 0, 1, 1], dtype=np.int32))
    assert fewest_persons(table, {"place": column}).tolist() == [0, 0, 0, 0]


def test_a_text_of_several_readings_fits_under_each_of_them():
    table = patients(["Rome", "Oslo", "Oslo"], [0, 1, 1], PLACES)
    for readings, persons in ((("Rome",), None), (("Rome", "Oslo"), [0, 0]), (("Rome", "Bari"), None)):
        column = ReleasedColumn((readings,), np.zeros(2, dtype=np.int32))
        found = fewest_persons(table, {"place": column})
        assert (found if found is None else found.tolist()) == persons


@pytest.mark.parametrize(
    ("labels", "positions"),
    [(("Rome",), [0, 0]), (("Rome", "Oslo"), [0, 1, -1, -1]), (("Bari",), [0])],
    ids=["more rows of a class", "more rows than records", "a value that nobody has"],
)
def test_of_what_cannot_be_made_of_the_table_nothing_is_said(labels, positions):
    table = patients(["Rome", "Oslo", "Oslo"], [0, 1, 1], PLACES)
    column = ReleasedColumn(tuple((own,) for own in labels), np.array(positions, dtype=np.int32))
    assert fewest_persons(table, {"place": column}) is None


def test_where_no_column_names_persons_or_nothing_is_released_to_tell_them_by_nothing_is_said():
    table = patients(["Rome", "Oslo"], [0, 1], PLACES)
    column = ReleasedColumn((("Rome",),), np.zeros(1, dtype=np.int32))
    assert fewest_persons(table, {}) is None
    rows = Table(table.attributes, table.hierarchies, table.codes)
    assert fewest_persons(rows, {"place": column}) is None
