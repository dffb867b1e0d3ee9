"""k-anonymity as a special case: what is true of it, what the papers claim too much, and what is refused."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from app.domain.analyses.k_anonymity_comparison import K_ANONYMITY_COMPARISON, ComparisonParameters
from app.domain.counting.counter import dictionary_of
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.builders import flat
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.assessment import assess
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.risk.utility import build_utility
from app.domain.rules.anonymous import random_anonymous_rule
from app.domain.rules.rule import TableRule, record_rule
from app.domain.sensitivity.sensitivity import build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import DICTIONARIES, T, levels_of, personal

CUTS = list(itertools.product(range(6), range(3), range(3)))


def scores(constant: float = 1.0):
    """Every table-level rule of F against the table itself, Φ constant."""
    harm = constant_sensitivity(T, constant)
    return {
        cut: assess(T, TableRule(levels_of(cut)), DICTIONARIES["T"], harm, build_utility(T)) for cut in CUTS
    }


def context_of(**more) -> MeasureContext:
    context = MeasureContext(T, None, DICTIONARIES["T"], personal(), None, build_utility(T), MODEL_I, "zero")
    return replace(context, **more)


@pytest.mark.spec("TV-18")
@pytest.mark.spec("INV-16")
@pytest.mark.spec("E-32")
@pytest.mark.parametrize("k", [2, 3])
def test_a_rule_is_k_anonymous_by_matching_where_its_greatest_loss_is_at_most_c_over_k(k):
    assert len(CUTS) == 54
    for score in scores(3.0).values():
        assert (score.k_matching >= k) == (score.risk_max <= 3.0 / k + 1e-12)


@pytest.mark.spec("E-32")
def test_a_k_anonymous_rule_need_not_have_the_least_average_risk_but_has_the_least_greatest_one():
    """Pairs (0.5, greatest 0.5) against one unique record and a class of nine (0.2, greatest 1)."""
    pairs = [f"{group}{i}" for group in "abcde" for i in range(2)]
    lopsided = {value: ("alone" if value == "a0" else "rest") for value in pairs}
    both = []
    for group_of in ({value: value[0] for value in pairs}, lopsided):
        parents = {group: [None] for group in dict.fromkeys(group_of.values())}
        h = Hierarchy.from_parents(parents | {value: [group] for value, group in group_of.items()})
        table = Table(("x",), (h,), h.encode(pairs)[0][:, None])
        harm = constant_sensitivity(table)
        both.append(assess(table, TableRule((1,)), dictionary_of(table), harm, build_utility(table)))
    anonymous, violating = both
    assert (anonymous.k_matching, violating.k_matching) == (2, 1)
    assert violating.risk_average == pytest.approx(0.2)
    assert anonymous.risk_average == 0.5
    assert anonymous.risk_max == 0.5 < violating.risk_max == 1.0


@pytest.mark.spec("E-33")
def test_the_two_notions_differ_by_a_missing_value_and_both_are_reported():
    found = scores()
    only_matching = {cut for cut in CUTS if found[cut].k_matching >= 2 > found[cut].k_equivalence}
    assert only_matching == {(0, 1, 0), (0, 2, 0), (1, 1, 0), (1, 2, 0)}
    assert all(score.k_matching >= score.k_equivalence for score in found.values())
    (entry,) = compare(k=(2,), rules=3)
    assert entry.k_matching >= entry.k_equivalence >= 2


@pytest.mark.spec("E-33")
def test_the_two_notions_differ_for_record_level_rules():
    steps = np.zeros((6, 3), dtype=np.int16)
    steps[1] = (5, 2, 2)
    score = assess(T, record_rule(T, steps), DICTIONARIES["T"], personal(), build_utility(T))
    assert score.records.counts[1] == 6
    assert score.k_equivalence == 1


def compare(**parameters):
    chosen = ComparisonParameters(**parameters)
    assert K_ANONYMITY_COMPARISON.supports(context_of(), chosen) is None
    return K_ANONYMITY_COMPARISON.compute(context_of(), chosen, lambda done: None).by_k


@pytest.mark.spec("E-47")
def test_the_gap_to_rules_of_least_risk_need_not_grow_with_k():
    by_k = compare(k=(1, 2, 6), rules=10)
    gaps = [entry.record_level_gap for entry in by_k]
    assert gaps[0] == pytest.approx(0.54375), "the identity: 1.45 against 0.90625"
    assert gaps[1] == pytest.approx(0.0) == gaps[2]
    assert all(entry.never_worse for entry in by_k)
    assert [entry.k for entry in by_k] == [1, 2, 6]


def test_the_same_seed_draws_the_same_rules():
    assert compare(k=(2,), rules=4, seed=5) == compare(k=(2,), rules=4, seed=5)


def test_prohibited_data_make_both_risks_infinite_and_the_gap_unknown():
    h = flat(["a", "b"])
    table = Table(("x",), (h,), h.encode(["a", "b"])[0][:, None])
    harm = build_sensitivity(table, "linear", {"x": ConstantWeight(float("inf"))}, allow_positive_top=True)
    everybody = Dictionary(3, ())
    context = context_of(table=table, dictionary=everybody, sensitivity=harm, utility=build_utility(table))
    (entry,) = K_ANONYMITY_COMPARISON.compute(context, ComparisonParameters((1,), 1), lambda done: None).by_k
    assert entry.risk == float("inf") == entry.table_level_risk
    assert entry.table_level_gap is None is entry.record_level_gap
    assert entry.never_worse


def test_more_than_there_are_records_is_refused():
    assert "7-anonymous" in str(K_ANONYMITY_COMPARISON.supports(context_of(), ComparisonParameters((2, 7))))
    with pytest.raises(InvalidInput) as caught:
        random_anonymous_rule(T, 7, np.random.default_rng(0))
    assert caught.value.faults[0].code == "k-too-large"


def test_what_has_no_least_risk_is_refused():
    reason = K_ANONYMITY_COMPARISON.supports(
        context_of(model=RiskModel("III_raw")), ComparisonParameters((2,))
    )
    assert "III_raw" in str(reason)


def test_a_hierarchy_that_is_no_tree_has_no_table_levels():
    h = Hierarchy.from_parents({"p": [None], "q": [None], "a": ["p", "q"], "b": ["q"]})
    table = Table(("x",), (h,), h.encode(["a", "b"])[0][:, None])
    with pytest.raises(NotSupported, match="tree"):
        random_anonymous_rule(table, 2, np.random.default_rng(0))
