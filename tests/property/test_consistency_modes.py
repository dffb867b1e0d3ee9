"""Every consistency mode against its definition, and what generalising may do to candidates and risks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rapidfuzz.distance import Jaro

from app.domain.counting.counter import Counter
from app.domain.dictionaries.consistency import similar_pairs
from app.domain.risk.assessment import assess
from app.domain.risk.loss import identification_probability
from app.domain.risk.models import RiskModel
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule, apply
from app.domain.search.record_risk import threshold_histogram
from app.domain.sensitivity.sensitivity import build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from tests.oracles.effort import examples
from tests.oracles.record_thresholds import record_thresholds
from tests.oracles.worlds import generalised, risk, worlds
from tests.oracles.worlds import jaro as jaro_of_the_text

TEXTS = st.text("abC é", max_size=8)
MODELS = ("I", "II", "III")


@pytest.mark.spec("INV-4")
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_counts_under_every_mode_are_those_of_the_definition_on_dags_too(data):
    world = data.draw(worlds())
    shown = data.draw(generalised(world, world.records))
    counter = Counter(world.table(), world.dictionary())
    expected = [len(world.candidates(row)) for row in shown]
    for engine in ("cube", "sorted_keys"):
        assert counter.count(world.codes(shown), engine=engine).values.tolist() == expected
    own = [f"e{i}" in world.candidates(row) for i, row in enumerate(shown)]
    assert counter.own_rows.consistent(world.codes(shown)).tolist() == own


@pytest.mark.spec("INV-4")
@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_table_level_rules_are_counted_under_every_mode_as_the_definition_does(data):
    world = data.draw(worlds(dag=False))
    table = world.table()
    levels = tuple(data.draw(st.integers(0, height)) for height in table.heights)
    disclosed = apply(TableRule(levels), table)
    labels = [tree.labels for tree in table.hierarchies]
    shown = [
        tuple(None if code == 0 else labels[j][code] for j, code in enumerate(row))
        for row in disclosed.tolist()
    ]
    counter = Counter(table, world.dictionary())
    for engine in ("cube", "sorted_keys"):
        counts = counter.count(disclosed, levels, engine).values.tolist()
        assert counts == [len(world.candidates(row)) for row in shown]


@pytest.mark.spec("INV-4")
@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_threshold_vectors_count_as_the_definition_does_at_every_node(data):
    world = data.draw(worlds(dag=False))
    counter = Counter(world.table(), world.dictionary())
    for i, row in enumerate(world.records):
        chains = []
        for h, value in zip(world.hierarchies, row, strict=True):
            chain = [value]
            while chain[-1] is not None:
                chain.append(h[chain[-1]][0])
            chains.append(chain)
        thresholds = record_thresholds(counter, i)
        counts = threshold_histogram(thresholds, [len(chain) - 1 for chain in chains])
        for node in itertools.product(*(range(len(chain)) for chain in chains)):
            shown = tuple(chain[s] for chain, s in zip(chains, node, strict=True))
            assert counts[node] == len(world.candidates(shown))


@pytest.mark.spec("INV-1", "INV-2")
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_generalising_never_loses_a_candidate_in_any_mode(data):
    world = data.draw(worlds())
    shown = data.draw(generalised(world, world.records))
    further = data.draw(generalised(world, shown))
    for before, after in zip(shown, further, strict=True):
        assert world.candidates(before) <= world.candidates(after)
    counter = Counter(world.table(), world.dictionary())
    counts = [counter.count_records(world.codes(rows)).values for rows in (shown, further)]
    assert (counts[0] <= counts[1]).all()
    p = identification_probability(counts[0])
    assert ((p >= 0) & (p <= 1)).all()
    assert ((p == 0) == (counts[0] == 0)).all()


@st.composite
def sensitivities(draw, table, most=4.0):
    number = st.sampled_from([0.0, 0.3, 1.0, most])
    family = draw(st.sampled_from(["linear", "multiplicative", "multiplicative_centered", "constant"]))
    if family == "constant":
        return constant_sensitivity(table, draw(number))
    return build_sensitivity(table, family, {a: ConstantWeight(draw(number)) for a in table.attributes})


@pytest.mark.spec("INV-3", "INV-23")
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_risks_fall_under_generalisation_where_the_hypotheses_are_reported_to_hold(data):
    world = data.draw(worlds())
    table, dictionary = world.table(), world.dictionary()
    shown = data.draw(generalised(world, world.records))
    further = data.draw(generalised(world, shown))
    phi = data.draw(sensitivities(table, np.inf))
    model = RiskModel(data.draw(st.sampled_from(MODELS)))
    failure = data.draw(st.one_of(st.none(), sensitivities(table, 0.3))) if model.name == "I" else None
    policy = data.draw(st.sampled_from(["zero", "add_self"]))
    utility = build_utility(table)
    found = [
        assess(table, world.rule(rows), dictionary, phi, utility, policy, failure=failure, model=model)
        for rows in (shown, further)
    ]
    for assessment in found:
        assert not np.isnan(assessment.records.loss).any()
    before, after = found
    if before.monotone.holds and after.monotone.psi_le_phi:
        assert (after.records.loss <= before.records.loss * (1 + 1e-12) + 1e-12).all()
        assert (after.records.utility <= before.records.utility).all()


@pytest.mark.spec("INV-3")
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_the_risk_of_every_model_and_policy_is_that_of_the_definition(data):
    world = data.draw(worlds())
    table = world.table()
    shown = data.draw(generalised(world, world.records))
    phi = data.draw(sensitivities(table, np.inf))
    psi = data.draw(sensitivities(table, np.inf))
    model = data.draw(st.sampled_from(MODELS))
    policy = data.draw(st.sampled_from(["zero", "add_self"]))
    found = assess(
        table, world.rule(shown), world.dictionary(), phi, build_utility(table), policy,
        failure=psi if model == "I" else None, model=RiskModel(model),
    )  # fmt: skip
    harm, missed = phi.phi(world.codes(shown)), psi.phi(world.codes(shown))
    for i, row in enumerate(shown):
        own = {f"e{i}"} if policy == "add_self" else set()
        count, n = len(world.candidates(row) | own), len(set(world.entities) | own)
        assert found.records.counts[i] == count
        expected = risk(model, count, float(harm[i]), n, float(missed[i]) if model == "I" else 0.0)
        assert found.records.loss[i] == pytest.approx(expected, rel=1e-12, abs=1e-12)


@pytest.mark.deep
@pytest.mark.spec("INV-11", "E-46")
@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_more_entities_never_raise_a_loss_once_somebody_is_consistent(data):
    world = data.draw(worlds(least_entities=1))
    table = world.table()
    shown = data.draw(generalised(world, world.records))
    some = dict(list(world.entities.items())[: data.draw(st.integers(0, len(world.entities)))])
    for model in ("I", "II"):
        few, many = (
            assess(
                table, world.rule(shown), world.dictionary(rows), constant_sensitivity(table),
                build_utility(table), model=RiskModel(model),
            ).records
            for rows in (some, world.entities)
        )  # fmt: skip
        present = few.counts > 0
        assert (many.loss[present] <= few.loss[present]).all()


@pytest.mark.spec("INV-14")
@settings(max_examples=examples(300), deadline=None)
@given(TEXTS, TEXTS)
def test_the_similarity_is_symmetric_bounded_and_that_of_the_text(s, t):
    assert Jaro.similarity(s, t) == pytest.approx(jaro_of_the_text(s, t), abs=1e-12)
    assert Jaro.similarity(s, t) == pytest.approx(Jaro.similarity(t, s), abs=1e-15)
    assert 0 <= Jaro.similarity(s, t) <= 1
    assert (Jaro.similarity(s, t) == 1) == (s == t)


@example(["abcdefghij"], ["abcdefgxyz"], 0.8)
@settings(max_examples=examples(200), deadline=None)
@given(st.lists(TEXTS, max_size=6), st.lists(TEXTS, max_size=6), st.sampled_from([0.0, 0.5, 2 / 3, 0.8, 1.0]))
def test_all_similar_pairs_are_found_with_the_threshold_included(queries, choices, threshold):
    found = {
        (first + int(row), int(choice))
        for first, rows, columns in similar_pairs(queries, choices, threshold)
        for row, choice in zip(rows, columns, strict=True)
    }
    assert found == {
        (i, j)
        for i, s in enumerate(queries)
        for j, t in enumerate(choices)
        if jaro_of_the_text(s, t) >= threshold - 1e-9
    }
