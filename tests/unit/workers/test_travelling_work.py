"""Work of each kind that is cut computes the same blocks after it has travelled."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed", reason="the extra cluster is not installed")

from app.domain.analyses.k_anonymity_comparison import K_ANONYMITY_COMPARISON, ComparisonParameters
from app.domain.analyses.query_accuracy import QUERY_ACCURACY, QueryAccuracyParameters
from app.domain.errors import NotSupported
from app.domain.models import entry
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.search.budget import never
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan, plan_frontier
from app.domain.search.problem import FrontierProblem, Problem
from app.domain.search.record_rules import instance as instances
from app.domain.search.record_rules import optima
from app.domain.search.table_rules import table_level
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.services.runs.run_execution import Work
from app.services.scoring.measurement_work import Measurement
from app.services.views.check_work import CheckWork
from app.services.views.reading import WrittenQuery, read_schema
from app.services.views.view_checks import ViewCheck, read_check
from app.workers.cluster import block_process
from app.workers.cluster.block_process import order_of
from tests.benchmarks.case_study import case_study

QUESTIONS = {
    "record-level rule": lambda context: plan(context, Problem(MinRisk(6.0), "record_level")),
    "mean of records": lambda context: plan(
        context, Problem(MinRisk(6.0), "record_level", constraint="average")
    ),
    "frontier of records": lambda context: plan_frontier(context, FrontierProblem("record_level")),
    "table-level rules": lambda context: plan(context, Problem(MinRisk(6.0))),
    "frontier of the table": lambda context: plan_frontier(context, FrontierProblem()),
}


@pytest.fixture(scope="module")
def context() -> SearchContext:
    study = case_study(1_500, 4_000, 60)
    weights = {name: LeafWeights(weight) for name, weight in study.weights.items()}
    sensitivity = build_sensitivity(study.table, "multiplicative", weights)
    return SearchContext(study.table, study.years, sensitivity, build_utility(study.table))


@pytest.fixture(autouse=True)
def _many_blocks(monkeypatch) -> None:
    monkeypatch.setattr(instances, "CELLS_PER_BLOCK", 300 * 500)
    monkeypatch.setattr(optima, "SCANNED_PER_EVALUATED", 1)
    monkeypatch.setattr(table_level, "SECONDS_PER_BLOCK", 1e-4)


def assert_travels(work: Work) -> None:
    assert work.n_blocks > 1
    numbers = range(work.n_blocks)
    travelled = block_process._unpacked(order_of(work, 2**30))
    backwards = {number: travelled.run_block(number, lambda _: None) for number in reversed(numbers)}
    assert backwards == {number: work.run_block(number, lambda _: None) for number in numbers}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_searches_compute_the_same_blocks_in_any_order_after_they_have_travelled(context, question):
    assert_travels(question(context))


def test_checks_of_views_do():
    tables = "CREATE TABLE stay (pid serial PRIMARY KEY, ward int)"
    secret, view = "SELECT pid FROM stay WHERE ward = 1", "SELECT ward FROM stay"
    views = [WrittenQuery(f"view {i}", view) for i in range(60)]
    asked = ViewCheck({}, (), [WrittenQuery("secret", secret)], views, language="sql", tables=tables)
    work = CheckWork(read_check(asked, read_schema({}, (), tables, "postgres"), never), {}, clock=int)
    assert_travels(work)


@pytest.mark.parametrize(
    ("measure", "parameters", "n_blocks"),
    [
        (K_ANONYMITY_COMPARISON, ComparisonParameters((2, 5), 3), 6),
        (QUERY_ACCURACY, QueryAccuracyParameters(queries=130, predicates=2, selectivity=0.3), 3),
    ],
    ids=["comparison with k-anonymity", "accuracy of queries"],
)
def test_measures_do_and_are_those_of_one_block(context, monkeypatch, measure, parameters, n_blocks):
    monkeypatch.setattr(entry, "SECONDS_PER_BLOCK", 1e-6)
    rule = TableRule((1, 1, 1, 1)) if measure is QUERY_ACCURACY else None
    own = MeasureContext(
        context.table, rule, context.dictionary, context.sensitivity, None, context.utility, MODEL_I, "zero"
    )
    measurement = Measurement(measure, parameters, own, lambda: own, 0.0)
    work = measurement.work()
    assert_travels(work)
    assert work.n_blocks == n_blocks
    travelled = block_process._unpacked(order_of(work, 2**30))
    blocks = {number: travelled.run_block(number, lambda _: None) for number in range(n_blocks)}
    assert measurement.work().conclude(blocks).result == measurement.result()


def test_work_that_arrives_where_the_code_was_changed_is_refused(context, monkeypatch):
    order = order_of(plan(context, Problem(MinRisk(6.0))), 2**30)
    monkeypatch.setattr(block_process, "versions", lambda: dict(order.versions, scipy="0.1"))
    with pytest.raises(NotSupported, match=r"was changed while it ran: scipy 0\.1 instead of"):
        block_process._unpacked(order)
