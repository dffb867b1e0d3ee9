"""The ready files for pipelines: each is read as its tool reads it, and its command is run."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import shutil
import sys
import types
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest
import yaml

from app.cli.program import run
from tests.unit.cli.verdict_documents import ERROR, FAIL, PASS

FOLDER = Path(__file__).parents[3] / "docs" / "pipelines"


def load(name):
    return yaml.safe_load((FOLDER / name).read_text())


@pytest.fixture
def gate(stub, operations, files, monkeypatch):
    """Runs the command of a file where its files lie as the file says."""
    for folder in ("data", "gate"):
        (files / folder).mkdir()
    shutil.copy("members.csv", "data/members.csv")
    for name in ("policy.yaml", "rule.yaml", "census.csv", "city.csv", "zip-city.csv"):
        shutil.copy(name, f"gate/{name}")
    shutil.copy("tables.toml", "gate/tables.toml")
    monkeypatch.setenv("CI", "true")

    def gate(command, **variables):
        for name, value in variables.items():
            command = command.replace(f'"${name}"', value)
        program, *argv = shlex.split(command)
        assert (program, argv[0]) == ("privacy-risk", "gate")
        return run(argv, operations)

    return gate


def test_github_actions_judges_shows_and_keeps(gate, stub, files):
    workflow = load("github-actions.yml")
    assert {"pull_request", "push"} <= set(workflow[True])  # YAML 1.1 reads the key ``on`` as a truth value
    (job,) = workflow["jobs"].values()
    assert job["runs-on"]
    assert all(("uses" in step) != ("run" in step) for step in job["steps"])
    (command,) = [step["run"] for step in job["steps"] if "gate gate/policy.yaml" in step.get("run", "")]
    stub.result = FAIL
    assert gate(command) == 1
    assert json.loads((files / "gate.sarif").read_text())["version"] == "2.1.0"
    assert (files / "gate.md").read_text().startswith("## FAIL")
    later = job["steps"][job["steps"].index(next(s for s in job["steps"] if s.get("run") == command)) + 1 :]
    assert all(step["if"] == "always()" for step in later)
    assert {step.get("with", {}).get("sarif_file") for step in later} >= {"gate.sarif"}


def test_gitlab_judges_what_the_server_holds(gate, stub, files):
    job = load("gitlab-ci.yml")["release-gate"]
    (command,) = job["script"]
    assert gate(command, PRIVACY_RISK_SERVER=job["variables"]["PRIVACY_RISK_SERVER"]) == 0
    assert not stub.uploads
    suite = Xml.parse(files / job["artifacts"]["reports"]["junit"]).getroot()
    assert suite.tag == "testsuites"
    assert all((files / path).exists() for path in job["artifacts"]["paths"])


def test_pre_commit_runs_before_rules_and_policies_are_committed(gate, capsys):
    (hook,) = load("pre-commit-config.yaml")["repos"][0]["hooks"]
    assert {"id", "name", "entry", "language", "files"} <= set(hook)
    for changed in ("gate/policy.yaml", "data/members.csv"):
        assert re.search(hook["files"], changed)
    assert not re.search(hook["files"], "src/gate.py")
    assert gate(hook["entry"]) == 0


@pytest.mark.parametrize(("result", "published"), [(PASS, True), (FAIL, False), (ERROR, False)])
def test_airflow_publishes_only_what_has_passed(monkeypatch, gate, stub, files, result, published):
    """The file is run with stand-ins for Airflow's decorators, which call the steps in their order."""

    class Refused(Exception):
        pass

    def step(function=None, **_):
        return step if function is None else function

    def completed(command, cwd, check):
        assert cwd == files
        return types.SimpleNamespace(returncode=gate(shlex.join(command)))

    modules = {name: types.ModuleType(name) for name in ("airflow", "airflow.sdk", "airflow.sdk.exceptions")}
    modules["airflow.sdk"].dag = modules["airflow.sdk"].task = step
    modules["airflow.sdk.exceptions"].AirflowFailException = Refused
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("subprocess.run", completed)
    (files / "public").mkdir()
    shutil.copy("release.csv", "members-release.csv")
    stub.result = result
    text = (FOLDER / "airflow_release.py").read_text().replace("/srv/releases", str(files))
    with contextlib.nullcontext() if published else pytest.raises(Refused):
        exec(compile(text, "airflow_release.py", "exec"), {})
    assert (files / "public" / "members-release.csv").exists() is published
    assert stub.sent["POST /gates/public-release@2/evaluations"]["release"]["key"] == "member_id"
    verdict = json.loads((files / "members-release.csv.verdict.json").read_text())
    assert verdict["verdict"] == result["verdict"]
