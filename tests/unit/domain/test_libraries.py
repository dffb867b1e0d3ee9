"""Libraries that are imported when something of them is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from app.domain.classes.libraries import Library

ROOT = Path(__file__).parents[3]


def test_a_library_is_imported_when_something_of_it_is_used():
    program = (
        "import sys; from app.domain.classes.libraries import Library; library = Library('xml.dom'); "
        "print('xml.dom' in sys.modules, library.Node.TEXT_NODE, 'xml.dom' in sys.modules)"
    )
    said = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True)
    assert said == "False 3 True\n"


def test_what_a_library_does_not_have_is_said_as_python_says_it():
    with pytest.raises(AttributeError, match=r"module 'xml\.dom' has no attribute 'nothing'"):
        Library("xml.dom").nothing  # noqa: B018
