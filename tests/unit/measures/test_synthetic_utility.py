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
