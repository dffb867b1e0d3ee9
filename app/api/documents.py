"""The OpenAPI document as the software comes with it, whole and in the parts that a page asks for.

To make it takes ten seconds and loads every operation; what it says is known before the service starts.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

DOCUMENT: Final = Path(__file__).with_name("openapi.json")
"""What `python -m app openapi` made, kept with the sources; a test compares it with what would be made."""

_REFERENCE: Final = re.compile(r"#/components/(\w+)/([\w.-]+)")
_IN_LISTS: Final = ("tags", "summary", "operationId", "deprecated", "security", "x-step", "x-essential")
"""What the list of operations tells of each."""
_MOST_KEPT: Final = 100
"""Parts that are kept once they were asked for; there are fewer sections."""

Paths = dict[str, dict[str, Any]]


@lru_cache(maxsize=1)
def whole_document() -> bytes:
    """The document without the blanks that are for readers of the file."""
    return _written(_read())


@lru_cache(maxsize=1)
def list_of_operations() -> bytes:
    """The document with what its operations are called, and without what they take and answer."""
    document = _read()
    paths = {
        address: {
            method: {name: operation[name] for name in _IN_LISTS if name in operation}
            for method, operation in path.items()
        }
        for address, path in document["paths"].items()
    }
    schemes = {"securitySchemes": document["components"]["securitySchemes"]}
    return _written({**document, "paths": paths, "components": schemes})


@lru_cache(maxsize=_MOST_KEPT)
def document_of_group(group: str) -> bytes | None:
    """The operations of one section, with the components that they refer to; None if it has no operation."""
    document = _read()
    paths: Paths = {}
    for address, path in document["paths"].items():
        for method, operation in path.items():
            if group in operation["tags"]:
                paths.setdefault(address, {})[method] = operation
    if not paths:
        return None
    components: Paths = {"securitySchemes": document["components"]["securitySchemes"]}
    _follow(paths, document["components"], components)
    return _written({**document, "paths": paths, "components": components})


def _follow(node: object, known: Paths, found: Paths) -> None:
    """Add to ``found`` each component that the node refers to, and what that refers to."""
    if isinstance(node, dict | list):
        for below in node.values() if isinstance(node, dict) else node:
            _follow(below, known, found)
    elif isinstance(node, str) and (reference := _REFERENCE.fullmatch(node)):
        kind, name = reference.groups()
        if name not in found.setdefault(kind, {}):
            found[kind][name] = known[kind][name]
            _follow(known[kind][name], known, found)


def _read() -> Any:  # noqa: ANN401 - JSON
    return json.loads(DOCUMENT.read_bytes())


def _written(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
