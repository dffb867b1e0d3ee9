"""Risk of records drawn from a distribution: against full enumeration, statistically, and what is refused."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from app.domain.analyses.parametric_risk import (
    PARAMETRIC_RISK,
    ParametricParameters,
    ProductDistribution,
    bernstein_radius,
    fitted,
)
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.errors import InvalidInput
from app.domain.hierarchies.builders import flat
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import RecordRule, TableRule
from app.domain.sensitivity.sensitivity import build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight, LeafWeights
from app.domain.tables.table import Table
from tests.oracles.counting import brute_counts
from tests.unit.domain.fixture_f import CUTS, DICTIONARIES, T, levels_of, personal

FALSE_ALARM = 1e-6
MARGINALS = {
    "city": {"Lafayette": 0.5, "Chicago": 0.25, "Dayton": 0.25},
    "race": {"Chinese": 0.1, "White": 0.9},
    "income": {"20-39": 0.4, "60-79": 0.6},
}
HARM = build_sensitivity(
    T, "linear", {"city": LeafWeights(0.3), "race": LeafWeights(0.4), "income": LeafWeights(0.75)}
)


def context_of(**more) -> MeasureContext:
    context = MeasureContext(
        T, TableRule(levels_of(CUTS["G1"])), DICTIONARIES["D1"], HARM, None, build_utility(T), MODEL_I, "zero"
    )
    return replace(context, **more)


def drawn(context=None, **parameters):
    context, parameters = context or context_of(), ParametricParameters(**parameters)
    assert PARAMETRIC_RISK.supports(context, parameters) is None
    assert PARAMETRIC_RISK.cost(context, parameters).units == parameters.samples
    return PARAMETRIC_RISK.compute(context, parameters, lambda done: None)


def raised(h: Hierarchy, node: int, level: int) -> int:
    while h.depth[node] > h.height - level:
        (node,) = h.parents[node]
    return node


def enumerated(marginals) -> tuple[float, float, float]:
    """Mean, variance and mean utility over every combination of leaves, by the definition."""
    total = square = useful = 0.0
    levels = levels_of(CUTS["G1"])
    for combination in itertools.product(*(marginals[name].items() for name in T.attributes)):
        probability = math.prod(p for _, p in combination)
        row = [
            raised(h, h.node_of(label), level)
            for h, (label, _), level in zip(T.hierarchies, combination, levels, strict=True)
        ]
        (count,) = brute_counts(T, DICTIONARIES["D1"], np.array([row], dtype=np.int32))
        loss = sum(HARM.shapes[j][0][node] for j, node in enumerate(row)) / count if count else 0.0
        total += probability * loss
        square += probability * loss**2
        useful += probability * sum(int(h.depth[node]) for h, node in zip(T.hierarchies, row, strict=True))
    return total, square - total**2, useful


def test_the_estimate_is_that_of_full_enumeration_but_for_chance():
    """Off by more than Bernstein's bound with probability at most 1e-6; another distribution would be."""
    exact, variance, useful = enumerated(MARGINALS)
    found = drawn(samples=200_000, seed=11, marginals=MARGINALS)
    radius = bernstein_radius(variance, 1.5, 200_000, 1 - FALSE_ALARM)
    assert abs(found.risk - exact) < radius
    other = {**MARGINALS, "city": {"Lafayette": 0.45, "Chicago": 0.3, "Dayton": 0.25}}
    assert abs(drawn(samples=200_000, seed=11, marginals=other).risk - exact) > radius, "positive control"
    assert found.standard_error == pytest.approx(math.sqrt(variance / 200_000), rel=0.05)
    assert found.utility == pytest.approx(useful, rel=1e-12)
    assert found.interval_guaranteed.low <= exact <= found.interval_guaranteed.high
    assert found.interval.low > found.interval_guaranteed.low
    assert found.loss_max <= found.greatest_possible


