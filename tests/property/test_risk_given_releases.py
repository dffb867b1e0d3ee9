"""What an attacker knows who holds several releases: sets of entities intersected one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.risk_given_releases import RISK_GIVEN_RELEASES, GivenReleasesParameters
from app.domain.dictionaries.consistency import Consistency, under
from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I, RiskModel
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, RecordRule, TableRule, apply
from app.domain.sensitivity.sensitivity import constant_sensitivity
from tests.oracles.counting import instances
from tests.oracles.effort import examples
from tests.oracles.search_instances import contexts


@st.composite
def rules(draw, table):
    """A rule of any kind that trees admit."""
    if draw(st.booleans()):
        return TableRule(tuple(draw(st.integers(0, height)) for height in table.heights))
    steps = [[draw(st.integers(0, h)) for h in table.heights] for _ in range(table.n_records)]
    rule = RecordRule(np.array(steps, dtype=np.int16))
    return CellRule(apply(rule, table)) if draw(st.booleans()) else rule


def consistent(table, dictionary, codes):
    """Entities consistent with one disclosed record."""
    found = set()
    for entity in range(dictionary.n_entities):
        passed = True
        for link in dictionary.links:
            j = table.attributes.index(link.attribute)
            code = link.column[entity]
            seeds = link.seed_nodes[link.starts[code] : link.starts[code + 1]].tolist()
            above = any(int(codes[j]) in table.hierarchies[j].up(seed) for seed in seeds)
            passed &= bool(codes[j] == TOP or link.everything[code] or above)
        if passed:
            found.add(entity)
    return found


def lowest(hierarchy, nodes):
    """The node that lies below all others, None if there is none."""
    return next((v for v in nodes if all(w in hierarchy.up(v) for w in nodes)), None)


def measured(context, earlier):
    refs = tuple(f"r{i}" for i in range(len(earlier)))
    context = replace(context, rules=dict(zip(refs, earlier, strict=True)))
    parameters = GivenReleasesParameters(refs)
    refused = RISK_GIVEN_RELEASES.supports(context, parameters)
    if refused is not None:
        return None, refused
    ticks = []
    found = RISK_GIVEN_RELEASES.compute(context, parameters, ticks.append)
    assert ticks[-1] == RISK_GIVEN_RELEASES.cost(context, parameters).units
    return found, None


def check(context, earlier, found):
    """Compare with the loop over records and releases."""
    table, dictionary = context.table, context.dictionary
    releases = [apply(rule, table) for rule in (context.rule, *earlier)]
    losses, utilities, least, narrowed = [], [], [], 0
    for row in range(table.n_records):
        entities = set.intersection(*(consistent(table, dictionary, codes[row]) for codes in releases))
        count = len(entities)
        if context.absent_policy == "add_self":
            own = {e for e in entities if dictionary.entity_ids[e] == table.entity_ids[row]}
            count += 1 - len(own)
        known = [
            lowest(hierarchy, [int(codes[row, j]) for codes in releases])
            for j, hierarchy in enumerate(table.hierarchies)
        ]
        matrix = np.array([known], dtype=np.int32)
        groups = context.sensitivity.groups
        phi = float(context.sensitivity.phi(matrix, None if groups is None else groups[[row]])[0])
        losses.append(phi / count if count else 0.0)
        utilities.append(float(context.utility.of(matrix)[0]))
        least.append(count)
        narrowed += known != releases[0][row].tolist()
    assert found.releases == len(earlier)
    assert found.given.risk == pytest.approx(math.fsum(losses) / len(losses), rel=1e-12)
    assert found.given.risk_max == max(losses)
    assert found.given.utility == pytest.approx(math.fsum(utilities) / len(utilities), rel=1e-12, abs=1e-12)
    assert found.given.min_consistent == min(least)
    assert found.records_narrowed == narrowed
    assert found.given.utility >= found.alone.utility - 1e-12
    if found.never_negative:
        assert found.increase is None or found.increase >= -1e-12 * max(1.0, found.alone.risk)
    if not earlier:
        assert found.increase in (0.0, None)


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_risk_given_releases_is_that_of_the_entities_consistent_with_all_of_them(data):
    instance = data.draw(contexts())
    table, dictionary = instance.table, instance.dictionary
    mode = data.draw(st.sampled_from(["compatible", "subsumed", "jaro"]))
    dictionary = under(dictionary, Consistency(mode, 0.8))
    earlier = data.draw(st.lists(rules(table), max_size=3))
    context = MeasureContext(
        table, data.draw(rules(table)), dictionary, instance.sensitivity, None, instance.utility, MODEL_I,
        data.draw(st.sampled_from(["zero", "add_self"])),
    )  # fmt: skip
    found, refused = measured(context, earlier)
    assert refused is None
    check(context, earlier, found)


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_values_with_several_parents_are_intersected_exactly_or_refused_by_name(data):
    table, dictionary = data.draw(instances(trees=False))

    def drawn():
        codes = [
            [
                data.draw(st.sampled_from(sorted(h.up(int(code)))))
                for h, code in zip(table.hierarchies, row, strict=True)
            ]
            for row in table.codes.tolist()
        ]
        return CellRule(np.array(codes, dtype=np.int32))

    rule, earlier = drawn(), [drawn() for _ in range(data.draw(st.integers(1, 3)))]
    context = MeasureContext(
        table, rule, dictionary, constant_sensitivity(table), None, build_utility(table), MODEL_I, "zero"
    )
    found, refused = measured(context, earlier)
    columns = [apply(r, table) for r in (rule, *earlier)]
    apart = {
        name
        for j, (name, h) in enumerate(zip(table.attributes, table.hierarchies, strict=True))
        for row in range(table.n_records)
        if lowest(h, [int(codes[row, j]) for codes in columns]) is None
    }
    assert (found is None) == bool(apart)
    if found is None:
        assert any(f"{name} (rows" in refused for name in apart)
    else:
        check(context, earlier, found)


@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_more_releases_never_lower_the_risk_where_that_is_said_to_be_proved(data):
    """Also with a harm of failed identification, other models and weighted records."""
    instance = data.draw(contexts())
    table = instance.table
    weights = data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=table.n_records,
                                 max_size=table.n_records))  # fmt: skip
    model = RiskModel(data.draw(st.sampled_from(["I", "II", "III"])))
    failure = constant_sensitivity(table, data.draw(st.sampled_from([0.0, 0.5, 2.0])))
    context = MeasureContext(
        replace(table, weights=np.array(weights)), data.draw(rules(table)), instance.dictionary,
        instance.sensitivity, failure if model.takes_failure else None, instance.utility, model, "zero",
    )  # fmt: skip
    found, _ = measured(context, data.draw(st.lists(rules(table), min_size=1, max_size=3)))
    if found.never_negative and found.increase is not None:
        assert found.increase >= -1e-12 * max(1.0, found.alone.risk)
