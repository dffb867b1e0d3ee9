"""Diversity of classes against loops over one class at a time, and what merging does to it (section 4.8)."""

import math
from fractions import Fraction

import numpy as np
import pytest

from app.domain.classes import diversity
from app.domain.classes.ratios import as_written, is_at_most, is_below
from tests.oracles import diversity_by_hand as by_hand
from tests.oracles.diversity_by_hand import N_VALUES, counts_of
from tests.oracles.effort import examples

THRESHOLDS = [as_written(c) for c in (0.03, 0.5, 1, 1.5, 2, 2.1, 3, 9)] + [Fraction(9, 14), Fraction(1, 3)]


def random_blocks(seed, wanted):
    """Blocks of few values and small counts, so that ties and equalities are common; some have no values."""
    rng = np.random.default_rng(seed)
    blocks = []
    for _ in range(examples(wanted)):
        present = rng.choice(N_VALUES, size=rng.integers(0, N_VALUES + 1), replace=False)
        top = int(rng.choice([2, 4, 40]))
        blocks.append({int(v): int(rng.integers(1, top)) for v in present})
    return blocks


def as_float(ratio):
    return math.inf if ratio is None else float(ratio)


def check_against_loops(blocks, seed):
    rng = np.random.default_rng(seed)
    counts = counts_of(blocks)
    ranks = diversity.ranked(counts)
    assert diversity.most_frequent(counts).tolist() == [max(b.values(), default=0) for b in blocks]
    assert [
        ranks.ordered[a:b].tolist() for a, b in zip(counts.starts[:-1], counts.starts[1:], strict=True)
    ] == [by_hand.ranks(block) for block in blocks]
    full = [(g, block) for g, block in enumerate(blocks) if block]
    empty = np.array([not block for block in blocks])
    effective = diversity.effective_entropy(counts)
    for g, block in full:
        shares = np.array(list(block.values())) / sum(block.values())
        assert effective[g] == pytest.approx(math.exp(-(shares * np.log(shares)).sum()), abs=1e-9)
    for ell in range(1, 9):
        for verdicts, by_block in (
            (diversity.has_entropy(counts, ell), lambda b, ell=ell: by_hand.entropy_at_least(b, ell)),
            *(
                (
                    diversity.is_recursive(counts, c, ell),
                    lambda b, ell=ell, c=c: ell == 1 or (ell <= len(b) and by_hand.least_c(b, ell) < c),
                )
                for c in THRESHOLDS
            ),
        ):
            assert verdicts[empty].all()
            assert [bool(verdicts[g]) for g, _ in full] == [by_block(block) for _, block in full]
        least = diversity.least_c(ranks, ell)
        assert [least[g] for g, _ in full] == [as_float(by_hand.least_c(block, ell)) for _, block in full]
        believed = diversity.worst_posterior(ranks, ell - 1)
        for g, block in full:
            assert believed[g] == float(by_hand.posterior(block, ell - 1))
    for tau in (Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), as_written(0.95), Fraction(1)):
        needed = diversity.needed_negations(ranks, tau)
        assert [needed[g] for g, _ in full] == [by_hand.negations(block, tau) for _, block in full]
    for c in THRESHOLDS:
        deepest = diversity.deepest_recursion(ranks, c)
        for g, block in full:
            holds = [ell for ell in range(2, 10) if ell <= len(block) and by_hand.least_c(block, ell) < c]
            assert deepest[g] == max(holds, default=1)
    check_disclosure(blocks, counts, ranks, rng)


def check_disclosure(blocks, counts, ranks, rng):
    harmless = rng.random(N_VALUES) < 0.4
    harmless[rng.integers(N_VALUES)] = False
    allowed = set(np.flatnonzero(harmless).tolist())
    for ell in range(2, 9):
        left, right = diversity.disclosure_terms(ranks, counts, harmless, ell)
        least = diversity.least_c_of_disclosure(left, right)
        assert least.tolist() == [as_float(by_hand.least_c_of_disclosure(b, ell, allowed)) for b in blocks]
        for c in THRESHOLDS:
            verdicts = diversity.is_disclosure_recursive(counts, harmless, c, ell)
            assert verdicts.tolist() == [not by_hand.discloses(b, ell, c, allowed) for b in blocks]
    protected = rng.choice(N_VALUES, size=rng.integers(1, 4), replace=False).astype(np.int64)
    shown = [diversity.records_with(counts, np.arange(N_VALUES) == value) for value in protected]
    limited = np.zeros(N_VALUES, dtype=bool)
    limited[protected] = True
    for threshold in (Fraction(5), Fraction(20), as_written(12.5), Fraction(100, 3)):
        keeps = np.logical_and.reduce(
            [diversity.has_percentage(amounts, threshold, counts.sizes) for amounts in shown]
        )
        within = diversity.is_within_share(counts, limited, threshold / 100)
        within_all = diversity.is_within_share(counts, None, threshold / 100)
        for g, block in enumerate(blocks):
            size = sum(block.values())
            if size:
                rarest = min(int(amounts[g]) for amounts in shown)
                assert Fraction(100 * rarest, size) == by_hand.share_of_rarest(block, protected)
                assert keeps[g] == (by_hand.share_of_rarest(block, protected) >= threshold)
                most = [Fraction(100 * n, size) for v, n in block.items()]
                assert within_all[g] == (max(most) <= threshold)
                own = [Fraction(100 * n, size) for v, n in block.items() if v in protected]
                assert within[g] == (max(own, default=0) <= threshold)
            else:
                assert keeps[g]
                assert within[g]
                assert within_all[g]


