"""Samples and copies as published, by coins of their own: exact probabilities, and what they refute."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.classes.reconstruction import Estimates, UniformReplacement
from app.domain.errors import InvalidInput
from app.domain.mechanisms.balanced_samples import sampled_counts
from app.domain.mechanisms.coin_samples import (
    chances_of_nothing,
    coin_copies,
    coin_sampled_counts,
    expected_counts,
)
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from tests.oracles.closeness_by_hand import counts_of
from tests.oracles.perturbation_by_hand import stream
from tests.unit.measures.closeness_tables import of_classes

FOURTEEN = tuple(f"v{i:02}" for i in range(14))
ASKED = {"p": 0.5, "p_cap": 0.5, "mode": "paper"}


def words(uniforms):
    """The bytes of which these numbers in [0, 1) are read."""
    given_out = (np.asarray(uniforms) * 2.0**64).astype("<u8").tobytes()

    def bits(n):
        assert n == len(given_out)
        return given_out

    return bits


def grid(steps):
    """All pairs of two coins, each in the middle of one of so many equal steps."""
    middles = (np.arange(steps) + 0.5) / steps
    return np.array(list(itertools.product(middles, middles)))


def samples_of(counts, s):
    """All samples that coins may make of a group, with their probabilities: two for each value."""
    n = sum(counts)
    each = []
    for own in counts:
        whole, rest = divmod(own * s / n, 1)
        each.append([(int(whole), 1 - rest), (int(whole) + 1, rest)])
    for chosen in itertools.product(*each):
        yield tuple(k for k, _ in chosen), math.prod(chance for _, chance in chosen)


@pytest.mark.spec("RP-T9")
def test_probabilities_of_samples_of_seven_and_thirteen():
    """The coins' thresholds 0.2 and 0.8 lie on a grid of a hundred by a hundred: it counts exactly."""
    coins = grid(100)
    n = len(coins)
    counts = counts_of([7 * n, 13 * n], [[7, 13]] * n)
    taken = coin_sampled_counts(counts, np.full(n, 12.0), words(coins.ravel())).reshape(n, 2)
    found = {pair: k / n for pair, k in Counter(map(tuple, taken.tolist())).items()}
    assert found == {(4, 7): 0.16, (4, 8): 0.64, (5, 7): 0.04, (5, 8): 0.16}
    sizes = {size: k / n for size, k in Counter(taken.sum(axis=1).tolist()).items()}
    assert sizes == {11: 0.16, 12: 0.68, 13: 0.16}
    share = (taken[:, 0] / taken.sum(axis=1)).mean()
    assert share == pytest.approx(0.349720, abs=1e-6)  # not 0.35, as theorem 5.18 has it
    assert (taken.sum(axis=1) > 12).mean() == 0.16


@pytest.mark.spec("RP-T9")
def test_the_published_example_of_a_sample_of_fifteen():
    """Wang et al., example 5.15: 3 or 4 of five and 11 or 12 of fifteen; then one copy, or two with ⅓."""
    n = 16
    counts = counts_of([5 * n, 15 * n], [[5, 15]] * n)
    limits = np.full(n, 15.0)
    assert expected_counts(counts, limits)[:2].tolist() == [3.75, 11.25]
    taken = coin_sampled_counts(counts, limits, words(grid(4).ravel())).reshape(n, 2)
    assert Counter(taken[:, 0].tolist()) == {3: 4, 4: 12}
    assert Counter(taken[:, 1].tolist()) == {11: 12, 12: 4}
    owners = np.repeat(np.arange(3), 15)
    coins = (np.arange(45) % 3 + 0.5) / 3
    found = coin_copies(owners, np.full(3, 20), words(coins))
    assert Counter(found.tolist()) == {1: 30, 2: 15}


@pytest.mark.spec("RP-T10")
def test_mean_and_variance_of_copies_by_coins_of_a_sample_of_four_and_eight():
    """Of 20 records: each of the 12 once, and once more with ⅔. Coins on a grid of three do exactly so."""
    own, owners = UniformReplacement(0.5, 14), np.zeros(12, dtype=np.int64)
    once_more = [
        coin_copies(owners, np.array([20]), words([(coin + 0.5) / 3] * 12)).tolist() for coin in range(3)
    ]
    assert once_more == [[2] * 12, [2] * 12, [1] * 12]
    times = [found[0] for found in once_more]
    mean, square = sum(times) / 3, sum(k * k for k in times) / 3
    for having, expected, variance in ((4, 6.666667, 16.133787), (8, 13.333333, 27.308390)):
        estimate = total = 0.0
        for records, shows in ((having, own.kept), (12 - having, own.elsewhere)):
            # A record that shows the value adds 1 − c for each time that it is published, else −c.
            worth = shows - own.elsewhere
            spread = shows * (1 - own.elsewhere) ** 2 + (1 - shows) * own.elsewhere**2
            estimate += records * mean * worth / own.p
            total += records * (square * spread - (mean * worth) ** 2) / own.p**2
        assert (estimate, total) == pytest.approx((expected, variance), abs=1e-6)


@pytest.mark.parametrize(
    ("counts", "p", "epsilon", "chance"),
    [
        ((100, 300), 0.5, 0.3, 0.606),
        ((900, 20, 20, 20, 10, 10, 10, 10), 0.5, 0.3, 0.757),
        ((30, 30, 30, 30), 0.5, 0.5, 0.997),
        ((50,), 0.5, 0.5, 0.640),
        ((5, 15), 0.7, 0.5, 0.321),
    ],
)
def test_theorem_5_16_as_printed_is_refuted_by_samples_above_their_bound(counts, p, epsilon, chance):
    """That many of the samples are larger than the bound of their own shares: all are enumerated."""
    own = UniformReplacement(p, 14)

    def bound(top, size):
        found = Estimates(np.array([top]), np.array([size]), own, epsilon)
        return found.greatest_sizes("chernoff_simple", 0.3)[0]

    s = bound(max(counts), sum(counts))
    assert s < sum(counts)
    failing = [
        probability
        for sample, probability in samples_of(counts, s)
        if sum(sample) > bound(max(sample), sum(sample))
    ]
    assert math.fsum(failing) == pytest.approx(chance, abs=5e-4)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(1, 200))
