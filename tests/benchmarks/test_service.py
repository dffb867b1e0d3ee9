"""Assessments and uploads over HTTP, on a service of its own: the rows that ``benchmark`` prints."""

from __future__ import annotations

from app.main import operations
from app.settings import Settings
from tests.benchmarks.over_http import measure
from tests.benchmarks.service.asked import Asked


def test_assessments_and_uploads_over_http_give_what_pandas_gives(capsys, benchmark):
    asked = Asked(operations(Settings()), data=None, processes=1, load_seconds=1.0, memory_seconds=1.0)
    rows = benchmark.pedantic(measure, args=(asked,), rounds=1)
    with capsys.disabled():
        for row in rows:
            print(f"\n{row.work}: {row.ours:.4g} {row.unit}, ratio {row.ratio} ({row.bar}; {row.detail})")
    assert all(row.same_result is not False for row in rows)
