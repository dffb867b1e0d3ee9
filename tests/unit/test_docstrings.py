"""Whoever reads a public name of the house finds in one place what it gives."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import app

ROOT = Path(app.__file__).parent
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def public_definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, Definition]]:
    """Public classes and functions of a module and of its public classes, overloads apart."""
    for own in ast.iter_child_nodes(node):
        if not isinstance(own, Definition) or own.name.startswith("_"):
            continue
        if any(ast.unparse(decorator) == "overload" for decorator in own.decorator_list):
            continue
        yield prefix + own.name, own
        if isinstance(own, ast.ClassDef):
            yield from public_definitions(own, f"{own.name}.")


def undocumented(text: str) -> list[str]:
    return [name for name, own in public_definitions(ast.parse(text)) if not ast.get_docstring(own)]


def test_every_public_class_and_function_says_what_it_gives():
    found = [
        f"{path.relative_to(ROOT.parent)}: {name}"
        for path in sorted(ROOT.rglob("*.py"))
        for name in undocumented(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_what_says_nothing_is_found():
    text = '''
class Shown:
    """Documented."""

    @property
    def size(self): ...

    def _own(self): ...


def private():
    def inner(): ...
'''
    assert undocumented(text) == ["Shown.size", "private"]
