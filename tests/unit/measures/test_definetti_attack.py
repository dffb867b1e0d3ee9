"""The deFinetti attack: against trying every way to hand values out, on a weak release, and refusals."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.attacks.definetti_attack import (
    DEFINETTI_ATTACK,
    MOST_RECORDS,
    DefinettiParameters,
    _Reader,
)
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.reading import unreadable
from app.domain.rules.rule import CellRule
from tests.oracles.effort import examples
from tests.unit.measures.diversity_tables import context_of, flat, measured, table


def grouped(rows, groups, values):
    """A release in the manner of Anatomy: who is in which group is shown, and nothing else of anybody."""
    width = len(rows[0])
    names = (*(f"q{j}" for j in range(width)), "group", "illness")
    whole = [(*map(str, row), f"g{g:04}", str(v)) for row, g, v in zip(rows, groups, values, strict=True)]
    found = table(names, [flat(own) for own in zip(*whole, strict=True)], whole, {"illness"})
    codes = found.codes.copy()
    codes[:, :width] = TOP
    return found, CellRule(codes)


def attacked(rows, groups, values, **parameters):
    return measured(DEFINETTI_ATTACK, *grouped(rows, groups, values), **parameters)


def reader_of(rows, groups, values):
    return _Reader(context_of(*grouped(rows, groups, values)), DefinettiParameters())


def by_hand(rows, assigned, smoothing=0.5):
    """The log-likelihood of a row having a value, from the assignment, by loops."""
    counts = {}
    domains = [sorted({row[j] for row in rows}) for j in range(len(rows[0]))]
    for row, value in zip(rows, assigned, strict=True):
        counts[value] = counts.get(value, 0) + 1
        for j, own in enumerate(row):
            counts[j, own, value] = counts.get((j, own, value), 0) + 1

    def score(row, value):
        return sum(
            math.log(
                (counts.get((j, own, value), 0) + smoothing)
                / (counts.get(value, 0) + smoothing * len(domains[j]))
            )
            for j, own in enumerate(row)
        )

    return score


@pytest.mark.spec("BL-T22")
def test_a_step_by_hand():
    rows = [(0, 0), (1, 1), (0, 0), (1, 1), (0, 1), (1, 0)]
    start = np.array([1, 0, 0, 1, 1, 0])
    reader = reader_of(rows, [0, 0, 1, 1, 2, 2], start)
    step = reader.most_likely(reader.scores(start))
    assert step.tolist() == [0, 1, 0, 1, 1, 0]
    assert reader.most_likely(reader.scores(step)).tolist() == step.tolist()


@st.composite
def releases(draw):
    n = draw(st.integers(2, 9))
    cell = st.integers(0, 2)
    rows = draw(st.lists(st.tuples(cell, cell), min_size=n, max_size=n))
    groups = sorted(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    values = draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    return rows, groups, values, draw(st.randoms(use_true_random=False))


@given(releases())
@settings(deadline=None, max_examples=examples(60))
def test_what_is_handed_out_is_the_most_likely_of_all_ways(release):
    rows, groups, values, random = release
    reader = reader_of(rows, groups, values)
    assert reader.records.tolist() == list(range(len(rows)))
    assigned = []
    for g in sorted(set(groups)):
        own = [v for v, group in zip(values, groups, strict=True) if group == g]
        assigned += random.sample(own, len(own))
    of_group = [sorted({v for v, own in zip(values, groups, strict=True) if own == g}) for g in groups]
    places = np.array([own.index(v) for own, v in zip(of_group, assigned, strict=True)])
    step = reader.most_likely(reader.scores(places))
    # The group counts as a column that is known, and adds the same whoever of it has a value.
    score = by_hand([(*row, g) for row, g in zip(rows, groups, strict=True)], assigned)
    for g in sorted(set(groups)):
        members = [i for i, own in enumerate(groups) if own == g]
        ways = sorted(set(itertools.permutations(values[i] for i in members)))
        likely = [sum(score((*rows[i], g), v) for i, v in zip(members, way, strict=True)) for way in ways]
        found = tuple(of_group[i][step[i]] for i in members)
        assert found in ways
        assert likely[ways.index(found)] == pytest.approx(max(likely), abs=1e-7)
        if len(set(found)) == 2:
            # Equal records are equally likely to have either: the first have the first.
            assert all(
                step[i] <= step[k] for i, k in itertools.combinations(members, 2) if rows[i] == rows[k]
            )


def weak_release(dependence, seed):
    """Groups of two with different values; each value has its own usual row, with some probability."""
    rng = np.random.default_rng(seed)
    values = rng.choice(5, 1200, p=[0.3, 0.25, 0.2, 0.15, 0.1])
    usual = np.array([(0, 3), (1, 2), (2, 1), (3, 0), (0, 0)])
    is_usual = rng.random((len(values), 2)) < dependence
    rows = np.where(is_usual, usual[values], rng.integers(0, 4, (len(values), 2)))
    left = [rng.permutation(np.flatnonzero(values == v)).tolist() for v in range(5)]
    groups, n = np.full(len(values), -1), 0
    while sum(map(bool, left)) > 1:
        # Which values come together is random: of pairs that are always the same nothing is learnt.
        sizes = np.array([len(own) for own in left])
        for v in rng.choice(5, 2, replace=False, p=sizes / sizes.sum()):
            groups[left[v].pop()] = n
        n += 1
    kept = groups >= 0
    return list(map(tuple, rows[kept].tolist())), groups[kept].tolist(), values[kept].tolist()


def test_it_succeeds_on_a_weak_release_and_not_without_dependence():
    """Fixed seeds: homogeneity finds nothing in groups of two values, and the attack most of them."""
    found = attacked(*weak_release(0.8, 1), starts=3)
    assert found.success_random == 0.5
    assert found.success_rate > 0.8
    assert found.standard_error < 0.02
    assert found.worst_posterior > 0.99
    assert found.success_before < 0.35
    nothing = attacked(*weak_release(0.0, 2), starts=3)
    assert abs(nothing.success_rate - 0.5) < 0.05


def test_rates_are_those_of_counting():
    """Of four equal records nobody knows whose the three values are: each is right with its share."""
    found = attacked([(0,)] * 4 + [(1,)] * 2, [0] * 4 + [1] * 2, ["a", "a", "a", "b", "b", "b"])
    assert found.records == 6
    assert found.success_rate == found.success_random == pytest.approx((9 / 4 + 1 / 4 + 2) / 6)
    assert found.success_before == 0.5
    assert (found.standard_error, max(found.rounds)) == (0, 2)
    assert (found.worst_posterior, found.worst_value, found.worst_gain) == (1, "b", 1)
    assert (found.worst.rows, found.worst.records) == ((5, 6), 2)


def test_the_same_seed_has_the_same_result_and_rounds_are_bounded():
    release = weak_release(0.3, 3)
    assert attacked(*release, seed=5) == attacked(*release, seed=5)
    found = attacked(*release, rounds=2, starts=6)
    assert found.rounds == (2,) * 6
    assert found.standard_error > 0


def test_one_value_is_no_secret():
    found = attacked([(0,), (1,), (0,)], [0, 0, 1], ["a"] * 3)
    assert (found.success_rate, found.success_random, found.success_before) == (1, 1, 1)
    assert (found.worst_posterior, found.worst_gain) == (1, 0)


def test_missing_values_are_a_category_or_left_out():
    rows = [("x", "a"), ("x", "b"), (None, "a"), ("y", None)]
    found = table(("place", "value"), (flat("xy"), flat("ab")), rows, {"value"})
    codes = found.codes.copy()
    codes[:, 0] = TOP
    rule = CellRule(codes)
    assert measured(DEFINETTI_ATTACK, found, rule, suppressed="own_block").records == 4
    left = measured(DEFINETTI_ATTACK, found, rule, suppressed="own_block", missing_sensitive="excluded")
    assert left.records == 3
    with pytest.raises(NotSupported):
        measured(DEFINETTI_ATTACK, found, rule)
    asked = DefinettiParameters(missing="matches_everything")
    assert "own_category" in DEFINETTI_ATTACK.supports(context_of(found, rule), asked)


def test_large_classes_of_several_values_are_refused_and_of_two_are_not():
    n = MOST_RECORDS + 1
    rows, groups = [(i % 7,) for i in range(n)], [0] * n
    for values, refused in ([i % 3 for i in range(n)], True), ([i % 2 for i in range(n)], False):
        context = context_of(*grouped(rows, groups, values))
        reason = DEFINETTI_ATTACK.supports(context, DefinettiParameters())
        assert (reason is not None) is refused
    assert "smaller classes" in DEFINETTI_ATTACK.supports(
        context_of(*grouped(rows, groups, [i % 3 for i in range(n)])), DefinettiParameters()
    )
    assert attacked(rows, groups, [i % 2 for i in range(n)]).records == n


def test_several_rows_of_a_person_are_refused():
    found, rule = grouped([(0,), (1,)], [0, 0], ["a", "b"])
    persons = replace(found, persons=np.array([0, 0], dtype=np.int32))
    with pytest.raises(NotSupported):
        unreadable(DEFINETTI_ATTACK, context_of(persons, rule), DefinettiParameters())
