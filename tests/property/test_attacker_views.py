"""Sets of dictionaries, the order of dictionaries and the bound, against definitions written as loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.risk.assessment import assess
from app.domain.risk.attackers import DictionarySet, assess_set
from app.domain.risk.dictionary_order import bound_hypotheses, dictionary_order
from app.domain.risk.models import RiskModel
from app.domain.risk.summaries import mean
from app.domain.risk.utility import build_utility
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.worlds import STRANGERS, generalised, risk, up, worlds

WEIGHTS = st.sampled_from([0.0, 0.25, 1.0, 3.0, 1e-300])


def leq(parents, a, b):
    """Whether cell a ⪯ cell b; a text outside the hierarchy only if they are equal, or b is ⊥."""
    if b is None or a == b:
        return True
    return a in parents and b in parents and b in up(parents, a)


def precedes(world, theta, eta):
    return all(
        entity in eta and all(leq(*cells) for cells in zip(world.hierarchies, row, eta[entity], strict=True))
        for entity, row in theta.items()
    )


@st.composite
def vaguer(draw, world, entities, others_called="x"):
    """The entities, each perhaps vaguer, in another order and with others beside them."""
    rows = {}
    for entity in draw(st.permutations(list(entities))):
        row = []
        for h, value in zip(world.hierarchies, entities[entity], strict=True):
            above = sorted(up(h, value), key=str) if value is None or value in h else [value, None]
            row.append(draw(st.sampled_from(above)))
        rows[entity] = tuple(row)
    others = draw(st.lists(st.tuples(*(st.sampled_from([None, *h]) for h in world.hierarchies)), max_size=3))
    return rows | {f"{others_called}{i}": row for i, row in enumerate(others)}


def weights_for(draw, table):
    """Φ with finite and infinite weights, and Ψ that is sometimes greater."""
    number = st.sampled_from([0.0, 0.5, 1.0, math.inf])
    phi, psi = (
        build_sensitivity(table, "linear", {a: ConstantWeight(draw(number)) for a in table.attributes})
        for _ in range(2)
    )
    return phi, psi


@pytest.mark.spec("INV-9", "INV-23", "E-4")
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_views_of_a_set_are_those_of_the_definition(data):
    world = data.draw(worlds())
    sets = [world.entities, data.draw(vaguer(world, world.entities)), {}]
    q = [data.draw(st.integers(0, 3)) for _ in sets]
    assume(sum(q))
    prior = [x / sum(q) for x in q]
    record_weights = [data.draw(WEIGHTS) for _ in world.records]
    weighted = any(record_weights)
    table = world.table(np.array(record_weights) if weighted else None)
    shown = data.draw(generalised(world, world.records))
    phi, psi = weights_for(data.draw, table)
    model = data.draw(st.sampled_from(["I", "II", "III"]))
    found = assess_set(
        table, world.rule(shown), DictionarySet(tuple(map(world.dictionary, sets)), tuple(prior)), phi,
        build_utility(table), failure=psi if model == "I" else None, model=RiskModel(model),
    )  # fmt: skip
    harm, missed = phi.phi(world.codes(shown)), psi.phi(world.codes(shown))
    psi_of = missed.tolist() if model == "I" else [0.0] * len(shown)
    loss = [
        [
            risk(model, len(world.candidates(row, s)), float(harm[i]), len(s), psi_of[i])
            for i, row in enumerate(shown)
        ]
        for s in sets
    ]
    mass = record_weights if weighted else [1.0] * len(shown)

    def average(values):
        return sum(w * v for w, v in zip(mass, values, strict=True) if w) / sum(mass)

    expected = [sum(p * row[i] for p, row in zip(prior, loss, strict=True) if p) for i in range(len(shown))]
    per_theta = [average(row) for row in loss]
    worst = [max(row[i] for row in loss) for i in range(len(shown))]
    close = {"rel": 1e-12, "abs": 1e-300}
    assert found.bayes.loss == pytest.approx(expected, **close)
    assert found.bayes.risk_average == pytest.approx(average(expected), **close)
    assert found.worst_case.risk_average == pytest.approx(max(per_theta), **close)
    assert found.worst_case_per_record.risk_average == pytest.approx(average(worst), **close)
    counted = [i for i, w in enumerate(mass) if w]
    assert found.worst_case.risk_max == pytest.approx(max(worst[i] for i in counted), **close)
    assert found.worst_case_per_record.risk_max == found.worst_case.risk_max
    assert found.worst_case_per_record.risk_min == pytest.approx(min(worst[i] for i in counted), **close)
    # The views are ordered, and the dictionaries named do attain the figures.
    averages = [assessment.risk_average for assessment in found.assessments]
    positive = [r for r, p in zip(averages, prior, strict=True) if p]
    slack = 1 + 1e-12
    assert min(positive) <= found.bayes.risk_average * slack
    assert found.bayes.risk_average <= max(positive) * slack
    assert found.bayes.risk_average <= found.worst_case.risk_average * slack
    assert found.worst_case.risk_average <= found.worst_case_per_record.risk_average * slack
    assert averages[found.worst_case.at_average] == max(averages)
    assert found.assessments[found.worst_case.at_max].risk_max == found.worst_case.risk_max
    assert found.assessments[found.worst_case.at_min].risk_min == found.worst_case.risk_min
    for i, at in enumerate(found.worst_case_per_record.at.tolist()):
        assert found.assessments[at].records.loss[i] == found.worst_case_per_record.loss[i]
    for view in ("bayes", "worst_case", "worst_case_per_record"):
        score = found.view(view)
        assert not np.isnan([score.risk_average, score.risk_max, score.risk_min, *score.loss]).any()


@pytest.mark.spec("INV-10", "E-8")
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_the_order_of_dictionaries_is_that_of_the_definition(data):
    world = data.draw(worlds())
    table = world.table()
    eta = data.draw(st.one_of(vaguer(world, world.entities), st.just(data.draw(worlds()).entities)))
    assume(all(len(row) == len(world.hierarchies) for row in eta.values()))
    eta = {
        entity: tuple(
            value if value is None or value in h or value in STRANGERS else None
            for h, value in zip(world.hierarchies, row, strict=True)
        )
        for entity, row in eta.items()
    }
    answer = dictionary_order(world.dictionary(), world.dictionary(eta), table)
    assert answer.holds == precedes(world, world.entities, eta)
    if answer.holds:
        return
    entity, row = next((e, r) for e, r in world.entities.items() if not precedes(world, {e: r}, eta))
    assert answer.entity == entity
    if entity in eta:
        broken = zip(world.names, world.hierarchies, row, eta[entity], strict=True)
        assert answer.attribute == next(name for name, *cells in broken if not leq(*cells))
    else:
        assert (answer.attribute, answer.breach) == (None, "entity_missing")


@pytest.mark.spec("INV-10")
@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_the_order_is_reflexive_transitive_and_antisymmetric(data):
    world = data.draw(worlds())
    table = world.table()
    chain = [world.entities]
    for others in "xy":
        chain.append(data.draw(vaguer(world, chain[-1], others)))
    built = [world.dictionary(entities) for entities in chain]
    for i, j in itertools.combinations_with_replacement(range(3), 2):
        assert dictionary_order(built[i], built[j], table).holds
        if dictionary_order(built[j], built[i], table).holds:
            assert chain[i] == chain[j]


@pytest.mark.spec("INV-10", "E-9", "TV-9")
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_a_claimed_bound_holds_for_every_rule_and_so_for_the_minima(data):
    world = data.draw(worlds())
    table = world.table()
    own = {f"e{i}": row for i, row in enumerate(data.draw(generalised(world, world.records)))}
    estimated = own | world.entities if data.draw(st.booleans()) else world.entities | own
    true = data.draw(vaguer(world, estimated))
    theta, eta = world.dictionary(estimated), world.dictionary(true)
    phi, psi = weights_for(data.draw, table)
    failure = data.draw(st.sampled_from([None, psi]))
    model = RiskModel("II" if failure is None and data.draw(st.booleans()) else "I")
    least = [math.inf, math.inf]
    claimed = True
    for _ in range(3):
        rule = world.rule(data.draw(generalised(world, world.records)))
        answer = bound_hypotheses(table, rule, theta, eta, phi, failure, model)
        scores = [
            assess(table, rule, d, phi, build_utility(table), failure=failure, model=model)
            for d in (theta, eta)
        ]
        claimed &= answer.claimed
        assert not answer.rests_on_assumptions
        if answer.claimed:
            assert (scores[0].records.counts <= scores[1].records.counts).all()
            assert (scores[1].records.loss <= scores[0].records.loss * (1 + 1e-12)).all()
            assert scores[1].risk_average <= scores[0].risk_average * (1 + 1e-12)
        least = [min(a, s.risk_average) for a, s in zip(least, scores, strict=True)]
    if claimed:
        assert least[1] <= least[0] * (1 + 1e-12)
    by_name = {hypothesis.name: hypothesis.holds for hypothesis in answer.hypotheses}
    assert (by_name["consistency_mode"] == "true") == ("subsumed" not in world.modes)
    kept = all(
        f"e{i}" in estimated and f"e{i}" in world.candidates(row, estimated)
        for i, row in enumerate(world.records)
    )
    assert (by_name["own_rows_consistent"] == "true") == kept
    assert (by_name["dictionary_order"] == "true") == precedes(world, estimated, true)


@pytest.mark.spec("INV-22")
@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_weighted_scores_do_not_depend_on_the_order_or_the_unit_of_the_weights(data):
    world = data.draw(worlds())
    weights = [data.draw(st.sampled_from([0.0, 0.1, 1.0, 7.0])) for _ in world.records]
    assume(any(weights))
    table = world.table(np.array(weights))
    shown = data.draw(generalised(world, world.records))
    order = data.draw(st.permutations(range(len(shown))))
    scale = data.draw(st.sampled_from([1e-300, 0.3, 1e300]))
    moved = Table(
        table.attributes, table.hierarchies, table.codes[list(order)], table.entity_ids[list(order)],
        np.array(weights)[list(order)] * scale,
    )  # fmt: skip
    phi, _ = weights_for(data.draw, table)
    found = [
        assess(t, rule, world.dictionary(), phi, build_utility(t))
        for t, rule in (
            (table, world.rule(shown)),
            (moved, type(world.rule(shown))(world.codes([shown[i] for i in order]))),
        )
    ]
    a, b = found
    assert b.risk_average == pytest.approx(a.risk_average, rel=1e-12)
    assert b.utility_average == pytest.approx(a.utility_average, rel=1e-12)
    assert (b.risk_max, b.risk_min, b.infinite, b.absent) == (a.risk_max, a.risk_min, a.infinite, a.absent)
    losses, total = a.records.loss.tolist(), sum(weights)
    batch = sum(w * v for w, v in zip(weights, losses, strict=True) if w) / total
    assert a.risk_average == pytest.approx(batch, rel=1e-12)
    # One by one, as section 18 has it: the running mean, once infinite, stays so.
    running, seen = 0.0, 0.0
    for w, v in zip(weights, losses, strict=True):
        if w:
            seen += w
            running = math.inf if math.inf in (v, running) else running + w / seen * (v - running)
    assert a.risk_average == pytest.approx(running, rel=1e-12, abs=1e-15)


@pytest.mark.spec("INV-22")
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 2.0, math.inf]), WEIGHTS), min_size=1, max_size=6))
def test_a_weightless_record_contributes_nothing_and_an_infinite_one_everything(pairs):
    values, weights = (np.array(column) for column in zip(*pairs, strict=True))
    assume(weights.any())
    held = weights > 0
    expected = math.inf if np.isinf(values[held]).any() else np.average(values[held], weights=weights[held])
    assert mean(values, weights) == pytest.approx(expected, rel=1e-12)
