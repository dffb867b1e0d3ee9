"""The nearest passing change, against every level vector of small lattices."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.class_suppression import ClassSuppression
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import EntropyLDiversity
from app.domain.models.k_anonymity import KAnonymity
from app.domain.rules.rule import CellRule, TableRule, apply
from app.domain.search.budget import Budget
from app.domain.search.nearest import raising as vectors
from app.domain.search.nearest.change import (
    AllowedSuppression,
    ClassJudge,
    ClassRequirement,
    OpaqueRequirement,
)
from app.domain.search.nearest.nearest import nearest_change
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.nearest_changes import cases


def raised_by_hand(case, levels):
    """What each cell shows: the least value above what the rule shows and the level's, found in the set."""
    table, disclosed = case.table, apply(case.rule, case.table)
    result = disclosed.copy()
    for j, (tree, level) in enumerate(zip(table.hierarchies, levels, strict=True)):
        at_level = tree.ancestors_at(level)
        for i in range(table.n_records):
            (result[i, j],) = tree.least_above((int(disclosed[i, j]), int(at_level[table.codes[i, j]])))
    return result


def suppressed_by_hand(case, shown, k):
    """Records in classes of quasi-identifiers of fewer than k records, and if any is, who shows nothing.

    Records that show nothing under a rule for single records are suppressed to begin with.
    """
    known = case.table.quasi_identifiers
    keys = [tuple(row[list(known)]) for row in shown]
    small = np.array([keys.count(key) < k for key in keys])
    shows_nothing = np.array([not any(key) for key in keys])
    return small | shows_nothing if small.any() or not isinstance(case.rule, TableRule) else small


def suppressed_by_rule(case):
    if isinstance(case.rule, TableRule):
        return np.zeros(case.table.n_records, dtype=bool)
    return (apply(case.rule, case.table) == TOP).all(axis=1)


def mean_utility(case, shown):
    weights = np.ones(len(shown)) if case.table.weights is None else case.table.weights
    return float(case.utility.of(shown) @ weights / weights.sum())


def brute_force(case, passes, attributes=None, k=None, limit=0, passes_suppressing=None):
    """(utility, suppressed, total, levels) of the best of all changes, None if none passes."""
    table, found = case.table, []
    ranges = [
        (range(t.height + 1) if t.is_tree else (0, t.height))
        if attributes is None or j in attributes
        else (0,)
        for j, t in enumerate(table.hierarchies)
    ]
    for levels in itertools.product(*ranges):
        shown = raised_by_hand(case, levels)
        if passes(shown):
            found.append((mean_utility(case, shown), 0, sum(levels), levels))
        elif k is not None:
            gone = suppressed_by_hand(case, shown, k)
            own = int((gone & ~suppressed_by_rule(case)).sum())
            shown = shown.copy()
            shown[gone] = TOP
            if 0 < own <= limit and passes_suppressing(shown):
                found.append((mean_utility(case, shown), own, sum(levels), levels))
    if not found:
        return None
    best = max(utility for utility, *_ in found)
    return best, *min(rest for utility, *rest in found if utility >= best - 1e-10)


def monotone(case):
    """A random monotone property: at least so many cells are shown no more precisely than some node says."""
    rng = np.random.default_rng(case.mask)
    bounds = [rng.integers(0, t.height + 1) for t in case.table.hierarchies]
    wanted = int(rng.integers(0, case.table.codes.size + 2))

    def passes(shown):
        depth = [t.depth[shown[:, j]] <= bounds[j] for j, t in enumerate(case.table.hierarchies)]
        return int(np.stack(depth).sum()) >= wanted

    return passes


def arbitrary(case):
    """A property without any order to it."""
    return lambda shown: (int(shown.sum()) * 2654435761 + case.mask) % 5 == 0


def check(case, change, expected, passes):
    if expected is None:
        assert (change.status, change.proven, change.rule) == ("none_exists", True, None)
        return
    assert (change.status, change.proven) == ("found", True)
    names = case.table.attributes
    assert change.levels == {n: level for n, level in zip(names, expected[3], strict=True) if level}
    assert change.suppressed_records == expected[1]
    assert change.utility_after == pytest.approx(expected[0], abs=1e-9)
    shown = apply(change.rule, case.table)
    assert passes(shown)
    assert mean_utility(case, shown) == pytest.approx(change.utility_after, abs=1e-9)


def change_is_nearest(case, is_monotone, both):
    first, second = monotone(case), arbitrary(case)
    requirements = [OpaqueRequirement(lambda rule: first(apply(rule, case.table)), 1, is_monotone)]
    passes = first
    if both:
        requirements.insert(0, OpaqueRequirement(lambda rule: second(apply(rule, case.table)), 2))
        passes = lambda shown: first(shown) and second(shown)  # noqa: E731
    change = nearest_change(case.table, case.rule, case.utility, requirements)
    check(case, change, brute_force(case, passes), passes)


@settings(max_examples=examples(150))
@given(cases(), st.booleans(), st.booleans())
def test_the_change_is_that_of_least_loss_among_all_level_vectors(case, is_monotone, both):
    change_is_nearest(case, is_monotone, both)


@pytest.mark.deep
@settings(max_examples=examples(3000))
@given(cases(), st.booleans(), st.booleans())
def test_thousands_of_changes_are_those_of_least_loss(case, is_monotone, both):
    change_is_nearest(case, is_monotone, both)


