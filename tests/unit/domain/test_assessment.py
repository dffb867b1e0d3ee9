"""Scores of rules on the specification's vectors, absent records, infinities, the two k-anonymity counts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from app.domain.counting.counter import Counter, dictionary_of
from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.builders import flat
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.assessment import assess, estimate_cost
from app.domain.risk.loss import identification_probability, loss
from app.domain.risk.summaries import histogram_of_counts, histogram_of_losses, mean, quantiles
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule, apply, identity, record_rule, suppression
from app.domain.sensitivity.sensitivity import build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import CUTS, DICTIONARIES, T, levels_of, personal

INF = math.inf
UTILITY = build_utility(T)


def score(rule: str, name: str, sensitivity=None, policy="zero", **more):
    levels = TableRule(levels_of(CUTS[rule]))
    return assess(T, levels, DICTIONARIES[name], sensitivity or personal(), UTILITY, policy, **more)


@pytest.mark.spec("TV-7", "E-5")
@pytest.mark.parametrize(
    ("n", "phi", "psi", "expected"),
    [
        (4, 2, 0, 0.5), (1, 2, 0, 2), (0, 2, 0, 0), (4, 2, 0.5, 0.875), (1, 2, 0.5, 2), (0, 2, 0.5, 0.5),
        (4, INF, 0, INF), (0, INF, 0, 0), (0, INF, 0.5, 0.5), (1, 2, INF, INF), (0, 2, INF, INF),
        (5, 0, 0, 0), (1, INF, 0.5, INF), (1, 0, INF, INF), (0, INF, INF, INF),
    ],
)  # fmt: skip
def test_the_loss_follows_the_extended_real_rules(n, phi, psi, expected):
    assert loss(np.array([n]), np.array([float(phi)]), float(psi)).tolist() == [expected]


@pytest.mark.spec("TV-7")
def test_records_of_unequal_weight_enter_the_means_in_proportion():
    weights = np.array([0.3, 0.1, 0.1, 0.2, 0.2, 0.1])
    table = Table(T.attributes, T.hierarchies, T.codes, T.entity_ids, weights)
    g2 = TableRule(levels_of(CUTS["G2"]))
    weighted = assess(table, g2, DICTIONARIES["D1"], personal(), UTILITY)
    assert weighted.risk_average == pytest.approx(0.427639, abs=5e-7)
    plain = score("G2", "D1")
    assert weighted.utility_average == pytest.approx(weights @ plain.records.utility)
    assert (weighted.k_matching, weighted.k_equivalence) == (plain.k_matching, plain.k_equivalence)
    assert weighted.histogram_counts == plain.histogram_counts
    assert (weighted.weighted, plain.weighted) == (True, False)
    losses, raw = np.array([0.5, 0, 2, INF, 0.1]), np.array([1.0, 2, 1, 0, 4])
    assert mean(losses, raw) == pytest.approx(0.3625)


@pytest.mark.spec("TV-7")
def test_the_losses_of_rule_g2_under_d1_are_those_of_the_specification():
    losses = score("G2", "D1").records.loss
    np.testing.assert_allclose(losses, [0.152083, 0.21875, 0.122222, 0.625, 1.075, 0.079167], atol=5e-7)


@pytest.mark.spec("TV-7")
@pytest.mark.parametrize(("rule", "risk"), [("G1", 0.395298), ("G2", 0.424444)])
def test_a_harm_of_failure_of_a_tenth_gives_the_risks_of_the_specification(rule, risk):
    result = score(rule, "D1", failure=personal(scale=0.1))
    assert result.risk_average == pytest.approx(risk, abs=5e-7)
    assert result.monotone.psi_le_phi


@pytest.mark.spec("E-11")
def test_a_harm_of_failure_above_that_of_success_is_reported_as_not_monotone():
    assert not score("G1", "D1", failure=personal(scale=2.0)).monotone.psi_le_phi


TV_8 = [
    ("identity", "T", 1.45, 4.345662, 1.7, 1.05), ("identity", "D1", 0.839167, 2.527487, 1.6, 0.21),
    ("identity", "D2", 0.620833, 1.876133, 0.85, 0.2625), ("identity", "D3", 0.715278, 2.175902, 1.7, 0),
    ("G1", "T", 0.5, 1.47772, 1.0, 0.05), ("G1", "D1", 0.371627, 1.072648, 1.0, 0.021429),
    ("G1", "D2", 0.234722, 0.690714, 0.5, 0.025), ("G1", "D3", 0.281944, 0.864941, 0.7, 0),
    ("G2", "T", 0.659722, 1.859412, 1.25, 0.158333), ("G2", "D1", 0.378704, 1.058205, 1.075, 0.079167),
    ("G2", "D2", 0.249826, 0.700159, 0.625, 0.059375), ("G3", "T", 0.235833, 0.781265, 0.95, 0.015),
    ("G3", "D1", 0.123507, 0.412991, 0.475, 0.009375), ("G3", "D2", 0.102917, 0.327756, 0.475, 0.0075),
    ("suppress", "T", 0, 0.166667, 0, 0), ("suppress", "D1", 0, 0.083333, 0, 0),
    ("suppress", "D2", 0, 0.083333, 0, 0),
]  # fmt: skip


@pytest.mark.spec("TV-8")
@pytest.mark.parametrize(("rule", "name", "linear", "multiplicative", "greatest", "least"), TV_8)
def test_risks_of_table_level_rules_are_those_of_the_specification(
    rule, name, linear, multiplicative, greatest, least
):
    result = score(rule, name)
    assert result.risk_average == pytest.approx(linear, abs=5e-7)
    assert result.risk_max == pytest.approx(greatest, abs=5e-7)
    assert result.risk_min == pytest.approx(least, abs=5e-7)
    assert score(rule, name, personal("multiplicative")).risk_average == pytest.approx(
        multiplicative, abs=5e-7
    )


@pytest.mark.spec("TV-8", "E-10")
def test_an_absent_record_may_gain_risk_by_generalising_and_add_self_shows_it():
    result = score("identity", "D3")
    assert (result.absent, result.min_consistent, result.monotone.non_empty) == (1, 0, False)
    assert result.records.loss[3] == 0
    steps = np.zeros((6, 3), dtype=np.int16)
    for change, expected in (((0, 2, 0), 0.116667), ((0, 2, 2), 0.016667)):
        steps[3] = change
        rule = record_rule(T, steps)
        losses = assess(T, rule, DICTIONARIES["D3"], personal(), UTILITY).records.loss
        assert losses[3] == pytest.approx(expected, abs=5e-7)
    shown = score("identity", "D3", policy="add_self")
    assert shown.records.loss[3] == pytest.approx(1.6)
    assert shown.min_consistent == 1
    assert result.add_self_risk_average == shown.risk_average
    assert score("identity", "D1").add_self_risk_average is None, "nobody is absent"


def test_the_policy_error_refuses_absent_originals_by_row():
    with pytest.raises(InvalidInput, match=r"1 record has no consistent entity .*first rows: 4"):
        score("suppress", "D3", policy="error")
    assert score("G1", "D1", policy="error").risk_average == score("G1", "D1").risk_average


def test_add_self_needs_comparable_identifiers():
    anonymous = Dictionary(1, (link_identity("race", T.hierarchies[1], ["Chinese"]),))
    with pytest.raises(InvalidInput, match="mean the same entities"):
        assess(T, identity(3), anonymous, personal(), UTILITY, "add_self")
    assert assess(T, identity(3), anonymous, personal(), UTILITY).add_self_risk_average is None


@pytest.mark.spec("TV-18")
@pytest.mark.parametrize(
    ("k", "matching", "equivalence"),
    [
        (2, {(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 2, 0), (1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 2, 0)},
         {(0, 0, 0), (0, 0, 1), (1, 0, 0), (1, 0, 1)}),
        (3, {(0, 0, 0), (1, 0, 0)}, {(0, 0, 0), (1, 0, 0)}),
    ],
)  # fmt: skip
def test_both_k_anonymity_counts_are_those_of_the_specification(k, matching, equivalence):
    cuts = list(itertools.product(range(6), range(3), range(3)))
    assert len(cuts) == 54
    scores = {
        cut: assess(T, TableRule(levels_of(cut)), DICTIONARIES["D1"], constant_sensitivity(T), UTILITY)
        for cut in cuts
    }
    assert {cut for cut, s in scores.items() if s.k_matching >= k} == matching
    assert {cut for cut, s in scores.items() if s.k_equivalence >= k} == equivalence


@pytest.mark.spec("TV-18")
@pytest.mark.parametrize(("sizes", "average", "greatest"), [([2] * 5, 0.5, 0.5), ([1, 9], 0.2, 1.0)])
def test_average_risk_may_prefer_a_rule_that_is_not_k_anonymous(sizes, average, greatest):
    values = [str(i) for i, size in enumerate(sizes) for _ in range(size)]
    h = flat(values)
    table = Table(("a",), (h,), h.encode(values)[0][:, None])
    result = assess(
        table, identity(1), dictionary_of(table), constant_sensitivity(table), build_utility(table)
    )
    assert result.risk_average == pytest.approx(average)
    assert result.risk_max == greatest
    assert result.classes == len(sizes)


def test_a_missing_value_separates_the_two_counts_for_record_level_rules_too():
    steps = np.zeros((6, 3), dtype=np.int16)
    steps[0] = (0, 2, 2)
    result = assess(T, record_rule(T, steps), DICTIONARIES["T"], personal(), UTILITY)
    assert result.records.counts.tolist()[0] == 2
    assert result.k_equivalence == 1


def test_infinite_losses_are_counted_and_never_become_nan():
    weights = {"city": ConstantWeight(INF), "race": ConstantWeight(1.0), "income": ConstantWeight(1.0)}
    s = build_sensitivity(T, "linear", weights)
    result = assess(T, identity(3), DICTIONARIES["D3"], s, UTILITY)
    assert result.risk_average == INF
    assert result.infinite == 5, "the absent record is not at risk"
    assert result.risk_min == 0
    assert result.histogram_losses.infinite == 5
    assert not np.isnan(result.records.loss).any()
    hidden = assess(T, suppression(T, ["city"]), DICTIONARIES["D3"], s, UTILITY)
    assert (hidden.infinite, math.isfinite(hidden.risk_average)) == (0, True)


def test_numbers_per_record_belong_together():
    result = score("G2", "D1")
    r = result.records
    assert r.counts.tolist() == [4, 4, 6, 2, 1, 6]
    np.testing.assert_array_equal(r.probability, identification_probability(r.counts))
    np.testing.assert_allclose(r.loss, r.phi * r.probability)
    assert result.risk_average == pytest.approx(r.loss.mean())
    assert result.utility_average == pytest.approx(r.utility.mean())
    assert (result.utility_min, result.n_records, result.n_entities) == (r.utility.min(), 6, 12)
    assert result.loss_quantiles[0.5] == np.sort(r.loss)[2]


def test_a_kept_counter_changes_nothing():
    counter = Counter(T, DICTIONARIES["D1"])
    for rule in CUTS:
        fresh, kept = score(rule, "D1"), score(rule, "D1", counter=counter)
        assert fresh.risk_average == kept.risk_average
        assert fresh.records.counts.tolist() == kept.records.counts.tolist()


def test_rules_of_a_dag_are_identity_suppression_and_nothing_between():
    h = Hierarchy.from_parents({"p": [None], "q": [None], "a": ["p", "q"], "b": ["p"]})
    table = Table(("a",), (h,), h.encode(["a", "b", "a"])[0][:, None])
    s, u = constant_sensitivity(table), build_utility(table)
    dictionary = dictionary_of(table)
    assert assess(table, identity(1), dictionary, s, u).records.counts.tolist() == [2, 1, 2]
    assert estimate_cost(Counter(table, dictionary), identity(1), s).seconds > 0
    assert assess(table, suppression(table, ["a"]), dictionary, s, u).min_consistent == 3
    with pytest.raises(NotSupported):
        assess(table, TableRule((1,)), dictionary, s, u)


def test_a_cost_is_estimated_without_scoring():
    counter = Counter(T, DICTIONARIES["D1"])
    cost = estimate_cost(counter, identity(3), personal())
    assert 0 < cost.seconds < 1
    assert cost.bytes > 0
    assert cost.engine == score("identity", "D1").engine


def test_quantiles_and_mean_are_those_of_the_single_records():
    values, records = np.array([3.0, 1.0, 2.0]), np.array([1, 2, 7])
    single = np.sort(np.repeat(values, records))
    for q, found in quantiles(values, records).items():
        assert found == single[max(1, math.ceil(q * 10)) - 1]
    assert mean(values, records) == single.mean()


def test_histograms_hold_every_record_once():
    counts = histogram_of_counts(np.array([0, 1, 4, 700]), np.array([1, 2, 3, 4]))
    assert counts.edges[0] == 0
    assert counts.edges[-1] == 701
    assert sum(counts.records) == 10
    assert counts.records[:2] == (1, 2)
    losses = histogram_of_losses(np.array([0.0, 0.5, 1.0, INF]), np.array([1, 2, 3, 4]))
    assert (sum(losses.records), losses.infinite, losses.records[-1]) == (6, 4, 3)
    assert histogram_of_losses(np.zeros(2), np.array([1, 1])).records == (2,)


def test_a_disclosed_value_is_never_more_specific_than_the_original():
    for cut in CUTS.values():
        disclosed = apply(TableRule(levels_of(cut)), T)
        for j, h in enumerate(T.hierarchies):
            assert all(
                h.is_above(y, x)
                for y, x in zip(disclosed[:, j].tolist(), T.codes[:, j].tolist(), strict=True)
            )
