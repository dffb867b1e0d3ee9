"""Resemblance of synthetic tables; the score against brute force is tested beside the distances."""

import math

import numpy as np
import pytest

from app.domain.analyses.compared_tables import ComparedColumn, ComparedTables
from app.domain.analyses.synthetic_utility import synthetic_utility


def test_correlations_are_compared_where_both_tables_have_them():
    numbers = np.array([math.nan, *range(1, 11)], dtype=np.float64)
    columns = tuple(ComparedColumn(name, [str(i) for i in range(11)], numbers) for name in "xy")
    up = np.arange(1, 11, dtype=np.int32)
    own = ComparedTables(columns, np.stack([up, up], axis=1), np.stack([up, up[::-1]], axis=1))
    found = synthetic_utility(own, k=2, rng=np.random.default_rng(1))
    assert found.correlations == 1
    assert found.correlation_worst == pytest.approx(2)


def test_sets_of_columns_with_very_many_values_are_scored():
    """A product of the numbers of values would not fit into 64 bits."""
    top = 2**22
    columns = tuple(ComparedColumn(name, range(top)) for name in "xyz")  # type: ignore[arg-type]
    codes = np.array([[1, 2, 3], [top - 1, top - 2, top - 3]], dtype=np.int32)
    other = np.array([[1, 2, 3], [top - 1, top - 2, 3]], dtype=np.int32)
    found = synthetic_utility(ComparedTables(columns, codes, other), k=3, rng=np.random.default_rng(1))
    assert found.marginals.score == pytest.approx(500)


def plane(original, synthetic):
    """Scores by the textbook: a singular value decomposition of the standardised original."""
    mean, deviation = original.mean(axis=0), original.std(axis=0)
    scaled = (original - mean) / deviation
    _, singular, right = np.linalg.svd(scaled, full_matrices=False)
    return scaled @ right[:2].T, (synthetic - mean) / deviation @ right[:2].T, singular**2 / sum(singular**2)


def squares(found):
    """(20, 20) shares of both tables."""
    shares = np.zeros((2, 20, 20))
    for own in found.cells:
        shares[:, own.first, own.second] = own.original, own.synthetic
    return shares


def test_the_figure_is_that_of_a_singular_value_decomposition():
    rng = np.random.default_rng(5)
    codes = [rng.integers(1, 12, (400, 4), dtype=np.int32) for _ in range(2)]
    codes[0][:, 1] = np.minimum(11, codes[0][:, 0] + rng.integers(0, 3, 400))
    numbers = np.array([math.nan, *rng.normal(size=11)])
    letters = ["", *"kbdgacfhije"]
    columns = (
        ComparedColumn("x", [str(i) for i in range(12)], numbers),
        ComparedColumn("y", letters),
        ComparedColumn("z", [str(i) for i in range(12)], numbers),
        ComparedColumn("w", letters),
    )
    ranks = np.argsort(np.argsort(letters)).astype(float)
    plain = [np.stack([numbers[c[:, 0]], ranks[c[:, 1]], numbers[c[:, 2]], ranks[c[:, 3]]], 1) for c in codes]
    found = synthetic_utility(ComparedTables(columns, *codes), k=2, rng=rng).components
    original, synthetic, explained = plane(*plain)
    assert found.explained == pytest.approx(explained[:2])
    shares = squares(found)
    least, extent = original.min(axis=0), np.ptp(original, axis=0)
    hits = 0
    for signs in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        expected = []
        for own in (original, synthetic):
            low = np.where(np.array(signs) > 0, least, -(least + extent))
            at = np.floor((own * signs - low) / extent * 20).clip(0, 19).astype(int)
            expected.append(np.zeros((20, 20)))
            np.add.at(expected[-1], (at[:, 0], at[:, 1]), 1 / len(own))
        # A record on the edge of a square may be in either by rounding.
        hits += np.abs(np.stack(expected) - shares).sum() < 0.02
    assert hits >= 1
    assert found.difference == pytest.approx(np.abs(shares[0] - shares[1]).sum() / 2)


def test_equal_tables_are_equal_in_the_figure_and_columns_of_one_value_have_none():
    codes = np.random.default_rng(1).integers(0, 5, (60, 3), dtype=np.int32)
    columns = tuple(ComparedColumn(name, ["", *"abcd"]) for name in "xyz")
    rng = np.random.default_rng(1)
    found = synthetic_utility(ComparedTables(columns, codes, codes[::-1]), k=2, rng=rng).components
    assert found.difference == 0
    assert sum(own.synthetic for own in found.cells) == pytest.approx(1)
    assert len(found.cells) <= 400
    codes[:, 1:] = 2
    assert synthetic_utility(ComparedTables(columns, codes, codes), k=2, rng=rng).components is None


def test_missing_values_and_synthetic_rows_far_away_have_a_place():
    numbers = np.array([math.nan, 1.0, 2.0, 1e9])
    columns = tuple(ComparedColumn(name, ["", "1", "2", "1e9"], numbers) for name in "xy")
    original = np.array([[1, 2], [2, 1], [0, 2], [1, 0]], dtype=np.int32)
    synthetic = np.array([[3, 3], [0, 0]], dtype=np.int32)
    rng = np.random.default_rng(1)
    found = synthetic_utility(ComparedTables(columns, original, synthetic), k=1, rng=rng).components
    assert sum(own.synthetic for own in found.cells) == 1
    assert {own.first for own in found.cells} <= set(range(20))