def test_normal_intervals_cover_the_truth_about_as_often_as_they_say():
    """Of 200 intervals of 80 %, fewer than 120 cover with probability below 1e-6 (binomial); 50 % would."""
    exact, _, _ = enumerated(MARGINALS)
    intervals = [
        drawn(samples=2_000, seed=seed, marginals=MARGINALS, confidence=0.8).interval for seed in range(200)
    ]
    assert sum(i.low <= exact <= i.high for i in intervals) >= 120
    halves = [(i.low + (i.high - i.low) * 0.32, i.high - (i.high - i.low) * 0.32) for i in intervals]
    assert sum(low <= exact <= high for low, high in halves) < 120, "positive control"


def test_the_same_seed_gives_the_same_result_and_blocks_do_not_matter(monkeypatch):
    first = drawn(samples=5_000, seed=3)
    assert first == drawn(samples=5_000, seed=3)
    assert first.risk != drawn(samples=5_000, seed=4).risk
    monkeypatch.setattr("app.domain.analyses.parametric_risk.DRAWS_PER_BLOCK", 5_000)
    assert drawn(samples=5_000, seed=3) == first


def test_a_single_possible_record_has_its_own_loss_without_error():
    table = Table(T.attributes, T.hierarchies, T.codes[:1])
    found = drawn(context_of(table=table), samples=100)
    assert found.risk == pytest.approx(found.loss_max)
    assert found.standard_error == 0.0
    assert found.absent == 0


def test_prohibited_data_make_the_risk_infinite_once_drawn_and_bounded_in_probability_before():
    h = flat(["rare", "usual"])
    table = Table(("x",), (h,), h.encode(["usual"])[0][:, None])
    harm = build_sensitivity(table, "linear", {"x": LeafWeights(0.0, {"rare": math.inf})})
    context = context_of(
        table=table, rule=TableRule((0,)), dictionary=Dictionary(5, ()), sensitivity=harm,
        utility=build_utility(table),
    )  # fmt: skip
    found = drawn(context, samples=1_000, smoothing=0.0)
    assert (found.risk, found.infinite_losses, found.infinite_at_most) == (0.0, 0, 0.0)
    share = {"x": {"rare": 1e-9, "usual": 1 - 1e-9}}
    found = drawn(context, samples=1_000, marginals=share)
    assert (found.risk, found.infinite_losses) == (0.0, 0)
    assert found.infinite_at_most == pytest.approx(1 - 0.05 ** (1 / 1_000))
    assert found.interval_guaranteed is None
    assert found.greatest_possible == math.inf
    found = drawn(context, samples=1_000, marginals={"x": {"rare": 0.5, "usual": 0.5}})
    assert found.risk == math.inf == found.loss_max
    assert found.infinite_losses > 300
    assert found.standard_error is None is found.interval
    assert found.infinite_at_most is None


def test_whoever_is_drawn_counts_as_one_more_under_add_self():
    table = Table(T.attributes, T.hierarchies, T.codes[:1])
    context = context_of(table=table, dictionary=Dictionary(4, ()), sensitivity=constant_sensitivity(table))
    assert drawn(context, samples=10).risk == 0.25
    assert drawn(replace(context, absent_policy="add_self"), samples=10).risk == 0.2


def test_a_harm_of_failure_enters_and_bounds_the_greatest_loss():
    table = Table(T.attributes, T.hierarchies, T.codes[:1])
    context = context_of(
        table=table, dictionary=Dictionary(4, ()), sensitivity=constant_sensitivity(table, 1.0),
        failure=constant_sensitivity(table, 3.0),
    )  # fmt: skip
    found = drawn(context, samples=10)
    assert found.risk == 0.25 + 0.75 * 3
    assert found.greatest_possible == 3.0


