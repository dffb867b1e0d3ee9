"""t-closeness, β-likeness and δ-disclosure as criteria: who fails, what a search may conclude from it."""

import math

import numpy as np
import pytest

from app.domain.errors import InvalidInput, NotSupported
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.criteria import CRITERIA
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
GROUPS = {"r0": {0, 1}, "r1": {2, 3, 4}, "r1.1": {3, 4}}

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
    BetaLikeness(1, beta_negative=0.75),
    BetaLikeness(2, "basic", beta_negative=0),
    BetaLikeness(1, groups=("r0", "r1.1")),
    BetaLikeness(1, groups=("r0", "r1.1"), values_in_groups="free"),
    BetaLikeness(0.5, "basic", groups=("r1",), values_in_groups="free", beta_negative=0.5),
    BetaLikeness(3, groups=("r0",), beta_negative=0.9),
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
    totals, vector = of_sets(criterion, totals), of_sets(criterion, vector)
    gains = gains_of(totals, vector)
    caps = [-math.log(p) for p, _ in totals]
    broken = any(gain > cap * (1 + 1e-12) for gain, cap in zip(gains, caps, strict=True))
    never = broken and criterion.bound == "enhanced"
    return math.inf if never or lost(criterion, totals, vector) else max(0, *gains)


def of_sets(criterion, counts):
    """(share, count) of every set of values that the criterion bounds."""
    groups = [GROUPS[name] for name in criterion.groups or ()]
    grouped = set().union(*groups) if criterion.values_in_groups == "free" else set()
    sets = [*groups, *({value} for value in range(5) if value not in grouped)]
    amounts = [sum(counts[value] for value in own) for own in sets]
    return [(by_hand.Fraction(n, sum(counts)), n) for n in amounts]


def gains_of(totals, vector):
    return [(q - p) / p for (p, _), (q, _) in zip(totals, vector, strict=True)]


def lost(criterion, totals, vector):
    if criterion.beta_negative is None:
        return False
    return min(gains_of(totals, vector)) < -by_hand.Fraction(str(criterion.beta_negative))


def passes(criterion, totals, vector):
    if isinstance(criterion, BetaLikeness):
        bound, population, size = by_hand.Fraction(str(criterion.beta)), sum(totals), sum(vector)
        totals, vector = of_sets(criterion, totals), of_sets(criterion, vector)
        is_like = all(
            by_hand.within(x, size, n, population, bound, criterion.bound)
            for (_, n), (_, x) in zip(totals, vector, strict=True)
        )
        return is_like and not lost(criterion, totals, vector)
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


@pytest.mark.spec("BL-L1")
@pytest.mark.parametrize("criterion", ALL[6:15], ids=str)
def test_classes_that_are_put_together_gain_and_lose_no_more_than_the_worse_of_the_two(criterion):
    for _, totals, vectors in instances(5, examples(60), 6):
        together = [a + b for a, b in zip(*vectors[:2], strict=True)]
        apart = criterion.attained(Classes(totals, vectors[:2]))
        assert criterion.attained(Classes(totals, [together])) <= apart * (1 + 1e-12)
        if not criterion.failing(Classes(totals, vectors[:2])).any():
            assert not criterion.failing(Classes(totals, [together])).any()


@pytest.mark.spec("BL-L8")
def test_basic_likeness_of_values_is_that_of_groups():
    values, groups = BetaLikeness(0.5, "basic"), BetaLikeness(0.5, "basic", groups=("r0", "r1.1"))
    for _, totals, vectors in instances(6, examples(60), 6):
        judged = Classes(totals, vectors)
        assert groups.failing(judged).tolist() == values.failing(judged).tolist()


def test_with_losses_bounded_no_value_may_be_absent():
    whole = Classes([5, 5, 5, 5, 5], [[5, 5, 5, 5, 5]])
    assert BetaLikeness(1, beta_negative=0.9).implied(whole) == at_least_values(5, None)
    replaced = BetaLikeness(1, groups=("r0", "r1"), values_in_groups="free", beta_negative=0.9)
    assert replaced.implied(whole) == at_least_values(2, None)


@pytest.mark.parametrize(
    ("groups", "pointer"),
    [(("r0", "nobody"), "/groups/1"), (("r1", "r1.1"), "/groups"), (("3",), "/groups/0")],
)
def test_groups_that_are_none_and_groups_in_groups_are_refused(groups, pointer):
    with pytest.raises(InvalidInput) as refused:
        BetaLikeness(1, groups=groups).failing(Classes([1, 1, 1, 1, 1], [[1, 1, 1, 1, 1]]))
    assert refused.value.faults[0].pointer == pointer


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
        lambda: BetaLikeness(1, beta_negative=1),
        lambda: BetaLikeness(1, beta_negative=-0.1),
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
