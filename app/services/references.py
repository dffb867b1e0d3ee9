"""How one resource's document points to another: by id, with the name and hash that it had."""

from __future__ import annotations

from typing import Any

from app.services.resources import JsonObject, NewResource, Stored


def reference(stored: Stored) -> JsonObject:
    """The reference to a resource."""
    return {"id": stored.id, "name": stored.name, "sha256": stored.sha256}


def document_of(stored: Stored | NewResource) -> JsonObject:
    """The document of a resource that was read with it, or that is to be stored."""
    if stored.document is None:
        raise ValueError("the resource was read without its document")
    return stored.document


def without_names(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """The value with every reference reduced to its hash, which is all of it that has meaning."""
    if isinstance(value, dict):
        if value.keys() == {"id", "name", "sha256"}:
            return value["sha256"]
        return {key: without_names(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_names(item) for item in value]
    return value
