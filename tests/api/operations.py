"""The operations of the interface, from its document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DOCUMENT: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "openapi" / "openapi.json").read_text(encoding="utf-8")
)
"""As it is committed: a test says if the code makes another, which takes seconds."""


OPERATIONS = [
    (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if path.startswith("/v1")
]


SCOPED = [(m, p, o["security"][0]["api_key"]) for m, p, o in OPERATIONS if o["security"][0]["api_key"]]


def answers_of(operation: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Status → what the document says of it, wherever it is written."""
    shared = DOCUMENT["components"]["responses"]
    return {
        status: shared[answer["$ref"].removeprefix("#/components/responses/")] if "$ref" in answer else answer
        for status, answer in operation["responses"].items()
    }


def address(path: str) -> str:
    return path.replace("{ref}", "x").replace("{key_id}", "x")
