"""Rule → release file → alignment → the same rule."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.row_matching import match_rows
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.rules.release_alignment import DROPPED, ReleasedColumn, align
from app.domain.rules.rule import CellRule, apply
from app.domain.tables.table import Table
from app.services.releases.readings import readings_of
from app.services.releases.released_tables import release_of
from tests.oracles.effort import examples
from tests.oracles.nearest_changes import cases

LABELS = ["=1", "+x", "'=1", "*", "", "a,b", 'say "x"', "line\nbreak", "@", "-", "v", "⊥"]


@st.composite
def strangely_called(draw):
    """A rule and a table whose values need quoting, or look like formulas or marks of nothing."""
    case = draw(cases())
    table = case.table
    trees = []
    for tree in table.hierarchies:
        names = draw(st.permutations([*LABELS, *tree.labels]))[: tree.n_nodes]
        trees.append(Hierarchy(tuple(names), tree.parents))
    return Table(table.attributes, tuple(trees), table.codes), case.rule


def read_back(table, rule, *, neutralise):
    """The columns of the product's own CSV; no cell counts as missing."""
    text = b"".join(release_of(table, rule).csv_chunks(neutralise_formulas=neutralise)).decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert tuple(header) == table.attributes
    return [[row[j] for row in rows] for j in range(table.n_attributes)]


def column_of(cells):
    values = list(dict.fromkeys(cells))
    positions = np.array([values.index(cell) for cell in cells], dtype=np.int32)
    return ReleasedColumn(tuple(readings_of(value, {}, frozenset(LABELS)) for value in values), positions)


@settings(max_examples=examples(200))
@given(strangely_called(), st.booleans(), st.randoms(use_true_random=False), st.data())
def test_a_release_is_aligned_with_the_rule_that_made_it(made, neutralise, random, data):
    table, rule = made
    cells = read_back(table, rule, neutralise=neutralise)
    n = table.n_records
    order = list(range(n))
    random.shuffle(order)
    kept = order[: data.draw(st.integers(1, n))]
    row_of_record = np.full(n, DROPPED, dtype=np.int64)
    row_of_record[kept] = np.arange(len(kept))
    columns = {
        name: column_of([cells[j][record] for record in kept]) for j, name in enumerate(table.attributes)
    }
    found = align(table, columns, row_of_record)
    # Whoever does not know whose the rows are finds a record for each of them.
    assert not len(match_rows(table, columns).unmatched)
    disclosed = apply(rule, table)
    expected = disclosed.copy()
    expected[[record for record in range(n) if record not in kept]] = TOP
    assert found.misfits == ()
    for j, tree in enumerate(table.hierarchies):
        if not may_be_confused(tree, neutralise):
            assert found.rule.codes[:, j].tolist() == expected[:, j].tolist()


def may_be_confused(tree, neutralise):
    """Whether two values of the tree may be written alike, or one like a mark of nothing."""
    written = [f"'{x}" if neutralise and x.startswith(("=", "+", "-", "@")) else x for x in tree.labels]
    marks = {"", "*"} & set(tree.labels[1:])
    # Who reads '=1 cannot tell whether the apostrophe was added.
    plain = {x.removeprefix("'") for x in tree.labels if x.startswith("'")} & set(tree.labels)
    return len(set(written)) < len(written) or bool(marks) or bool(plain)


@settings(max_examples=examples(100))
@given(cases(), st.data())
def test_what_is_no_generalisation_is_named_by_its_rows(case, data):
    table = case.table
    rows = np.arange(table.n_records, dtype=np.int64)
    shown = apply(case.rule, table).copy()
    j = data.draw(st.integers(0, table.n_attributes - 1))
    tree = table.hierarchies[j]
    wrong = sorted(data.draw(st.sets(st.integers(0, table.n_records - 1), min_size=1)))
    for i in wrong:
        outside = sorted(set(range(tree.n_nodes)) - tree.up(int(table.codes[i, j])))
        if not outside:
            return
        shown[i, j] = data.draw(st.sampled_from(outside))
    columns = {
        name: column_of([tree.labels[code] for code in shown[:, i]])
        for i, (name, tree) in enumerate(zip(table.attributes, table.hierarchies, strict=True))
    }
    found = align(table, columns, rows)
    assert found.rule is None
    assert [(m.attribute, m.rows.tolist()) for m in found.misfits] == [(table.attributes[j], wrong)]


TWICE = Hierarchy.from_rows([["Other", "Other", "*"], ["Misc", "Other", "*"], ["Paris", "France", "*"]])


@pytest.mark.parametrize(
    ("originals", "expected"),
    [(["Other", "Misc"], "both the group"), (["Other", "Other"], "the value itself")],
)
def test_a_label_of_two_levels_is_one_value_for_all_who_show_it(originals, expected):
    table = Table(("a",), (TWICE,), TWICE.encode(originals)[0].reshape(-1, 1))
    found = align(table, {"a": column_of(["Other", "Other"])}, np.arange(2))
    codes = found.rule.codes[:, 0]
    assert codes[0] == codes[1]
    assert bool(TWICE.is_leaf[codes[0]]) == (expected == "the value itself")


def test_columns_that_are_missing_and_cells_that_are_empty_are_suppressed():
    tree = Hierarchy.from_parents({"x": [None], "a": ["x"]}, top_label="any")
    table = Table(("p", "q"), (tree, tree), np.full((3, 2), tree.node_of("a"), dtype=np.int32))
    readings = tuple(readings_of(text, {}, tree.labels) for text in ("*", "any"))
    column = ReleasedColumn(readings, np.array([0, 1, -1], dtype=np.int32))
    found = align(table, {"q": column}, np.arange(3))
    assert isinstance(found.rule, CellRule)
    assert found.rule.codes.tolist() == [[TOP, TOP]] * 3
