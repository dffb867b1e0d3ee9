"""t-closeness, β-likeness and δ-disclosure as criteria: who fails, what a search may conclude from it."""

import math

import numpy as np
import pytest

from app.domain.analyses.catalogue import CRITERIA
from app.domain.errors import InvalidInput, NotSupported
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.delta_disclosure import DeltaDisclosure
from app.domain.models.distinct_l_diversity import DistinctLDiversity, at_least_values
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.t_closeness import TCloseness
from tests.oracles import closeness_by_hand as by_hand
from tests.oracles.closeness_by_hand import counts_of
from tests.oracles.effort import examples

NESTED = ((0, 1), (2, (3, 4)))
TREE = by_hand.hierarchy_of(NESTED)
LEAVES = [TREE.node_of(str(value)) for value in range(5)]

ALL = [
    TCloseness(0.2),
    TCloseness(0.05),
    TCloseness(0.15, "ordered"),
    TCloseness(0.25, "hierarchical"),
    TCloseness(0.3, "kl"),
    TCloseness(0.1, "js"),
    BetaLikeness(1),
    BetaLikeness(0.5, "basic"),
    BetaLikeness(3),
    DeltaDisclosure(1.5),
    DeltaDisclosure(1, "2"),
]


class Classes:
    """Classes given by their counts, one vector each."""

    def __init__(self, totals, vectors):
        self.totals, self.vectors = totals, vectors
        self.sizes = np.array([sum(vector) for vector in vectors], dtype=np.int64)

    def counts(self, attribute, others="apart"):
        return counts_of(self.totals, self.vectors, LEAVES)

    distributions = counts

    def hierarchy(self, attribute):
        return TREE

    def fewer_than(self, k):
        return self.sizes < k

    @property
    def whole(self):
        return Classes(self.totals, [self.totals])


def measured(criterion, totals, vector):
    """The number that the criterion bounds, by loops."""
    if isinstance(criterion, TCloseness):
        p, q = by_hand.shares(totals), by_hand.shares(vector)
        return {
            "equal": lambda: by_hand.equal(totals, vector),
            "ordered": lambda: by_hand.ordered(totals, vector),
            "hierarchical": lambda: by_hand.hierarchical(totals, vector, NESTED),
            "kl": lambda: by_hand.kl(p, q),
            "js": lambda: by_hand.js(totals, vector),
        }[criterion.distance]()
    if isinstance(criterion, DeltaDisclosure):
        return by_hand.greatest_ratio(totals, vector) / (math.log(2) if criterion.base == "2" else 1)
    gains = by_hand.gains(totals, vector)
    caps = [-math.log(p) for p in by_hand.shares(totals)]
    broken = any(gain > cap * (1 + 1e-12) for gain, cap in zip(gains, caps, strict=True))
    return math.inf if broken and criterion.bound == "enhanced" else max(0, *gains)


def passes(criterion, totals, vector):
    if isinstance(criterion, BetaLikeness):
        return by_hand.like(totals, vector, by_hand.Fraction(str(criterion.beta)), criterion.bound)
    if isinstance(criterion, DeltaDisclosure):
        return measured(criterion, totals, vector) < criterion.delta - 1e-12
    return measured(criterion, totals, vector) <= by_hand.Fraction(str(criterion.t)) + 1e-12


def instances(seed, wanted, greatest):
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        yield rng, *by_hand.random_classes(rng, 5, int(rng.integers(2, 5)), greatest)


@pytest.mark.parametrize("criterion", ALL, ids=str)
def test_who_fails_and_what_is_attained(criterion):
    for _, totals, vectors in instances(1, examples(40), 6):
        judged = Classes(totals, vectors)
        assert (~criterion.failing(judged)).tolist() == [passes(criterion, totals, v) for v in vectors]
        worst = max(measured(criterion, totals, vector) for vector in vectors)
        assert criterion.attained(judged) == pytest.approx(float(worst), abs=1e-12)
        assert criterion.impossible(judged.whole) is None
        assert criterion.satisfied(judged.whole)


@pytest.mark.parametrize("criterion", ALL, ids=str)
def test_what_is_implied_holds_of_every_class_that_passes(criterion):
    for _, totals, vectors in instances(2, examples(40), 4):
        judged = Classes(totals, vectors)
        passing = ~criterion.failing(judged)
        for implied in criterion.implied(judged.whole):
            assert isinstance(implied, KAnonymity | DistinctLDiversity)
            assert implied.merging == "fewer_fail"
            assert not (implied.failing(judged) & passing).any()


