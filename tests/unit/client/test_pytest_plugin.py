"""The plugin of pytest: what it costs, and what it does with a verdict."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from privacy_risk import gating
from privacy_risk.gating import Verdict

ROOT = Path(__file__).parents[3]


@pytest.fixture
def judge(monkeypatch):
    asked = []

    def gate(policy, frame=None, **options):
        asked.append((policy, frame, options))
        return Verdict(frame or "pass", "p@1", ("Classes: 2 of 5.",))

    monkeypatch.setattr(gating, "gate", gate)
    plugin = import_module("privacy_risk.pytest_plugin")
    judge = plugin.privacy_gate.__wrapped__()
    judge.asked = asked
    return judge


def test_the_project_declares_the_plugin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (module,) = project["entry-points"]["pytest11"].values()
    assert hasattr(import_module(module), "privacy_gate")


def test_a_verdict_of_pass_is_handed_on(judge):
    assert judge("policy.yaml", "pass", original="table", roles={"a": "other"}).passed
    assert judge.asked == [("policy.yaml", "pass", {"original": "table", "roles": {"a": "other"}})]
    assert judge("policy.yaml", views={"v": "SELECT 1"}, relational_schema="").passed


@pytest.mark.parametrize("outcome", ["fail", "error"])
def test_any_other_verdict_fails_the_test_with_its_reasons(judge, outcome):
    with pytest.raises(pytest.fail.Exception) as raised:
        judge("policy.yaml", outcome, original="table")
    assert str(raised.value) == f"{outcome}: p@1\n  Classes: 2 of 5."


def test_a_run_that_does_not_use_it_loads_nothing_for_it():
    script = "import sys, privacy_risk.pytest_plugin as p; print(*sorted(sys.modules))"
    loaded = set(subprocess.check_output([sys.executable, "-c", script], cwd=ROOT, text=True).split())
    assert {name for name in loaded if name.startswith("privacy_risk")} == {
        "privacy_risk",
        "privacy_risk.pytest_plugin",
    }
    assert loaded.isdisjoint({"httpx", "pandas", "pyarrow", "yaml", "app"})
