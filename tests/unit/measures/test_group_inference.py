"""What a release tells of the sensitive values of large groups."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest

from app.domain.attacks.group_inference import GROUP_INFERENCE
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.drawn_releases import context_of, drawn_of, measured
from tests.oracles.inference_by_hand import shares_in_group
from tests.unit.measures.diversity_tables import measured as measured_under
from tests.unit.measures.ill_people import AGES, ILLNESSES, TOWNS, people


def groups_of(rows):
    """{shown: how often each illness is there}."""
    found = defaultdict(Counter)
    for town, age, ill in rows.tolist():
        found[TOWNS.labels[town], AGES.labels[age]][ILLNESSES.labels[ill]] += 1
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rule", [None, TableRule((1, 1, 0))])
def test_gains_in_groups_are_those_of_a_dense_inverse(seed, rule):
    table = people(seed, 200, missing=seed % 2 == 1)
    drawn = drawn_of(table, f"draw {seed}", rule, beta=2.0)
    published, taken_off = drawn.published, 1.5
    by_group = {}
    for shown, counts in groups_of(drawn.table.codes).items():
        if counts.total() >= 12:
            shares, errors = shares_in_group(published.matrix, [counts[v] for v in published.values])
            left = [
                ((q - p - taken_off * e) / p, i)
                for i, (q, p, e) in enumerate(zip(shares, published.prior, errors, strict=True))
            ]
            best, i = max(left)
            by_group[shown] = (best, counts.total(), published.values[i], shares[i], errors[i])
    asked = {"least_records": 12, "errors": taken_off, "gain": 0.3, "top": 200}
    found = measured(GROUP_INFERENCE, context_of(table, drawn), **asked)
    assert {own.shows for own in found.worst} == set(by_group)
    for own in found.worst:
        left, records, value, share, error = by_group[own.shows]
        assert (own.records, own.value) == (records, value)
        assert (own.gain_left, own.estimated, own.standard_error) == pytest.approx((left, share, error))
        assert own.gain == pytest.approx(share / own.before - 1)
    highest = sorted((own[0] for own in by_group.values()), reverse=True)
    assert [own.gain_left for own in found.worst] == pytest.approx(highest)
    exposed = [own for own in by_group.values() if own[0] > 0.3]
    assert (found.groups, found.groups_exposed) == (len(by_group), len(exposed))
    assert found.records == sum(own[1] for own in by_group.values())
    assert found.records_exposed == sum(own[1] for own in exposed)
    assert found.worst_gain == pytest.approx(max(0, *(own[0] for own in by_group.values())))


def test_groups_that_are_estimated_apart_are_estimated_alike(monkeypatch):
    table = people(2, 300)
    context = context_of(table, drawn_of(table))
    together = measured(GROUP_INFERENCE, context, least_records=5)
    monkeypatch.setattr("app.domain.attacks.group_inference.NUMBERS_AT_ONCE", 12)
    apart = measured(GROUP_INFERENCE, context, least_records=5)
    assert apart == together
    assert together.groups > 10


def test_under_a_rule_shares_are_exact():
    table = people(5, 200)
    found = measured_under(GROUP_INFERENCE, table, TableRule((1, 2, 0)), least_records=1, top=2)
    in_all = Counter(ILLNESSES.labels[node] for node in table.codes[:, 2].tolist())
    of_lazio = Counter(
        ILLNESSES.labels[ill]
        for town, _, ill in table.codes.tolist()
        if TOWNS.parent[town] == TOWNS.node_of("Lazio")
    )
    lazio = next(own for own in found.worst if own.shows[0] == "Lazio")
    assert lazio.shows == ("Lazio", "*")
    assert lazio.standard_error == 0
    assert lazio.estimated == pytest.approx(of_lazio[lazio.value] / of_lazio.total())
    assert lazio.before == pytest.approx(in_all[lazio.value] / 200)
    assert lazio.gain == pytest.approx(
        max(of_lazio[v] / of_lazio.total() / (in_all[v] / 200) - 1 for v in in_all)
    )


def test_a_large_group_of_one_value_is_told_and_a_small_one_is_not():
    n = 5000
    rng = np.random.default_rng(1)
    town = np.r_[np.zeros(400, dtype=int), np.ones(20, dtype=int), rng.integers(2, 4, n - 420)]
    ill = np.r_[np.zeros(420, dtype=int), rng.integers(0, 4, n - 420)]
    codes = np.stack([TOWNS.leaves[town], np.full(n, AGES.leaves[0]), ILLNESSES.leaves[ill]], axis=1)
    table = Table(("town", "age", "ill"), (TOWNS, AGES, ILLNESSES), codes, sensitive=frozenset({"ill"}))
    found = measured(GROUP_INFERENCE, context_of(table, drawn_of(table, beta=1.0)), least_records=10)
    (worst, *others) = found.worst
    assert (worst.shows[0], worst.value) == ("Rome", "flu")
    assert abs(worst.estimated - 1) < 5 * worst.standard_error
    assert found.groups_exposed == 1
    assert {own.shows[0] for own in others if own.gain_left < 1} == {"Ostia", "Bari", "Lecce"}
    none = measured(GROUP_INFERENCE, context_of(table, drawn_of(table)), least_records=10_000)
    assert (none.groups, none.worst_gain, none.worst) == (0, None, ())
