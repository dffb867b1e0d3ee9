"""Linking with a second source: the specification's vector, sets that are no value, conflicts, refusals."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from app.domain.analyses.record_linkage import RECORD_LINKAGE, LinkageParameters
from app.domain.counting.counter import dictionary_of
from app.domain.dictionaries.dictionary import Dictionary, link_age, link_identity
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.assessment import assess
from app.domain.risk.linkage import Joiner, Links, losses_with_links
from app.domain.risk.loss import loss
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule, apply, identity
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight, LeafWeights
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import CUTS, DICTIONARIES, HIERARCHIES, T, levels_of, personal

G2 = TableRule(levels_of(CUTS["G2"]))
REGISTER = [("1", "Lafayette", None, "20-39"), ("6", "Lafayette", None, "40-59")]


def register(rows=tuple(REGISTER), comparable: bool = True) -> Dictionary:
    links = tuple(
        link_identity(name, h, [row[1 + i] for row in rows])
        for i, (name, h) in enumerate(HIERARCHIES.items())
    )
    ids = np.array([row[0] for row in rows], dtype=object)
    return Dictionary(len(rows), links, ids, comparable_ids=comparable)


def context_of(auxiliary: Dictionary, rule=G2, dictionary="D1", **more) -> MeasureContext:
    return replace(
        MeasureContext(
            T, rule, DICTIONARIES[dictionary], personal(), None, build_utility(T), MODEL_I, "zero",
            dictionaries={"register": auxiliary},
        ),
        **more,
    )  # fmt: skip


def linked(auxiliary: Dictionary, parameters=None, **more):
    context = context_of(auxiliary, **more)
    parameters = parameters or LinkageParameters("register")
    assert RECORD_LINKAGE.supports(context, parameters) is None
    return RECORD_LINKAGE.compute(context, parameters, lambda done: None)


@pytest.fixture
def entity_1():
    """ℓ(y) and, for the two rows of the register, y∨z with |ρ|, Φ2 and ℓ(y∨z)."""
    y = apply(G2, T)[:1]
    joiner = Joiner(T, DICTIONARIES["D1"], register(), y)
    joined, conflicts = joiner.join(np.repeat(y, 2, axis=0), np.array([0, 1]))
    assert not conflicts.any()
    counts = joiner.counter.count_records(joined).values
    phi = personal().phi(joiner.covers(joined), np.array([0, 0], dtype=np.int32))
    alone = joiner.alone(y)
    unlinked = loss(
        joiner.counter.count_records(alone).values, personal().phi(y, np.array([0], dtype=np.int32))
    )
    return joiner, joined, counts, phi, unlinked


@pytest.mark.spec("TV-19")
def test_the_joined_records_are_those_of_the_specification(entity_1):
    joiner, joined, counts, phi, unlinked = entity_1
    labels = [
        [h.labels[node] for h, node in zip(T.hierarchies, row, strict=True)] for row in joiner.covers(joined)
    ]
    assert labels == [["Lafayette", "Asian", "20-39"], ["Lafayette", "Asian", "40-59"]]
    assert counts.tolist() == [3, 3]
    np.testing.assert_allclose(phi, 1.183333, atol=5e-7)
    np.testing.assert_allclose(loss(counts, phi), 0.394444, atol=5e-7)
    assert unlinked[0] == pytest.approx(0.152083, abs=5e-7)


@pytest.mark.spec("TV-19")
@pytest.mark.spec("E-35")
@pytest.mark.parametrize(
    ("correct", "failed", "expected"),
    [((1, 0), "zero", 0.291319), ((1, 0), "fallback", 0.321736), ((0.9, 0.5), "fallback", 0.329007)],
)
def test_the_risk_of_given_links_is_that_of_the_specification(entity_1, correct, failed, expected):
    _, _, counts, phi, unlinked = entity_1
    links = Links(np.array([0, 0]), np.array([0, 1]), np.array([0.7, 0.2]), np.array(correct, dtype=float))
    found = losses_with_links(unlinked, links, loss(counts, phi), failed)
    assert found.tolist() == pytest.approx([expected], abs=5e-7)


def test_probabilities_of_links_above_one_are_refused():
    links = Links(np.array([0, 0]), np.array([0, 1]), np.array([0.7, 0.4]), np.ones(2))
    with pytest.raises(ValueError, match="more than 1"):
        losses_with_links(np.ones(1), links, np.ones(2), "zero")


def test_an_impossible_link_counts_for_nothing_even_if_its_loss_is_infinite():
    links = Links(np.array([0, 0]), np.array([0, 1]), np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert losses_with_links(np.array([math.inf]), links, np.full(2, math.inf), "zero").tolist() == [0.0]
    assert losses_with_links(np.array([2.0]), links, np.full(2, math.inf), "fallback").tolist() == [2.0]


def test_the_risk_without_links_is_the_assessment_s_and_weights_of_records_count():
    weighted = replace(T, weights=np.array([1.0, 0, 0, 0, 0, 3.0]))
    result = linked(register(), table=weighted)
    score = assess(weighted, G2, DICTIONARIES["D1"], personal(), build_utility(T))
    assert result.risk == score.risk_average
    # Entities 1 and 6 may be either of the two rows; each is its own in one of them.
    assert result.mean_candidates == 2
    of_1, of_6 = 0.5 * 0.394444, 0.5 * linked_loss_of_6()
    assert result.risk_linked == pytest.approx((of_1 + 3 * of_6) / 4, abs=1e-6)


def test_the_estimate_counts_the_links_however_many_entities_are_alike_elsewhere():
    elsewhere = [(f"a{i}", "Los Angeles", None, None) for i in range(2_000)]
    few, many = (
        RECORD_LINKAGE.cost(context_of(register([*REGISTER, *more])), LinkageParameters("register"))
        for more in ([], elsewhere)
    )
    assert many.seconds >= few.seconds
    assert many.bytes >= few.bytes


@pytest.mark.parametrize("comparable", [True, False])
def test_the_estimate_holds_the_entities_of_a_large_register(comparable):
    n, draws = 100_000, np.random.default_rng(1)
    links = tuple(
        replace(own, column=draws.integers(0, own.n_codes, n, np.int32)) for own in register().links
    )
    large = Dictionary(n, links, np.arange(n).astype(str).astype(object), comparable_ids=comparable)
    asked = LinkageParameters("register", probability_correct=None if comparable else 0.5)
    context = context_of(large)
    estimate = RECORD_LINKAGE.cost(context, asked).bytes
    tracemalloc.start()
    try:
        RECORD_LINKAGE.compute(context, asked, lambda done: None)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most <= estimate <= 8 * most


def linked_loss_of_6() -> float:
    """(Lafayette, ⊥, 40-59) under D1: of those who may live in Lafayette, 3 and 11 have another income."""
    consistent = {"1", "5", "6", "7", "12"}
    return (0.3 + 0.75) / len(consistent)


def test_exact_links_by_identifier_reach_the_own_row_only():
    result = linked(register(), LinkageParameters("register", estimator="own_row"))
    assert result.share_linked == pytest.approx(2 / 6)
    assert result.mean_candidates == pytest.approx(2 / 6)
    unlinked = assess(T, G2, DICTIONARIES["D1"], personal(), build_utility(T)).records.loss
    expected = [1.183333 / 3, *unlinked[1:5], linked_loss_of_6()]
    assert result.risk_linked == pytest.approx(np.mean(expected), abs=1e-6)
    assert result.own_entity_consistent == 1 == result.own_entity_consistent_linked


def test_without_comparable_identifiers_nothing_is_said_of_the_right_entity():
    parameters = LinkageParameters("register", probability_correct=0.5)
    dictionary = replace(DICTIONARIES["D1"], comparable_ids=False)
    context = context_of(register(comparable=False))
    result = RECORD_LINKAGE.compute(replace(context, dictionary=dictionary), parameters, lambda done: None)
    assert result.reidentification_rate is None
    assert result.own_entity_consistent_linked is None


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        (LinkageParameters("register"), "Knowing which links are right needs identifiers"),
        (LinkageParameters("register", estimator="own_row"), "The estimator own_row and knowing which"),
        (
            LinkageParameters("register", estimator="own_row", probability_correct=0.5),
            "The estimator own_row needs",
        ),
    ],
)
def test_what_needs_identifiers_is_refused_without_them_with_the_reason(parameters, reason):
    context = context_of(register(comparable=False))
    assert str(RECORD_LINKAGE.supports(context, parameters)).startswith(reason)


def test_other_policies_for_absent_records_are_refused():
    reason = RECORD_LINKAGE.supports(
        context_of(register(), absent_policy="add_self"), LinkageParameters("register")
    )
    assert "absent policy zero" in str(reason)


def test_similar_values_that_exclude_each_other_are_an_error_or_no_link():
    rows = [("1", "Lafayett", "Chinese", "20-39"), ("2", "West Lafayette", "White", "40-59")]
    parameters = LinkageParameters("register", mode="jaro", threshold=0.85)
    with pytest.raises(InvalidInput) as caught:
        linked(register(rows), parameters, rule=identity(3))
    assert caught.value.faults[0].code == "conflicting-links"
    result = linked(register(rows), replace(parameters, on_conflict="drop_conflicts"), rule=identity(3))
    assert result.share_linked == pytest.approx(1 / 6), "entity 2; the misspelt city of 1 is no value"
    assert result.probability_conflict == pytest.approx(1 / 6)
    assert result.probability_no_link == pytest.approx(5 / 6)


def test_an_age_narrows_a_year_of_birth_to_dates_that_are_no_value_of_the_hierarchy():
    parents = {"1975": [None], "1976": [None]}
    days = ["1975-03-01", "1975-09-01", "1976-03-01", "1976-09-01"]
    parents |= {day: [day[:4]] for day in days}
    h = Hierarchy.from_parents(parents)
    table = Table(("born",), (h,), h.encode(["1975-09-01"])[0][:, None], np.array(["a"], dtype=object))
    people = Dictionary(4, (link_identity("born", h, days),), np.array(list("bacd"), dtype=object), True)
    # Forty-four on 1 June 2020: born between 2 June 1975 and 1 June 1976.
    aged = Dictionary(
        1, (link_age("born", h, ["44"], date(2020, 6, 1)),), np.array(["a"], dtype=object), True
    )
    context = MeasureContext(
        table, TableRule((2,)), people, build_sensitivity(table, "linear", {"born": LeafWeights(1.0)}), None,
        build_utility(table), MODEL_I, "zero", dictionaries={"aged": aged},
    )  # fmt: skip
    result = RECORD_LINKAGE.compute(context, LinkageParameters("aged"), lambda done: None)
    assert result.reidentification_rate_unlinked == 0.25
    assert result.reidentification_rate == 0.5
    assert result.risk_linked == 0, "no value below the top covers the two dates, and the top has no weight"
    by_year = replace(context, rule=TableRule((1,)))
    result = RECORD_LINKAGE.compute(by_year, LinkageParameters("aged"), lambda done: None)
    assert result.reidentification_rate_unlinked == 0.5
    assert result.reidentification_rate == 1.0
    assert result.risk_linked == 1.0


def test_a_set_that_two_least_values_of_a_dag_cover_is_refused():
    h = Hierarchy.from_parents(
        {"p": [None], "q": [None], "a": ["p", "q"], "b": ["p", "q"], "c": ["p"], "d": ["q"]}
    )
    table = Table(("x",), (h,), h.encode(["a"])[0][:, None], np.array(["1"], dtype=object))
    other = Dictionary(1, (link_identity("x", h, ["q"]),), np.array(["1"], dtype=object), True)
    disclosed = h.encode(["p"])[0][:, None]
    with pytest.raises(NotSupported, match="'p' and 'q' cover"):
        Joiner(table, dictionary_of(table), other, disclosed)


def test_a_link_after_which_nobody_is_left_lowers_the_risk():
    """Why INV-17 asks for a non-empty set of entities after the link."""
    h = Hierarchy.from_parents({"a": [None], "b": [None]})
    ids = np.array(["1", "2"], dtype=object)
    table = Table(("x",), (h,), h.encode(["a", "b"])[0][:, None], ids)
    only_b = Dictionary(1, (link_identity("x", h, ["b"]),), np.array(["9"], dtype=object), True)
    sensitivity = build_sensitivity(table, "linear", {"x": ConstantWeight(1.0)})
    context = MeasureContext(
        table, identity(1), only_b, sensitivity, sensitivity, build_utility(table), MODEL_I, "zero",
        dictionaries={"own": dictionary_of(table)},
    )  # fmt: skip
    hidden = replace(context, rule=TableRule((1,)), failure=None)
    result = RECORD_LINKAGE.compute(hidden, LinkageParameters("own", estimator="own_row"), lambda done: None)
    assert result.probability_emptied == 0.5
    assert (result.risk, result.risk_linked) == (0.0, 0.5)
    assert result.absent == 0
