"""Where resources are: the one place that makes their addresses."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

PREFIX: Final = "/v1"
"""Where the interface begins. Routers carry it themselves, so that a matched route knows its whole path."""


def address_of(kind: str, ref: str) -> str:
    """The address of a resource, or a run, of this kind by its id or name."""
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return f"{PREFIX}/{plural.replace('_', '-')}/{quote(ref, safe='@')}"
