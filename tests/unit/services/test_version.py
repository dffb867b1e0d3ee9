"""Whatever names a version names the same one."""

import subprocess
import sys
import tomllib
from pathlib import Path

import privacy_risk
from app import __version__

TOP = Path(__file__).parents[3]


def test_the_distribution_takes_the_version_that_evidence_names():
    settings = tomllib.loads((TOP / "pyproject.toml").read_text())
    assert settings["project"]["dynamic"] == ["version"]
    assert settings["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "app.__version__"}


def test_the_python_package_names_the_same_version():
    assert privacy_risk.__version__ == __version__


def test_the_command_line_says_the_version():
    told = subprocess.run(
        [sys.executable, "-m", "app", "--version"], cwd=TOP, capture_output=True, text=True, check=True
    )
    assert told.stdout == f"privacy-risk {__version__}\n"
