"""The operations of the interface, from its document."""

from __future__ import annotations

from typing import Any

from app.api.app import routed_app

DOCUMENT: dict[str, Any] = routed_app().openapi()


OPERATIONS = [
    (method.upper(), path, operation)
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if path.startswith("/v1")
]


SCOPED = [(m, p, o["security"][0]["api_key"]) for m, p, o in OPERATIONS if o["security"][0]["api_key"]]


def address(path: str) -> str:
    return path.replace("{ref}", "x").replace("{key_id}", "x")
