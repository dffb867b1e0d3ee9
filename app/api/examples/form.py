"""The form in which the document takes examples."""

from __future__ import annotations

import itertools
from typing import Any

Examples = dict[str, Any]


def names(*chosen: str) -> Examples:
    """Names of resources as examples of a parameter."""
    return {name: {"value": name} for name in chosen}


def first(examples: Examples) -> Examples:
    """The first of the examples alone."""
    return dict(itertools.islice(examples.items(), 1))


def bodies(*documents: dict[str, Any], **summaries: str) -> Examples:
    """Bodies of requests by their names, each with its summary (dashes of names are underscores here)."""
    return {
        body["name"]: {"summary": summaries.get(body["name"].replace("-", "_"), body["name"]), "value": body}
        for body in documents
    }
