"""Least loss under k-anonymity against every rule tried by hand, on tables of random trees."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.criteria.anonymity import KAnonymity
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.search.anonymity import boxes as anonymity_boxes
from app.domain.search.anonymity import lattice as anonymity_lattice
from app.domain.search.anonymity import plan as anonymity_plan
from app.domain.search.anonymity.class_sizes import ClassSizes
from app.domain.search.anonymity.descent import Descent
from app.domain.search.anonymity.pair_classes import pair_bounds
from app.domain.search.anonymity.plan import AnonymityPlan
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.tables import Table
from tests.property.effort import examples
from tests.property.search_instances import hierarchies


@st.composite
def tables(draw, most_attributes=4, most_records=14):
    """Missing, inner and leaf values; unbalanced trees; hierarchies of ⊥ alone."""
    trees = [
        Hierarchy(("*",), ((),)) if draw(st.integers(0, 9)) == 0 else draw(hierarchies())
        for _ in range(draw(st.integers(1, most_attributes)))
    ]
    n = draw(st.integers(1, most_records))
    codes = [[draw(st.integers(0, tree.n_nodes - 1)) for tree in trees] for _ in range(n)]
    names = tuple(f"a{j}" for j in range(len(trees)))
    return Table(names, tuple(trees), np.array(codes, dtype=np.int32).reshape(n, len(trees)))


@st.composite
def problems(draw):
    limit = draw(st.sampled_from([0.0, 0.0, 0.1, 0.29, 0.5, 1.0]))
    kind = draw(st.sampled_from(["geometric", "arithmetic"]))
    return AnonymityProblem((KAnonymity(draw(st.integers(1, 6))),), limit, LossChoice(kind))


class ByHand:
    """One tree: what a node becomes and how many leaves it covers, from the parents alone."""

    def __init__(self, tree):
        self.parent = [0, *(p[0] for p in tree.parents[1:])]
        self.depth = [0]
        for p in self.parent[1:]:
            self.depth.append(self.depth[p] + 1)
        inner = set(self.parent[1:])
        self.leaves = [node for node in range(len(self.parent)) if node not in inner] if inner else [0]
        self.height = max(self.depth)
        self.levels = range(self.height + 1)

    def at(self, node, level):
        while self.depth[node] > self.height - level:
            node = self.parent[node]
        return node

    def is_below(self, node, other):
        """Whether a node is another one or below it."""
        return node == other or any(self.at(node, level) == other for level in self.levels)

    def share(self, node):
        return sum(self.is_below(leaf, node) for leaf in self.leaves) / len(self.leaves)


def rules_by_hand(table, problem):
    """(levels, loss, suppressed records, sizes of the remaining classes) of every rule.

    A rule that suppresses anybody suppresses whoever shows nothing, too.
    """
    trees = [ByHand(tree) for tree in table.hierarchies]
    n = len(table.codes)
    for levels in itertools.product(*(range(tree.height + 1) for tree in trees)):
        rows = [
            tuple(tree.at(code, level) for tree, code, level in zip(trees, row, levels, strict=True))
            for row in table.codes.tolist()
        ]
        sizes = Counter(rows)
        k = problem.privacy[0].k
        if min(sizes.values()) < k:
            sizes.pop((0,) * len(trees), None)
        kept = [row for row in rows if sizes[row] >= k]
        losses = []
        for j, tree in enumerate(trees):
            leaves = len(tree.leaves)
            shares = sum(tree.share(row[j]) for row in kept) + (n - len(kept))
            losses.append((shares - n / leaves) / (n - n / leaves) if leaves > 1 else 0.0)
        if problem.loss.kind == "geometric":
            loss = math.prod(1 + x for x in losses) ** (1 / len(losses)) - 1
        else:
            loss = sum(losses) / len(losses)
        yield levels, loss, n - len(kept), [size for size in sizes.values() if size >= k]


def best_by_hand(table, problem):
    """The least loss, smallest levels first among what differs by rounding only; None if none is allowed."""
    allowed = int(problem.suppression_limit * len(table.codes) + 1e-9)
    rated = [rule for rule in rules_by_hand(table, problem) if rule[2] <= allowed]
    if not rated:
        return None
    least = min(loss for _, loss, _, _ in rated)
    return min(rule for rule in rated if rule[1] <= least + 1e-12)


def solved(table, problem, budget=UNLIMITED, halted=lambda: False):
    plan = AnonymityPlan(table, problem, budget)
    return plan.combine({0: plan.run_block(0, lambda _: None, halted)})


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


ENGINES = ("lattice", "lattice after a descent", "boxes", "boxes after a descent")


@contextmanager
def searched_by(engine):
    """Lattices held in memory or searched by boxes; alone, lest a descent finds the optimum before."""
    with pytest.MonkeyPatch.context() as patch:
        if engine.startswith("boxes"):
            patch.setattr(anonymity_plan, "RULES_HELD", 0)
        if engine == "boxes":
            patch.setattr(Descent, "run", lambda self: None)
        if engine == "lattice after a descent":
            patch.setattr(anonymity_lattice, "DESCENT_FROM", 1)
        yield


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
        kept = [size for size in sizes.values() if size >= k]
        small = [sizes[row] < k for row in rows]
        assert classes.below(levels, k) == sum(small)
        assert classes.kept(levels, k) == (len(kept), min(kept) if kept else None)
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
