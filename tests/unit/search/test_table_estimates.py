"""What a search by ratings is expected to take, from what is known before any rule is rated."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from app.domain.risk.utility import build_utility
from app.domain.search.context import SearchContext
from app.domain.search.objectives import Lagrangian, MinRisk
from app.domain.search.problem import Problem
from app.domain.search.table_rules.estimates import (
    most_general_reaching,
    ratings_by_bounding,
    ratings_by_pruning,
    share_shown,
)
from app.domain.search.table_rules.scores import TableScores
from app.domain.search.table_rules.table_level import TableInstance
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.experiments.synthetic import generate


@pytest.fixture(scope="module")
def context() -> SearchContext:
    """A small table under a dictionary, with 240 rules."""
    made = generate(1, 200, ((3, 4, 4), (2, 3), (4, 3, 5), (3, 3, 2, 2)))
    table, dictionary = made.table(200), made.dictionary(0, 200)
    weights = {name: LeafWeights(1.0) for name in table.attributes}
    return SearchContext(table, dictionary, build_sensitivity(table, "linear", weights), build_utility(table))


def _of_floor(context: SearchContext, share: float) -> TableInstance:
    most = float(TableInstance(context, Problem(MinRisk(0.0))).every_utility.max())
    return TableInstance(context, Problem(MinRisk(share * most)))


def test_the_most_general_rules_are_those_above_which_none_reaches_the_floor() -> None:
    utility = np.random.default_rng(1).integers(0, 5, size=(3, 4, 2)).astype(np.float64)
    expected = 0
    for rule in itertools.product(*map(range, utility.shape)):
        broader = [tuple(own + (j == k) for k, own in enumerate(rule)) for j in range(3)]
        known = [other for other in broader if all(o < n for o, n in zip(other, utility.shape, strict=True))]
        expected += utility[rule] >= 2.0 and not any(utility[other] >= 2.0 for other in known)
    assert most_general_reaching(utility, 2.0) == expected > 1


def test_a_floor_in_the_middle_takes_most_ratings(context: SearchContext) -> None:
    low, middle, high = (ratings_by_pruning(_of_floor(context, share)) for share in (0.05, 0.5, 1.0))
    assert low < middle > high
    assert ratings_by_pruning(_of_floor(context, 1.1)) == 0.0


def test_branch_and_bound_rates_more_where_a_floor_tells(context: SearchContext) -> None:
    floored = _of_floor(context, 0.5)
    assert ratings_by_pruning(floored) < ratings_by_bounding(floored, 7.0) <= context.n_rules
    assert ratings_by_bounding(TableInstance(context, Problem(Lagrangian(0.1))), 7.0) == 7.0


def test_the_more_utility_is_worth_the_more_rules_are_rated(context: SearchContext) -> None:
    wanted = [
        ratings_by_pruning(TableInstance(context, Problem(Lagrangian(price))))
        for price in (0.0, 0.001, 0.01, 1e300)
    ]
    assert wanted == sorted(set(wanted))
    assert wanted[-1] <= context.n_rules


def test_more_ratings_take_longer_and_less_each(context: SearchContext) -> None:
    scores = TableScores(context, "zero", one_by_one=True)
    few, many = scores.seconds_of_ratings(10), scores.seconds_of_ratings(200)
    assert scores.seconds_of_ratings(0) == 0.0
    assert few < many < 20 * few


def test_ratings_of_rules_that_show_more_take_longer(context: SearchContext) -> None:
    scores = TableScores(context, "zero", one_by_one=True)
    seconds = [scores.seconds_of_ratings(100, shown) for shown in (0.1, 0.3, 0.5, 0.7, 1.0)]
    assert seconds == sorted(set(seconds))
    assert scores.seconds_of_ratings(100) == seconds[2]


def test_what_rules_show_is_told_by_a_floor_alone(context: SearchContext) -> None:
    assert share_shown(_of_floor(context, 0.25)) == pytest.approx(0.25)
    assert share_shown(TableInstance(context, Problem(Lagrangian(0.1)))) == 0.5
