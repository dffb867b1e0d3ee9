"""What to show to an inviter: the specification's numbers, and all level vectors of thousands of profiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.domain.search.aggregate.chain_records import ChainRecord
from app.domain.search.aggregate.objective import maximise_aggregate
from app.domain.search.aggregate.submodular import ClosureMaximiser
from app.domain.search.objectives import AggregateObjective
from app.domain.search.recommendations import (
    Invitations,
    PublishedObjective,
    enumerated,
    recommend,
    recommendation_of,
    recommendations,
)

# The toy hierarchies: a town in a state, a profession; of each friend the level that both have in common.
WEIGHTS = [np.array([0.6, 0.3, 0.1]), np.array([0.5, 0.1])]
UTILITIES = [np.array([2.0, 1.0, 0.0]), np.array([1.0, 0.0])]
FRIENDS = np.array([[0, 0], [0, 1], [1, 0], [2, 0], [2, 1]])


def published(
    weights: list[np.ndarray], utilities: list[np.ndarray], joins: np.ndarray, trade_off: float, kappa: int
) -> tuple[tuple[int, ...], float]:
    """Where λξ/Φ + u^κ is greatest, by the search that takes the friends as a dictionary."""
    record = ChainRecord.of(utilities, weights, joins)
    found = maximise_aggregate(record, AggregateObjective(kappa, trade_off=trade_off), ClosureMaximiser)
    assert found.levels is not None
    return found.levels, found.value


def drawn(rng: np.random.Generator, invitations: int, is_whole: bool) -> Invitations:
    """Profiles of up to 5 attributes; whole weights and utilities tie often."""
    m, top = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    heights = rng.integers(0, top + 1, (invitations, m))

    def chains() -> np.ndarray:
        size = (invitations, m, top + 1)
        steps = rng.integers(0, 4, size).astype(float) if is_whole else rng.uniform(0, 1, size)
        below = np.arange(top + 1) < heights[:, :, None]
        return np.where(below, steps, 0.0)[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]

    weights = chains() + (rng.integers(0, 2, (invitations, m, 1)) if is_whole else 0.1)
    friends = rng.integers(0, 9, invitations)
    joins = rng.integers(0, 1000, (friends.sum(), m)) % (np.repeat(heights, friends, axis=0) + 1)
    joins[rng.random(joins.shape) < rng.choice([0.0, 0.3, 0.7])] = 0
    return Invitations(weights, chains(), heights, joins, friends)


def best_of_all(
    asked: Invitations, place: int, cap: float, covers: Callable[[Iterable[bool]], bool] = all
) -> tuple[tuple[int, ...], float, float] | None:
    """Levels, utility and risk of the best of all level vectors; None if none is within the cap."""
    before = int(asked.friends[:place].sum())
    friends = asked.joins[before : before + asked.friends[place]].tolist()
    found = []
    for levels in product(*(range(height + 1) for height in asked.heights[place].tolist())):
        phi = sum(asked.weights[place, j, level] for j, level in enumerate(levels))
        utility = sum(asked.utilities[place, j, level] for j, level in enumerate(levels))
        xi = sum(covers(a <= b for a, b in zip(join, levels, strict=True)) for join in friends)
        risk = phi / xi if xi else (math.inf if phi > 0 else 0.0)
        if risk <= cap + 1e-9:
            found.append((levels, utility, risk))
    if not friends or not found:
        return None
    most = max(one[1] for one in found)
    found = [one for one in found if one[1] >= most - 1e-12]
    least = min(one[2] for one in found)
    return [one for one in found if one[2] <= least + 1e-12][-1]


@pytest.mark.parametrize("is_whole", [False, True])
def test_recommendations_are_the_best_of_all_levels_of_thousands_of_profiles(is_whole):
    for seed in range(52):
        rng = np.random.default_rng(seed)
        asked, cap = drawn(rng, 100, is_whole), float(rng.choice([0.0, 0.2, 0.5, 1.0, 2.0, 4.0]))
        found = recommendations(asked, cap)
        assert found.is_optimal.all()
        for place in range(len(asked.friends)):
            best = best_of_all(asked, place, cap)
            assert found.accepted[place] == (best is not None)
            if best is None:
                assert (found.levels[place] == asked.heights[place]).all()
            else:
                assert tuple(found.levels[place].tolist()) == best[0]
                assert (found.utility[place], found.risk[place]) == pytest.approx(best[1:])


@pytest.mark.spec("DN-V11", "DN-S17", "DN-S16")
def test_fewer_friends_in_common_disclose_less():
    """With five friends the state, with one nothing, with none the answer is to reject."""
    five, one, none = (recommend(WEIGHTS, UTILITIES, FRIENDS[:n], 0.3) for n in (5, 1, 0))
    assert (five.shown.levels, five.shown.utility, five.shown.consistent_friends) == ((1, 1), 1.0, 3)
    assert five.shown.risk == pytest.approx(0.133333, abs=5e-7)
    assert (one.shown.levels, one.shown.consistent_friends, one.accepted) == ((2, 1), 1, True)
    assert one.shown.risk == pytest.approx(0.2)
    assert (none.shown.levels, none.shown.risk, none.accepted) == ((2, 1), math.inf, False)
    town, profession = five.more
    assert town is not None
    assert profession is not None
    assert (town.levels, town.consistent_friends, town.risk) == ((0, 1), 2, pytest.approx(0.35))
    assert (profession.levels, profession.consistent_friends, profession.risk) == (
        (1, 0),
        2,
        pytest.approx(0.4),
    )
    assert recommend(WEIGHTS, UTILITIES, FRIENDS[:0], 1e9).accepted is False


@pytest.mark.spec("DN-V11", "DN-S17")
def test_the_published_objective_discloses_more_where_fewer_friends_are_in_common():
    def of(friends: int, trade_off: float = 0.2, kappa: int = 1) -> tuple[tuple[int, ...], float]:
        levels, value = published(WEIGHTS, UTILITIES, FRIENDS[:friends], trade_off, kappa)
        return levels, pytest.approx(value, abs=5e-7)

    assert of(5) == ((2, 1), 5.0)
    assert of(1) == ((0, 0), 3.181818)
    assert of(0) == ((0, 0), 3.0)
    assert of(5, trade_off=0.1) == ((0, 0), 3.090909)
    assert of(5, kappa=2) == ((0, 0), 9.181818)


@pytest.mark.spec("DN-S16")
def test_nothing_sensitive_is_no_risk_and_something_that_nobody_shares_an_infinite_one():
    harmless = [np.array([1.0, 0.0]), np.zeros(2)]
    worth = [np.array([1.0, 0.0]), np.array([1.0, 0.0])]
    stranger = np.array([[1, 1]])
    found = recommend(harmless, worth, stranger, 0.0)
    assert (found.shown.levels, found.shown.consistent_friends, found.shown.risk) == ((1, 0), 0, 0.0)
    assert found.more[0] is not None
    assert found.more[0].risk == math.inf
    assert found.more[1] is None
    endless = [np.array([np.inf, 0.1]), np.array([0.1, 0.1])]
    assert recommend(endless, worth, np.zeros((3, 2), dtype=int), 9.0).shown.levels == (1, 0)


@pytest.mark.parametrize("covers", [all, any])
@pytest.mark.parametrize("is_whole", [False, True])
def test_enumerated_answers_are_the_best_of_all_levels(covers, is_whole):
    for seed in range(15):
        rng = np.random.default_rng(seed)
        asked = replace(drawn(rng, 20, is_whole), in_any=covers is any)
        cap = float(rng.choice([0.0, 0.2, 0.5, 1.0, 2.0, 4.0]))
        found = enumerated(asked, cap)
        if covers is all:
            assert found.levels.tolist() == recommendations(asked, cap).levels.tolist()
        for place in range(len(asked.friends)):
            best = best_of_all(asked, place, cap, covers)
            assert found.accepted[place] == (best is not None)
            if best is not None:
                one = recommendation_of(asked, found, place)
                assert (one.shown.levels, one.shown.utility) == (best[0], pytest.approx(best[1]))
                assert one.shown.risk == pytest.approx(best[2])


@pytest.mark.spec("DN-V11", "DN-S13", "DN-S17")
def test_enumerated_answers_are_those_of_the_specification():
    weights, utilities = (
        np.array([[np.pad(chain, (0, 3 - len(chain)), "edge") for chain in chains]])
        for chains in (WEIGHTS, UTILITIES)
    )

    def asked(friends: int, trade_off: float = 0.2, kappa: int = 1, in_any: bool = False) -> Invitations:
        objective = PublishedObjective(trade_off, kappa)
        heights = np.array([[2, 1]])
        return Invitations(
            weights, utilities, heights, FRIENDS[:friends], np.array([friends]), in_any, objective
        )

    assert asked(5).consistent(0).tolist() == [1, 2, 2, 3, 3, 5]
    assert asked(5, in_any=True).consistent(0).tolist() == [4, 5, 4, 5, 5, 5]

    def best(of: Invitations) -> tuple[tuple[int, ...], float | None, bool]:
        one = recommendation_of(of, enumerated(of, None), 0)
        return one.shown.levels, pytest.approx(one.shown.published, abs=5e-7), one.accepted

    assert best(asked(5)) == ((2, 1), 5.0, False)
    assert best(asked(1)) == ((0, 0), 3.181818, True)
    assert best(asked(0)) == ((0, 0), 3.0, True)
    assert best(asked(5, trade_off=0.1)) == ((0, 0), 3.090909, True)
    assert best(asked(5, kappa=2)) == ((0, 0), 9.181818, True)


def test_what_has_too_many_answers_to_be_enumerated_is_refused_with_their_number():
    chains = np.arange(9, -1, -1.0) * np.ones((1, 6, 1))
    asked = Invitations(chains, chains, np.full((1, 6), 9), np.zeros((1, 6), dtype=int), np.array([1]))
    with pytest.raises(InvalidInput, match="1,000,000 answers"):
        enumerated(asked, 1.0)


@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 10.0]), st.integers(0, 2))
@settings(max_examples=60)
def test_the_published_objective_is_the_greatest_of_all_levels(seed, trade_off, kappa):
    asked = drawn(np.random.default_rng(seed), 1, is_whole=False)
    heights = asked.heights[0].tolist()
    weights, utilities = (
        [own[0, j, : height + 1] for j, height in enumerate(heights)]
        for own in (asked.weights, asked.utilities)
    )
    nodes = np.array(list(product(*(range(height + 1) for height in heights))))
    values = {
        own.levels: trade_off * own.consistent_friends / own.sensitivity + own.utility**kappa
        for own in asked.shown(0, nodes)
    }
    levels, value = published(weights, utilities, asked.joins, trade_off, kappa)
    assert value == pytest.approx(max(values.values()))
    assert values[levels] == pytest.approx(value)
    of = replace(asked, published=PublishedObjective(trade_off, kappa))
    best = recommendation_of(of, enumerated(of, None), 0).shown
    assert best.published == pytest.approx(value) == pytest.approx(values[best.levels])


def test_a_search_that_ends_early_bounds_what_it_may_have_missed():
    asked = drawn(np.random.default_rng(5), 400, is_whole=False)
    exact, hasty = recommendations(asked, 0.5), recommendations(asked, 0.5, most_boxes=1)
    assert exact.is_optimal.all()
    assert 0 < hasty.is_optimal.mean() < 1
    assert (hasty.bound >= exact.utility - 1e-9).all()
    assert (hasty.utility <= exact.utility + 1e-9).all()
    assert hasty.utility[hasty.is_optimal] == pytest.approx(exact.utility[hasty.is_optimal])
    assert (hasty.risk[hasty.accepted] <= 0.5 + 1e-9).all()


def test_a_hub_with_a_hundred_thousand_friends_in_common_is_answered():
    joins = np.random.default_rng(3).integers(0, 4, (100_000, 6))
    chain = np.array([4.0, 2.0, 1.0, 0.0])
    found = recommend([chain + 0.1] * 6, [chain] * 6, joins, 0.002)
    assert found.utility_bound == found.shown.utility > 0
    assert found.shown.consistent_friends == (joins <= np.array(found.shown.levels)).all(axis=1).sum()


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"weights": [np.array([0.6, 0.3, 0.4]), WEIGHTS[1]]}, ("/weights", "rises-towards-the-root")),
        ({"utilities": [np.array([0.0, 1.0, 1.0]), UTILITIES[1]]}, ("/utilities", "rises-towards-the-root")),
        ({"weights": [np.array([0.6, 0.3, -0.1]), WEIGHTS[1]]}, ("/weights", "weight-out-of-range")),
        ({"utilities": [np.array([np.inf, 1, 0]), UTILITIES[1]]}, ("/utilities", "weight-out-of-range")),
        ({"weights": [np.array([np.nan, 1, 0]), WEIGHTS[1]]}, ("/weights", "weight-out-of-range")),
        ({"joins": np.array([[3, 0]])}, ("/joins", "level-out-of-range")),
        ({"joins": np.array([[0, 2]])}, ("/joins", "level-out-of-range")),
        ({"joins": np.array([[0, -1]])}, ("/joins", "level-out-of-range")),
        ({"cap": -0.1}, ("/risk_cap", "out-of-range")),
        ({"cap": np.nan}, ("/risk_cap", "out-of-range")),
    ],
)
def test_profiles_that_are_none_are_refused(changed, expected):
    usual = {"weights": WEIGHTS, "utilities": UTILITIES, "joins": FRIENDS, "cap": 0.3}
    with pytest.raises(InvalidInput) as refused:
        recommend(**{**usual, **changed})
    (fault,) = refused.value.faults
    assert (fault.pointer, fault.code) == expected
