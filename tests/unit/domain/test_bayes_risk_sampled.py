"""Bayes risk over sampled dictionaries: mean and standard error of the samples' risks."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from app.domain.analyses import scoring
from app.domain.analyses.bayes_risk_sampled import (
    BAYES_RISK_SAMPLED,
    SampledBayesParameters,
    mean_and_standard_error,
)
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.builders import flat
from app.domain.models.entry import MeasureContext
from app.domain.risk.assessment import assess
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule, identity
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import CUTS, DICTIONARIES, T, levels_of, personal


def context_of(**more) -> MeasureContext:
    context = MeasureContext(
        T, TableRule(levels_of(CUTS["G1"])), None, personal(), None, build_utility(T), MODEL_I, "zero",
        dictionaries=DICTIONARIES,
    )  # fmt: skip
    return replace(context, **more)


def sampled(*names: str, **more):
    parameters = SampledBayesParameters(names)
    context = context_of(**more)
    assert BAYES_RISK_SAMPLED.supports(context, parameters) is None
    assert BAYES_RISK_SAMPLED.cost(context, parameters).units == len(set(names))
    return BAYES_RISK_SAMPLED.compute(context, parameters, lambda done: None)


def test_the_mean_and_its_standard_error_are_those_of_the_risks_of_the_samples():
    found = sampled("T", "D1", "D2")
    risks = [0.5, 0.371627, 0.234722]  # G1 in the specification's table of risks
    assert [sample.risk for sample in found.samples] == pytest.approx(risks, abs=5e-7)
    assert found.risk == pytest.approx(np.mean(risks), abs=5e-7)
    assert found.standard_error == pytest.approx(np.std(risks, ddof=1) / math.sqrt(3), abs=5e-7)
    assert (found.least, found.greatest) == pytest.approx((0.234722, 0.5), abs=5e-7)
    assert found.risk_max == 1.0


def test_a_sample_drawn_twice_counts_twice():
    once, twice = sampled("T", "D1"), sampled("T", "D1", "D1")
    assert twice.risk == pytest.approx((once.samples[0].risk + 2 * once.samples[1].risk) / 3)


def test_what_all_samples_share_is_worked_out_once(monkeypatch):
    scored = []
    monkeypatch.setattr(scoring, "assess", lambda *a, counter, **k: scored.append(counter) or assess(*a, **k))
    sampled("T", "D1", "D1", "D2", "T")
    assert [counter.dictionary for counter in scored] == [DICTIONARIES[name] for name in ("T", "D1", "D2")]
    assert len({id(counter.of_table_itself) for counter in scored}) == 1


def test_the_expectation_is_of_one_over_the_count_not_one_over_its_expectation():
    h = flat(["a"])
    table = Table(("x",), (h,), h.encode(["a"])[0][:, None])
    harm = build_sensitivity(table, "linear", {"x": ConstantWeight(1.0)})
    people = {str(n): Dictionary(n, (link_nodes("x", h, np.ones(n, dtype=np.int32)),)) for n in (1, 3)}
    found = sampled(
        "1", "3", table=table, rule=identity(1), sensitivity=harm, utility=build_utility(table),
        dictionaries=people,
    )  # fmt: skip
    assert found.risk == pytest.approx((1 + 1 / 3) / 2)
    assert found.risk != pytest.approx(1 / 2)


def test_one_infinite_risk_makes_the_mean_infinite_without_an_error():
    assert mean_and_standard_error([1.0, math.inf]) == (math.inf, None)
    assert mean_and_standard_error([2.0, 2.0]) == (2.0, 0.0)


def test_the_standard_error_is_that_of_the_mean():
    """Means of 20 uniform draws scatter as their standard errors say.

    2,000 of them within 6 standard deviations of their own scatter: a false alarm below 1e-6. Taking the
    spread of single draws for that of the mean would be off by a factor of 4.5.
    """
    rng = np.random.default_rng(5)
    draws = rng.random((2_000, 20))
    errors = np.array([mean_and_standard_error(row.tolist())[1] for row in draws])
    spread = draws.mean(axis=1).std(ddof=1)
    assert np.sqrt((errors**2).mean()) == pytest.approx(spread, rel=0.1)
    assert draws.std(ddof=1) != pytest.approx(spread, rel=0.1), "positive control"


def test_add_self_asks_for_identifiers_in_every_sample():
    private = replace(DICTIONARIES["D2"], comparable_ids=False)
    context = context_of(dictionaries={"D1": DICTIONARIES["D1"], "D2": private}, absent_policy="add_self")
    parameters = SampledBayesParameters(("D1", "D2"))
    assert "identifiers" in str(BAYES_RISK_SAMPLED.supports(context, parameters))
    both = replace(context, dictionaries=DICTIONARIES)
    assert BAYES_RISK_SAMPLED.supports(both, parameters) is None
