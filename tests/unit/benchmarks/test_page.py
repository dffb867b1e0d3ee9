"""The page of figures is what the reports say."""

import json
from dataclasses import asdict

import pytest

from tests.benchmarks.measurement import Measurement
from tests.benchmarks.page import DOCS, FIGURES, PAGE, kept_page, main, merged, rendered


def a_measurement(**changes):
    given = {"part": "requests", "work": "GET", "bar": "≤ 2 ms", "unit": "s", "ours": 0.005} | changes
    return Measurement(**given)


def report(*found, failed=()):
    return {"measurements": [asdict(one) for one in found], "not_run": [], "failed": list(failed)}


def test_the_page_is_written_from_the_figures_beside_it():
    assert (DOCS / PAGE).read_text(encoding="utf-8") == kept_page()


def test_a_row_tells_before_now_and_peer():
    before = a_measurement(bar_met=False, counters={"p50_ms": 7})
    now = a_measurement(
        ours=0.001,
        bar_met=True,
        aim="≤ 1 ms",
        baseline="pandas",
        baseline_value=0.5,
        counters={"p50_ms": 1.5},
    )
    row = rendered([before], [now], []).splitlines()[-1]
    assert row == "| GET | ≤ 2 ms (≤ 1 ms) | 5 ms **missed** | 1 ms | 5 | pandas 500 ms | p50_ms 1.5 |"


def test_a_row_of_one_side_alone_stands_there_too():
    before, now = a_measurement(work="old"), a_measurement(work="new", same_result=False)
    *_, old, new = rendered([before], [now], []).splitlines()
    assert old == "| old | ≤ 2 ms | 5 ms |  |  |  |  |"
    assert new == "| new | ≤ 2 ms |  | 5 ms **wrong** |  |  |  |"


def test_other_units_than_seconds_are_said():
    row = rendered([a_measurement(unit="MiB", ours=467.2)], [], []).splitlines()[-1]
    assert "| 467 MiB |" in row


def test_estimates_that_rise_or_fall_are_no_gain():
    before, now = (a_measurement(part="estimates", unit="times", ours=ours) for ours in (4.0, 1.2))
    row = rendered([before], [now], []).splitlines()[-1]
    assert "| 4 times | 1.2 times |  |" in row


def test_parts_that_a_report_does_not_measure_stay(tmp_path):
    first = report(a_measurement(), a_measurement(work="gone"), a_measurement(part="scale", work="one rule"))
    for name, one in (("first", first), ("second", report(a_measurement(ours=0.002)))):
        (tmp_path / name).write_text(json.dumps(one))
        assert main(["--now", str(tmp_path / name)], tmp_path) == 0
    page = (tmp_path / PAGE).read_text()
    assert "| GET | ≤ 2 ms |  | 2 ms |" in page
    assert "| one rule |" in page
    assert "gone" not in page


def test_a_later_report_replaces_rows_of_an_earlier_one_and_other_parts_are_left_out():
    found = merged(
        [
            report(a_measurement(), a_measurement(work="POST"), a_measurement(part="core")),
            report(a_measurement(ours=0.1)),
        ]
    )
    assert [(one.work, one.ours) for one in found] == [("GET", 0.1), ("POST", 0.005)]


@pytest.mark.parametrize(("failed", "status"), [((), 0), (("load: it broke off",), 1)])
def test_the_figures_of_a_side_are_kept_and_the_other_side_stays(tmp_path, failed, status):
    for name, ours in (("old", 0.005), ("new", 0.001)):
        (tmp_path / name).write_text(json.dumps(report(a_measurement(ours=ours), failed=failed)))
    assert main(["--before", str(tmp_path / "old")], tmp_path) == status
    assert main(["--now", str(tmp_path / "new")], tmp_path) == status
    assert "| 5 ms | 1 ms | 5 |" in (tmp_path / PAGE).read_text()
    assert len(json.loads((tmp_path / FIGURES / "before.json").read_text())["measurements"]) == 1
