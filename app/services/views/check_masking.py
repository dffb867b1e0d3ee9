"""What of a check names values, and who is shown it.

Queries name values, and so do the rows and words of a verdict. Whoever may write such a check, or read data,
sees them; another key of the tenant sees which pairs disclose, and why in general.
"""

from __future__ import annotations

from collections.abc import Sequence

from app.services.resources import Actor, JsonObject, Scope

_SEEING = frozenset({Scope.ASSESS, Scope.DATA_READ})
_NOT_SHOWN = (
    "The words and rows of this verdict name values: they are shown with the scope assess or data:read."
)


def shown_check(actor: Actor, result: JsonObject) -> JsonObject:
    """The result of a check as the actor may see it."""
    if actor.scopes & _SEEING:
        return result
    hidden = {"explanation": _NOT_SHOWN, "witness": None, "advice": None}
    pairs = [{**pair, **hidden} for pair in result["pairs"]]
    return {**result, "pairs": pairs}


def shown_queries(actor: Actor, queries: Sequence[JsonObject]) -> list[JsonObject]:
    """The queries of a check as the actor may see them: without their texts, or with them."""
    if actor.scopes & _SEEING:
        return list(queries)
    return [{**own, "query": None} for own in queries]
