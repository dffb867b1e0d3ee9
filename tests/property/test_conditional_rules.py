"""hide and gen: what holds of all of them, against a loop over rows (INV-13)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.rules.condition_truth import Column
from app.domain.rules.conditional import (
    Generalise,
    Hide,
    ToEntities,
    ToLevel,
    ToValue,
    conditional_rule,
)
from app.domain.rules.conditions import Junction
from app.domain.tables.table import Table
from tests.oracles.conditions import conditions, truth_by_hand
from tests.oracles.effort import examples
from tests.oracles.search_instances import hierarchies

SOME = settings(max_examples=examples(150))
READ = {"id": "number", "a0": "text", "a1": "text"}


@st.composite
def tables(draw):
    """Two attributes of small trees, cells at any level or missing; entities are numbered from 1."""
    trees = (draw(hierarchies()), draw(hierarchies()))
    n = draw(st.integers(1, 6))
    cells = [[draw(st.integers(0, tree.n_nodes - 1)) for tree in trees] for _ in range(n)]
    ids = np.array([str(i + 1) for i in range(n)], dtype=object)
    return Table(("a0", "a1"), trees, np.array(cells, dtype=np.int32).reshape(n, 2), ids)


def columns_of(table):
    found = {"id": Column("number", table.entity_ids.tolist(), np.arange(table.n_records, dtype=np.int32))}
    for j, name in enumerate(table.attributes):
        labels = (None, *table.hierarchies[j].labels[1:])
        found[name] = Column("text", labels, table.codes[:, j])
    return found


def rows_of(table):
    labels = [(None, *h.labels[1:]) for h in table.hierarchies]
    return [
        {"id": str(i + 1)} | {f"a{j}": labels[j][code] for j, code in enumerate(row)}
        for i, row in enumerate(table.codes.tolist())
    ]


def chain_up(tree, node):
    chain = [node]
    while chain[-1]:
        chain.append(tree.parents[chain[-1]][0])
    return chain


@st.composite
def statements(draw, table):
    j = draw(st.integers(0, 1))
    tree, condition = table.hierarchies[j], draw(conditions(READ))
    attribute = table.attributes[j]
    match draw(st.sampled_from(["hide", "level", "top", "entities"])):
        case "hide":
            return Hide(attribute, condition)
        case "level":
            return Generalise(attribute, condition, ToLevel(draw(st.integers(0, tree.height))))
        case "top":
            return Generalise(attribute, condition, ToValue(None))
    given_values = {}
    for entity, code in zip(table.entity_ids.tolist(), table.codes[:, j].tolist(), strict=True):
        node = draw(st.sampled_from(chain_up(tree, code)))
        given_values[entity] = tree.labels[node] if node else None
    return Generalise(attribute, condition, ToEntities(given_values))


@st.composite
def questions(draw):
    table = draw(tables())
    return table, draw(st.lists(statements(table), min_size=1, max_size=4)), draw(st.randoms())


def asked_by_hand(table, statement, row, j):
    """The node that one statement asks for in one row."""
    tree, code = table.hierarchies[j], int(table.codes[row, j])
    if isinstance(statement, Hide) or statement.to == ToValue(None):
        return 0
    chain = chain_up(tree, code)
    if isinstance(statement.to, ToLevel):
        cut = tree.height - statement.to.level
        return next(node for node in chain if len(chain_up(tree, node)) - 1 <= cut)
    label = statement.to.values[str(row + 1)]
    return 0 if label is None else next(node for node in chain if node and tree.labels[node] == label)


def by_hand(table, rule):
    """Row by row: of all that is asked for a cell, the lowest node above everything."""
    disclosed = table.codes.copy()
    rows = rows_of(table)
    for row, cells in enumerate(rows):
        for j, tree in enumerate(table.hierarchies):
            asked = {int(table.codes[row, j])}
            for statement in rule:
                if (
                    statement.attribute == f"a{j}"
                    and truth_by_hand(statement.unless, cells, READ) is not True
                ):
                    asked.add(asked_by_hand(table, statement, row, j))
            above_all = set.intersection(*(set(chain_up(tree, node)) for node in asked))
            disclosed[row, j] = max(above_all, key=lambda node, t=tree: len(chain_up(t, node)))
    return disclosed


@pytest.mark.spec("INV-13")
@given(questions())
@SOME
def test_rules_do_what_the_loop_over_rows_does(question):
    table, rule, _ = question
    found = conditional_rule(table, rule, columns_of(table))
    assert found.rule.codes.tolist() == by_hand(table, rule).tolist()
    rows = rows_of(table)
    expected = [sum(truth_by_hand(s.unless, row, READ) is not True for row in rows) for s in rule]
    assert list(found.affected) == expected


@pytest.mark.spec("INV-13", "E-30")
@given(questions())
@SOME
def test_the_order_of_statements_is_irrelevant_and_cells_only_rise(question):
    table, rule, random = question
    columns = columns_of(table)
    codes = conditional_rule(table, rule, columns).rule.codes
    assert codes.shape == table.codes.shape
    for j, tree in enumerate(table.hierarchies):
        for original, shown in zip(table.codes[:, j].tolist(), codes[:, j].tolist(), strict=True):
            assert shown in chain_up(tree, original)
    shuffled = list(rule)
    random.shuffle(shuffled)
    np.testing.assert_array_equal(conditional_rule(table, shuffled, columns).rule.codes, codes)


@pytest.mark.spec("INV-13")
@given(tables(), conditions(READ), conditions(READ))
@SOME
def test_hiding_twice_is_hiding_by_both_conditions(table, first, second):
    columns = columns_of(table)
    twice = conditional_rule(table, [Hide("a0", first), Hide("a0", second)], columns)
    once = conditional_rule(table, [Hide("a0", Junction("and", (first, second)))], columns)
    np.testing.assert_array_equal(twice.rule.codes, once.rule.codes)


@pytest.mark.spec("INV-13")
@given(tables(), conditions(READ))
@SOME
def test_generalising_to_nothing_is_hiding(table, condition):
    columns = columns_of(table)
    hidden = conditional_rule(table, [Hide("a0", condition)], columns)
    nothing = dict.fromkeys(table.entity_ids.tolist())
    for to in (ToValue(None), ToEntities(nothing), ToLevel(table.heights[0])):
        generalised = conditional_rule(table, [Generalise("a0", condition, to)], columns)
        np.testing.assert_array_equal(generalised.rule.codes, hidden.rule.codes)
