"""A rule on the next delivery, against what loops over records and values find."""

from __future__ import annotations

import math
from collections import Counter as Tally
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.rule_reuse import RULE_REUSE, ReuseParameters
from app.domain.counting.counter import dictionary_of
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.assessment import assess
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, RecordRule, TableRule, apply
from app.domain.rules.transfer import corresponding_nodes, transfer
from app.domain.sensitivity.sensitivity import constant_sensitivity
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.search_instances import hierarchies

CITY = Hierarchy.from_parents(
    {"a": ["north"], "b": ["north"], "c": ["south"], "north": [None], "south": [None]}
)
WIDER = CITY.with_attached(["x", "y"])


def path(hierarchy, node):
    """Labels from a node of a tree up to the top."""
    found = []
    while node != TOP:
        found.append(hierarchy.labels[node])
        node = hierarchy.parents[node][0]
    return tuple(found)


def table_of(*rows, hierarchy=CITY, ids=None):
    codes = hierarchy.encode(list(rows))[0].reshape(-1, 1)
    ids = [f"e{i}" for i in range(len(rows))] if ids is None else ids
    return Table(("city",), (hierarchy,), codes, np.array(ids, dtype=object))


@st.composite
def deliveries(draw):
    """A table and a later one: other records, other values, the same hierarchies with values attached."""
    m = draw(st.integers(1, 2))
    olds = [draw(hierarchies()) for _ in range(m)]
    news = [h.with_attached([f"new{i}" for i in range(draw(st.integers(0, 2)))]) for h in olds]
    names = tuple(f"a{j}" for j in range(m))

    def table(trees, first):
        n = draw(st.integers(1, 6))
        codes = [[draw(st.integers(0, tree.n_nodes - 1)) for tree in trees] for _ in range(n)]
        ids = np.array([f"e{first + i}" for i in range(n)], dtype=object)
        return Table(names, tuple(trees), np.array(codes, dtype=np.int32), ids)

    return table(olds, 0), table(news, draw(st.integers(0, 3)))


def question(table):
    return MeasureContext(
        table, None, dictionary_of(table), constant_sensitivity(table), None, build_utility(table), MODEL_I,
        "zero",
    )  # fmt: skip


def reused(old, rule, new, unmatched="suppress"):
    context = replace(question(old), rule=rule, others={"next": question(new)})
    parameters = ReuseParameters("next", unmatched)
    assert RULE_REUSE.supports(context, parameters) is None
    ticks = []
    found = RULE_REUSE.compute(context, parameters, ticks.append)
    assert ticks[-1] == RULE_REUSE.cost(context, parameters).units
    return found


def plain(table, rule):
    context = question(table)
    return assess(table, rule, context.dictionary, context.sensitivity, context.utility)


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_a_table_level_rule_shows_the_next_delivery_at_the_same_depths(data):
    old, new = data.draw(deliveries())
    rule = TableRule(tuple(data.draw(st.integers(0, height)) for height in old.heights))
    found = reused(old, rule, new)
    carried = transfer(rule, old, new, "suppress", "/")
    disclosed = apply(carried.rule, new)
    for j, (was, now) in enumerate(zip(old.hierarchies, new.hierarchies, strict=True)):
        for node, shown in zip(new.codes[:, j].tolist(), disclosed[:, j].tolist(), strict=True):
            own = path(now, node)
            if rule.levels[j] == was.height:
                expected = ()
            elif rule.levels[j] == 0:
                expected = own
            else:
                expected = own[max(0, len(own) - (was.height - rule.levels[j])) :]
            assert path(now, shown) == expected
    assert found.before.risk == plain(old, rule).risk_average
    assert found.now.risk == plain(new, carried.rule).risk_average
    assert found.utility_change == pytest.approx(found.now.utility - found.before.utility)
    assert found.matched_records is None


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_drift_is_that_of_the_values_counted_one_by_one(data):
    old, new = data.draw(deliveries())
    found = reused(old, TableRule((0,) * old.n_attributes), new)
    for j, drift in enumerate(found.attributes):
        was, now = (
            Tally(path(table.hierarchies[j], node) for node in table.codes[:, j].tolist())
            for table in (old, new)
        )
        values = {*was, *now}
        distance = math.fsum(abs(was[value] / old.n_records - now[value] / new.n_records) for value in values)
        assert drift.total_variation == pytest.approx(distance / 2, abs=1e-12)
        assert (drift.missing_before, drift.missing_now) == (was[()], now[()])
        fresh = {value for value in now if value and not was[value]}
        known = {path(old.hierarchies[j], node) for node in range(old.sizes[j])}
        assert (drift.new_values, drift.new_value_records) == (len(fresh), sum(now[v] for v in fresh))
        assert drift.outside_values == len(fresh - known)
        assert drift.outside_records == sum(now[v] for v in fresh - known)
        assert drift.vanished_values == len([v for v in was if v and not now[v]])
        assert drift.nodes_gone == 0
        inner = {
            path(old.hierarchies[j], v) for v in range(1, old.sizes[j]) if not old.hierarchies[j].is_leaf[v]
        }
        shares = {
            group: tuple(
                sum(n for v, n in tally.items() if v[len(v) - len(group) :] == group) / table.n_records
                for tally, table in ((was, old), (now, new))
            )
            for group in inner
        }
        changes = sorted((abs(a - b) for a, b in shares.values() if a != b), reverse=True)
        shown = [abs(s.share_before - s.share_now) for s in drift.shifts]
        assert shown == pytest.approx(changes[:10])
        assert {s.value for s in drift.shifts} <= {group[0] for group in inner}


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_records_keep_their_own_rule_and_new_ones_get_what_was_asked(data):
    old, new = data.draw(deliveries())
    steps = [[data.draw(st.integers(0, h)) for h in old.heights] for _ in range(old.n_records)]
    rule = RecordRule(np.array(steps, dtype=np.int16))
    unmatched = data.draw(st.sampled_from(["suppress", "modal_rule"]))
    carried = transfer(rule, old, new, unmatched, "/")
    row_of = {entity: row for row, entity in enumerate(old.entity_ids.tolist())}
    counts = Tally(map(tuple, steps))
    modal = min(s for s in counts if counts[s] == max(counts.values()))
    disclosed = apply(carried.rule, new)
    for i, entity in enumerate(new.entity_ids.tolist()):
        row = row_of.get(entity)
        for j, (was, now) in enumerate(zip(old.hierarchies, new.hierarchies, strict=True)):
            own = path(now, int(new.codes[i, j]))
            if row is None:
                expected = () if unmatched == "suppress" else own[modal[j] :]
            else:
                before = path(was, int(old.codes[row, j]))
                suppressed = before and steps[row][j] >= len(before)
                expected = () if suppressed else own[steps[row][j] :]
            assert path(now, int(disclosed[i, j])) == expected
    found = reused(old, rule, new, unmatched)
    assert found.matched_records == sum(entity in row_of for entity in new.entity_ids.tolist())
    assert found.records_without_rule == new.n_records - found.matched_records
    assert found.now.risk == plain(new, carried.rule).risk_average


