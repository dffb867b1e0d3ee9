"""Who asks: a bearer credential becomes an Actor, once per request; a missing scope is named.

It is an API key or, where an identity provider is configured, one of its tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import Depends, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer, SecurityScopes
from starlette.requests import Request

from app.domain.errors import Unauthenticated
from app.services.access.identities import IdentityService
from app.services.access.rates import RequestRates, refuse_beyond
from app.services.access.tenants import TenantService
from app.services.resources import Actor, Scope, require

_bearer = HTTPBearer(
    scheme_name="api_key",
    bearerFormat="prefix.secret",
    description="An API key, as `bootstrap` or `POST /v1/api-keys` showed it once.",
    auto_error=False,
)


async def authenticate(request: Request) -> Actor:
    """The actor of the request; kept with the request, so that it is looked up, and counted, once."""
    state = request.state
    known: Actor | None = getattr(state, "actor", None)
    if known is not None:
        return known
    # Somebody who is signed in to the pages without a key; nothing but the pages can say so of a request.
    signed_in: Actor | None = getattr(state, "signed_in", None)
    actor = await _of_credential(request) if signed_in is None else signed_in
    state.actor = actor
    rates: RequestRates | None = request.app.state.rates
    if rates is not None:
        state.rate = await rates.count(actor)
        refuse_beyond(state.rate)
    return actor


async def _of_credential(request: Request) -> Actor:
    credentials = await _bearer(request)
    identities: IdentityService | None = request.app.state.identities
    if credentials is None:
        or_token = "" if identities is None else ", or with a token of the identity provider"
        raise Unauthenticated(
            "The request carries no API key.",
            f"Send the header Authorization: Bearer <prefix>.<secret>{or_token}.",
        )
    if identities is not None and identities.is_token(credentials.credentials):
        return await identities.authenticate(credentials.credentials)
    tenants: TenantService = request.app.state.services.tenants
    return await tenants.authenticate(credentials.credentials)


async def actor_who_may(request: Request, scopes: Sequence[str]) -> Actor:
    """The actor of the request's key, who has all the scopes; Forbidden names the one that is missing."""
    actor = await authenticate(request)
    for scope in scopes:
        require(actor, Scope(scope))
    return actor


async def actor_with_scopes(
    request: Request,
    scopes: SecurityScopes,
    _: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)],
) -> Actor:
    """The actor of the request, who has all the scopes; the framework documents them."""
    return await actor_who_may(request, scopes.scopes)


AnyKey = Annotated[Actor, Security(actor_with_scopes)]
"""The actor of any valid key."""

DataReader = Annotated[Actor, Security(actor_with_scopes, scopes=[Scope.DATA_READ.value])]
"""An actor who may see values of cells."""

DataWriter = Annotated[Actor, Security(actor_with_scopes, scopes=[Scope.DATA_WRITE.value])]
"""An actor who may create and delete data and what describes them."""

Assessor = Annotated[Actor, Security(actor_with_scopes, scopes=[Scope.ASSESS.value])]
"""An actor who may score, optimise and release."""

Governor = Annotated[Actor, Security(actor_with_scopes, scopes=[Scope.GOVERN.value])]
"""An actor who may say what a release must keep, and what is waived."""

Administrator = Annotated[Actor, Security(actor_with_scopes, scopes=[Scope.ADMIN.value])]
"""An actor who may manage the keys of the tenant."""

Operator = Annotated[Actor, Security(actor_with_scopes, scopes=[Scope.OPERATOR.value])]
"""An actor who may manage tenants."""
