"""Distances of classes from the table against loops, and what putting classes together does to them."""

import math
from fractions import Fraction

import numpy as np
import pytest

from app.domain.classes import closeness, necessary
from app.domain.classes.closeness import Quotients
from app.domain.hierarchies.hierarchy import Hierarchy
from tests.oracles import closeness_by_hand as by_hand
from tests.oracles.closeness_by_hand import counts_of
from tests.oracles.effort import examples

KINDS = ("equal", "ordered", "hierarchical", "kl", "js")
FLAT = Hierarchy.from_parents({"a": [None], "b": [None]})


def fractions(found: Quotients):
    return [Fraction(int(a), int(b)) for a, b in zip(found.numerators, found.denominators, strict=True)]


def instance(rng):
    n_values = int(rng.integers(1, 8))
    nested = by_hand.random_tree(rng, n_values)
    hierarchy = by_hand.hierarchy_of(nested)
    totals, classes = by_hand.random_classes(
        rng, n_values, int(rng.integers(1, 6)), int(rng.choice([1, 3, 9]))
    )
    nodes = [hierarchy.node_of(str(value)) for value in range(n_values)]
    return totals, classes, nested, hierarchy, nodes


def check_against_loops(wanted, seed):
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        totals, classes, nested, hierarchy, nodes = instance(rng)
        assert nodes == sorted(nodes)
        counts = counts_of(totals, classes, nodes)
        assert fractions(closeness.equal_distances(counts)) == [by_hand.equal(totals, c) for c in classes]
        assert fractions(closeness.ordered_distances(counts)) == [by_hand.ordered(totals, c) for c in classes]
        found = fractions(closeness.hierarchical_distances(counts, hierarchy))
        assert found == [by_hand.hierarchical(totals, c, nested) for c in classes]
        p = by_hand.shares(totals)
        divergences = [by_hand.kl(p, by_hand.shares(c)) for c in classes]
        assert closeness.kl_divergences(counts).tolist() == pytest.approx(divergences, abs=1e-12)
        divergences = [by_hand.js(totals, c) for c in classes]
        assert closeness.js_divergences(counts).tolist() == pytest.approx(divergences, abs=1e-12)


def test_distances_are_those_of_the_definitions():
    check_against_loops(examples(200), 1)


@pytest.mark.deep
def test_distances_are_those_of_the_definitions_thousands_of_times():
    check_against_loops(2000, 2)


def check_merging(wanted, seed):
    """No union of classes is farther than the farthest of them (convexity, 8.1)."""
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        totals, classes, _, hierarchy, nodes = instance(rng)
        merged = [np.sum(classes, axis=0).tolist(), np.sum(classes[:2], axis=0).tolist()]
        for kind in KINDS:
            parts = closeness.distances(counts_of(totals, classes, nodes), kind, hierarchy)
            whole, pair = closeness.distances(counts_of(totals, merged, nodes), kind, hierarchy)
            assert whole == pytest.approx(0, abs=1e-12)
            assert pair <= max(parts[:2]) + 1e-12


def test_putting_classes_together_never_takes_them_farther():
    check_merging(examples(60), 3)


@pytest.mark.deep
def test_putting_classes_together_never_takes_them_farther_thousands_of_times():
    check_merging(1500, 4)


def test_a_bound_is_met_exactly_at_it():
    """Distances of 1/10 and 3/10 are within t = 0.1 and 0.3, though neither is a binary fraction."""
    counts = counts_of([4, 6], [[5, 5], [1, 9]])
    assert closeness.farther(counts, "equal", Fraction(1, 10), FLAT).tolist() == [False, True]
    assert closeness.farther(counts, "equal", Fraction(3, 10), FLAT).tolist() == [False, False]
    assert closeness.farther(counts, "equal", Fraction(2999999999, 10**10), FLAT).tolist() == [False, True]


def test_a_distance_that_is_above_the_bound_by_less_than_a_double_can_tell_fails():
    """q − p = 3/10 + 1/(N · |G|) of a thousand million records: rounded, it is the double of 0.3."""
    population = 10**9
    for size in range(10**8 + 1, 10**8 + 2000, 2):
        if math.gcd(size, population) == 1:
            in_class = pow(population, -1, size)
            in_table = (in_class * population - 1) // size - 3 * population // 10
            if in_table > 0:
                break
    totals, vector = [in_table, population - in_table], [in_class, size - in_class]
    assert by_hand.equal(totals, vector) == Fraction(3, 10) + Fraction(1, population * size)
    counts = counts_of(totals, [vector])
    assert closeness.equal_distances(counts).floats[0] == 0.3
    assert closeness.farther(counts, "equal", Fraction(3, 10), FLAT).tolist() == [True]


