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
