"""Releases held against a population: every number against loops over records and people."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.criteria.class_suppression import suppress_classes
from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.measures.attacker_models import ATTACKER_MODELS
from app.domain.measures.delta_presence import DELTA_PRESENCE
from app.domain.measures.entry import MeasureContext
from app.domain.measures.k_map import K_MAP
from app.domain.risk.models import MODEL_I
from app.domain.rules.rule import record_rule, table_rule
from app.domain.tables import Table
from app.domain.utility import build_utility
from tests.property.effort import examples

PARENTS = {
    "city": {"a": ["n"], "b": ["n"], "c": ["s"], "d": ["s"], "n": [None], "s": [None]},
    "sex": {"f": [None], "m": [None]},
    "job": {"x": ["u"], "y": ["u"], "z": ["v"], "u": [None], "v": [None]},
}
HIERARCHIES = {name: Hierarchy.from_parents(parents) for name, parents in PARENTS.items()}
NAMES = tuple(PARENTS)
LEAVES = {"city": "abcd", "sex": "fm", "job": "xyz"}


def leaves_below(name, node):
    """The leaves that a node may mean; None may be any, a label from elsewhere none."""
    if node is None:
        return set(LEAVES[name])
    below = {leaf for leaf in LEAVES[name] if node in (leaf, *PARENTS[name][leaf])}
    return below


def shown_at(name, cell, level):
    """A cell at a level of the whole table: 0 as it is, 1 its parent, at the height nothing."""
    for _ in range(level):
        cell = None if cell is None else PARENTS[name][cell][0]
    return cell


def fits(shown, person, known):
    """Whether a person, of whom only ``known`` attributes are listed, may be whom the shown cells are of."""
    return all(
        shown[name] is None
        or person[name] is None
        or leaves_below(name, shown[name]) & leaves_below(name, person[name])
        for name in known
    )


def cells(missing, elsewhere=False):
    more = ([None] if missing else []) + (["?"] if elsewhere else [])
    return st.fixed_dictionaries({name: st.sampled_from([*LEAVES[name], *more]) for name in NAMES})


@st.composite
def worlds(draw, missing=True):
    """Rows, people, what is known of people, levels, and which rows are withheld."""
    rows = draw(st.lists(cells(missing), min_size=1, max_size=9))
    people = draw(st.lists(cells(missing, elsewhere=missing), min_size=1, max_size=12))
    known = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3)) if missing else list(NAMES)
    levels = {name: draw(st.integers(0, HIERARCHIES[name].height)) for name in NAMES}
    return rows, people, known, levels, draw(st.integers(0, 3))


def table_of(rows):
    columns = [HIERARCHIES[name].encode([row[name] for row in rows])[0] for name in NAMES]
    return Table(NAMES, tuple(HIERARCHIES.values()), np.stack(columns, axis=1))


def dictionary_of(people, known):
    links = tuple(
        link_identity(name, HIERARCHIES[name], [person[name] for person in people]) for name in known
    )
    return Dictionary(len(people), links)


def context_of(table, rule, dictionary):
    return MeasureContext(
        table, rule, dictionary, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero"
    )


def computed(measure, context, **parameters):
    return measure.compute(context, measure.parameters(**parameters), lambda done: None)


def classes_of(shown, kept):
    groups = defaultdict(list)
    for row, cells_ in enumerate(shown):
        if kept[row]:
            groups[tuple(cells_[name] for name in NAMES)].append(row)
    return groups


def check_attackers(world):
    rows, people, known, levels, below = world
    table = table_of(rows)
    rule = table_rule(table, levels)
    shown = [{name: shown_at(name, row[name], levels[name]) for name in NAMES} for row in rows]
    withheld = np.zeros(len(rows), dtype=bool)
    if below:
        rule, withheld = suppress_classes(table, rule, below)
        # What a table-level rule withholds as a whole is one class; here it is withheld record by record.
        withheld |= np.array([all(cell is None for cell in cells_.values()) for cells_ in shown])
    groups = classes_of(shown, ~withheld)
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
        assert risk.highest == max((1 / of[row] for row in of), default=0)
        assert risk.average_per_record == pytest.approx(sum(1 / of[row] for row in of) / max(1, n))
        assert risk.average_per_record_of_all == pytest.approx(sum(1 / of[row] for row in of) / len(rows))
        assert risk.records_at_risk == sum(of[row] < 4 for row in of)
        per_class = [1 / of[group[0]] for group in groups.values()]
        assert risk.average_per_class == pytest.approx(sum(per_class) / max(1, len(per_class)))
    mapped = computed(K_MAP, context, k=3)
    assert mapped.k_population == (min(counts.values()) if counts else None)
    assert mapped.records_failing == sum(count < 3 for count in counts.values())


def check_presence(world):
    rows, people, known, levels, below = world
    table = table_of(rows)
    rule = table_rule(table, levels)
    withheld = np.zeros(len(rows), dtype=bool)
    if below and any(levels[name] < HIERARCHIES[name].height for name in NAMES):
        rule, withheld = suppress_classes(table, rule, below)

    def tuple_of(cells_):
        return tuple(shown_at(name, cells_[name], levels[name]) for name in NAMES)

    shares = {}
    for tuple_ in {tuple_of(person) for person in people} | {tuple_of(row) for row in rows}:
        mine = [row for row in range(len(rows)) if tuple_of(rows[row]) == tuple_]
        listed = sum(tuple_of(person) == tuple_ for person in people)
        if not any(withheld[row] for row in mine):
            shares[tuple_] = len(mine) / max(listed, len(mine))
    found = computed(
        DELTA_PRESENCE, context_of(table, rule, dictionary_of(people, known)), lower=0.2, upper=0.6
    )
    if not withheld.all():
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
