"""Counts and scores against loops that are obviously right, on random hierarchies, tables, dictionaries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.counting.counter import Counter, dictionary_of
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute
from app.domain.hierarchies.hierarchy import TOP
from app.domain.risk.assessment import assess
from app.domain.risk.loss import identification_probability, loss
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import RecordRule, TableRule, apply
from app.domain.sensitivity.sensitivity import Overrides, build_sensitivity
from app.domain.sensitivity.weights import LeafWeights, harmonic_weights
from app.domain.tables.distinct import distinct_rows, row_keys
from app.domain.tables.numbers import exact_sum, to_json_number
from app.domain.tables.table import Table
from tests.oracles.counting import brute_consistent, brute_counts, hierarchies, instances, table_rules
from tests.oracles.effort import examples

MODELS = ["depth_sum", "inverse_leaves", "log_leaves", "info_loss_xt", "info_loss_lm"]


@st.composite
def record_rules(draw, table: Table) -> RecordRule:
    steps = [[draw(st.integers(0, h)) for h in table.heights] for _ in range(table.n_records)]
    return RecordRule(np.array(steps, dtype=np.int16))


@pytest.mark.spec("INV-4")
@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_both_engines_count_table_level_rules_as_the_definition_does(data):
    table, dictionary = data.draw(instances())
    rule = data.draw(table_rules(table))
    disclosed = apply(rule, table)
    expected = brute_counts(table, dictionary, disclosed)
    counter = Counter(table, dictionary)
    linked = disclosed[:, list(counter.linked)]
    levels = [rule.levels[j] for j in counter.linked]
    for engine in ("cube", "sorted_keys"):
        assert counter.count(linked, levels, engine).values.tolist() == expected
        assert counter.count(linked, None, engine).values.tolist() == expected
    assert counter.count_records(disclosed, rule.levels).values.tolist() == expected


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_both_engines_count_records_at_different_levels(data):
    table, dictionary = data.draw(instances())
    disclosed = apply(data.draw(record_rules(table)), table)
    counter = Counter(table, dictionary)
    for engine in ("cube", "sorted_keys"):
        values = counter.count(disclosed[:, list(counter.linked)], engine=engine).values
        assert values.tolist() == brute_counts(table, dictionary, disclosed)


@settings(max_examples=examples(150), deadline=None)
@given(instances(trees=False))
def test_both_engines_count_on_hierarchies_with_several_parents(instance):
    table, dictionary = instance
    counter = Counter(table, dictionary)
    for engine in ("cube", "sorted_keys"):
        values = counter.count(table.codes[:, list(counter.linked)], engine=engine).values
        assert values.tolist() == brute_counts(table, dictionary, table.codes)


@pytest.mark.spec("INV-1")
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_a_score_is_that_of_the_single_records(data):
    table, dictionary = data.draw(instances())
    rule = data.draw(st.one_of(table_rules(table), record_rules(table)))
    policy = data.draw(st.sampled_from(["zero", "add_self"]))
    sensitivity = data.draw(sensitivities(table))
    utility = build_utility(table, data.draw(st.sampled_from(MODELS)))
    result = assess(table, rule, dictionary, sensitivity, utility, policy)
    disclosed = apply(rule, table)
    losses, utilities = [], []
    for i, row in enumerate(disclosed):
        count = sum(
            brute_consistent(table, dictionary, row, e)
            for e in range(dictionary.n_entities)
            if policy == "zero" or dictionary.entity_ids[e] != table.entity_ids[i]
        ) + (policy == "add_self")
        group = None if sensitivity.groups is None else sensitivity.groups[i : i + 1]
        phi = sensitivity.phi(row[None, :], group)[0]
        p = 1 / count if count else 0.0
        assert result.records.counts[i] == count
        assert result.records.probability[i] == p
        assert (p == 0) == (count == 0)
        assert 0 <= p <= 1
        losses.append(0.0 if count == 0 else phi / count)
        utilities.append(sum(float(v[node]) for v, node in zip(utility.values, row, strict=True)))
    np.testing.assert_array_equal(result.records.loss, losses)
    assert result.risk_average == pytest.approx(sum(losses) / len(losses), rel=1e-12)
    assert (result.risk_max, result.risk_min) == (max(losses), min(losses))
    assert result.utility_average == pytest.approx(sum(utilities) / len(utilities), abs=1e-12)
    assert result.k_matching == min(brute_counts(table, dictionary_of(table), disclosed))
    classes = [tuple(row) for row in disclosed.tolist()]
    assert result.k_equivalence == min(classes.count(row) for row in classes)
    assert result.classes == len(set(classes))


@st.composite
def sensitivities(draw, table: Table):
    weight = st.one_of(st.floats(0, 10), st.just(math.inf))
    family = draw(st.sampled_from(["linear", "linear_personal", "multiplicative", "multiplicative_centered"]))
    weights = {
        name: LeafWeights(None, {h.labels[leaf]: draw(weight) for leaf in h.leaves.tolist()})
        for name, h in zip(table.attributes, table.hierarchies, strict=True)
    }
    overrides = None
    if family != "linear" and draw(st.booleans()):
        groups = draw(st.lists(st.integers(0, 2), min_size=table.n_records, max_size=table.n_records))
        rows = [[draw(st.one_of(st.just(math.nan), weight)) for _ in table.attributes] for _ in range(3)]
        overrides = Overrides(np.array(groups, dtype=np.int32), np.array(rows))
    return build_sensitivity(table, family, weights, overrides)


@pytest.mark.spec("INV-2", "INV-3", "INV-12")
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_generalising_never_lowers_counts_nor_raises_loss_or_utility(data):
    table, dictionary = data.draw(instances())
    finer = data.draw(table_rules(table))
    more_general = TableRule(
        tuple(data.draw(st.integers(level, h)) for level, h in zip(finer.levels, table.heights, strict=True))
    )
    sensitivity = data.draw(sensitivities(table))
    for model in MODELS:
        utility = build_utility(table, model)
        before, after = (
            assess(table, r, dictionary, sensitivity, utility).records for r in (finer, more_general)
        )
        assert (after.counts >= before.counts).all()
        assert (after.phi <= before.phi * (1 + 1e-12)).all()
        present = before.counts > 0
        assert (after.loss[present] <= before.loss[present] * (1 + 1e-12)).all()
        assert (after.utility <= before.utility + 1e-12).all()


@pytest.mark.spec("INV-2")
@settings(max_examples=examples(100), deadline=None)
@given(instances(trees=False))
def test_suppressing_one_value_of_a_dag_never_lowers_the_count(instance):
    table, dictionary = instance
    counter = Counter(table, dictionary)
    before = counter.count_records(table.codes).values
    for j in range(table.n_attributes):
        codes = table.codes.copy()
        codes[:, j] = TOP
        assert (counter.count_records(codes).values >= before).all()


@pytest.mark.spec("INV-11")
@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_further_entities_never_raise_the_loss_of_a_record_with_a_consistent_one(data):
    table, dictionary = data.draw(instances())
    k = data.draw(st.integers(0, dictionary.n_entities))
    part = tuple(
        LinkedAttribute(x.attribute, x.hierarchy, x.column[:k], x.starts, x.leaves, x.everything)
        for x in dictionary.links
    )
    smaller = Counter(table, Dictionary(k, part)).count_records(table.codes).values
    larger = Counter(table, dictionary).count_records(table.codes).values
    phi = np.ones(table.n_records)
    present = smaller > 0
    assert (loss(larger, phi)[present] <= loss(smaller, phi)[present]).all()


@pytest.mark.spec("INV-12")
@settings(max_examples=examples(150), deadline=None)
@given(st.data())
def test_harmonic_weights_are_valid_and_homogeneous(data):
    h = data.draw(hierarchies(trees=data.draw(st.booleans())))
    leaf = np.array(
        [
            data.draw(st.one_of(st.just(0.0), st.floats(1e-9, 10), st.just(math.inf)))
            for _ in range(h.n_leaves)
        ]
    )
    weights = harmonic_weights(h, leaf)
    child, parent = h.edges
    assert not np.isnan(weights).any()
    assert (weights >= 0).all()
    assert (weights[child] >= weights[parent]).all()
    assert weights[TOP] == 0
    np.testing.assert_allclose(harmonic_weights(h, leaf * 4), weights * 4)


@pytest.mark.spec("INV-12")
@settings(max_examples=examples(50), deadline=None)
@given(st.data())
def test_the_multiplicative_family_exceeds_the_linear_one(data):
    table, _ = data.draw(instances())
    weights = {name: LeafWeights(data.draw(st.floats(0, 50))) for name in table.attributes}
    linear = build_sensitivity(table, "linear_personal", weights).phi(table.codes)
    assert (build_sensitivity(table, "multiplicative", weights).phi(table.codes) > linear).all()


@pytest.mark.spec("INV-16")
@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_k_anonymity_in_the_matching_sense_is_a_bound_on_the_greatest_loss(data):
    table, _ = data.draw(instances())
    rule = data.draw(table_rules(table))
    weights = dict.fromkeys(table.attributes, LeafWeights(1.0))
    from_table = assess(
        table, rule, dictionary_of(table), build_sensitivity(table, "linear", weights), build_utility(table)
    )
    counts = from_table.records.counts
    greatest = float(identification_probability(counts).max())
    for k in range(1, table.n_records + 1):
        assert (from_table.k_matching >= k) == (greatest <= 1 / k)
        if from_table.k_equivalence >= k:
            assert from_table.k_matching >= k


@pytest.mark.spec("INV-23")
@settings(max_examples=examples(200), deadline=None)
@given(
    st.integers(0, 10**9),
    st.one_of(st.floats(0, 1e300), st.just(math.inf)),
    st.one_of(st.floats(0, 1e300), st.just(math.inf)),
)
def test_losses_are_never_nan_and_infinity_survives_json(count, phi, psi):
    value = loss(np.array([count]), np.array([phi]), psi)[0]
    assert value >= 0
    assert float(to_json_number(float(value))) == value
    if math.isinf(psi) or (count and math.isinf(phi)):
        assert value == math.inf


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**31 - 2), st.integers(0, 2**31 - 2))))
def test_distinct_rows_are_exact_and_canonical_also_beyond_62_bits(rows):
    matrix = np.array(rows, dtype=np.int32).reshape(-1, 3)
    found = distinct_rows(list(matrix.T), [4, 2**31 - 1, 2**31 - 1], len(rows))
    expected = sorted(set(rows))
    assert [tuple(row) for row in found.codes.tolist()] == expected
    assert found.counts.tolist() == [rows.count(row) for row in expected]
    assert [expected[i] for i in found.inverse.tolist()] == rows
    assert row_keys(list(matrix.T), [4, 2**31 - 1, 2**31 - 1], len(rows))[1] <= 2**62


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.floats(0, 1e12), min_size=1), st.randoms(use_true_random=False))
def test_sums_do_not_depend_on_the_order(values, rng):
    shuffled = list(values)
    rng.shuffle(shuffled)
    assert exact_sum(np.array(values)) == exact_sum(np.array(shuffled))
