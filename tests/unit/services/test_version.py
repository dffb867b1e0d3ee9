"""Whatever names a version names the same one."""

import runpy
import sys
import tomllib
from pathlib import Path

import pytest

import privacy_risk
from app import __version__

TOP = Path(__file__).parents[3]


def test_the_distribution_takes_the_version_that_evidence_names():
    settings = tomllib.loads((TOP / "pyproject.toml").read_text())
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "app.__version__"}


def test_the_python_package_names_the_same_version():
    assert privacy_risk.__version__ == __version__


def test_the_command_line_says_the_version(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["app", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("app", run_name="__main__")
    assert (ended.value.code, capsys.readouterr().out) == (0, f"privacy-risk {__version__}\n")
