"""The surrogate census: its marginals are those that were specified."""

import numpy as np
import pytest

from app.experiments.census import SIZES, census, hierarchy_of, salary_counts


@pytest.mark.spec("BL-T23")
def test_salary_classes_are_as_frequent_as_in_the_extract():
    counts = salary_counts(100_000)
    first = [559, 915, 1272, 1629, 1986, 2343, 2699, 3056, 3413, 3770, 4127, 4483, 4840, 4608, 4382]
    assert counts[:15].tolist() == first
    assert counts[-5:].tolist() == [274, 244, 221, 207, 202]
    assert counts.sum() == 100_000
    assert salary_counts(7).sum() == 7


def test_records_have_the_counts_and_hang_together():
    data = census(1, 5000)
    assert np.bincount(data.salaries, minlength=50).tolist() == salary_counts(5000).tolist()
    for j, column in enumerate(data.columns):
        assert 1 <= column.min() <= column.max() <= SIZES[j] == hierarchy_of(j).n_nodes - 1
    assert np.corrcoef(data.columns[0], data.salaries)[0, 1] > 0.2
    apart = census(1, 5000, correlation=0.0)
    assert abs(np.corrcoef(apart.columns[0], apart.salaries)[0, 1]) < 0.1
    assert census(1, 50).columns[0].tolist() == census(1, 50).columns[0].tolist()