def test_whole_numbers_beyond_64_bits_are_still_exact():
    """Sums of records times records times values outgrow 64 bits: they are Python's numbers then."""
    totals = [10**6] * 2500
    vector = [10**6] * 1250 + [0] * 1250
    counts = counts_of(totals, [vector])
    assert closeness.ordered_distances(counts).numerators.dtype == object
    assert fractions(closeness.ordered_distances(counts)) == [by_hand.ordered(totals, vector)]
    assert closeness.ordered_distances(counts).at_most(Fraction(1250, 2 * 2499)).tolist() == [True]
    assert closeness.ordered_distances(counts).at_most(Fraction(12499, 2 * 24990)).tolist() == [False]


def test_a_class_without_values_is_close_to_everything():
    counts = counts_of([3, 1], [[0, 0], [2, 1], [0, 0], [0, 0]])
    for kind in KINDS:
        found = closeness.distances(counts, kind, FLAT)
        assert found[[0, 2, 3]].tolist() == [0, 0, 0]
        assert found[1] > 0


def compositions(total, parts):
    if parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, parts - 1):
            yield (first, *rest)


@pytest.mark.parametrize("kind", ["equal", "ordered", "js"])
def test_no_smaller_class_can_be_as_close(kind):
    """The least size and the least number of values that a search relies on, by trying every class."""
    rng = np.random.default_rng(5)
    measure = {"equal": by_hand.equal, "ordered": by_hand.ordered, "js": by_hand.js}[kind]
    for _ in range(examples(16)):
        n_values = int(rng.integers(1, 5))
        totals = rng.integers(1, 9, n_values)
        t = float(rng.choice([0.02, 0.05, 0.1, 0.2, 0.4]))
        if kind == "js":
            values = necessary.least_values(totals / totals.sum(), necessary.least_mass(t))
            size = values
        elif kind == "equal":
            values = necessary.least_values(totals / totals.sum(), 1 - t)
            size = necessary.least_size(necessary.rounds_equally(totals, t), totals)
        else:
            values = 1
            size = necessary.least_size(necessary.rounds_in_order(totals, t), totals)
        reached = False
        for n in range(1, min(9, int(totals.sum())) + 1):
            passing = [c for c in compositions(n, n_values) if measure(totals.tolist(), c) <= t + 1e-15]
            assert n >= size or not passing
            assert all(sum(x > 0 for x in c) >= values for c in passing)
            reached |= bool(passing)
            if kind != "js" and n == size:
                assert passing or size == totals.sum()
        assert reached or size > 8 or kind == "js"


def test_what_can_pass_of_a_class_is_the_most_that_its_values_allow():
    """The greatest K with Σ min(n_i, s_i · K) ≥ mass · K, by trying every K in fractions."""
    rng = np.random.default_rng(8)
    for _ in range(examples(60)):
        totals, classes = by_hand.random_classes(rng, int(rng.integers(1, 9)), 4, int(rng.integers(2, 60)))
        t, shares = Fraction(int(rng.integers(1, 21)), 40), [Fraction(n, sum(totals)) for n in totals]
        found = necessary.most_passing(
            counts_of(totals, classes), np.array(totals) / sum(totals), float(1 - t)
        )
        for vector, most in zip(classes, found.tolist(), strict=True):
            sizes = range(sum(vector), -1, -1)
            able = (
                k
                for k in sizes
                if sum(min(n, s * k) for n, s in zip(vector, shares, strict=True)) >= (1 - t) * k
            )
            assert most == next(able)


def test_no_part_of_a_class_that_is_larger_can_be_close():
    """What must fail of a class whatever it is split into, by trying every part of it."""
    rng = np.random.default_rng(6)
    for _ in range(examples(40)):
        n_values = int(rng.integers(2, 5))
        totals, classes = by_hand.random_classes(rng, n_values, 3, 4)
        t = float(rng.choice([0.05, 0.1, 0.2, 0.4]))
        most = necessary.most_passing(counts_of(totals, classes), np.array(totals) / sum(totals), 1 - t)
        for vector, bound in zip(classes, most.tolist(), strict=True):
            parts = np.stack(np.meshgrid(*(range(n + 1) for n in vector)), axis=-1).reshape(-1, n_values)
            parts = parts[parts.sum(axis=1) > bound]
            p = np.array(totals) / sum(totals)
            moved = np.abs(parts / parts.sum(axis=1, keepdims=True) - p).sum(axis=1) / 2
            assert (moved > t - 1e-12).all()
            assert math.isfinite(bound)
