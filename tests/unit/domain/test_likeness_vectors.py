"""Numbers that the specification of β-likeness states: bounds, gains, distances, δ, similar values."""

import math
from fractions import Fraction

import numpy as np
import pytest

from app.domain.classes import closeness, diversity, gains
from app.domain.classes.gains import Gains
from app.domain.classes.ratios import as_written
from app.domain.hierarchies.hierarchy import Hierarchy
from tests.oracles.closeness_by_hand import counts_of

FLAT = Hierarchy.from_parents({"a": [None], "b": [None]})

TABLE = (6, 4, 2)


def measured(totals, classes):
    """Basic, enhanced and negative β."""
    counts = counts_of(totals, classes)
    found = Gains.of(counts)
    basic = gains.greatest_gains(counts, found).max()
    return (
        basic,
        math.inf if found.breaks_cap.any() else basic,
        gains.greatest_losses(counts, found).max(),
    )


def bound_of(p, beta, kind="enhanced"):
    share = as_written(p) if not isinstance(p, Fraction) else p
    totals = np.array([share.numerator, share.denominator - share.numerator])
    return gains.frequency_bounds(totals, share.denominator, as_written(beta), kind)[0]


@pytest.mark.spec("BL-T1")
@pytest.mark.parametrize(
    ("beta", "p", "bound"),
    [
        (2, 0.1, 0.3),
        (2, 0.2, 0.521887582487),
        (4, 0.5, 0.84657359028),
        (4, 0.05, 0.199786613678),
        (1, 0.048402, 0.096804),
        (4, 0.048402, 0.194973620988),
        (4, 0.002018, 0.01009),
        (3, Fraction(math.exp(-3)).limit_denominator(10**9), 0.199148273471),
        (1000, 1e-6, 0.000014815511),
        (0.01, 0.3, 0.303),
        (5, 0.99, 0.999949832495),
        (3, 1, 1),
    ],
)
def test_the_largest_share_that_a_value_may_have(beta, p, bound):
    assert bound_of(p, beta) == pytest.approx(bound, abs=1e-12)


@pytest.mark.spec("BL-T1", "FM-5.6")
def test_the_bound_is_each_values_own():
    """A table-wide bound would allow the rare value less by p_max, or the frequent one more by p_min."""
    totals = np.array([90, 10])
    found = gains.frequency_bounds(totals, 100, as_written(2), "enhanced")
    assert found.tolist() == pytest.approx([0.9 * (1 - math.log(0.9)), 0.3])
    counts = counts_of(totals, [[8, 2], [19, 1], [20, 0]])
    # 20 % of the rare value gain 1, which a bound of −ln 0.9 would forbid; a class of the frequent one alone
    # gains 1/9 > −ln 0.9, which a bound of 2 would allow.
    assert gains.unlike(counts, as_written(2), "enhanced").tolist() == [False, False, True]
    assert not gains.unlike(counts, as_written(2), "basic").any()


@pytest.mark.spec("BL-T2")
@pytest.mark.parametrize(
    ("totals", "classes", "expected"),
    [
        (TABLE, [(3, 2, 1), (3, 2, 1)], (0, 0, 0)),
        (TABLE, [(4, 1, 1), (2, 3, 1)], (0.5, 0.5, 0.5)),
        (TABLE, [(4, 0, 2), (2, 4, 0)], (1, 1, 1)),
        (TABLE, [(6, 0, 0), (0, 4, 2)], (1, math.inf, 1)),
        ((1, 1, 8), [(1, 0, 1), (0, 1, 1), (0, 0, 6)], (4, math.inf, 1)),
    ],
)
def test_the_likeness_of_a_release(totals, classes, expected):
    assert measured(totals, classes) == expected


@pytest.mark.spec("BL-T2")
def test_the_worst_class_and_the_caps_that_are_broken():
    counts = counts_of(TABLE, [(4, 1, 1), (2, 3, 1)])
    greatest = int(np.argmax(Gains.of(counts).relative))
    assert (counts.of_entry[greatest], counts.values[greatest]) == (1, 1)
    counts = counts_of((1, 1, 8), [(1, 0, 1), (0, 1, 1), (0, 0, 6)])
    broken = np.flatnonzero(Gains.of(counts).breaks_cap)
    assert list(zip(counts.of_entry[broken].tolist(), counts.values[broken].tolist(), strict=True)) == [
        (0, 0),
        (1, 1),
        (2, 2),
    ]


@pytest.mark.spec("BL-T2", "BL-11")
def test_basic_likeness_holds_where_the_enhanced_holds_for_no_beta():
    """Erratum 18: the β that a release achieves is a number of its own for each of the two."""
    counts = counts_of(TABLE, [(6, 0, 0), (0, 4, 2)])
    assert not gains.unlike(counts, Fraction(1), "basic").any()
    assert gains.unlike(counts, Fraction(10**6), "enhanced").tolist() == [True, False]


