"""Classes, the records that match them and their sensitive values, against loops over pairs of records."""

from __future__ import annotations

from collections import Counter as Tally

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes import wildcards
from app.domain.classes.grouping import Grouping
from app.domain.classes.released import Release
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.rules.rule import CellRule, TableRule, apply
from app.domain.tables.table import Table
from tests.oracles.effort import examples

TREE = Hierarchy.from_parents(
    {"a": ["ab"], "b": ["ab"], "c": ["cd"], "d": ["cd"], "ab": [None], "cd": [None]}
)
DISEASE = Hierarchy.from_parents({"flu": [None], "cancer": [None], "hiv": [None]})
LEAVES = [*np.flatnonzero(TREE.is_leaf).tolist()]

MISSING = st.sampled_from(["own_category", "matches_everything", "excluded"])
SUPPRESSED = st.sampled_from(["excluded", "own_block"])


@st.composite
def releases(draw, n_most=12, width_most=3):
    """A table with missing values, disclosed for the whole table or record by record, some suppressed."""
    n, width = draw(st.integers(1, n_most)), draw(st.integers(1, width_most))
    cell = st.sampled_from([0, 0, *LEAVES])
    known = np.array(draw(st.lists(st.tuples(*[cell] * width), min_size=n, max_size=n)), dtype=np.int32)
    diseases = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=np.int32)
    names = tuple(f"q{j}" for j in range(width))
    table = Table(
        (*names, "disease"),
        (TREE,) * width + (DISEASE,),
        np.column_stack([known, diseases]),
        sensitive=frozenset({"disease"}),
    )
    levels = draw(st.tuples(*[st.integers(0, 2)] * width))
    rule = TableRule((*levels, 0))
    if not draw(st.booleans()):
        return table, rule
    shown = apply(rule, table).copy(order="F")
    suppressed = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    shown[suppressed, : width + draw(st.integers(0, 1))] = 0
    single = np.array(draw(st.lists(st.tuples(*[st.integers(0, 4)] * width), min_size=n, max_size=n)))
    shown[:, :width][single == 0] = 0
    return table, CellRule(shown)


def by_hand(table, rule, grouping):
    """Per judged record: the rows of its class and the rows that match it; and the numbers left out."""
    shown = apply(rule, table)
    q = table.n_attributes - 1
    n = table.n_records
    suppressed = [
        not isinstance(rule, TableRule) and all(shown[row][j] == 0 for j in range(q)) for row in range(n)
    ]
    misses = [[table.codes[row][j] == 0 for j in range(q)] for row in range(n)]
    judged, n_suppressed, n_missing = [], 0, 0
    for row in range(n):
        if suppressed[row] and grouping.suppressed == "excluded":
            n_suppressed += 1
        elif any(misses[row]) and grouping.missing == "excluded":
            n_missing += 1
        else:
            judged.append(row)
    trivial = [all(shown[row][j] == 0 for row in judged) for j in range(q)]

    def is_wild(row, j):
        return (
            grouping.missing == "matches_everything"
            and misses[row][j]
            and not suppressed[row]
            and not trivial[j]
        )

    def alike(a, b):
        return all(shown[a][j] == shown[b][j] and is_wild(a, j) == is_wild(b, j) for j in range(q))

    def match(a, b):
        return all(shown[a][j] == shown[b][j] or is_wild(a, j) or is_wild(b, j) for j in range(q))

    classes = {row: [other for other in judged if alike(row, other)] for row in judged}
    matching = {row: [other for other in judged if match(row, other)] for row in judged}
    return classes, matching, n_suppressed, n_missing


def assert_as_by_hand(table, rule, grouping):
    release = Release(table, rule)
    found, counts = release.classes(grouping), release.counts(grouping)
    classes, matching, n_suppressed, n_missing = by_hand(table, rule, grouping)
    assert (found.n_suppressed, found.n_missing, found.n_judged) == (n_suppressed, n_missing, len(classes))
    assert set(np.flatnonzero(found.of_record >= 0).tolist()) == set(classes)
    assert found.n_classes == len({tuple(rows) for rows in classes.values()})
    shown = apply(rule, table)
    disease, suppressed = shown[:, -1], ~shown[:, :-1].any(axis=1) & (not isinstance(rule, TableRule))
    is_told = ~suppressed | (disease == table.codes[:, -1])
    for row, rows in classes.items():
        own = int(found.of_record[row])
        assert found.rows_of(own).tolist() == rows
        assert (found.records[own], found.sizes[own]) == (len(rows), len(matching[row]))
        entries = slice(counts.starts[own], counts.starts[own + 1])
        tally = Tally(disease[other] for other in matching[row] if is_told[other])
        named = zip(counts.nodes[counts.values[entries]], counts.counts[entries], strict=True)
        assert list(named) == sorted(tally.items())
    if is_told.all():
        assert counts.sizes.tolist() == found.sizes.tolist()
    assert counts.totals.sum() == table.n_records


@given(releases(), MISSING, SUPPRESSED)
@settings(max_examples=examples(400))
def test_classes_are_those_that_pairs_of_records_make(release, missing, suppressed):
    assert_as_by_hand(*release, Grouping(missing=missing, suppressed=suppressed))


@pytest.mark.deep
@given(releases(30, 5), MISSING, SUPPRESSED)
@settings(max_examples=3000)
def test_classes_of_more_records_are_those_that_pairs_make(release, missing, suppressed):
    assert_as_by_hand(*release, Grouping(missing=missing, suppressed=suppressed))


@pytest.mark.parametrize("joins_cost", [0.0, 1e9])
@given(releases(), st.integers(1, 40))
@settings(max_examples=examples(150))
def test_joining_patterns_and_comparing_classes_find_the_same(joins_cost, release, at_once):
    """Whichever way is estimated to be faster, in however small blocks."""
    before = wildcards.SECONDS_PER_JOIN, wildcards.COMPARED_AT_ONCE
    wildcards.SECONDS_PER_JOIN, wildcards.COMPARED_AT_ONCE = joins_cost, at_once
    try:
        assert_as_by_hand(*release, Grouping(missing="matches_everything"))
    finally:
        wildcards.SECONDS_PER_JOIN, wildcards.COMPARED_AT_ONCE = before


def test_many_values_beyond_a_key_of_62_bits_are_matched():
    """Twelve attributes of a hundred values each: rows are told apart by more than one number."""
    wide = Hierarchy.from_parents({str(value): [None] for value in range(100)})
    rng = np.random.default_rng(7)
    codes = rng.integers(1, 101, (300, 13)).astype(np.int32)
    codes[150:] = codes[:150]
    codes[150:][rng.random((150, 13)) < 0.2] = 0
    codes[:, 12] = rng.integers(1, 4, 300)
    table = Table(
        (*(f"q{j}" for j in range(12)), "disease"),
        (wide,) * 12 + (DISEASE,),
        codes,
        sensitive=frozenset({"disease"}),
    )
    assert_as_by_hand(table, TableRule((0,) * 13), Grouping(missing="matches_everything"))
