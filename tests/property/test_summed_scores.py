"""Summing records rule by rule gives the risks that the walk over the lattice gives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.search.blocks import carry_out
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.record_rules.instance import RecordInstance
from app.domain.search.record_rules.optima import are_separable
from app.domain.search.table_rules import rule_scores as summed_scores
from app.domain.search.table_rules.rule_scores import SummedScores, rule_scores
from app.domain.search.table_rules.scores import TableScores
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table
from tests.benchmarks.case_study import case_study
from tests.oracles.effort import examples
from tests.oracles.separable_instances import separable_contexts


def quiet(rules):
    pass


@pytest.mark.deep
@given(context=separable_contexts(), seed=st.integers(0, 2**20), rows_at_once=st.integers(1, 12))
@settings(max_examples=examples(150), deadline=None)
def test_all_rules_have_the_risks_of_a_walk(context, seed, rows_at_once):
    rng = np.random.default_rng(seed)
    table = context.table
    weights = None if seed % 2 else rng.choice([0.5, 1.0, 0.0, 0.75], table.n_records)
    if weights is not None:
        weights[0] = 1.0
        table = Table(table.attributes, table.hierarchies, table.codes, weights=weights)
    context = replace(context, table=table, model=MODEL_I)
    instance = RecordInstance(context, "zero", "known", "table_level")
    assume(are_separable(instance))
    walked = TableScores(context, "zero")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(summed_scores, "ROWS_AT_ONCE", rows_at_once)
        summed = SummedScores(instance)
        assert summed.n_rules == walked.n_rules
        assert np.array_equal(summed.absent, walked.absent)
        whole = summed.scores(0, 0, 1, quiet)
        expected = walked.to_table_order(walked.scores(0, 0, 1, quiet))
        np.testing.assert_allclose(summed.to_table_order(whole), expected, rtol=1e-12, atol=1e-15)
        prefixes = summed.shape[0]
        cut = int(rng.integers(0, prefixes + 1))
        if len(summed.shape) > 1:
            parts = [summed.scores(1, a, b, quiet) for a, b in ((0, cut), (cut, prefixes)) if a < b]
            assert np.array_equal(np.concatenate(parts), whole)
        levels = [int(rng.integers(0, size)) for size in instance.shape]
        ours, theirs = summed.rate(levels), TableScores(context, "zero", one_by_one=True).rate(levels)
        np.testing.assert_allclose(ours[:2], theirs[:2], rtol=1e-12, atol=1e-15)
        # The walk does not always know a slope.
        assert theirs.slope == 0.0 or ours.slope == pytest.approx(theirs.slope, rel=1e-12)


@pytest.mark.deep
def test_the_way_taken_for_many_records_finds_the_rule_that_the_walk_finds(monkeypatch):
    study = case_study(3_000, 9_000, 60)
    weights = {name: LeafWeights(weight) for name, weight in study.weights.items()}
    context = SearchContext(
        study.table,
        study.years,
        build_sensitivity(study.table, "multiplicative", weights),
        build_utility(study.table),
    )
    walked = carry_out(plan(context, Problem(MinRisk(6.0))))
    monkeypatch.setattr(summed_scores, "LEAST_ROWS", 0)
    monkeypatch.setattr(summed_scores, "SECONDS_PER_SUMMED_ROW", 1.0)
    assert isinstance(rule_scores(context, "zero", "known", "average"), SummedScores)
    summed = carry_out(plan(context, Problem(MinRisk(6.0))))
    assert (summed.rule, summed.risk, summed.ties) == (walked.rule, walked.risk, walked.ties)
    risks = [[point.risk for point in outcome.risk_map.points] for outcome in (summed, walked)]
    np.testing.assert_allclose(*risks, rtol=1e-12)