def test_a_value_that_the_reference_lacks_is_an_infinite_gain():
    assert measured((5, 5, 0), [(1, 1, 1), (4, 4, 0)])[:2] == (math.inf, math.inf)
    counts = counts_of((5, 5, 0), [(1, 1, 1), (4, 4, 0)])
    for kind in ("enhanced", "basic"):
        assert gains.unlike(counts, Fraction(10**6), kind).tolist() == [True, False]
    assert gains.disclosing(counts, Fraction(100), "e").tolist() == [True, False]


@pytest.mark.spec("BL-T9")
@pytest.mark.parametrize(
    ("totals", "counts", "gain"), [((4, 6), (5, 5), Fraction(1, 4)), ((1, 99), (11, 89), Fraction(10))]
)
def test_equal_distances_hide_how_much_a_rare_value_gains(totals, counts, gain):
    found = counts_of(totals, [counts])
    assert closeness.equal_distances(found).at_most(Fraction(1, 10)).all()
    assert closeness.equal_distances(found).floats[0] == 0.1
    assert gains.greatest_gains(found, Gains.of(found))[0] == float(gain)


@pytest.mark.spec("BL-T9")
@pytest.mark.parametrize(
    ("counts", "ordered", "equal"),
    [((1, 1, 1, 0, 0, 0, 0, 0, 0), 3 / 8, 2 / 3), ((1, 0, 0, 0, 0, 1, 0, 0, 1), 1 / 8, 2 / 3)],
)
def test_spread_values_are_nearer_in_order(counts, ordered, equal):
    found = counts_of([1] * 9, [counts])
    assert closeness.ordered_distances(found).floats[0] == ordered
    assert closeness.equal_distances(found).floats[0] == equal


@pytest.mark.spec("BL-T9")
@pytest.mark.parametrize(
    ("counts", "distance"),
    [((1, 1, 1, 0, 0, 0), 1 / 2), ((1, 1, 1, 3, 0, 0), 1 / 6), ((0, 2, 1, 0, 1, 2), 1 / 6)],
)
def test_distances_by_the_height_of_common_nodes(counts, distance):
    tree = Hierarchy.from_parents(
        {
            "a": [None], "a1": ["a"], "a2": ["a"], "a3": ["a"],
            "b": [None], "xy": ["b"], "x": ["xy"], "y": ["xy"], "z": ["b"],
        }
    )  # fmt: skip
    found = counts_of([1] * 6, [counts], tree.leaves)
    assert closeness.hierarchical_distances(found, tree).floats[0] == distance


@pytest.mark.spec("BL-T9")
def test_divergences_in_bits():
    quarter, reverse, certain = (
        counts_of((2, 2), [(1, 3)]),
        counts_of((1, 3), [(2, 2)]),
        counts_of((1, 1), [(1, 0)]),
    )
    assert closeness.kl_divergences(quarter)[0] == pytest.approx(0.207518749639, abs=1e-12)
    assert closeness.kl_divergences(reverse)[0] == pytest.approx(0.188721875541, abs=1e-12)
    assert closeness.js_divergences(quarter)[0] == pytest.approx(0.048794940695, abs=1e-12)
    assert closeness.kl_divergences(certain)[0] == math.inf


@pytest.mark.spec("BL-11")
def test_divergences_are_of_the_pairs_that_they_belong_to():
    """Erratum 11: KL(P‖Q) with P overall and Q in the class, in bits, of the two pairs of section 2.

    The small numbers belong to (0.4, 0.6) → (0.5, 0.5), the larger ones to (0.01, 0.99) → (0.03, 0.97): there
    the divergence is smaller although the rare value gains eight times as much.
    """
    common, rare = counts_of((4, 6), [(5, 5)]), counts_of((1, 99), [(3, 97)])
    for found, p, q in ((common, 0.4, 0.5), (rare, 0.01, 0.03)):
        kl = p * math.log2(p / q) + (1 - p) * math.log2((1 - p) / (1 - q))
        assert closeness.kl_divergences(found)[0] == pytest.approx(kl, abs=1e-14)
    assert closeness.kl_divergences(rare)[0] < closeness.kl_divergences(common)[0]
    assert closeness.js_divergences(rare)[0] < closeness.js_divergences(common)[0]
    assert [gains.greatest_gains(x, Gains.of(x))[0] for x in (common, rare)] == [0.25, 2]


@pytest.mark.spec("BL-T10", "FM-5.2")
def test_delta_disclosure_of_a_release():
    counts = counts_of(TABLE, [(4, 1, 1), (2, 3, 1)])
    greatest = gains.greatest_ratios(counts, Gains.of(counts)).max()
    assert greatest == pytest.approx(0.69314718056, abs=1e-11)
    assert not gains.disclosing(counts, as_written(0.69315), "e").any()
    assert gains.disclosing(counts, as_written(0.69314), "e").any()
    # In bits the same release has δ* = 1 exactly, and the model holds for every δ above it only.
    assert gains.disclosing(counts, Fraction(1), "2").any()
    assert not gains.disclosing(counts, as_written(1.000001), "2").any()


