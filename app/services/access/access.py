"""Who may do what: the one check that every use case starts with."""

from __future__ import annotations

from app.domain.errors import Forbidden
from app.services.resources import Actor, Scope


def require(actor: Actor, scope: Scope) -> None:
    """Raise Forbidden, naming the scope, unless the actor's key has it."""
    if scope not in actor.scopes:
        raise Forbidden(scope.value)
