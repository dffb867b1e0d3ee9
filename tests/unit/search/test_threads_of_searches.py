"""How many threads search changes not a byte of what is found."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from app.domain.counting import roll_ups
from app.domain.risk.utility import build_utility
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan, plan_frontier
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.record_rules import instance as instances
from app.domain.search.record_rules import optima, undominated_nodes
from app.domain.search.record_rules.blocks import UNSOLVED
from app.domain.search.table_rules import rule_scores
from app.domain.search.table_rules.table_level import TableEnumeration
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from tests.benchmarks.case_study import case_study

FLOOR = 6.0


@pytest.fixture(scope="module")
def context():
    study = case_study(1_500, 4_000, 60)
    weights = {name: LeafWeights(weight) for name, weight in study.weights.items()}
    sensitivity = build_sensitivity(study.table, "multiplicative", weights)
    return SearchContext(study.table, study.years, sensitivity, build_utility(study.table))


@pytest.fixture(autouse=True)
def many_pieces(monkeypatch):
    """Pieces and blocks so small that every thread has several of each block."""
    monkeypatch.setattr(optima, "ROWS_AT_ONCE", 60)
    monkeypatch.setattr(optima, "SCANNED_PER_EVALUATED", 1)
    monkeypatch.setattr(undominated_nodes, "SCANNED_AT_ONCE", 60)
    monkeypatch.setattr(rule_scores, "ROWS_AT_ONCE", 60)
    monkeypatch.setattr(rule_scores, "LEAST_ROWS", 100)
    monkeypatch.setattr(instances, "CELLS_PER_BLOCK", 300 * 500)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_sorted_counts_are_the_same_by_any_number_of_threads(context, monkeypatch, threads):
    rolled = instances.RecordInstance(context, "zero", "known").rolled
    monkeypatch.setattr(roll_ups, "FEW_CELLS", 1)
    monkeypatch.setattr(roll_ups, "DENSE_CELLS", 1)
    by_sort = instances.RecordInstance(replace(context, threads=threads), "zero", "known").rolled
    for counts in (rolled, by_sort):
        counts.prepare(range(1), lambda: None)
    rows = slice(0, 700)
    for levels in itertools.product(range(5), range(3), range(4)):
        assert np.array_equal(rolled.at_levels(rows).counts(levels), by_sort.at_levels(rows).counts(levels))


QUESTIONS = {
    "record-level rule": lambda context: plan(context, Problem(MinRisk(FLOOR), "record_level")),
    "mean of records": lambda context: plan(
        context, Problem(MinRisk(FLOOR), "record_level", constraint="average")
    ),
    "all floors": lambda context: plan_frontier(context, FrontierProblem("record_level")),
    "table-level rules": lambda context: plan(context, Problem(MinRisk(FLOOR))),
}


def blocks_of(search):
    ticks = []
    blocks = [search.run_block(i, ticks.append) for i in range(search.n_blocks)]
    return blocks, ticks


@pytest.mark.deep
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_blocks_are_the_same_bytes_by_any_number_of_threads(context, question):
    alone = question(context)
    blocks, ticks = blocks_of(alone)
    assert alone.n_blocks > 1 or isinstance(alone, TableEnumeration)
    for threads in (2, 3):
        shared = question(replace(context, threads=threads))
        assert blocks_of(shared) == (blocks, ticks)


def test_the_rule_found_has_the_same_score_by_any_number_of_threads(context):
    def found(threads):
        search = plan(replace(context, threads=threads), Problem(MinRisk(FLOOR), "record_level"))
        outcome = search.combine(dict(enumerate(blocks_of(search)[0])))
        return outcome.to_document(), outcome.assessment.k_matching, outcome.rule.steps.tobytes()

    assert found(1) == found(2) == found(5)


@pytest.mark.deep
def test_threads_do_the_work(context, monkeypatch):
    """Else the equality above would say nothing."""
    used = set()

    def noted(work, items, threads):
        used.add(threads)
        return map(work, items)

    for module in ("record_rules.plan", "record_rules.undominated_nodes", "table_rules.rule_scores"):
        used.clear()
        with monkeypatch.context() as patch:
            patch.setattr(f"app.domain.search.{module}.in_order", noted)
            for question in QUESTIONS.values():
                blocks_of(question(replace(context, threads=7)))
        assert used == {7}, module


@pytest.mark.parametrize("threads", [1, 3])
def test_a_halt_leaves_out_records_at_the_end_alone(context, threads):
    search = plan(replace(context, threads=threads), Problem(MinRisk(FLOOR), "record_level"))
    whole = np.frombuffer(search.run_block(0, lambda units: None), dtype=search._row_type)
    pieces = []
    part = np.frombuffer(
        search.run_block(0, lambda done: pieces.append(done) if done else None, lambda: len(pieces) >= 2),
        dtype=search._row_type,
    )
    solved = part["code"] != UNSOLVED
    n = int(solved.sum())
    assert 0 < n < len(part)
    assert solved[:n].all()
    assert np.array_equal(part[:n], whole[:n])


def test_every_thread_may_hold_an_evaluation(context):
    one, four = (
        plan(replace(context, threads=n), Problem(MinRisk(FLOOR), "record_level")).n_bytes for n in (1, 4)
    )
    assert four > one


def test_records_at_hand_have_the_sizes_of_their_own_lattices(context):
    instance = instances.RecordInstance(context, "zero", "known")
    rows = np.array([5, 0, 17])
    expected = np.prod(instance.tops(rows) + 1, axis=1)
    assert np.array_equal(instance.n_own_nodes(rows), expected)
    assert len(instance.n_own_nodes(slice(None))) == instance.n_distinct