def test_balanced_samples_have_exactly_the_mean_that_theorem_5_18_claims(counts, sample):
    """Over n evenly spread words the counts taken sum to n1·n_x exactly; coins have that, but no shares."""
    n = sum(counts)
    taken_of_each = min(sample, n)
    groups = counts_of([n * own for own in counts], [counts] * n)
    spread = np.array([-(-(i << 32) // n) for i in range(n)], dtype="<u8") << np.uint64(32)
    taken = sampled_counts(groups, np.full(n, taken_of_each), lambda _: spread.tobytes())
    taken = taken.reshape(n, len(counts))
    assert (taken.sum(axis=1) == taken_of_each).all()
    assert taken.sum(axis=0).tolist() == [taken_of_each * own for own in counts]


def test_a_group_within_its_bound_is_taken_whole_whatever_the_coins_say():
    counts = counts_of([30, 10], [[30, 10]])
    assert coin_sampled_counts(counts, np.array([np.inf]), words([0.0, 0.0])).tolist() == [30, 10]
    owners = np.zeros(40, dtype=np.int64)
    assert set(coin_copies(owners, np.array([40]), words([0.0] * 40)).tolist()) == {1}


def test_nothing_is_taken_of_a_group_with_the_product_of_what_its_coins_leave():
    """Of (1, 3) with 0.8 of a record: 0.2 and 0.6 are taken, none with 0.8·0.4; of one value of 8 surely."""
    counts = counts_of([1, 11], [[1, 3], [0, 8]])
    found = chances_of_nothing(counts, np.array([0.8, 3.0]))
    assert found.tolist() == pytest.approx([0.32, 0.0])


def drawn(table, seed="paper", **more):
    asked = SamplePerturbScale(**ASKED | more)
    return SAMPLE_PERTURB_SCALE.draw(MechanismContext(table), asked, stream(seed))


def plan(table, **more):
    return SAMPLE_PERTURB_SCALE.plan(MechanismContext(table), SamplePerturbScale(**ASKED | more))


def table(*classes):
    return of_classes([tuple(own) + (0,) * (14 - len(own)) for own in classes], FOURTEEN)


def test_the_known_leak_has_to_be_accepted():
    [fault] = plan(table((900, 100))).missing
    assert (fault.pointer, fault.code) == ("/mechanism/accept_known_leak", "known-leak")
    assert plan(table((900, 100))).guarantees == ()
    with pytest.raises(InvalidInput):
        drawn(table((900, 100)))
    with pytest.raises(InvalidInput, match="no leak that is to be accepted"):
        SamplePerturbScale(**ASKED | {"mode": "balanced"}, accept_known_leak=True)
    asked = SamplePerturbScale(**ASKED, accept_known_leak=True)
    assert SAMPLE_PERTURB_SCALE.accepts_leak(asked)
    assert not SAMPLE_PERTURB_SCALE.accepts_leak(SamplePerturbScale(p=0.5, p_cap=0.5))


def test_it_is_never_certified_and_says_what_it_leaks():
    found = plan(table((900, 100), (3, 1)), accept_known_leak=True)
    [guarantee] = found.guarantees
    assert (guarantee.status, guarantee.standing) == ("as_published", "none")
    holds = {own.id: own.holds for own in guarantee.hypotheses}
    assert (holds["samples_within_bound"], holds["sizes_tell_nothing"]) == ("no", "no")
    assert any(own.startswith("Known leak") for own in found.warnings)
    assert found.constants["groups_sampled"] == 1
    # Also where no group is sampled, which is not told: it would follow from the shares.
    assert plan(table((3, 1)), accept_known_leak=True).guarantees == (guarantee,)


def test_groups_without_a_sample_are_suppressed_and_counted():
    """(ε·p)² = 0.25 and 2·ln(1/δ)·w = 0.4·0.5357: of records of one value 0.857 may be drawn, on average."""
    many = table(*[(1,)] * 200, (1, 1, 1, 1))
    severe = {"epsilon": 1.0, "delta": 0.8187, "accept_known_leak": True}
    found = plan(many, **severe)
    # 200·0.143 to one digit: more would tell the share.
    assert (found.constants["groups_suppressed"], found.constants["records_suppressed"]) == (30, 30)
    assert found.is_feasible
    released = drawn(many, **severe)
    gone = released.published.groups_suppressed
    # Binomial, 200 and 0.143: outside with a probability of less than 1e-6.
    assert 8 < gone < 60
    assert len(set(released.columns[0].tolist())) == 201 - gone
    assert {len(own) for own in released.columns} == {len(released.columns[0])}


def test_a_draw_that_might_publish_nothing_at_all_is_refused():
    found = plan(table((1,), (1,)), epsilon=1.0, delta=0.8187, accept_known_leak=True)
    assert [own.code for own in found.missing] == ["sample-below-one"]


def test_every_published_row_is_of_the_group_that_it_was_sampled_from():
    released = drawn(table((900, 100), (3, 1)), accept_known_leak=True)
    groups = Counter(released.columns[0].tolist())
    assert sorted(groups.values())[0] == 4
    assert abs(max(groups.values()) - 1000) <= 70
    assert (released.published.sample_size, released.published.mode) == (None, "paper")
