import json

import pytest

from app.cli import benchmark_http
from app.cli.measurement import Measurement
from app.cli.program import run


@pytest.fixture(autouse=True)
def no_data(monkeypatch):
    monkeypatch.delenv("PRIVACY_RISK_DATA", raising=False)


@pytest.fixture
def measured(monkeypatch):
    found = []
    monkeypatch.setattr(benchmark_http, "measure_http", lambda operations: found)
    return found


def test_a_missed_bar_is_no_failure_and_missing_data_are_named(measured, capsys):
    measured.append(Measurement("upload", "≤ 1 s", "s", 9.0, 3.0, 1 / 3, 12.0, True))
    assert run(["benchmark"], None) == 0
    out = capsys.readouterr().out
    assert "9 s (bar ≤ 1 s), baseline 3 s, ratio 0.333, + 12 MiB, same result" in out
    assert "not run: the core on Adult: no data" in out


def test_a_wrong_result_is_a_failure(measured, capsys):
    measured.append(Measurement("assessment", "≤ 1 s", "s", 0.1, 0.2, 2.0, None, False))
    assert run(["benchmark", "--json"], None) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["measurements"][0]["same_result"] is False
    assert len(report["not_run"]) == 1
