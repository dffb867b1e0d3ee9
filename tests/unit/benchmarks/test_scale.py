"""The benchmark of the case study, on a small one."""

from __future__ import annotations

import pytest

from tests.benchmarks import scale
from tests.benchmarks.case_study import case_study
from tests.benchmarks.scale import measure


@pytest.mark.deep
def test_all_ways_of_scoring_and_searching_a_small_case_study_agree(monkeypatch):
    monkeypatch.setattr(scale, "DATABASE_RULES", 4)
    monkeypatch.setattr(scale, "CHECKED", 100)
    rows = []
    study = case_study(600, 1_500, 30)
    measure(study, study, rows.append)
    works = [row.work for row in rows]
    assert len(works) == 6
    assert [row.baseline for row in rows if row.baseline] == ["duckdb", "pandas"]
    assert all(row.same_result for row in rows[1:])
    assert all(row.ours_seconds > 0 for row in rows)
