"""Whatever the model does not cover is refused in words of its own, with what to do instead."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from app.domain.errors import NotSupported

APP = Path(__file__).parents[3] / "app"


@pytest.mark.parametrize(
    ("reason", "message", "remedy"),
    [
        ("It is one. It is two. Use three.", "It is one. It is two.", "Use three."),
        ("Only on Sundays; wait, or ask again.", "Only on Sundays.", "Wait, or ask again."),
        ("At most 2.5 rules; use fewer.", "At most 2.5 rules.", "Use fewer."),
        ("No.", "No.", ""),
    ],
)
def test_the_last_part_of_a_reason_is_the_remedy(reason, message, remedy):
    found = NotSupported.because(reason)
    assert (found.message, found.remedy) == (message, remedy)


@cache
def _nodes():
    """Of the files that have what is looked for: most have not, and are not parsed."""
    texts = (path.read_text() for path in sorted(APP.rglob("*.py")))
    wanted = (text for text in texts if re.search(r"\bNotSupported\(|\bdef (_supports|needs_)", text))
    return [node for text in wanted for node in ast.walk(ast.parse(text))]


def _name(call):
    """What is called, without where it comes from."""
    return getattr(call.func, "attr", getattr(call.func, "id", None))


def test_every_refusal_says_what_to_do_instead():
    bare = [
        ast.unparse(call)
        for call in _nodes()
        if isinstance(call, ast.Call) and _name(call) == "NotSupported"
        if len(call.args) < 2 and not any(isinstance(own, ast.Starred) for own in call.args)
    ]
    assert bare == []


def test_every_reason_of_a_measure_or_a_search_ends_with_a_remedy():
    reasons = [
        ast.unparse(own.value)
        for function in _nodes()
        if isinstance(function, ast.FunctionDef) and function.name.startswith(("_supports", "needs_"))
        if [own.arg for own in function.args.args][:1] == ["context"]
        for own in ast.walk(function)
        if isinstance(own, ast.Return) and isinstance(own.value, ast.Constant | ast.JoinedStr)
    ]
    said = [own for own in reasons if own != "None"]
    assert len(said) > 20
    assert [own for own in said if ". " not in own and "; " not in own] == []
