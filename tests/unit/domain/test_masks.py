"""Missing, suppressed and generalised to the root are told apart, and no file tells them apart for itself."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from app.domain.classes.grouping import Grouping
from app.domain.classes.quasi_part import quasi_part
from app.domain.classes.released import Release
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.rules.rule import CellRule, RecordRule, TableRule, apply, suppressed_records
from app.domain.tables.masks import missing_cells, rows_without_values, shows_nothing
from app.domain.tables.table import Table
from app.services.datasets.dataset_encoding import encode, table_of
from app.services.datasets.dataset_schema import AttributeDeclaration, AttributeType, OnUnknown, Role
from app.services.datasets.text_columns import TextColumn

APP = Path(__file__).parents[3] / "app"

ABOUT_NODES = {
    "domain/classes/value_groups.py": 1,  # groups of similar values are inner nodes below the root
    "domain/counting/bitsets.py": 3,  # everybody is consistent with the root: nothing is looked up for it
    "domain/counting/compatibility.py": 2,
    "domain/counting/counter.py": 1,
    "domain/dictionaries/dictionary.py": 3,  # outside codes come before the root, consistent pairs end there
    "domain/hierarchies/hierarchy.py": 1,  # climbing ends at the root
    "domain/analyses/rule_reuse.py": 1,  # inner nodes that both hierarchies have
    "domain/losses/kl_boxes.py": 1,  # every value is inside a box whose side is the root
    "domain/risk/dictionary_order.py": 2,  # the root is above all values
    "domain/risk/linkage.py": 5,  # nodes numbered anew, but for the root
    "domain/rules/steps.py": 1,  # the root has no label to show
    "domain/search/axes.py": 1,  # every entry is in the set of the root
    "domain/tables/masks.py": 3,
}
"""How often files compare a node with the root of its hierarchy, meaning the node."""

CITY = Hierarchy.from_parents({"Ulm": ["south"], "Lindau": ["south"], "Kiel": [None], "south": [None]})
SEX = Hierarchy.from_parents({"f": [None], "m": [None]})
ILLNESS = Hierarchy.from_parents({"flu": [None], "gout": [None]})
RECORDS = (
    (None, "f", "flu"),
    ("Ulm", "f", "flu"),
    ("Lindau", "m", "gout"),
    (None, "m", None),
    ("Kiel", "f", "flu"),
)
MISSING, GENERALISED, SUPPRESSED, BOTH, SHOWN = range(5)


def table_of_records(records=RECORDS) -> Table:
    trees = (CITY, SEX, ILLNESS)
    columns = [tree.encode([row[j] for row in records])[0] for j, tree in enumerate(trees)]
    names = ("city", "sex", "illness")
    return Table(names, trees, np.stack(columns, axis=1), sensitive=frozenset({"illness"}))


def rule_of_records(table: Table) -> CellRule:
    """A rule under which the second record shows no city, and the third and fourth are suppressed."""
    codes = table.codes.copy(order="F")
    codes[GENERALISED, 0] = TOP
    codes[[SUPPRESSED, BOTH], :2] = TOP
    return CellRule(codes)


def comparisons_with_the_root(source: str) -> int:
    """How many comparisons name the root."""
    compared = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Compare))
    sides = ((node.left, *node.comparators) for node in compared)
    return sum(any(ast.unparse(side).split(".")[-1] == "TOP" for side in own) for own in sides)


def test_only_what_is_about_nodes_of_hierarchies_is_compared_with_the_root():
    sources = {path.relative_to(APP).as_posix(): path.read_text() for path in APP.rglob("*.py")}
    found = {name: comparisons_with_the_root(source) for name, source in sources.items() if "TOP" in source}
    assert {name: number for name, number in found.items() if number > ABOUT_NODES.get(name, 0)} == {}


def test_comparisons_with_the_root_are_found():
    source = "a = codes[:, 0] == TOP\nwhile hierarchy.TOP != node: pass\nb = x < TOP <= y\ncodes[0] = TOP\n"
    assert comparisons_with_the_root(source) == 3


def test_cells_that_look_alike_are_told_apart():
    table = table_of_records()
    release = Release(table, rule_of_records(table))
    shows = shows_nothing(release.codes[:, 0])
    missing, suppressed = table.is_missing(0), release.is_suppressed
    assert np.flatnonzero(shows).tolist() == [MISSING, GENERALISED, SUPPRESSED, BOTH]
    assert np.flatnonzero(missing).tolist() == [MISSING, BOTH]
    assert np.flatnonzero(suppressed).tolist() == [SUPPRESSED, BOTH]
    assert np.flatnonzero(shows & ~missing & ~suppressed).tolist() == [GENERALISED]


def test_a_suppressed_record_may_still_show_its_sensitive_value():
    table = table_of_records()
    release = Release(table, rule_of_records(table))
    assert release.is_suppressed[SUPPRESSED]
    assert not shows_nothing(release.codes[SUPPRESSED, 2])
    assert np.flatnonzero(rows_without_values(release.codes)).tolist() == [BOTH]


def test_only_what_is_missing_matches_everything():
    table = table_of_records()
    release = Release(table, rule_of_records(table))
    classes = release.classes(Grouping(missing="matches_everything"))
    matches = {row: classes.is_wildcard[classes.of_record[row], 0] for row in (MISSING, GENERALISED, SHOWN)}
    assert matches == {MISSING: True, GENERALISED: False, SHOWN: False}
    assert classes.of_record[[SUPPRESSED, BOTH]].tolist() == [-1, -1]
    assert np.array_equal(
        classes.codes[classes.of_record[MISSING]], classes.codes[classes.of_record[GENERALISED]]
    )


def test_who_misses_a_value_is_left_out_and_who_is_generalised_is_not():
    table = table_of_records()
    release = Release(table, rule_of_records(table))
    classes = release.classes(Grouping(missing="excluded"))
    assert np.flatnonzero(classes.of_record >= 0).tolist() == [GENERALISED, SHOWN]
    assert (classes.n_missing, classes.n_suppressed) == (1, 2)


@pytest.mark.parametrize("kind", [CellRule, RecordRule])
def test_rules_of_single_records_suppress_who_shows_no_quasi_identifier(kind):
    table = table_of_records()
    rule = rule_of_records(table)
    if kind is RecordRule:
        depths = [tree.depth for tree in table.hierarchies]
        steps = [own[table.codes[:, j]] - own[rule.codes[:, j]] for j, own in enumerate(depths)]
        rule = RecordRule(np.stack(steps, axis=1).astype(np.int16))
    assert np.flatnonzero(suppressed_records(rule, table, apply(rule, table))).tolist() == [SUPPRESSED, BOTH]


def test_a_rule_for_the_whole_table_suppresses_nobody():
    table = table_of_records()
    everything = TableRule(table.heights)
    disclosed = apply(everything, table)
    assert rows_without_values(disclosed).all()
    assert not suppressed_records(everything, table, disclosed).any()


def test_a_table_of_sensitive_attributes_alone_has_nobody_to_suppress():
    table = Table(
        ("illness",), (ILLNESS,), np.zeros((2, 1), dtype=np.int32), sensitive=frozenset({"illness"})
    )
    assert not suppressed_records(CellRule(table.codes), table, table.codes).any()


def test_distinct_records_miss_what_their_records_do():
    table = table_of_records(RECORDS * 3)
    for own in (table, quasi_part(table)):
        assert own.reduced.size == len(RECORDS)
        for j in range(own.n_attributes):
            assert np.array_equal(own.reduced_missing[own.reduced.inverse, j], own.is_missing(j))


def test_the_mask_of_distinct_records_is_kept_and_cannot_be_written():
    table = table_of_records()
    assert table.reduced_missing is table.reduced_missing
    with pytest.raises(ValueError, match="read-only"):
        table.reduced_missing[0, 0] = True


def encoded(cells, hierarchy, on_unknown=OnUnknown.REFUSE) -> Table:
    """The table of one uploaded column."""
    texts = tuple(dict.fromkeys(cell for cell in cells if cell is not None))
    positions = np.array([-1 if cell is None else texts.index(cell) for cell in cells], dtype=np.int32)
    declared = AttributeDeclaration(
        "city", AttributeType.CATEGORICAL, Role.QUASI_IDENTIFIER, on_unknown=on_unknown
    )
    columns = {"city": TextColumn(texts, positions)}
    return table_of(
        encode([declared], columns, {} if hierarchy is None else {"city": hierarchy}), [declared], columns
    )


def test_a_cell_without_a_text_is_missing():
    assert encoded(["Ulm", None, "Kiel"], CITY).is_missing(0).tolist() == [False, True, False]


def test_a_text_that_only_the_root_is_called_is_missing():
    tree = Hierarchy.from_rows([["Ulm", "anywhere"], ["Kiel", "anywhere"]])
    assert encoded(["Ulm", "anywhere", None], tree).is_missing(0).tolist() == [False, True, True]


@pytest.mark.parametrize("tree", [None, Hierarchy.from_rows([["Ulm", "*"], ["*", "*"]])])
def test_a_text_that_a_leaf_is_called_as_well_as_the_root_is_a_value(tree):
    table = encoded(["Ulm", "*", None], tree)
    assert table.hierarchies[0].labels[TOP] == "*"
    assert table.is_missing(0).tolist() == [False, False, True]


def test_an_inner_node_is_a_value_that_is_not_missing():
    assert not encoded(["south", "Kiel"], CITY).is_missing(0).any()


def test_unknown_texts_are_missing_where_the_schema_says_so():
    table = encoded(["Ulm", "Bonn", "Kiel"], CITY, OnUnknown.MISSING)
    assert table.is_missing(0).tolist() == [False, True, False]


def test_every_cell_of_a_column_without_texts_is_missing():
    table = encoded([None, None], None)
    assert table.sizes == (1,)
    assert table.is_missing(0).all()


def test_masks_have_the_shape_of_what_they_are_of():
    codes = np.array([[0, 2], [0, 0], [1, 0]])
    for mask in (missing_cells, shows_nothing):
        assert np.array_equal(mask(codes), codes == 0)
        assert bool(mask(codes[1, 0]))
        assert not mask(codes[:0]).size
    assert rows_without_values(codes).tolist() == [False, True, False]
