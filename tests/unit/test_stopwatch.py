"""The lines of code that docs/pages.md counts are there and as many."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "pages.md").read_text()
CALLS = ast.parse((ROOT / "tests" / "peers" / "whole_calls.py").read_text())


def told(row: str) -> list[str]:
    """The figures of a row of the table."""
    found = re.search(rf"^\| {re.escape(row)}[^|]*\|(.*)\|$", PAGE, re.MULTILINE)
    assert found is not None, row
    return [own.strip() for own in found[1].split("|")]


def test_the_lines_of_python_are_as_many_as_told():
    block = re.search(r"```python\n(table = .*?)```", PAGE, re.DOTALL)
    assert block is not None
    assert told("Lines of Python") == [str(len(block[1].splitlines()))] * 2


@pytest.mark.parametrize(
    ("call", "row"), [("anonymise", "Lines around anjana"), ("profile", "Lines around pycanon")]
)
def test_the_lines_of_the_peers_are_as_many_as_told(call, row):
    body = next(own for own in CALLS.body if isinstance(own, ast.FunctionDef) and own.name == call).body
    lines = sum((own.end_lineno or 0) - own.lineno + 1 for own in body[1:])
    # Beside the table, which is read in one line for all.
    assert told(row) == ["", str(lines + 1)]
