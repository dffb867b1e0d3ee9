"""What the benchmarks print, and when they fail."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks import parts, program
from tests.benchmarks.checkout import OWN
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.parts import PARTS, Part, PartFailedError, measurements
from tests.benchmarks.program import SERVICE_PARTS, main
from tests.benchmarks.row import PeakWatch, Row, timed
from tests.benchmarks.text import markdown_table


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    monkeypatch.delenv("PRIVACY_RISK_DATA", raising=False)


@pytest.fixture
def measured(monkeypatch):
    """What the parts measure, by name; a part that is not named measures nothing."""
    found = {}
    monkeypatch.setattr(program, "measurements", lambda part, data: iter(found.get(part.name, [])))
    service_parts = [
        replace(part, measure=lambda asked, part=part: found.get(part.name, [])) for part in SERVICE_PARTS
    ]
    monkeypatch.setattr(program, "SERVICE_PARTS", service_parts)
    return found


def a_measurement(**changes):
    return Measurement(
        **{"part": "http", "work": "upload", "bar": "≤ 1 s", "unit": "s", "ours": 9.0} | changes
    )


def test_a_missed_bar_is_no_failure_and_missing_data_are_named(measured, capsys):
    measured["http"] = [
        a_measurement(
            bar_met=False, baseline="pandas", baseline_value=3.0, ratio=1 / 3, peak_mib=12.0, same_result=True
        )
    ]
    assert main([], dict) == 0
    out = capsys.readouterr().out
    assert "9 s (bar ≤ 1 s, MISSED), pandas 3 s, ratio 0.333, peak 12 MiB, same result" in out
    assert "not run: core: no data" in out


@pytest.mark.parametrize("part", ["machine", "http"])
def test_a_wrong_result_is_a_failure(measured, capsys, part):
    measured[part] = [a_measurement(part=part, same_result=False)]
    assert main(["--json"], dict) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["measurements"][0]["same_result"] is False
    assert len(report["not_run"]) == sum(part.needs is not None for part in PARTS)


def test_a_part_that_breaks_off_is_a_failure_and_the_others_are_measured(measured, monkeypatch, capsys):
    def measure(part, data):
        yield a_measurement(part=part.name)
        raise PartFailedError("its process ended with status 1")

    monkeypatch.setattr(program, "measurements", measure)
    measured["http"] = [a_measurement()]
    assert main(["--json"], dict) == 1
    report = json.loads(capsys.readouterr().out)
    assert [found["part"] for found in report["measurements"]][-1] == "http"
    assert "machine: its process ended with status 1" in report["failed"]


def test_another_checkout_is_measured_by_these_benchmarks(tmp_path, monkeypatch):
    other = tmp_path / "other"
    (other / "app").mkdir(parents=True)
    (other / "tests").mkdir()
    (other / ".git").mkdir()
    seen = {}

    def run(command, cwd, check):
        seen["arguments"] = command[3:]
        seen["links"] = {path.name: path.resolve() for path in cwd.iterdir()}
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.chdir(tmp_path)
    assert main(["--json", "--data", "real", "--checkout", "other", "--only", "requests"], dict) == 1
    assert seen["arguments"] == ["--json", "--only", "requests", "--data", str(tmp_path / "real")]
    assert seen["links"] == {"app": other / "app", "tests": OWN / "tests"}


def test_only_the_named_parts_are_measured(measured, capsys):
    measured["machine"], measured["http"] = [a_measurement(part="machine")], [a_measurement()]
    assert main(["--only", "machine", "--json"], dict) == 0
    report = json.loads(capsys.readouterr().out)
    assert [found["part"] for found in report["measurements"]] == ["machine"]
    assert report["not_run"] == []


def test_the_table_of_the_documentation_tells_every_row_and_what_was_missed(measured, capsys):
    measured["machine"] = [
        a_measurement(
            part="machine",
            aim="≤ 0.5 s",
            bar_met=False,
            baseline="pandas",
            baseline_value=0.0123,
            counters={"rules": 1466, "cpu_seconds": 0.123456},
            same_result=True,
        )
    ]
    assert main(["--only", "machine", "core", "--markdown"], dict) == 0
    printed = capsys.readouterr()
    header, rule, row = printed.out.splitlines()
    assert row.count("|") == header.count("|") == rule.count("|")
    assert "| upload | ≤ 1 s (≤ 0.5 s) **missed** | 9 s | pandas 12.3 ms |" in row
    assert "| rules 1,466, cpu_seconds 0.1235 | yes |" in row
    assert "not run: core" in printed.err


@pytest.mark.parametrize(
    ("seconds", "told"), [(12.34567, "12.3 s"), (0.0999, "99.9 ms"), (0.0000123, "12.3 µs"), (0.0, "0 µs")]
)
def test_the_table_tells_times_in_a_fitting_unit(seconds, told):
    assert f"| {told} |" in markdown_table([a_measurement(ours=seconds)])[-1]


def test_every_part_has_rows_to_measure():
    import importlib

    for part in PARTS:
        assert callable(importlib.import_module(part.module).rows)


MODULE = """
from tests.benchmarks.row import Row

def rows(data, report):
    report(Row("copying", "≤ 2 s", 1.5, "≤ 1 s", "pandas", 3.0, 2**20,
               {"bytes_moved": 7, "estimated_seconds": 3.0}, True, bar_seconds=2.0, aim_seconds=1.0))
    if data is not None:
        raise SystemExit(3)
"""


@pytest.fixture
def own_part(tmp_path, monkeypatch):
    (tmp_path / "measured_here.py").write_text(MODULE)
    # The part's process looks for modules where this one does.
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.setattr(parts, "_bandwidth", lambda: 14.0)
    return Part("own", "measured_here", "nothing")


def test_rows_come_from_a_process_of_their_own_with_ratio_and_limit(own_part):
    (found,) = measurements(own_part, None)
    assert (found.ours, found.baseline_value, found.ratio, found.peak_mib) == (1.5, 3.0, 2.0, 1.0)
    assert (found.bar_met, found.aim_met, found.limit) == (True, False, 0.5)
    assert found.counters["estimated_times"] == 2.0


def test_the_rows_of_a_part_that_breaks_off_are_kept(own_part):
    rows = measurements(own_part, Path("/nowhere"))
    assert next(rows).work == "copying"
    with pytest.raises(PartFailedError, match="status 3"):
        next(rows)


def test_the_peak_is_that_of_the_work_alone():
    big = timed(lambda: sum(bytearray(64 << 20)[::4096]), repeats=1, warm_up=0)
    small = PeakWatch()
    assert big.answer == 0
    assert big.peak_bytes - small.peak() > 32 << 20


def test_there_is_no_ratio_without_a_baseline():
    assert Row("copying", "", 1.0).ratio is None