@settings(max_examples=examples(60))
@given(cases(), st.sets(st.integers(0, 2)))
def test_only_the_attributes_named_are_raised(case, chosen):
    attributes = sorted(j for j in chosen if j < case.table.n_attributes)
    passes = monotone(case)
    requirement = OpaqueRequirement(lambda rule: passes(apply(rule, case.table)), 1, True)
    change = nearest_change(case.table, case.rule, case.utility, [requirement], attributes=attributes)
    check(case, change, brute_force(case, passes, attributes), passes)


def k_anonymous(case, k):
    known = list(case.table.quasi_identifiers)

    def passes(shown):
        keys = [tuple(row[known]) for row in shown if (row[known] != TOP).any()]
        return all(keys.count(key) >= k for key in keys)

    def table_passes(shown):
        keys = [tuple(row[known]) for row in shown]
        return all(keys.count(key) >= k for key in keys)

    return passes, table_passes


def suppressing_is_nearest(case, k, limit, judged):
    single, whole = k_anonymous(case, k)

    def by_rule(rule):
        return (whole if isinstance(rule, TableRule) else single)(apply(rule, case.table))

    requirement = OpaqueRequirement(by_rule, 1, True)
    if judged and isinstance(case.rule, TableRule):
        judge = ClassJudge(case.table, case.rule, (KAnonymity(k),), 0.0)
        requirement = ClassRequirement(judge, by_rule, 1, True)
    suppression = AllowedSuppression(ClassSuppression((KAnonymity(k),)), limit)
    change = nearest_change(case.table, case.rule, case.utility, [requirement], suppression=suppression)
    plain = whole if isinstance(case.rule, TableRule) else single
    # A rule of levels suppresses nobody; with classes suppressed it is one of cells.
    expected = brute_force(case, plain, None, k, limit, single)
    check(case, change, expected, plain if change.suppression is None else single)


SUPPRESSING = given(cases(), st.integers(1, 4), st.integers(0, 5), st.booleans())


@settings(max_examples=examples(150))
@SUPPRESSING
def test_failing_classes_are_suppressed_where_that_loses_less(case, k, limit, judged):
    suppressing_is_nearest(case, k, limit, judged)


@pytest.mark.deep
@settings(max_examples=examples(3000))
@SUPPRESSING
def test_thousands_of_changes_that_suppress_are_those_of_least_loss(case, k, limit, judged):
    suppressing_is_nearest(case, k, limit, judged)


@settings(max_examples=examples(60))
@given(cases(("table",), True), st.integers(2, 3), st.sampled_from([DistinctLDiversity, EntropyLDiversity]))
def test_criteria_that_no_order_helps_are_searched_exactly(case, least, kind):
    table, known = case.table, case.table.quasi_identifiers
    criterion = kind(least)

    def by_rule(rule):
        shown = Table(table.attributes, table.hierarchies, apply(rule, table), sensitive=table.sensitive)
        judge = ClassJudge(shown, TableRule((0,) * table.n_attributes), (criterion,), 0.0)
        return judge.of((0,) * table.n_attributes).suppressed is not None

    judged = ClassRequirement(ClassJudge(table, case.rule, (criterion,), 0.0), by_rule, 1, False)
    change = nearest_change(table, case.rule, case.utility, [judged], attributes=known)
    expected = brute_force(case, lambda shown: by_rule(CellRule(shown)), known)
    check(case, change, expected, lambda shown: by_rule(CellRule(shown)))


@settings(max_examples=examples(60))
@given(cases(), st.integers(1, 6))
def test_a_budget_never_makes_a_false_claim(case, most):
    passes = monotone(case)
    requirement = OpaqueRequirement(lambda rule: passes(apply(rule, case.table)), 1, True)
    budget = Budget(max_nodes=most)
    change = nearest_change(case.table, case.rule, case.utility, [requirement], budget=budget)
    expected = brute_force(case, passes)
    assert change.examined <= most
    if change.proven:
        check(case, change, expected, passes)
    elif change.status == "found":
        assert passes(apply(change.rule, case.table))
        assert change.utility_after <= expected[0] + 1e-9
    else:
        assert change.status == "not_found"


@settings(max_examples=examples(60))
@given(cases(), st.booleans())
def test_lattices_too_large_to_be_held_are_searched_alike(case, is_monotone):
    passes = monotone(case)
    requirement = OpaqueRequirement(lambda rule: passes(apply(rule, case.table)), 1, is_monotone)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "VECTORS_HELD", 0)
        change = nearest_change(case.table, case.rule, case.utility, [requirement])
    check(case, change, brute_force(case, passes), passes)


@settings(max_examples=examples(60))
@given(cases(), st.integers(2, 4))
def test_what_cannot_be_known_of_a_rule_says_nothing_of_others(case, one_of):
    passes = monotone(case)

    def answer(rule):
        shown = apply(rule, case.table)
        return None if int(shown.sum()) % one_of == 0 else passes(shown)

    change = nearest_change(case.table, case.rule, case.utility, [OpaqueRequirement(answer, 1, True)])
    expected = brute_force(case, lambda shown: int(shown.sum()) % one_of != 0 and passes(shown))
    check(case, change, expected, passes)