def test_a_value_that_stayed_is_disclosed_as_the_rule_says_also_where_values_have_several_parents():
    dag = Hierarchy.from_parents({"v": ["p", "q"], "w": ["q"], "p": [None], "q": [None]})
    p, v, w = (dag.node_of(label) for label in "pvw")
    old = Table(("a",), (dag,), np.array([[v], [v]], dtype=np.int32), np.array(["e0", "e1"], dtype=object))
    new = replace(old, codes=np.array([[v], [w]], dtype=np.int32))
    rule = CellRule(np.array([[p], [p]], dtype=np.int32))
    carried = transfer(rule, old, new, "suppress", "/")
    assert apply(carried.rule, new).tolist() == [[p], [TOP]]
    assert carried.cells_withheld == 1
    later = replace(new, entity_ids=np.array(["e0", "e9"], dtype=object))
    with pytest.raises(NotSupported, match="tree"):
        transfer(rule, old, later, "modal_rule", "/")


def test_a_missing_value_that_a_rule_of_cells_suppressed_stays_suppressed():
    rule = CellRule(np.array([[TOP]], dtype=np.int32))
    carried = transfer(rule, table_of(None), table_of("a"), "suppress", "/")
    assert apply(carried.rule, table_of("a")).tolist() == [[TOP]]


def test_suppressed_stays_suppressed_and_as_is_stays_as_is_in_a_deeper_hierarchy():
    deeper = Hierarchy.from_parents(
        {"a1": ["a"], "a": ["north"], "c": ["south"], "north": [None], "south": [None]}
    )
    old, new = table_of("a"), table_of("a1", hierarchy=deeper)
    shown = [
        path(deeper, int(apply(transfer(TableRule((level,)), old, new, "suppress", "/").rule, new)[0, 0]))
        for level in (0, 1, 2)
    ]
    assert shown == [("a1", "a", "north"), ("north",), ()]


def test_attributes_may_come_in_another_order_but_not_be_others():
    codes = np.array([[1, 2]], dtype=np.int32)
    old = Table(("x", "y"), (CITY, WIDER), codes, np.array(["e"], dtype=object))
    new = Table(("y", "x"), (WIDER, CITY), codes[:, ::-1], np.array(["e"], dtype=object))
    assert transfer(TableRule((1, 2)), old, new, "suppress", "/").rule == TableRule((2, 1))
    found = reused(old, TableRule((1, 2)), new)
    assert [(d.attribute, d.total_variation, d.level_now) for d in found.attributes] == [
        ("x", 0.0, 1), ("y", 0.0, 2),
    ]  # fmt: skip
    other = Table(("y", "z"), (WIDER, CITY), codes, np.array(["e"], dtype=object))
    with pytest.raises(InvalidInput, match="lacks x and adds z"):
        reused(old, TableRule((1, 2)), other)


def test_rules_per_record_need_identifiers():
    old, new = table_of("a"), replace(table_of("a"), entity_ids=None)
    with pytest.raises(InvalidInput, match="identifier"):
        transfer(RecordRule(np.array([[1]], dtype=np.int16)), old, new, "suppress", "/")


def test_a_rule_stated_anew_for_the_next_delivery_is_taken_as_it_is():
    old, new = table_of("a"), table_of("c")
    context = replace(question(old), rule=TableRule((0,)))
    anew = replace(question(new), rule=CellRule(np.array([[TOP]], dtype=np.int32)))
    context = replace(context, others={"next": anew})
    found = RULE_REUSE.compute(context, ReuseParameters("next"), lambda done: None)
    assert found.now.utility == 0
    assert found.matched_records is None


def test_nodes_with_one_label_correspond_by_their_places():
    rows = Hierarchy.from_rows([["a", "a", "n"], ["b", "b", "n"], ["c", "s", "s"]])
    again = Hierarchy.from_rows([["c", "s", "s"], ["b", "b", "n"], ["a", "a", "n"], ["d", "d", "d"]])
    there = corresponding_nodes(rows, again)
    assert [path(again, there[v]) for v in range(rows.n_nodes)] == [
        path(rows, v) for v in range(rows.n_nodes)
    ]
    assert corresponding_nodes(again, rows).tolist().count(-1) == 3