def test_diversity_is_that_of_loops_over_single_classes():
    for seed in range(3):
        check_against_loops(random_blocks(seed, 120), seed)


@pytest.mark.deep
def test_diversity_of_many_classes_is_that_of_loops_over_single_classes():
    for seed in range(40):
        check_against_loops(random_blocks(1000 + seed, 200), seed)


def merged(first, second):
    return {v: first.get(v, 0) + second.get(v, 0) for v in {*first, *second}}


def check_merging(seed, wanted):
    """Theorems 3.3 and 3.4: what passes in two blocks passes in their union, for every kind of the family."""
    pairs = list(zip(random_blocks(seed, wanted), random_blocks(seed + 1, wanted), strict=True))
    one, other = counts_of([a for a, _ in pairs]), counts_of([b for _, b in pairs])
    both = counts_of([merged(a, b) for a, b in pairs])
    rng = np.random.default_rng(seed)
    for ell in range(1, 9):
        # Theorem 3.4: a tail of the union is at least as long as both together, and may be longer.
        tails = [diversity.ranked(counts).tail(ell) for counts in (one, other, both)]
        assert (tails[0] + tails[1] <= tails[2]).all()
    harmless = np.arange(N_VALUES) < rng.integers(0, N_VALUES)
    protected = np.arange(N_VALUES) == 3
    kinds = {
        "distinct": lambda counts, ell, c: counts.distinct >= np.where(counts.distinct > 0, ell, 0),
        "entropy": lambda counts, ell, c: diversity.has_entropy(counts, ell),
        "entropy, broken ℓ": lambda counts, ell, c: diversity.has_entropy(counts, ell + 0.37),
        "recursive": lambda counts, ell, c: diversity.is_recursive(counts, c, ell),
        "pd": lambda counts, ell, c: diversity.is_disclosure_recursive(counts, harmless, c, ell),
        "npd": lambda counts, ell, c: diversity.has_percentage(
            diversity.records_with(counts, protected), 10 * c, counts.sizes
        ),
        "share": lambda counts, ell, c: diversity.is_within_share(counts, harmless, c / 10),
    }
    seen = dict.fromkeys(kinds, 0)
    for ell in range(1, 6):
        for c in THRESHOLDS:
            for kind, passes in kinds.items():
                premise = passes(one, ell, c) & passes(other, ell, c)
                seen[kind] += np.count_nonzero(premise & (one.sizes > 0) & (other.sizes > 0))
                assert passes(both, ell, c)[premise].all(), kind
    assert min(seen.values()) > 10


@pytest.mark.spec("LD-D05", "LD-D06", "LD-E21")
def test_classes_that_pass_pass_together():
    check_merging(seed=5, wanted=400)


@pytest.mark.deep
def test_many_classes_that_pass_pass_together():
    for seed in range(0, 60, 2):
        check_merging(seed, wanted=2000)


@pytest.mark.parametrize("scale", [1, 10**6, 2**40])
def test_ratios_are_compared_exactly_however_large(scale):
    """A threshold of seventeen digits and counts of forty bits: no product of them fits in 64 bits."""
    tenth = as_written(0.1)
    left, right = np.array([1, 1, 2], dtype=np.int64) * scale, np.array([10, 11, 19], dtype=np.int64) * scale
    assert is_below(left, tenth, right).tolist() == [False, True, False]
    assert is_at_most(left, tenth, right).tolist() == [True, True, False]
    fine = as_written(0.10000000000000002)
    assert is_below(left, fine, right).tolist() == [True, True, False]
    assert is_at_most(left, fine, right).tolist() == [True, True, False]
    assert is_at_most(left, Fraction(0), right).tolist() == [False] * 3
    assert is_at_most(0 * left, Fraction(0), right).all()


def test_ratios_that_floating_numbers_confuse_are_told_apart():
    threshold = as_written(0.12345678901234567)
    left, right = 10250730894557047, 83030920993190389
    assert left < threshold * right
    assert not float(left) < 0.12345678901234567 * right
    assert is_below(np.array([left]), threshold, np.array([right])).all()
    assert is_at_most(np.array([left]), threshold, np.array([right])).all()


@pytest.mark.spec("LD-D05")
def test_entropy_alone_does_not_prune_under_suppression():
    """Section 6.6: a class of two passing in part; merged, both fail and more records are suppressed."""
    apart, together = counts_of([{0: 8}, {0: 2, 1: 2}]), counts_of([{0: 10, 1: 2}])
    assert diversity.has_entropy(apart, 2).tolist() == [False, True]
    assert diversity.has_entropy(together, 2).tolist() == [False]
    assert diversity.effective_entropy(together)[0] == pytest.approx(1.569192, abs=1e-6)
    suppressed = [int(c.sizes[~diversity.has_entropy(c, 2)].sum()) for c in (apart, together)]
    assert suppressed == [8, 12]