@pytest.mark.parametrize(("model", "risk"), [("II", 1 / 4), ("III", 2.0 * math.log(8 / 4))])
def test_other_models_of_risk_are_bounded_too(model, risk):
    h = flat(["a", "b"])
    table = Table(("x",), (h,), h.encode(["a"])[0][:, None])
    half = np.array([1] * 4 + [2] * 4, dtype=np.int32)
    dictionary = Dictionary(8, (link_nodes("x", h, half),))
    harm = build_sensitivity(table, "linear", {"x": ConstantWeight(2.0)})
    context = context_of(
        table=table, rule=TableRule((0,)), dictionary=dictionary, sensitivity=harm,
        utility=build_utility(table), model=RiskModel(model),
    )  # fmt: skip
    found = drawn(context, samples=10)
    assert found.risk == pytest.approx(risk)
    assert found.greatest_possible == pytest.approx({"II": 1.0, "III": 2.0 * math.log(8)}[model])
    custom = drawn(replace(context, model=RiskModel("custom", "phi / count")), samples=10)
    assert custom.risk == 0.5
    assert custom.greatest_possible is None is custom.interval_guaranteed


def test_fitted_shares_are_the_table_s_with_weights_and_smoothing():
    weighted = replace(T, weights=np.array([3.0, 1, 1, 1, 1, 1]))
    income = fitted(weighted)
    labels = [T.hierarchies[2].labels[node] for node in income.nodes[2]]
    assert dict(zip(labels, income.probabilities[2], strict=True)) == pytest.approx(
        {"20-39": 0.5, "40-59": 0.25, "60-79": 0.125, "80-99": 0.125}
    )
    race = fitted(T, smoothing=1.0)
    labels = [T.hierarchies[1].labels[node] for node in race.nodes[1]]
    assert dict(zip(labels, race.probabilities[1] * 11, strict=True)) == pytest.approx(
        {T.hierarchies[1].labels[0]: 1, "Chinese": 2, "Japanese": 2, "Indian": 1, "White": 3, "Black": 2}
    )


def test_draws_follow_the_probabilities_and_never_leave_the_support():
    """Each share is off by more than the bound with probability at most 1e-6 (Hoeffding)."""
    nodes, shares = np.array([2, 5, 7], dtype=np.int32), np.array([0.1, 0.2, 0.7])
    rows = ProductDistribution((nodes,), (shares,)).draw(50_000, np.random.default_rng(1))
    found = np.array([(rows[:, 0] == node).mean() for node in nodes])
    bound = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * 50_000))
    assert (np.abs(found - shares) < bound).all()
    assert found.sum() == 1
    assert not (np.abs(found - shares[::-1]) < bound).all(), "positive control"


@pytest.mark.parametrize(
    ("marginals", "pointer", "code"),
    [
        ({"zip": {"1": 1.0}}, "/measure/marginals/zip", "unknown-attribute"),
        ({"city": {"Indiana": 1.0}}, "/measure/marginals/city/Indiana", "unknown-value"),
        ({"city": {"Lafayette": 0.5}}, "/measure/marginals/city", "no-distribution"),
        ({"city": {"Lafayette": 1.5, "Chicago": -0.5}}, "/measure/marginals/city", "no-distribution"),
    ],
)
def test_marginals_that_are_none_are_refused_by_name(marginals, pointer, code):
    with pytest.raises(InvalidInput) as caught:
        PARAMETRIC_RISK.cost(context_of(), ParametricParameters(marginals=marginals))
    assert [(f.pointer, f.code) for f in caught.value.faults] == [(pointer, code)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"rule": RecordRule(np.zeros((6, 3), dtype=np.int16))}, "table-level rule"),
        ({"sensitivity": personal()}, "belong to nobody"),
        ({"failure": personal()}, "belong to nobody"),
        ({"absent_policy": "error"}, "zero or add_self"),
        ({"model": RiskModel("III_raw")}, "III_raw"),
    ],
)
def test_what_has_no_meaning_for_drawn_records_is_refused(change, reason):
    assert reason in str(PARAMETRIC_RISK.supports(context_of(**change), ParametricParameters()))
