"""Whatever is the greatest or least of a result is attained by the record or the class that it names."""

from __future__ import annotations

from collections import Counter as Tally
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.beta_likeness import BETA_LIKENESS
from app.domain.models.disclosure_diversity import DISCLOSURE_DIVERSITY, DisclosureDiversityParameters
from app.domain.models.entry import MeasureContext
from app.domain.models.k_anonymity import ANONYMITY, AnonymityParameters
from app.domain.models.l_diversity import L_DIVERSITY, LDiversityParameters
from app.domain.models.likeness_found import BetaLikenessParameters
from app.domain.risk.assessment import assess
from app.domain.risk.attackers import DictionarySet, assess_set
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, TableRule, apply
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.search_instances import contexts


def rules(draw, table):
    """Levels for all, or two vectors of levels mixed record by record."""
    trees = [(0, own.height) if not own.is_tree else range(own.height + 1) for own in table.hierarchies]
    one, other = (TableRule(tuple(draw(st.sampled_from(list(levels))) for levels in trees)) for _ in "ab")
    if draw(st.booleans()):
        return one
    mixed = draw(st.lists(st.booleans(), min_size=table.n_records, max_size=table.n_records))
    shown = np.where(np.array(mixed)[:, None], apply(one, table), apply(other, table))
    return CellRule(np.asfortranarray(shown.astype(np.int32)))


@st.composite
def scores(draw):
    """What a score is of: an instance, a rule, an absent policy; often of weighted records."""
    context = draw(contexts())
    table = context.table
    if draw(st.booleans()):
        weights = [draw(st.sampled_from([0.0, 0.25, 1.0])) for _ in range(table.n_records)]
        weights[draw(st.integers(0, table.n_records - 1))] = 1.0
        table = replace(table, weights=np.array(weights))
    return table, context, rules(draw, table), draw(st.sampled_from(["zero", "add_self"]))


def first(values, wanted, counted):
    """The first of the records that count with this value."""
    return next(i for i, value in enumerate(values) if counted[i] and value == wanted)


@settings(max_examples=examples(400))
@given(scores())
def test_a_score_names_the_first_record_of_each_extreme(asked):
    table, context, rule, policy = asked
    found = assess(table, rule, context.dictionary, context.sensitivity, context.utility, policy)
    everybody = [True] * table.n_records
    counted = everybody if table.weights is None else (table.weights > 0).tolist()
    shown = list(map(tuple, apply(rule, table).tolist()))
    alike = Tally(shown)
    records, extremes = found.records, found.extremes
    losses = [loss for loss, counts in zip(records.loss.tolist(), counted, strict=True) if counts]
    assert (found.risk_max, found.risk_min) == (max(losses), min(losses))
    assert extremes.risk_max == first(records.loss, max(losses), counted)
    assert extremes.risk_min == first(records.loss, min(losses), counted)
    assert extremes.utility_min == first(records.utility, found.utility_min, counted)
    assert extremes.min_consistent == first(records.counts, min(records.counts.tolist()), everybody)
    assert extremes.k_equivalence == first([alike[own] for own in shown], min(alike.values()), everybody)


@settings(max_examples=examples(150))
@given(scores())
def test_each_view_of_several_dictionaries_names_its_records(asked):
    table, context, rule, policy = asked
    nobody = replace(
        context.dictionary,
        n_entities=0,
        links=tuple(replace(link, column=link.column[:0]) for link in context.dictionary.links),
        entity_ids=context.dictionary.entity_ids[:0],
    )
    both = DictionarySet((nobody, context.dictionary), (0.5, 0.5))
    found = assess_set(table, rule, both, context.sensitivity, context.utility, policy)
    counted = np.ones(table.n_records, dtype=bool) if table.weights is None else table.weights > 0
    for view in (found.bayes, found.worst_case_per_record):
        assert view.row_max == first(view.loss, view.risk_max, counted)
        assert view.row_min == first(view.loss, view.risk_min, counted)
    worst = found.worst_case
    for row, at, risk in (
        (worst.row_max, worst.at_max, worst.risk_max),
        (worst.row_min, worst.at_min, worst.risk_min),
    ):
        assert row == first(found.assessments[at].records.loss, risk, counted)


