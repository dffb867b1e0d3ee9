"""Releases held against a population: every number against loops over records and people."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.class_suppression import suppress_classes
from app.domain.models.delta_presence import DELTA_PRESENCE
from app.domain.models.k_map import K_MAP
from app.domain.models.reidentification_risk import ATTACKER_MODELS
from app.domain.rules.rule import record_rule, table_rule
from tests.oracles.effort import examples
from tests.oracles.populations import (
    HIERARCHIES,
    NAMES,
    classes_of,
    computed,
    context_of,
    dictionary_of,
    fits,
    shown_at,
    table_of,
    worlds,
)


def check_attackers(world):
    rows, people, known, levels, below = world
    table = table_of(rows)
    rule = table_rule(table, levels)
    shown = [{name: shown_at(name, row[name], levels[name]) for name in NAMES} for row in rows]
    suppressed = np.zeros(len(rows), dtype=bool)
    if below:
        rule, suppressed = suppress_classes(table, rule, below)
        # What a table-level rule suppresses as a whole is one class; here it is suppressed record by record.
        suppressed |= np.array([all(cell is None for cell in cells_.values()) for cells_ in shown])
    groups = classes_of(shown, ~suppressed)
    context = context_of(table, rule, dictionary_of(people, known))
    found = computed(ATTACKER_MODELS, context, threshold=0.25)
    sizes, counts = {}, {}
    for group in groups.values():
        counted = sum(fits(shown[group[0]], person, known) for person in people)
        for row in group:
            sizes[row], counts[row] = len(group), max(counted, len(group))
    n = len(sizes)
    assert found.judged.records_judged == n
    for risk, of in ((found.prosecutor, sizes), (found.journalist, counts)):
        assert risk.highest == max((1 / of[row] for row in of), default=None)
        each = sum(1 / of[row] for row in of)
        assert risk.average_per_record == (pytest.approx(each / n) if n else None)
        assert risk.average_per_record_of_all == pytest.approx(sum(1 / of[row] for row in of) / len(rows))
        assert risk.records_at_risk == sum(of[row] < 4 for row in of)
        per_class = [1 / of[group[0]] for group in groups.values()]
        assert risk.average_per_class == (pytest.approx(sum(per_class) / len(per_class)) if n else None)
    mapped = computed(K_MAP, context, k=3)
    assert mapped.k_population == (min(counts.values()) if counts else None)
    assert mapped.records_failing == sum(count < 3 for count in counts.values())


def check_presence(world):
    rows, people, known, levels, below = world
    table = table_of(rows)
    rule = table_rule(table, levels)
    suppressed = np.zeros(len(rows), dtype=bool)
    if below and any(levels[name] < HIERARCHIES[name].height for name in NAMES):
        rule, suppressed = suppress_classes(table, rule, below)

    def tuple_of(cells_):
        return tuple(shown_at(name, cells_[name], levels[name]) for name in NAMES)

    shares = {}
    for tuple_ in {tuple_of(person) for person in people} | {tuple_of(row) for row in rows}:
        mine = [row for row in range(len(rows)) if tuple_of(rows[row]) == tuple_]
        listed = sum(tuple_of(person) == tuple_ for person in people)
        if not any(suppressed[row] for row in mine):
            shares[tuple_] = len(mine) / max(listed, len(mine))
    found = computed(
        DELTA_PRESENCE, context_of(table, rule, dictionary_of(people, known)), lower=0.2, upper=0.6
    )
    if not suppressed.all():
        assert found.least == min(shares.values())
        assert found.greatest == (max(shares.values()))
        assert found.is_delta_present == all(0.2 <= share <= 0.6 for share in shares.values())


@given(worlds())
@settings(max_examples=examples(60), deadline=None)
def test_attackers_and_k_map_are_what_loops_count(world):
    check_attackers(world)


@given(worlds(missing=False))
@settings(max_examples=examples(60), deadline=None)
def test_presence_is_what_loops_count(world):
    check_presence(world)


@pytest.mark.deep
@given(worlds())
@settings(max_examples=1000, deadline=None)
def test_attackers_and_k_map_are_what_loops_count_in_thousands_of_worlds(world):
    check_attackers(world)


@pytest.mark.deep
@given(worlds(missing=False))
@settings(max_examples=1000, deadline=None)
def test_presence_is_what_loops_count_in_thousands_of_worlds(world):
    check_presence(world)


@given(worlds(), st.data())
@settings(max_examples=examples(40), deadline=None)
def test_rules_of_single_records_are_matched_as_they_disclose(world, data):
    """A record that discloses less fits more people, whatever the others disclose."""
    rows, people, known, _, _ = world
    table = table_of(rows)
    steps = np.array([[data.draw(st.integers(0, h)) for h in table.heights] for _ in rows], dtype=np.int16)
    context = context_of(table, record_rule(table, steps), dictionary_of(people, known))
    shown = [
        {name: shown_at(name, row[name], int(steps[i, j])) for j, name in enumerate(NAMES)}
        for i, row in enumerate(rows)
    ]
    kept = [any(cell is not None for cell in cells_.values()) for cells_ in shown]
    groups = classes_of(shown, kept)
    least = [
        max(len(group), sum(fits(shown[group[0]], person, known) for person in people))
        for group in groups.values()
    ]
    assert computed(K_MAP, context).k_population == (min(least) if least else None)
    assert (context.release.codes[~np.array(kept)] == TOP).all()
