"""Least loss under k-anonymity against every rule tried by hand, on tables of random trees."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.budget import Budget
from app.domain.search.full_domain import boxes as anonymity_boxes
from app.domain.search.full_domain.boxes import pair_bounds
from app.domain.search.full_domain.class_sizes import ClassSizes
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.engines import ENGINES, searched_by
from tests.oracles.k_anonymity_by_hand import best_by_hand, problems, rules_by_hand, solved, tables
from tests.oracles.trees import ByHand


def same_as_by_hand(table, problem):
    found, expected = solved(table, problem), best_by_hand(table, problem)
    if expected is None:
        assert found.status == "infeasible"
        assert found.rule is None
        assert found.loss is None
        return
    levels, loss, suppressed, sizes = expected
    assert found.status == "optimal"
    assert found.rule.levels == levels
    assert found.loss == pytest.approx(loss, abs=1e-12)
    assert found.suppressed_records == suppressed
    assert found.classes == len(sizes)
    assert found.smallest_class == (min(sizes) if sizes else None)
    assert found.bounds.lower == found.loss
    assert found.relative_gap == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("limit", "levels"), [(0.2, (0, 0)), (0.1, (0, 1))])
def test_a_rule_that_suppresses_as_many_as_it_may_is_allowed(engine, limit, levels):
    """One of five records is alone as long as ``b`` is told from ``a`` in the second attribute."""
    tree = Hierarchy.from_rows([("a", "*"), ("b", "*")])
    rows = ("aa", "aa", "ba", "ba", "ab")
    codes = np.array([[tree.node_of(value) for value in row] for row in rows], dtype=np.int32)
    table = Table(("p", "q"), (tree, tree), codes)
    with searched_by(engine):
        found = solved(table, AnonymityProblem((KAnonymity(2),), limit), Budget(max_nodes=50))
    assert (found.status, found.rule.levels) == ("optimal", levels)


@pytest.mark.deep
@pytest.mark.parametrize("engine", ENGINES)
@given(tables(), problems())
@settings(deadline=None, max_examples=examples(100))
def test_the_rule_of_least_loss_is_that_of_trying_them_all(engine, table, problem):
    with searched_by(engine):
        same_as_by_hand(table, problem)


@pytest.mark.deep
@pytest.mark.parametrize("engine", ENGINES)
def test_the_rule_of_least_loss_is_that_of_trying_them_all_at_length(engine):
    @given(tables(5, 40), problems())
    @settings(deadline=None, max_examples=examples(160))
    def compare(table, problem):
        with searched_by(engine):
            same_as_by_hand(table, problem)

    compare()


@pytest.mark.deep
@pytest.mark.parametrize("engine", ENGINES)
@given(tables(5, 25), problems(), st.integers(1, 90), st.integers(0, 60))
@settings(deadline=None, max_examples=examples(80))
def test_a_search_that_is_stopped_gives_an_allowed_rule_and_a_true_bound(
    engine, table, problem, most_nodes, steps
):
    expected = best_by_hand(table, problem)
    by_hand = {rule[0]: rule for rule in rules_by_hand(table, problem)}
    left = iter(range(steps))
    with searched_by(engine):
        stopped = [
            solved(table, problem, Budget(max_nodes=most_nodes)),
            solved(table, problem, halted=lambda: next(left, None) is None),
            AnonymityPlan(table, problem).combine({}),
        ]
        again = solved(table, problem, Budget(max_nodes=most_nodes))
    assert stopped[0] == again
    for found in stopped:
        if expected is None:
            assert found.status == "infeasible"
            continue
        if found.rule is None:
            # Only a search that no descent went before may have looked at no allowed rule yet.
            assert engine == "boxes"
            assert found.bounds.lower <= expected[1] + 1e-12
            continue
        _, loss, suppressed, _ = by_hand[found.rule.levels]
        assert suppressed == found.suppressed_records <= found.suppression_allowed
        assert found.loss == pytest.approx(loss, abs=1e-12)
        assert found.bounds.lower <= expected[1] + 1e-12
        assert found.loss == pytest.approx(found.bounds.lower + found.bounds.gap, abs=1e-12)
        if found.status == "optimal":
            assert found.rule.levels == expected[0]


def test_a_search_that_is_stopped_does_not_count_every_pair_of_attributes(monkeypatch):
    drawn = []

    def counted(classes, heights, k):
        for pair in pair_bounds(classes, heights, k):
            drawn.append(pair)
            yield pair

    monkeypatch.setattr(anonymity_boxes, "pair_bounds", counted)
    tree = Hierarchy.from_rows([("a", "*"), ("b", "*")])
    codes = np.array([[0] * 40, [1] * 40] * 2, dtype=np.int32)
    table = Table(tuple(f"a{j}" for j in range(40)), (tree,) * 40, codes)
    found = solved(table, AnonymityProblem((KAnonymity(2),)), halted=lambda: len(drawn) >= 3)
    assert (len(drawn), found.complete, found.rule.levels) == (3, False, (1,) * 40)


@given(tables(4, 20), problems(), st.sampled_from([0.01, 0.3, 0.9]))
@settings(deadline=None, max_examples=examples(80))
def test_a_gap_that_was_asked_for_is_kept(table, problem, gap):
    found, best = solved(table, problem, Budget(relative_gap=gap)), best_by_hand(table, problem)
    if best is not None:
        assert found.complete
        assert found.loss - best[1] <= gap * found.loss + 1e-12
        assert found.bounds.lower <= best[1] + 1e-12


@given(tables(5, 30), st.integers(1, 5), st.data())
@settings(deadline=None, max_examples=examples(100))
def test_class_sizes_are_those_of_counting_rows(table, k, data):
    classes = ClassSizes(table)
    trees = [ByHand(tree) for tree in table.hierarchies]
    for _ in range(4):
        levels = tuple(data.draw(st.integers(0, tree.height)) for tree in trees)
        rows = [
            tuple(tree.at(code, level) for tree, code, level in zip(trees, row, levels, strict=True))
            for row in table.codes.tolist()
        ]
        sizes = Counter(rows)
        small = [sizes[row] < k for row in rows]
        assert classes.below(levels, k) == sum(small)
        found = np.bincount(classes.classes(levels).of, table.reduced.counts)
        assert sorted(found.tolist()) == sorted(sizes.values())
        for j, counts in enumerate(classes.values_below(levels, k)):
            values = sorted(set(table.codes[:, j].tolist()))
            by_value = Counter(table.codes[small, j].tolist())
            assert counts.tolist() == [by_value[value] for value in values]


@given(tables(4, 30), st.integers(1, 5))
@settings(deadline=None, max_examples=examples(60))
def test_pairs_of_attributes_never_claim_more_than_any_rule_suppresses(table, k):
    classes = ClassSizes(table)
    found = {(pair.first, pair.second): pair.suppressed for pair in pair_bounds(classes, table.heights, k)}
    for levels in itertools.product(*(range(height + 1) for height in table.heights)):
        suppressed = classes.below(levels, k)
        for (i, j), least in found.items():
            assert least[levels[i], levels[j]] <= suppressed
            alone = tuple(v if a in (i, j) else table.heights[a] for a, v in enumerate(levels))
            assert least[levels[i], levels[j]] == classes.below(alone, k)
