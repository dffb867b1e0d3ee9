"""What a criterion needs it declares: nobody outside its own file asks which one it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from app.domain.models.criteria import CRITERIA
from app.domain.models.criterion import Criterion

APP = Path(__file__).parents[3] / "app"


def classes():
    """Every criterion and what it is derived from, with the file of each."""
    found = {base for own in CRITERIA for base in own.__mro__ if issubclass(base, Criterion)}
    return {own.__name__: own.__module__ for own in found}


def asked_types(tree):
    """Names of types that a file asks of some value, by isinstance or in a pattern."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            yield from (own.id for own in ast.walk(node.args[1]) if isinstance(own, ast.Name))
        if isinstance(node, ast.MatchClass):
            yield ast.unparse(node.cls)


def test_no_file_asks_which_criterion_it_has():
    own_files = classes()
    names = re.compile("|".join(own_files))
    for path in APP.rglob("*.py"):
        text = path.read_text()
        if not names.search(text):
            continue
        tree = ast.parse(text)
        imported = {
            (alias.asname or alias.name): (node.module, alias.name)
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        asked = {imported[name] for name in asked_types(tree) if name in imported}
        told = sorted(name for origin, name in asked if own_files.get(name) == origin)
        assert not told, f"{path} asks for {told}: declare in Criterion what it needs to know"


def test_asking_which_criterion_it_is_is_found():
    tree = ast.parse(
        "isinstance(own, KMap | KAnonymity)\nmatch own:\n    case DeltaPresence():\n        pass"
    )
    assert set(asked_types(tree)) == {"KMap", "KAnonymity", "DeltaPresence"}
