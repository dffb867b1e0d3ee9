"""COUNT queries on a release: the worked example, the workload, and every answer against loops."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import median

import numpy as np
import pytest

from app.domain.analyses.query_accuracy import QUERY_ACCURACY, QueryAccuracyParameters
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.count_queries import (
    CountedRows,
    LeafScale,
    RealNumbers,
    WholeNumbers,
    Workload,
    whole_length,
)
from app.domain.models.class_suppression import suppress_classes
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, TableRule, apply
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table
from tests.unit.measures.ill_groups import AGES, ILLS, PLACES

POINTS = (
    "1,2;0 14,3;0 3,3;1 9,8;1 12,13;1 0,7;2 6,15;2 10,1;2 4,9;3 8,4;3 2,14;3 15,15;4 11,6;4 5,0;4 7,11;4 "
    "13,9;5 1,11;5 9,14;5 6,5;5"
)
ROWS = [tuple(point.replace(";", ",").split(",")) for point in POINTS.split()]
CLASSES = ((0, 5, 13, 18), (2, 6, 10, 14, 16), (1, 3, 4, 7, 8, 9, 11, 12, 15, 17))
BOXES = (("0..6", "0..7"), ("1..7", "3..15"), ("4..15", "1..15"))


def axis(ranges):
    """Numbers from 0 to 15 below ranges that may overlap."""

    def above(low, high):
        return [f"{a}..{b}" for a, b in ranges if a <= low and high <= b and (a, b) != (low, high)] or [None]

    ends = [tuple(map(int, text.split(".."))) for text in ranges]
    ranges = ends
    return Hierarchy.from_parents(
        {f"{a}..{b}": [None] for a, b in ends} | {str(i): above(i, i) for i in range(16)}
    )


def published():
    trees = (
        axis([box[0] for box in BOXES]),
        axis([box[1] for box in BOXES]),
        Hierarchy.from_parents({str(i): [None] for i in range(6)}),
    )
    columns = [
        tree.encode(list(column))[0] for tree, column in zip(trees, zip(*ROWS, strict=True), strict=True)
    ]
    table = Table(("x", "y", "ill"), trees, np.stack(columns, axis=1), sensitive=frozenset({"ill"}))
    shown = table.codes.copy()
    for rows, box in zip(CLASSES, BOXES, strict=True):
        for j in range(2):
            shown[list(rows), j] = trees[j].labels.index(box[j])
    return table, CellRule(shown)


def counted(table, codes):
    return CountedRows.of(range(3), distinct_rows(list(codes.T), table.sizes, len(codes)))


@pytest.mark.spec("BL-T16")
@pytest.mark.parametrize(
    ("intervals", "estimate", "right"),
    [
        ({0: (2, 9), 1: (0, 7), 2: (2, 4)}, Fraction(1957, 546), 2),
        ({0: (4, 12), 2: (0, 1)}, Fraction(13, 4), 2),
    ],
)
@pytest.mark.parametrize("kind", ["leaves", "whole_numbers"])
def test_queries_of_the_worked_example(intervals, estimate, right, kind):
    table, rule = published()

    def scale(j):
        hierarchy = table.hierarchies[j]
        if kind == "leaves" or j == 2:
            return LeafScale(hierarchy)
        values = {node: int(hierarchy.labels[node]) for node in hierarchy.leaves.tolist()}
        under = [
            [values[int(hierarchy.leaves[i])] for i in hierarchy.leaves_of(n)]
            for n in range(hierarchy.n_nodes)
        ]
        return WholeNumbers(np.array([min(u) for u in under]), np.array([max(u) for u in under]))

    def places(j, low, high):
        """Leaves of a DAG stand in depth-first order, not by number."""
        hierarchy = table.hierarchies[j]
        wanted = [hierarchy.labels[int(n)] for n in hierarchy.leaves]
        return [i for i, label in enumerate(wanted) if low <= int(label) <= high]

    shares = {}
    for j, (low, high) in intervals.items():
        if kind == "leaves":
            shares[j] = sum(scale(j).shares((i, i)) for i in places(j, low, high))
        else:
            shares[j] = scale(j).shares((low, high))
    assert counted(table, rule.codes).count(shares) == pytest.approx(float(estimate), abs=1e-12)
    inside = {j: (share > 1 - 1e-12).astype(float) for j, share in shares.items()}
    assert counted(table, table.codes).count(inside) == right


@pytest.mark.spec("BL-T17")
@pytest.mark.parametrize(
    ("predicates", "lengths"),
    [
        (1, (25, 1, 5, 2, 3, 16)),
        (2, (37, 1, 8, 3, 5, 23)),
        (3, (44, 1, 10, 3, 6, 28)),
        (4, (50, 1, 11, 4, 6, 32)),
        (5, (54, 1, 12, 4, 7, 34)),
    ],
)
def test_lengths_of_intervals(predicates, lengths):
    domains = (79, 2, 17, 6, 10, 50)
    share = 0.1 ** (1 / (predicates + 1))
    assert tuple(whole_length(n, share) for n in domains) == lengths
    trees = [Hierarchy.from_parents({str(i): [None] for i in range(n)}) for n in domains]
    scales = {j: LeafScale(tree) for j, tree in enumerate(trees)}
    workload = Workload(scales, range(5), 5, predicates, 0.1, seed=3)
    assert tuple(workload.lengths.values()) == lengths
    for _ in range(50):
        query = workload.draw()
        assert len(query) == predicates + 1
        assert 5 in query
        for j, (first, last) in query.items():
            assert 0 <= first <= last == first + lengths[j] - 1 < domains[j]


def test_places_of_intervals_are_uniform():
    """6 places for an interval of 5 of 10 values, 6,000 draws: each within 5 standard deviations of 1,000."""
    scale = LeafScale(Hierarchy.from_parents({str(i): [None] for i in range(10)}))
    generator = np.random.Generator(np.random.PCG64(5))
    found = np.bincount([int(scale.draw(5, generator)[0]) for _ in range(6000)], minlength=6)
    assert len(found) == 6
    assert np.abs(found - 1000).max() < 5 * math.sqrt(6000 * (1 / 6) * (5 / 6))


def test_real_numbers_are_spread_over_the_range_of_their_cell():
    """Node 0 is [0, 10], node 1 [2, 6], node 2 the number 4."""
    scale = RealNumbers(np.array([0.0, 2.0, 4.0]), np.array([10.0, 6.0, 4.0]))
    assert scale.length(0.25) == 2.5
    assert scale.shares((3.0, 4.0)).tolist() == [0.1, 0.25, 1.0]
    assert scale.shares((4.5, 20.0)).tolist() == [0.55, 0.375, 0.0]
    generator = np.random.Generator(np.random.PCG64(1))
    for _ in range(20):
        first, last = scale.draw(2.5, generator)
        assert first >= 0
        assert last == first + 2.5 <= 10.0


PEOPLE = [
    ("a", "12", "flu"),
    ("a", "17", "cold"),
    ("b", "12", "cold"),
    ("c", "25", "ache"),
    ("d", "25", "flu"),
    ("d", None, "flu"),
    ("c", "17", "cold"),
]


def table_of(rows):
    columns = [
        tree.encode(list(column))[0]
        for tree, column in zip((PLACES, AGES, ILLS), zip(*rows, strict=True), strict=True)
    ]
    return Table(
        ("place", "age", "ill"), (PLACES, AGES, ILLS), np.stack(columns, axis=1), sensitive=frozenset({"ill"})
    )


TABLE = table_of(PEOPLE)


def measured(rule=None, table=TABLE, **parameters):
    context = MeasureContext(
        table, rule, None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero"
    )
    asked = QueryAccuracyParameters(**parameters)
    assert QUERY_ACCURACY.supports(context, asked) is None
    ticks = []
    result = QUERY_ACCURACY.compute(context, asked, ticks.append)
    assert ticks[-1] == asked.queries == QUERY_ACCURACY.cost(context, asked).units
    return result


def by_hand(table, shown, suppressed_rows, semantics, queries):
    """Relative errors of queries of leaf intervals, record by record."""
    errors, dropped = [], 0
    for query in queries:
        right = estimate = 0.0
        for row in range(table.n_records):
            if semantics == "excluded" and not table.codes[row, :2].all():
                continue
            truth, share = 1.0, 0.0 if suppressed_rows[row] else 1.0
            for j, (first, last) in query.items():
                hierarchy = table.hierarchies[j]
                own, cell = int(table.codes[row, j]), int(shown[row, j])
                leaves = hierarchy.leaves_of(own) if own else []
                truth *= len(leaves) > 0 and all(first <= i <= last for i in leaves)
                under = hierarchy.leaves_of(cell)
                part = sum(first <= i <= last for i in under) / len(under)
                missing = own == 0 and cell == 0 and shown[:, j].any()
                share *= 0.0 if missing and semantics == "own_category" else part
            right, estimate = right + truth, estimate + share
        if right:
            errors.append((estimate - right) / right)
        else:
            dropped += 1
    return errors, dropped


@pytest.mark.parametrize("semantics", ["own_category", "matches_everything", "excluded"])
@pytest.mark.parametrize("levels", [(0, 0, 0), (1, 0, 0), (1, 1, 0), (2, 1, 0), (0, 2, 0), (1, 1, 1)])
def test_errors_are_those_of_a_loop_over_records(levels, semantics):
    scales = {j: LeafScale(tree) for j, tree in enumerate(TABLE.hierarchies)}
    workload = Workload(scales, (0, 1), 2, 1, 0.3, seed=11)
    queries = [workload.draw() for _ in range(40)]
    shown = apply(TableRule(levels), TABLE)
    errors, dropped = by_hand(TABLE, shown, [False] * len(PEOPLE), semantics, queries)
    found = measured(TableRule(levels), predicates=1, selectivity=0.3, seed=11, queries=40, missing=semantics)
    assert (found.answered, found.dropped) == (len(errors), dropped)
    assert found.median_error == pytest.approx(median(map(abs, errors)), abs=1e-12)
    assert found.median_signed_error == pytest.approx(median(errors), abs=1e-12)
    assert found.greatest_error == pytest.approx(max(map(abs, errors)), abs=1e-12)


@pytest.mark.parametrize("suppressed", ["excluded", "own_block"])
def test_suppressed_records_are_dropped_or_spread_over_everything(suppressed):
    rule, suppressed_rows = suppress_classes(TABLE, TableRule((1, 1, 0)), 2)
    assert 0 < suppressed_rows.sum() < len(PEOPLE)
    scales = {j: LeafScale(tree) for j, tree in enumerate(TABLE.hierarchies)}
    workload = Workload(scales, (0, 1), 2, 2, 0.4, seed=2)
    queries = [workload.draw() for _ in range(30)]
    out = suppressed_rows if suppressed == "excluded" else [False] * len(PEOPLE)
    errors, dropped = by_hand(TABLE, rule.codes, out, "matches_everything", queries)
    found = measured(
        rule,
        predicates=2,
        selectivity=0.4,
        seed=2,
        queries=30,
        suppressed=suppressed,
        missing="matches_everything",
    )
    assert (found.answered, found.dropped) == (len(errors), dropped)
    assert found.median_signed_error == pytest.approx(median(errors), abs=1e-12)


def test_a_release_of_everything_as_it_is_answers_without_error():
    found = measured(queries=100, selectivity=0.3)
    assert (found.median_error, found.median_signed_error, found.greatest_error) == (0.0, 0.0, 0.0)
    assert found.baseline_error > 0
    assert found.attribute == "ill"


def test_the_baseline_knows_the_quasi_identifiers_and_the_overall_distribution():
    """One place of four, one illness of three: 2 of 7 records in d, 3 of 7 have the flu, and so on."""
    table = table_of([row for row in PEOPLE if row[1] is not None])
    found = measured(table=table, queries=200, predicates=1, selectivity=0.01, quasi_identifiers=("place",))
    assert found.lengths == {"place": 1, "ill": 1}
    rows = [(row[0], row[2]) for row in PEOPLE if row[1] is not None]
    scales = {j: LeafScale(tree) for j, tree in ((0, PLACES), (2, ILLS))}
    workload = Workload(scales, (0,), 2, 1, 0.01, seed=1)
    errors = []
    for _ in range(200):
        query = workload.draw()
        place, ill = "abcd"[int(query[0][0])], ("flu", "cold", "ache")[int(query[2][0])]
        right = rows.count((place, ill))
        if right:
            here, of_ill = sum(r[0] == place for r in rows), sum(r[1] == ill for r in rows)
            errors.append(abs(here * of_ill / len(rows) - right) / right)
    assert found.baseline_error == pytest.approx(median(errors), abs=1e-12)
    assert found.answered == len(errors)


def test_ages_can_be_counted_as_whole_or_real_numbers():
    top = TableRule((0, 1, 0))
    for kind in ("whole_numbers", "real_numbers"):
        found = measured(
            top, predicates=1, quasi_identifiers=("age",), selectivity=0.3, queries=60, **{kind: ("age",)}
        )
        assert found.answered + found.dropped == 60
        width = 25 - 12 + (kind == "whole_numbers")
        share = math.sqrt(0.3)
        expected = math.floor(width * share + 0.5) if kind == "whole_numbers" else width * share
        assert found.lengths["age"] == pytest.approx(expected)


def test_the_seed_decides_on_the_queries():
    rule = TableRule((1, 1, 0))
    assert measured(rule, seed=4, queries=50) == measured(rule, seed=4, queries=50)
    assert measured(rule, seed=4, queries=50) != measured(rule, seed=5, queries=50)


def test_what_cannot_be_asked_is_refused():
    several = Table(TABLE.attributes, TABLE.hierarchies, TABLE.codes, sensitive=frozenset({"age", "ill"}))
    rare = table_of([("a", "12", "flu")])
    for parameters, pointer in (
        ({"predicates": 3}, "/measure/predicates"),
        ({"attribute": "place", "quasi_identifiers": ("place",)}, "/measure/attribute"),
        ({"table": several}, "/measure/attribute"),
        ({"whole_numbers": ("place",)}, "/measure/whole_numbers"),
        ({"whole_numbers": ("weight",)}, "/measure/whole_numbers"),
        ({"whole_numbers": ("age",), "real_numbers": ("age",)}, "/measure/real_numbers"),
        ({"table": rare, "queries": 1, "selectivity": 0.001, "seed": 4}, "/measure/selectivity"),
    ):
        with pytest.raises(InvalidInput) as raised:
            measured(**{"rule": None, **parameters})
        assert raised.value.faults[0].pointer == pointer


def test_a_table_without_sensitive_attributes_is_asked_about_its_quasi_identifiers():
    plain = Table(TABLE.attributes, TABLE.hierarchies, TABLE.codes)
    found = measured(table=plain, queries=20, predicates=2)
    assert (found.attribute, found.baseline_error, found.median_error) == (None, None, 0.0)
    assert set(found.lengths) == {"place", "age", "ill"}


def test_queries_without_predicates_count_everybody():
    assert counted(TABLE, TABLE.codes).count({}) == len(PEOPLE)
