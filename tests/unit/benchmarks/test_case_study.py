"""The case study drawn as codes."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.counting.counter import Counter
from tests.benchmarks.case_study import LINKED, case_study


@pytest.mark.deep
def test_equal_arguments_draw_equal_people_in_lattices_of_the_published_heights():
    first, second = case_study(50, 200, 40, seed=3), case_study(50, 200, 40, seed=3)
    assert np.array_equal(first.table.codes, second.table.codes)
    assert first.table.heights == (4, 2, 3, 4)
    assert first.dates.attributes == first.years.attributes == LINKED
    for a, b in zip(
        first.dates.links + first.years.links, second.dates.links + second.years.links, strict=True
    ):
        assert np.array_equal(a.column, b.column)


def test_every_member_is_among_the_entities_and_years_tell_fewer_apart():
    study = case_study(80, 300, 20)
    by_date = Counter(study.table, study.dates).count_records(study.table.codes).values
    by_year = Counter(study.table, study.years).count_records(study.table.codes).values
    assert by_date.min() >= 1
    assert (by_year >= by_date).all()
    assert by_year.sum() > by_date.sum()
