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
    return {**result, "pairs": [{**_without_values(pair), "advice": None} for pair in result["pairs"]]}


def shown_verdict(actor: Actor, result: JsonObject) -> JsonObject:
    """A verdict as the actor may see it: what it says of views is shown as of a check."""
    if actor.scopes & _SEEING:
        return result
    return {**result, "criteria": [_shown_criterion(actor, own) for own in result["criteria"]]}


def _shown_criterion(actor: Actor, criterion: JsonObject) -> JsonObject:
    demand = criterion["demand"]
    if "secrets" not in demand:
        return criterion
    shown = {**demand, "secrets": shown_queries(actor, demand["secrets"])}
    return {**criterion, "demand": shown, "pairs": list(map(_without_values, criterion["pairs"]))}


def _without_values(pair: JsonObject) -> JsonObject:
    shown = {**pair, "explanation": _NOT_SHOWN, "witness": None}
    shown.pop("nearest_change", None)
    if pair.get("keys_left_out") is not None:
        hidden = {"explanation": _NOT_SHOWN, "keys_add_explanation": _NOT_SHOWN}
        shown["keys_left_out"] = {**pair["keys_left_out"], **hidden}
    return shown


def shown_queries(actor: Actor, queries: Sequence[JsonObject]) -> list[JsonObject]:
    """The queries of a check as the actor may see them: without their texts, or with them."""
    if actor.scopes & _SEEING:
        return list(queries)
    return [{**own, "query": None} for own in queries]
