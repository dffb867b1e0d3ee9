"""The figures that the benchmarks of the service make of many values."""

import math

import pytest

from tests.benchmarks.service.percentiles import percentile, slope


@pytest.mark.parametrize(("share", "found"), [(0.5, 50), (0.99, 99), (1.0, 100), (0.001, 1)])
def test_a_percentile_is_a_value_that_was_measured(share, found):
    assert percentile(list(range(100, 0, -1)), share) == found


def test_a_high_percentile_of_few_values_is_the_greatest():
    assert percentile([3.0, 1.0], 0.99) == 3.0


def test_there_is_no_percentile_of_nothing():
    assert math.isnan(percentile([], 0.5))


def test_the_slope_is_that_of_the_least_squares():
    assert slope([(0.0, 1.0), (1.0, 3.0), (2.0, 5.0)]) == pytest.approx(2.0)
    assert slope([(0.0, 0.0), (1.0, 3.0), (2.0, 0.0)]) == pytest.approx(0.0)


def test_one_moment_has_no_slope():
    assert slope([(1.0, 5.0), (1.0, 7.0)]) == 0.0