def check_splitting(criterion, seed, wanted):
    """However a class is split, at least the unavoidable number of its records fails."""
    for rng, totals, vectors in instances(seed, wanted, 5):
        judged = Classes(totals, vectors)
        unavoidable = criterion.unavoidable(judged)
        assert (unavoidable > 0).tolist() == criterion.failing(judged).tolist()
        for vector, least in zip(vectors, unavoidable.tolist(), strict=True):
            assert 0 <= least <= sum(vector)
            for _ in range(4):
                records = rng.permutation(np.repeat(np.arange(5), vector))
                parts = np.array_split(records, int(rng.integers(1, len(records) + 1)))
                split = [np.bincount(part, minlength=5).tolist() for part in parts]
                failing = criterion.failing(Classes(totals, split))
                assert sum(sum(part) for part, fails in zip(split, failing, strict=True) if fails) >= least


@pytest.mark.parametrize("criterion", ALL, ids=str)
def test_so_many_records_fail_however_a_class_is_split(criterion):
    check_splitting(criterion, 3, examples(30))


@pytest.mark.deep
@pytest.mark.parametrize("criterion", ALL, ids=str)
def test_so_many_records_fail_however_a_class_is_split_hundreds_of_times(criterion):
    check_splitting(criterion, 4, 300)


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical", "kl", "js"])
@pytest.mark.parametrize("t", [1.0, 1.5, 1000.0])
def test_what_no_distance_exceeds_forbids_nothing(distance, t):
    criterion = TCloseness(t, distance)
    judged = Classes([5, 5, 5, 5, 5], [[1, 1, 1, 1, 1], [4, 4, 4, 4, 4]])
    assert criterion.unavoidable(judged).tolist() == [0, 0]
    for implied in criterion.implied(judged.whole):
        assert not implied.failing(judged).any()


@pytest.mark.parametrize("distance", ["kl", "js"])
def test_a_class_that_passes_within_the_tolerance_is_not_lost(distance):
    criterion = TCloseness(0.0, distance)
    judged = Classes([40_000] * 5, [[20_001, 19_999, 20_000, 20_000, 20_000]])
    assert not criterion.failing(judged).any()
    assert criterion.unavoidable(judged).tolist() == [0]


def test_a_class_that_fits_into_no_mixture_is_lost_whole():
    judged = Classes([5, 5, 5, 5, 5], [[5, 0, 0, 0, 0], [0, 5, 5, 5, 5]])
    assert TCloseness(0.2).unavoidable(judged).tolist() == [5, 0]
    assert TCloseness(0.1).unavoidable(judged).tolist() == [5, 20]
    assert BetaLikeness(1).unavoidable(judged).tolist() == [5, 0]
    assert DeltaDisclosure(1.0).unavoidable(judged).tolist() == [5, 20]


def test_delta_needs_every_value_and_likeness_needs_a_crowd():
    whole = Classes([5, 5, 5, 5, 5], [[5, 5, 5, 5, 5]])
    assert DeltaDisclosure(1.0).implied(whole) == at_least_values(5, None)
    # f(0.2) is 0.4 for β = 1: three values and, in whole records, three records at least.
    assert BetaLikeness(1).implied(whole) == at_least_values(3, None)
    # 6 of 25 at most: five values; of 4 records none may have a value twice, of 5 neither.
    assert BetaLikeness(0.2).implied(whole) == at_least_values(5, None)


def test_an_order_has_no_place_for_missing_values():
    whole = Classes([2, 3, 3, 1, 1], [[2, 3, 3, 1, 1]])
    found = counts_of(whole.totals, whole.vectors, [0, *LEAVES[1:]])
    whole.distributions = lambda attribute, others="apart": found
    assert "order" in TCloseness(0.1, "ordered").impossible(whole)
    assert TCloseness(0.1).impossible(whole) is None
    with pytest.raises(NotSupported):
        TCloseness(0.1, "ordered").failing(whole)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TCloseness(-0.1),
        lambda: TCloseness(math.nan),
        lambda: BetaLikeness(0),
        lambda: BetaLikeness(2e6),
        lambda: BetaLikeness(math.nan),
        lambda: DeltaDisclosure(0),
    ],
)
def test_thresholds_out_of_range_are_refused(make):
    with pytest.raises(InvalidInput):
        make()


def test_nothing_released_fails_nothing():
    for criterion in ALL:
        nothing = Classes([1, 1, 1, 1, 1], [])
        assert criterion.satisfied(nothing)
        assert criterion.attained(nothing) is None
        assert criterion.unavoidable(nothing).tolist() == []


def test_they_are_in_the_catalogue():
    assert {TCloseness, BetaLikeness, DeltaDisclosure} <= set(CRITERIA)
