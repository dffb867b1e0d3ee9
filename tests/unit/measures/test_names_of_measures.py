"""A measure is known by its file and by one line of the catalogue: its name stands in few other places."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.domain.analyses.catalogue import MEASURES

ROOT = Path(__file__).parents[3]
ALLOWED = 3
"""The catalogue's line, the risk profile's if it is a part of that, and one more."""
CLIENTS = ("privacy_risk/", "app/web/")
OF_CLIENTS = 1
"""What asks over the public interface names on the wire what it asks for, once."""
MORE: dict[str, int] = {}
"""Measures that stand in more places. The list may only become shorter."""
NAMES = {measure.name for measure in MEASURES}


def entries(path: Path, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """The constants of a file that are measures, and their names."""
    for node in tree.body:
        value: Any = getattr(node, "value", None)
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(value, ast.Call)
            and ast.unparse(value.func) == "Measure"
        ):
            (name,) = (own.value for own in value.keywords if own.arg == "name")
            yield ast.unparse(node.target), ast.literal_eval(name)


def test_the_name_of_a_measure_stands_in_few_places():
    texts = {
        path: path.read_text() for part in ("app", "privacy_risk") for path in (ROOT / part).rglob("*.py")
    }
    home, constant = {}, {}
    for path, text in texts.items():
        # Only files that have the words are parsed, here and below: most have none.
        for own, name in entries(path, ast.parse(text)) if "= Measure(" in text else ():
            home[name], constant[own] = path, name
    assert set(home) == NAMES
    words = re.compile("|".join(rf"\b{word}\b" for word in (*NAMES, *constant)))
    places: dict[str, set[str]] = defaultdict(set)
    for path, text in texts.items():
        if not words.search(text):
            continue
        tree = ast.parse(text)
        imported = {
            alias.asname or alias.name: constant[alias.name]
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if constant.get(alias.name) and node.module == _module(home[constant[alias.name]])
        }
        for node in ast.walk(tree):
            name = None
            if isinstance(node, ast.Constant) and node.value in NAMES:
                name = node.value
            elif isinstance(node, ast.Name):
                name = imported.get(node.id)
            if name is not None and home[name] != path:
                places[name].add(f"{path.relative_to(ROOT)}:{node.lineno}")
    clients = {
        name: [{place for place in found if place.startswith(client)} for client in CLIENTS]
        for name, found in places.items()
    }
    more = {
        name: len(found)
        for name, found in places.items()
        if len(found.difference(*clients[name])) > ALLOWED or max(map(len, clients[name])) > OF_CLIENTS
    }
    assert more == MORE, {name: sorted(places[name]) for name in more.keys() | MORE.keys()}


def _module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)
