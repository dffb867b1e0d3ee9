"""The version that evidence names is the one that is built."""

import tomllib
from pathlib import Path

from app import __version__


def test_the_version_is_said_once():
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text())["project"]
    assert project["version"] == __version__
