"""Scans over the nodes of many records answer as the exact evaluation of every lattice does, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.utility import build_utility
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.problem import Problem
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.record_rules.optima import Optima, ScannedOptima, are_separable
from app.domain.search.record_rules.undominated_nodes import LatticeCurves, ScannedCurves
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.separable_instances import separable_contexts


def check(context, floor, rows_at_once):
    instance = RecordInstance(context, "zero", "known")
    assume(are_separable(instance))
    instance.prepare(range(instance.n_distinct), lambda: None)
    problem = Problem(MinRisk(floor), "record_level")
    whole = Optima(instance, problem).of(np.arange(instance.n_distinct))
    for start in range(0, instance.n_distinct, rows_at_once):
        rows = np.arange(start, min(instance.n_distinct, start + rows_at_once))
        choice, risk = ScannedOptima(instance, problem).of(rows)
        assert np.array_equal(risk, whole[1][rows])
        for name in ("node", "code", "value", "reach"):
            assert np.array_equal(getattr(choice, name), getattr(whole[0], name)[rows]), name
        assert np.array_equal(choice.ties > 1, whole[0].ties[rows] > 1)


FLOORS = st.one_of(st.sampled_from([0.0, 1.0, 2.0, 3.0, 4.0, 9.0]), st.floats(0.0, 6.0))


CONTEXTS = st.one_of(separable_contexts(), separable_contexts(balanced=True))


@given(context=CONTEXTS, floor=FLOORS, rows_at_once=st.integers(1, 12))
@settings(max_examples=examples(200), deadline=None)
def test_a_scan_finds_what_the_whole_lattices_say(context, floor, rows_at_once):
    check(context, floor, rows_at_once)


@pytest.mark.deep
@given(context=CONTEXTS, floor=FLOORS, rows_at_once=st.integers(1, 12))
@settings(max_examples=1000, deadline=None)
def test_a_scan_finds_what_the_whole_lattices_say_thousands_of_times(context, floor, rows_at_once):
    check(context, floor, rows_at_once)


@given(
    context=separable_contexts(balanced=True),
    floor=st.one_of(st.none(), FLOORS),
    rows_at_once=st.integers(1, 12),
)
@settings(max_examples=examples(200), deadline=None)
def test_scanned_curves_are_those_of_the_whole_lattices(context, floor, rows_at_once):
    instance = RecordInstance(context, "zero", "known")
    assume(are_separable(instance) and instance.common_utilities is not None)
    instance.prepare(range(instance.n_distinct), lambda: None)
    reach, sizes, points = LatticeCurves(instance, floor).of(np.arange(instance.n_distinct))
    ends = np.cumsum(sizes)
    scanned = ScannedCurves(instance, floor)
    for start in range(0, instance.n_distinct, rows_at_once):
        rows = np.arange(start, min(instance.n_distinct, start + rows_at_once))
        found = scanned.of(rows)
        assert np.array_equal(found[0], reach[rows])
        assert np.array_equal(found[1], sizes[rows])
        assert found[2].tobytes() == points[ends[start] - sizes[start] : ends[rows[-1]]].tobytes()


def test_most_records_of_distinct_counts_need_no_exact_evaluation(monkeypatch):
    """Or the scan would be a waste."""
    tree = Hierarchy.from_rows([[f"v{i}", f"g{i // 4}"] for i in range(16)])
    rng = np.random.default_rng(5)
    cells = (16 * rng.random((500, 2)) ** 2).astype(np.int64)
    table = Table(("a", "b", "c"), (tree,) * 3, tree.leaves[rng.integers(0, 16, (60, 3))])
    links = tuple(link_nodes(name, tree, tree.leaves[cells[:, j]]) for j, name in enumerate("ab"))
    weights = {name: LeafWeights(0.3 + 0.1 * j) for j, name in enumerate("abc")}
    context = SearchContext(
        table,
        Dictionary(500, links),
        build_sensitivity(table, "multiplicative", weights),
        build_utility(table),
    )
    instance = RecordInstance(context, "zero", "known")
    instance.prepare(range(instance.n_distinct), lambda: None)
    evaluated = []
    evaluate = instance.evaluate
    monkeypatch.setattr(instance, "evaluate", lambda rows: evaluated.append(len(rows)) or evaluate(rows))
    ScannedOptima(instance, Problem(MinRisk(3.0), "record_level")).of(np.arange(instance.n_distinct))
    assert sum(evaluated) <= 0.2 * instance.n_distinct