@pytest.mark.spec("BL-T10")
def test_the_diversity_of_the_same_release():
    counts = counts_of(TABLE, [(4, 1, 1), (2, 3, 1)])
    shares = 1 / diversity.worst_posterior(diversity.ranked(counts), 0)
    assert (counts.distinct.min(), shares.min(), shares.mean()) == (3, 1.5, 1.75)
    assert diversity.effective_entropy(counts).min() == pytest.approx(2.381101577952, abs=1e-12)


@pytest.mark.spec("BL-T10", "BL-11", "FM-5.2")
def test_delta_disclosure_forbids_that_a_value_is_absent():
    """Erratum 10: δ-disclosure forbids a share of 0, β-likeness does not."""
    counts = counts_of(TABLE, [(4, 0, 2), (2, 4, 0)])
    assert gains.greatest_ratios(counts, Gains.of(counts)).tolist() == [math.inf, math.inf]
    assert gains.greatest_ratios(counts, Gains.of(counts), absent_count=False).max() < 0.7
    assert gains.disclosing(counts, Fraction(100), "e").all()
    assert not gains.unlike(counts, Fraction(1), "enhanced").any()


@pytest.mark.spec("BL-T10", "BL-11")
def test_delta_disclosure_allows_a_class_that_is_nearly_certain():
    """Erratum 10, the other way round: where e^δ · p > 1, δ-disclosure does not stop a share near 1."""
    counts = counts_of((990, 10), [(989, 1), (1, 9)])
    assert gains.disclosing(counts, Fraction(3), "e").tolist() == [False, True]
    assert gains.unlike(counts, Fraction(1), "enhanced").tolist() == [False, True]


@pytest.mark.spec("BL-T10")
@pytest.mark.parametrize(
    ("totals", "beta", "delta"),
    [
        (TABLE, 1, 0.526589034139),
        (TABLE, 0.5, 0.405465108108),
    ],
)
def test_the_delta_that_implies_a_likeness(totals, beta, delta):
    assert gains.implied_delta(np.array(totals), beta) == pytest.approx(delta, abs=1e-12)


@pytest.mark.spec("BL-T10")
def test_the_deltas_of_the_census():
    """p_max is 4.8402 %: from β = −ln p_max on it no longer grows."""
    totals = np.array([48402] + [951598 // 22] * 22)
    totals[-1] += 1_000_000 - totals.sum()
    found = [gains.implied_delta(totals, beta) for beta in (1, 2, 3, 4, 5)]
    expected = [0.69314718056, 1.098612288668, 1.38629436112, 1.393323137246, 1.393323137246]
    assert found == pytest.approx(expected, abs=1e-11)


@pytest.mark.spec("BL-T10", "BL-11")
def test_a_hundredfold_share_is_a_gain_of_99():
    """Erratum 12: one record of 0.1 % in a class of ten has 100 times its share, a relative gain of 99."""
    counts = counts_of((1, 999), [(1, 9)])
    assert gains.greatest_gains(counts, Gains.of(counts))[0] == 99


@pytest.mark.spec("BL-T15")
@pytest.mark.parametrize(("beta", "share"), [(0.5, 2 / 3), (1, 0.590616109149), (4, 0.590616109149)])
def test_classes_that_are_always_like_the_table(beta, share):
    totals = np.array([500_000, 300_000, 200_000])
    assert gains.always_within(totals, beta, "enhanced") == math.ceil(share * 1_000_000)


def test_saturation_is_reached_at_the_rarest_value():
    totals = np.array([2018, 997982])
    assert gains.saturation(totals) == pytest.approx(6.206, abs=5e-4)
    rare = np.array([1, 3, 5])
    at = gains.frequency_bounds(rare, 9, as_written(2.1972246), "enhanced")
    assert at.tolist() == pytest.approx(
        gains.frequency_bounds(rare, 9, as_written(10.0), "enhanced").tolist()
    )


def test_one_value_tells_nothing():
    """m = 1: f is 1, every β 0, every distance 0 (section 12)."""
    assert measured((5,), [(2,), (3,)]) == (0, 0, 0)
    counts = counts_of((5,), [(2,), (3,)])
    for kind in ("equal", "ordered", "hierarchical", "kl", "js"):
        assert closeness.distances(counts, kind, FLAT).tolist() == [0, 0]
    assert bound_of(1, 0.1) == 1


def test_shares_near_one_keep_their_cap():
    """−ln p of a share of 1 − 1e-9 is 1e-9, not 0 by rounding."""
    assert gains.surprisals(np.array([10**9 - 1]), 10**9)[0] == pytest.approx(1.0000000005e-9, rel=1e-12)
