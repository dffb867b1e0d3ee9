"""BUREL and median cuts by the specification's vectors, which an independent program computed."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

from app.domain.arrays import Bools, Longs
from app.domain.classes.closeness import equal_distances, ordered_distances
from app.domain.classes.gains import Gains, disclosing, greatest_gains, implied_delta, unlike
from app.domain.classes.sensitive_counts import SensitiveCounts, count_values
from app.domain.search.partitions.burel import (
    Buckets,
    Rounding,
    bits_for,
    bucketise,
    class_sizes,
    grid,
    hilbert,
    retrieve,
)
from app.domain.search.partitions.mondrian import Axis, median_cuts
from tests.oracles.burel_by_hand import ROWS, position_of
from tests.surrogate_census import marginal

POINTS, VALUES = np.array(ROWS)[:, :2].T, np.array(ROWS)[:, 2]


def buckets_of(counts: tuple[int, ...], beta: str, margin: str = "0") -> list[list[int]]:
    found = bucketise(np.array(counts), Fraction(beta), margin=Fraction(margin))
    return [np.flatnonzero(found.of_value == bucket).tolist() for bucket in range(len(found.sizes))]


def leaves_of(
    sizes: tuple[int, ...],
    least: tuple[int, ...],
    beta: int,
    rounding: Rounding = "half_down",
    k_min: int = 1,
) -> list[tuple[int, ...]]:
    buckets = Buckets(np.arange(len(sizes)), np.array(sizes), np.array(least))
    found = class_sizes(buckets, Fraction(beta), rounding=rounding, k_min=k_min)
    return [tuple(own) for own in found.tolist()]


@pytest.mark.spec("BL-T4")
@pytest.mark.parametrize(
    ("counts", "beta", "expected"),
    [
        ((2, 3, 3, 3, 4, 4), "2", [[0, 1], [2, 3], [4, 5]]),
        ((10, 10, 10), "0.99", [[0], [1], [2]]),
        ((10, 10, 10), "1", [[0, 1], [2]]),
        ((10, 20, 70), "1", [[0], [1], [2]]),
        ((10, 20, 70), "2", [[0, 1], [2]]),
        ((5, 5, 5, 5, 80), "3", [[0, 1, 2], [3], [4]]),
        ((7,) * 8, "3", [[0, 1, 2], [3, 4, 5], [6, 7]]),
        ((3, 3, 6), "1.5", [[0, 1], [2]]),
        ((100, 3, 7, 5, 9, 30, 46), "2", [[1, 3], [2, 4], [5, 6], [0]]),
        ((10, 12, 12, 12, 12, 30, 400), "3", [[0, 1, 2], [3, 4], [5], [6]]),
    ],
)
def test_buckets_are_the_fewest_runs(counts: tuple[int, ...], beta: str, expected: list[list[int]]) -> None:
    assert buckets_of(counts, beta) == expected


@pytest.mark.spec("BL-T3")
def test_margin_leaves_a_share_of_the_bound_free() -> None:
    counts = (2, 3, 3, 3, 4, 4)
    assert buckets_of(counts, "2", "0.1") == [[0, 1], [2, 3], [4, 5]]
    assert buckets_of(counts, "2", "0.2") == [[0], [1, 2], [3], [4, 5]]
    found = bucketise(np.array(counts), Fraction(2), margin=Fraction("0.2"))
    sizes = class_sizes(found, Fraction(2)).tolist()
    assert sizes == [[1, 3, 1, 4], [0, 1, 1, 2], [1, 2, 1, 2]]
    # A margin with a denominator that no product of 64 bits has room for
    assert buckets_of((10, 10, 10), "1", "1e-17") == [[0], [1], [2]]


@pytest.mark.spec("BL-T23")
def test_buckets_of_the_surrogate() -> None:
    counts = marginal(100_000)
    assert counts[:15].tolist() == [
        559, 915, 1272, 1629, 1986, 2343, 2699, 3056, 3413, 3770, 4127, 4483, 4840, 4608, 4382,
    ]  # fmt: skip
    assert counts[-5:].tolist() == [274, 244, 221, 207, 202]
    assert counts.sum() == 100_000
    plain = [len(bucketise(counts, Fraction(beta)).sizes) for beta in range(1, 6)]
    assert plain == [50, 25, 17, 13, 13]
    spare = [len(bucketise(counts, Fraction(beta), margin=Fraction("0.2")).sizes) for beta in range(2, 6)]
    assert spare == [25, 19, 17, 16]


@pytest.mark.spec("BL-T3", "BL-T5")
def test_sizes_of_classes() -> None:
    assert leaves_of((5, 6, 8), (2, 3, 4), 2) == [(1, 1, 2), (1, 2, 2), (3, 3, 4)]
    of_three = ((3, 5, 8), (3, 5, 8), 1)
    down = [(0, 1, 2), (1, 1, 2), (1, 1, 2), (0, 1, 1), (1, 1, 1)]
    assert leaves_of(*of_three) == down
    assert sorted(leaves_of(*of_three, "half_up")) == sorted(down)
    even = [(1, 1, 2), (1, 1, 2), (0, 1, 1), (0, 1, 1), (1, 1, 2)]
    assert leaves_of(*of_three, "half_even") == even
    assert leaves_of((12, 20), (4, 9), 3) == [(3, 5)] * 4
    assert leaves_of((1, 1, 30), (1, 1, 30), 2) == [(1, 1, 30)]
    assert leaves_of((7,), (7,), 1) == [(1,)] * 7
    assert leaves_of((7,), (7,), 1, k_min=3) == [(3,), (4,)]


@pytest.mark.spec("BL-T6")
def test_hilbert_curve() -> None:
    square = np.array([[x, y] for x in range(4) for y in range(4)]).T
    assert hilbert(square, 2).reshape(4, 4).tolist() == [
        [0, 3, 4, 5], [1, 2, 7, 6], [14, 13, 8, 9], [15, 12, 11, 10],
    ]  # fmt: skip
    cube = np.array([(0, 0, 0), (7, 0, 0), (1, 2, 3), (5, 5, 5), (7, 7, 7), (3, 0, 6)]).T
    assert hilbert(cube, 3).tolist() == [0, 511, 48, 325, 365, 83]
    fine = np.array([(255, 255), (100, 200), (255, 0), (128, 127)]).T
    assert hilbert(fine, 8).tolist() == [43690, 28272, 65535, 54613]
    assert hilbert(np.array([[3, 1]]), 2).tolist() == [3, 1]


def test_positions_longer_than_a_word_are_exact() -> None:
    # Zeros in front of all coordinates but for the orientation: five axes of 16 bits make 80.
    cells = np.random.default_rng(0).integers(0, 2**16, (5, 40))
    found = hilbert(cells, 16)
    assert found.dtype == object
    assert max(found) >= 2**64
    by_hand = [int(position_of(column.tolist(), 16)) for column in cells.T]
    assert found.tolist() == by_hand


@pytest.mark.spec("BL-T6")
def test_cells_of_the_grid() -> None:
    assert grid(np.array([(40 - 17) / 78]), 8).tolist() == [75]
    assert grid(np.array([(56 - 17) / 78]), 4).tolist() == [8]
    constant = Axis(np.zeros(2, dtype=np.int64), np.array([3.0]), 3.0, 3.0)
    assert grid(constant.relative, 8).tolist() == [0]
    assert [bits_for(n) for n in (1, 2, 3, 16, 17, 2**16, 2**20)] == [1, 1, 2, 4, 5, 16, 16]


def classes_of(of: Longs) -> list[list[int]]:
    return [np.flatnonzero(of == own).tolist() for own in range(int(of.max()) + 1)]


def counts_of(of: Longs, values: Longs = VALUES) -> SensitiveCounts:
    m, ones = int(values.max()) + 1, np.ones(len(values), dtype=np.int64)
    found = count_values(of, values, ones, int(of.max()) + 1, m)
    return SensitiveCounts(*found, np.bincount(values, minlength=m), np.arange(1, m + 1, dtype=np.int32))


def average_loss(of: Longs) -> Fraction:
    """Average information loss by the ranges of two numbers from 0 to 15, weighed alike."""
    classes = classes_of(of)
    widths = [sum(int(np.ptp(axis[own])) for axis in POINTS) * len(own) for own in classes]
    return Fraction(sum(widths), 30 * len(of))


def gain(of: Longs) -> float:
    counts = counts_of(of)
    return float(greatest_gains(counts, Gains.of(counts)).max())


@pytest.mark.spec("BL-T8")
def test_burel_end_to_end() -> None:
    curve = hilbert(POINTS, 4)
    assert curve.tolist() == [
        7, 249, 10, 131, 163, 63, 105, 237, 121, 218, 88, 170, 209, 19, 112, 184, 76, 151, 39,
    ]  # fmt: skip
    positions, ranks = np.unique(curve, return_inverse=True)
    buckets = bucketise(np.bincount(VALUES), Fraction(2))
    of = retrieve(
        buckets.of_value[VALUES], ranks.reshape(-1), positions.tolist(), class_sizes(buckets, Fraction(2))
    )
    assert classes_of(of) == [
        [0, 5, 13, 18], [2, 6, 10, 14, 16], [1, 3, 4, 7, 8, 9, 11, 12, 15, 17],
    ]  # fmt: skip
    assert average_loss(of) == Fraction(196, 285)
    assert gain(of) == 11 / 8
    counts = counts_of(of)
    assert float(equal_distances(counts).floats.max()) == 6 / 19
    assert float(ordered_distances(counts).floats.max()) == 27 / 380


def cut(fails: Callable[[SensitiveCounts], Bools]) -> Longs:
    axes = []
    for own in POINTS:
        places, ranks = np.unique(own, return_inverse=True)
        axes.append(Axis(ranks.reshape(-1), places.astype(float), 0.0, 15.0))

    def passes(of: Longs, n: int) -> Bools:
        inside = of >= 0
        assert of[inside].max() == n - 1
        values = VALUES[inside]
        found = count_values(of[inside], values, np.ones(len(values), dtype=np.int64), n, 6)
        return ~fails(SensitiveCounts(*found, np.bincount(VALUES), np.arange(1, 7, dtype=np.int32)))

    return median_cuts(axes, np.ones(len(VALUES), dtype=np.int64), passes)


@pytest.mark.spec("BL-T11")
@pytest.mark.parametrize(
    ("beta", "classes", "loss", "attained"),
    [
        (
            2,
            [[0, 2, 5, 13, 18], [6, 8, 10, 14, 16], [1, 3, 7, 9, 12], [4, 11, 15, 17]],
            Fraction(119, 285),
            23 / 15,
        ),
        (1, [[0, 2, 5, 10, 16], [6, 8, 13, 14, 18], [1, 3, 4, 7, 9, 11, 12, 15, 17]], Fraction(59, 95), 0.9),
        (
            4,
            [[0, 2, 5], [13, 18], [6, 8, 10, 14, 16], [1, 3, 7, 9, 12], [4, 11, 15, 17]],
            Fraction(11, 30),
            13 / 6,
        ),
    ],
)
def test_median_cuts_under_likeness(
    beta: int, classes: list[list[int]], loss: Fraction, attained: float
) -> None:
    of = cut(lambda counts: unlike(counts, Fraction(beta), "enhanced"))
    assert classes_of(of) == classes
    assert average_loss(of) == loss
    assert gain(of) == pytest.approx(attained, abs=1e-12)


@pytest.mark.spec("BL-T11")
def test_median_cuts_under_disclosure_and_closeness() -> None:
    delta = implied_delta(np.bincount(VALUES), 2)
    of = cut(lambda counts: disclosing(counts, Fraction(delta), "e"))
    assert classes_of(of)[0] == [0, 2, 5, 6, 8, 10, 13, 14, 16, 18]
    assert average_loss(of) == Fraction(409, 570)
    assert gain(of) == pytest.approx(11 / 27, abs=1e-12)
    of = cut(lambda counts: ~equal_distances(counts).at_most(Fraction(3, 10)))
    assert classes_of(of) == [
        [0, 2, 5, 13, 18], [6, 8, 10, 14, 16], [1, 3, 4, 7, 9, 11, 12, 15, 17],
    ]  # fmt: skip
    assert average_loss(of) == Fraction(157, 285)
    of = cut(lambda counts: ~ordered_distances(counts).at_most(Fraction(1, 4)))
    assert classes_of(of) == [
        [0, 2, 13], [5, 18], [8, 10, 16], [6, 14], [1, 7, 9], [3, 12], [4, 11, 15, 17],
    ]  # fmt: skip
    assert average_loss(of) == Fraction(77, 285)
    assert gain(of) == pytest.approx(29 / 9, abs=1e-12)


def aware_gains(shown: Callable[[Longs, Longs], object]) -> tuple[float, float]:
    """(greatest gain that classes show, that of who knows the algorithm) over all values of six records."""
    points = grid(np.arange(6) / 5, 4)
    gained, by_output = 0.0, defaultdict(list)
    for values in sorted(set(permutations((0, 0, 1, 1, 2, 2)))):
        found = np.array(values)
        buckets = bucketise(np.bincount(found), Fraction(2))
        sizes = class_sizes(buckets, Fraction(2))
        of = retrieve(buckets.of_value[found], np.arange(6), hilbert(points[None], 4).tolist(), sizes)
        counts = counts_of(of, found)
        gained = max(gained, float(greatest_gains(counts, Gains.of(counts)).max()))
        by_output[shown(of, found)].append(values)
    worst = max(
        column.count(v) / len(alike)
        for alike in by_output.values()
        for column in zip(*alike, strict=True)
        for v in range(3)
    )
    return gained, worst * 3 - 1


def classes_and_values(of: Longs, values: Longs) -> object:
    return frozenset((tuple(own), tuple(sorted(values[own].tolist()))) for own in classes_of(of))


def boxes_and_values(of: Longs, values: Longs) -> object:
    """What is published: ends of each class's range, and its values."""
    return tuple(sorted((min(own), max(own), *sorted(values[own].tolist())) for own in classes_of(of)))


@pytest.mark.spec("BL-T21", "BL-11")
@pytest.mark.parametrize("shown", [classes_and_values, boxes_and_values])
def test_who_knows_the_algorithm_may_be_certain(shown: Callable[[Longs, Longs], object]) -> None:
    """Erratum 15: no class gains more than −ln 1/3, and yet a value is certain; of 90 ways to have values."""
    gained, aware = aware_gains(shown)
    assert gained == 1 < -math.log(1 / 3)
    assert aware == 2
