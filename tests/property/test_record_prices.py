"""Prices of records against the cheapest of all partitions into classes, and what they say of a release."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.local_recoding import bounds as bound
from app.domain.search.local_recoding.bounds import AmbiguityBound
from app.domain.search.local_recoding.cells import Cells, cell_loss_of
from app.domain.search.local_recoding.class_criteria import ClassCriteria
from app.domain.search.local_recoding.course import Course
from app.domain.search.local_recoding.record_costs import cheapest_alone, record_prices
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.recodings import ILLNESS, SMALL, above, leaves_under, passes
from tests.oracles.record_prices import CRITERIA, LADDER, LONG, table_of

KINDS = ("arithmetic", "precision", "non_uniform_entropy", "ail")


@st.composite
def worlds(draw, most_records):
    """A table of nodes of one or two trees, crowded so that records have company, and a question."""
    trees = draw(st.sampled_from([(LADDER,), (SMALL, LONG), (LONG, SMALL), (SMALL, SMALL)]))
    nodes = [draw(st.sampled_from([tree.leaves.tolist(), list(range(tree.n_nodes))])) for tree in trees]
    n = draw(st.integers(2, most_records))
    codes = [[*(draw(st.sampled_from(own)) for own in nodes), draw(st.integers(1, 2))] for _ in range(n)]
    names = (*(f"a{j}" for j in range(len(trees))), "illness")
    array = np.array(codes, dtype=np.int32)
    table = Table(names, (*trees, ILLNESS), array, sensitive=frozenset({"illness"}))
    problem = AnonymityProblem(
        draw(st.sampled_from(CRITERIA)),
        draw(st.sampled_from([0.0, 0.3, 1.0])),
        LossChoice(draw(st.sampled_from(KINDS))),
        draw(st.sampled_from(["own_category", "excluded"])),
        draw(st.sampled_from(["excluded", "own_block"])),
        scope="record_level",
    )
    weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=len(trees), max_size=len(trees)))
    return table, problem, np.array(weights)


def cheapest_partition(table, problem, cost):
    """The least sum of costs (record, nodes) over partitions into classes that meet the criteria.

    Records in none are suppressed, as many as may be.
    """
    rows, trees = table.codes[:, :-1].tolist(), table.hierarchies[:-1]
    values, n = table.codes[:, -1].tolist(), table.n_records
    whole = {value: values.count(value) for value in values}
    everywhere = (0,) * len(trees)
    barred = [problem.missing == "excluded" and 0 in row for row in rows]

    def of_class(members):
        if any(barred[i] for i in members):
            return math.inf
        own = [values[i] for i in members]
        if not all(passes(criterion, own, whole) for criterion in problem.privacy):
            return math.inf
        shared = [
            [
                node
                for node in above(tree, rows[members[0]][j])
                if all(node in above(tree, rows[i][j]) for i in members)
            ]
            for j, tree in enumerate(trees)
        ]
        return min(sum(cost(i, nodes) for i in members) for nodes in product(*shared))

    @cache
    def least(left):
        if not left:
            return 0.0
        first, others = left[0], left[1:]
        found = cost(first, everywhere) + least(others)
        for chosen in range(2 ** len(others)):
            friends = tuple(i for place, i in enumerate(others) if chosen >> place & 1)
            rest = tuple(i for i in others if i not in friends)
            of_own = of_class((first, *friends))
            if of_own < found:
                found = min(found, of_own + least(rest))
        return found

    return least(tuple(range(n)))


def are_prices(table, problem, weights):
    """Whether prices are between what records cost alone and the cheapest partition."""
    cells, criteria = Cells(table, loss_of(table, problem.loss)), ClassCriteria(table, problem)

    def cost(i, nodes):
        pairs = zip(weights, cells.loss.costs, table.codes[i, :-1], nodes, strict=True)
        return sum(float(w * (own.of(raw, node) - own.of(raw, raw))) for w, own, raw, node in pairs)

    attributes = list(range(len(weights)))
    prices = record_prices(cells, criteria, attributes, weights, lambda: True)
    found, least = float(prices @ cells.amounts), cheapest_partition(table, problem, cost)
    assert found <= least + 1e-9 * max(1.0, least)
    alone = cheapest_alone(cells, criteria, attributes, weights[None], lambda: True)[0]
    assert (prices >= alone - 1e-9).all()
    return found, float(alone @ cells.amounts), least


@given(worlds(6))
@settings(deadline=None, max_examples=examples(120))
def test_prices_are_below_every_partition_and_not_below_what_records_cost_alone(asked):
    are_prices(*asked)


@pytest.mark.deep
@given(worlds(8))
@settings(deadline=None, max_examples=examples(3000))
def test_prices_are_below_every_partition_and_not_below_what_records_cost_alone_at_length(asked):
    are_prices(*asked)


def is_ambiguity_bounded(table, problem, levels_at_once):
    """Whether the bound of the ambiguity is below every partition, in groups of so many levels."""
    ambiguity = replace(problem, loss=LossChoice("ambiguity"))
    cells, criteria = Cells(table, cell_loss_of(table, ambiguity.loss)), ClassCriteria(table, ambiguity)
    trees = table.hierarchies[:-1]

    def cost(_, nodes):
        return math.prod(leaves_under(tree, node) for tree, node in zip(trees, nodes, strict=True))

    found = AmbiguityBound(cells, criteria, "declared")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(bound.ROUNDS, "much", levels_at_once)
        found.raise_by("much", math.inf, Course())
    assert found.least <= cheapest_partition(table, problem, cost) * (1 + 1e-9)


@given(worlds(6), st.sampled_from([1, 20_000]))
@settings(deadline=None, max_examples=examples(80))
def test_the_bound_of_ambiguity_is_below_every_partition(asked, levels_at_once):
    is_ambiguity_bounded(*asked[:2], levels_at_once)


@pytest.mark.deep
@given(worlds(8), st.sampled_from([1, 20_000]))
@settings(deadline=None, max_examples=examples(1500))
def test_the_bound_of_ambiguity_is_below_every_partition_at_length(asked, levels_at_once):
    is_ambiguity_bounded(*asked[:2], levels_at_once)


@pytest.mark.parametrize(
    ("values", "k", "prices", "alone"),
    [
        # Who has 1 shares a class with somebody who has 0 and would cost nothing: the price is for both.
        ("001", 2, 2, 1),
        # With two others of whom each would cost nothing, for three.
        ("0001", 3, 3, 1),
        # 2 and 3 have company of their own by twos, and cost no more than that.
        ("0123", 2, 4, 4),
        # By fours 1 and 2 cost 3 each: 2 pays what 1, who has company by twos for 2, does not.
        ("000012", 2, 6, 4),
    ],
)
def test_prices_by_hand(values, k, prices, alone):
    """In leaves beyond the first; the one attribute is a ladder of twos, fours and eight."""
    table = table_of(*values)
    problem = AnonymityProblem((KAnonymity(k),), loss=LossChoice("arithmetic"), scope="record_level")
    found = are_prices(table, problem, np.array([1.0]))
    assert found[:2] == (prices, alone)
