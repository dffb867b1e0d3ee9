"""Bayes risk and the two worst cases on the specification's vectors, infinities and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.errors import InvalidInput
from app.domain.risk.attackers import DictionarySet, assess_set
from app.domain.risk.models import RiskModel
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule, identity
from app.domain.sensitivity.sensitivity import build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import CITY, CUTS, DICTIONARIES, T, levels_of, personal

INF = math.inf
D = DICTIONARIES
THETA = DictionarySet((D["T"], D["D1"], D["D2"]), (0.2, 0.5, 0.3))
U = build_utility(T)


def score(rule, theta=THETA, phi=None, policy="zero", **more):
    return assess_set(T, TableRule(levels_of(CUTS[rule])), theta, phi or personal(), U, policy, **more)


@pytest.mark.spec("TV-8")
@pytest.mark.parametrize(
    ("rule", "bayes", "worst"),
    [("identity", 0.895833, 1.45), ("G1", 0.356230, 0.5), ("G2", 0.396244, 0.659722),
     ("G3", 0.139795, 0.235833), ("suppress", 0, 0)],
)  # fmt: skip
def test_bayes_risk_and_worst_case_are_those_of_the_specification(rule, bayes, worst):
    found = score(rule)
    assert found.bayes.risk_average == pytest.approx(bayes, abs=5e-7)
    assert found.worst_case.risk_average == pytest.approx(worst, abs=5e-7)
    assert found.worst_case.at_average == 0, "T identifies best"
    assert found.worst_case_per_record.risk_average >= found.worst_case.risk_average


@pytest.mark.spec("TV-8", "E-4")
def test_bayes_risk_averages_the_reciprocals_of_the_counts_over_the_prior():
    found = score("G1", phi=constant_sensitivity(T))
    assert [assessment.records.counts[0] for assessment in found.assessments] == [2, 4, 6]
    assert found.bayes.loss[0] == pytest.approx(0.275)
    assert found.bayes.loss[0] != pytest.approx(1 / (0.2 * 2 + 0.5 * 4 + 0.3 * 6), abs=0.01)


def test_the_worst_dictionary_is_named_per_figure_and_per_record():
    found = score("identity", DictionarySet((D["D1"], D["D2"], D["D3"])))
    averages = [assessment.risk_average for assessment in found.assessments]
    maxima = [assessment.risk_max for assessment in found.assessments]
    assert averages == pytest.approx([0.839167, 0.620833, 0.715278], abs=5e-7)
    assert maxima == pytest.approx([1.6, 0.85, 1.7], abs=5e-7)
    assert (found.worst_case.at_average, found.worst_case.at_max) == (0, 2)
    assert found.worst_case.risk_max == maxima[2]
    per_record = found.worst_case_per_record
    assert per_record.at.tolist() == [2, 0, 2, 0, 0, 1]
    assert per_record.risk_average > max(averages)
    assert (per_record.at_average, per_record.at_max) == (None, 2)
    assert found.bayes is None


@pytest.mark.spec("E-5")
def test_infinities_are_resolved_per_record_and_dictionary_before_averaging():
    table = Table(("city",), (CITY,), CITY.encode(["Lafayette", "Chicago"])[0][:, None])

    def dictionary(*cities):
        return Dictionary(len(cities), (link_identity("city", CITY, cities),))

    here, nowhere = dictionary("Lafayette", "Chicago"), dictionary("Dayton")
    phi = build_sensitivity(table, "linear", {"city": ConstantWeight(INF)})
    u = build_utility(table)

    def of(*prior):
        return assess_set(table, identity(1), DictionarySet((here, nowhere), prior), phi, u)

    assert of(0.0, 1.0).bayes.loss.tolist() == [0.0, 0.0], "0·∞ = 0"
    assert of(1e-12, 1 - 1e-12).bayes.loss.tolist() == [INF, INF]
    assert of(0.0, 1.0).worst_case.risk_average == INF, "the worst case knows no prior"
    assert (of(0.5, 0.5).bayes.infinite, of(0.0, 1.0).bayes.infinite) == (2, 0)
    prohibited = constant_sensitivity(table, INF)
    found = assess_set(
        table, identity(1), DictionarySet((nowhere, nowhere), (0.5, 0.5)), phi, u, failure=prohibited
    )
    assert found.bayes.risk_average == INF, "Ψ = ∞ prohibits, whatever the candidates"


def test_hypotheses_are_those_of_all_dictionaries_that_count():
    theta = DictionarySet((D["D1"], D["D3"]), (1.0, 0.0))
    found = score("identity", theta)
    assert found.bayes.monotone.non_empty
    assert not found.worst_case.monotone.non_empty, "entity 4 is absent from D3"
    assert not score("identity", theta, model=RiskModel("III_raw")).bayes.monotone.model_monotone
    assert score("identity", theta, policy="add_self").worst_case.monotone.holds


def test_a_set_of_one_dictionary_is_that_dictionary():
    found = score("G2", DictionarySet((D["D1"],), (1.0,)))
    one = found.assessments[0]
    for view in ("bayes", "worst_case", "worst_case_per_record"):
        seen = found.view(view)
        figures = (seen.risk_average, seen.risk_max, seen.risk_min, seen.loss_quantiles)
        assert figures == (one.risk_average, one.risk_max, one.risk_min, one.loss_quantiles)


@pytest.mark.parametrize(
    ("prior", "code"),
    [((0.5, 0.5 + 2e-9), "not-normalised"), ((0.5, 0.4), "not-normalised"),
     ((1.5, -0.5), "out-of-range"), ((1.0,), "wrong-shape"),
     ((math.nan, 1.0), "out-of-range")],
)  # fmt: skip
def test_a_prior_that_is_none_is_refused(prior, code):
    with pytest.raises(InvalidInput) as caught:
        DictionarySet((D["D1"], D["D2"]), prior)
    assert caught.value.faults[0].code == code


def test_a_prior_may_miss_1_by_a_rounding_and_is_scaled():
    theta = DictionarySet((D["D1"], D["D1"]), (0.5, 0.5 + 9e-10))
    assert score("G2", theta).bayes.risk_average == pytest.approx(0.378704, abs=5e-7)
    with pytest.raises(InvalidInput, match="no dictionaries"):
        DictionarySet(())


def test_a_view_that_the_set_does_not_have_is_refused():
    with pytest.raises(InvalidInput) as caught:
        score("G2", DictionarySet((D["D1"],))).view("bayes")
    assert caught.value.faults[0].code == "no-prior"
    with pytest.raises(InvalidInput) as caught:
        score("G2").view("known")
    assert caught.value.faults[0].code == "view-of-one"


@pytest.mark.spec("TV-7")
def test_weights_enter_every_view():
    weights = np.array([0.3, 0.1, 0.1, 0.2, 0.2, 0.1])
    table = Table(T.attributes, T.hierarchies, T.codes, T.entity_ids, weights)
    levels = TableRule(levels_of(CUTS["G2"]))
    found = assess_set(table, levels, DictionarySet((D["D1"],), (1.0,)), personal(), U)
    for view in ("bayes", "worst_case", "worst_case_per_record"):
        assert found.view(view).risk_average == pytest.approx(0.427639, abs=5e-7)