TREE = Hierarchy.from_parents({"1": ["12"], "2": ["12"], "3": ["34"], "12": [None], "34": [None]})
DISEASE = Hierarchy.from_parents({"flu": ["viral"], "hiv": ["viral"], "cancer": [None], "viral": [None]})
LEAVES = np.flatnonzero(TREE.is_leaf).tolist()
DISEASES = np.flatnonzero(DISEASE.is_leaf).tolist()


@st.composite
def releases(draw):
    """A complete table with a sensitive column, under a rule of the columns before it."""
    n = draw(st.integers(1, 9))
    row = st.tuples(st.sampled_from(LEAVES), st.sampled_from(LEAVES), st.sampled_from(DISEASES))
    codes = np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=np.int32)
    table = Table(("q", "r", "a"), (TREE, TREE, DISEASE), codes, sensitive=frozenset({"a"}))
    rule = rules(draw, table)
    shown = apply(rule, table).copy(order="F")
    shown[:, 2] = codes[:, 2]
    return MeasureContext(
        table, CellRule(shown), None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero"
    )


def of_rows(context, ref):
    """The diseases of a class, by its rows; all of them are disclosed alike, and nobody else is."""
    shown = [tuple(own[:2]) for own in apply(context.rule, context.table).tolist()]
    rows = [row - 1 for row in ref.rows]
    assert {i for i, own in enumerate(shown) if own == shown[rows[0]]} == set(rows)
    return Tally(context.table.codes[rows, 2].tolist())


@settings(max_examples=examples(300))
@given(releases())
def test_measures_of_classes_name_the_class_of_each_extreme(context):
    whole = Tally(context.table.codes[:, 2].tolist())
    n = sum(whole.values())

    def gains(own):
        return [Fraction(own[v], sum(own.values())) - Fraction(whole[v], n) for v in whole]

    def relative(own):
        return [gain / Fraction(whole[v], n) for gain, v in zip(gains(own), whole, strict=True)]

    likeness = BETA_LIKENESS.compute(
        context, BetaLikenessParameters(beta=1.0, suppressed="own_block"), lambda done: None
    )
    lost = -min(relative(of_rows(context, likeness.worst_negative)))
    assert float(lost) == pytest.approx(likeness.beta_negative, abs=1e-12)
    gained = max(gains(of_rows(context, likeness.worst_absolute)))
    assert float(gained) == pytest.approx(likeness.max_absolute_gain, abs=1e-12)

    (diverse,) = L_DIVERSITY.compute(
        context, LDiversityParameters(suppressed="own_block"), lambda done: None
    ).attributes
    own = sorted(of_rows(context, diverse.least_negations_in).values(), reverse=True)
    needed = next(
        j for j in range(len(own)) if Fraction(own[0], own[0] + sum(own[1 + j :])) >= Fraction("0.95")
    )
    assert needed == diverse.least_negations

    parameters = DisclosureDiversityParameters(harmless=("flu",), suppressed="own_block")
    harmless = DISCLOSURE_DIVERSITY.compute(context, parameters, lambda done: None)
    if harmless.smallest_harmless is None:
        assert harmless.smallest_harmless_class is None
    else:
        only = of_rows(context, harmless.smallest_harmless)
        assert set(only) == {DISEASE.node_of("flu")}
        assert sum(only.values()) == harmless.smallest_harmless_class


@settings(max_examples=examples(300))
@given(releases())
def test_both_readings_of_k_name_their_first_record(context):
    found = ANONYMITY.compute(context, AnonymityParameters(), lambda done: None)
    shown, originals = apply(context.rule, context.table).tolist(), context.table.codes.tolist()
    alike = [shown.count(own) for own in shown]
    trees = context.table.hierarchies

    def matches(own, original):
        return all(s in tree.up(o) for tree, s, o in zip(trees, own, original, strict=True))

    matching = [sum(matches(own, original) for original in originals) for own in shown]
    assert found.k_equivalence == min(alike)
    assert found.row_of_k_equivalence == 1 + alike.index(min(alike))
    assert found.k_matching == min(matching)
    assert found.row_of_k_matching == 1 + matching.index(min(matching))
