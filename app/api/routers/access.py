"""Tenants and API keys over HTTP."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import APIRouter, Body, Path, Request, Response

from app.api.authentication import Administrator, AnyKey, Operator
from app.api.examples.form import bodies
from app.api.routers.answers import COMMON, MADE, problems
from app.api.routes import PREFIX, Route
from app.api.schemas.access import (
    ApiKey,
    ApiKeyListing,
    IssuedKey,
    NewApiKey,
    NewTenant,
    NewTenantAnswer,
    OwnTenant,
    Tenant,
    TenantListing,
)
from app.api.schemas.common import Ref
from app.api.services import UseCases

API_KEYS: Final = bodies(
    {"name": "reader", "scopes": ["data:read", "assess"]}, reader="a key that cannot write"
)

TENANTS: Final = bodies({"name": "acme"}, acme="a tenant")


router = APIRouter(prefix=PREFIX, tags=["access"], route_class=Route, responses=COMMON)


@router.post("/api-keys", status_code=201, responses=MADE)
async def create_api_key(
    actor: Administrator,
    services: UseCases,
    request: Request,
    body: Annotated[NewApiKey, Body(openapi_examples=API_KEYS)],
) -> IssuedKey:
    """Create an API key.

    The token is shown this once. A key can have no scope that the issuing key lacks, and no name of another
    key that is not revoked. Needs the scope `admin`.
    """
    issued = IssuedKey.model_validate(await services.tenants.create_key(actor, body.request()))
    request.state.reply_to_keep = issued.model_copy(update={"token": None}).model_dump_json().encode()
    return issued


@router.get("/api-keys")
async def list_api_keys(actor: Administrator, services: UseCases) -> ApiKeyListing:
    """List API keys.

    The keys of the tenant, never their secrets. Needs the scope `admin`.
    """
    return ApiKeyListing(items=list(map(ApiKey.model_validate, await services.tenants.list_keys(actor))))


@router.get("/api-keys/current", responses=problems("not-found"))
async def get_current_api_key(actor: AnyKey, services: UseCases) -> ApiKey:
    """Get the key that asks.

    Its name, what it may do and when it ends, never its secret. A token of an identity provider is none: 404.
    """
    return ApiKey.model_validate(await services.tenants.own_key(actor))


@router.delete("/api-keys/{key_id}", responses=problems("not-found"))
async def revoke_api_key(
    actor: Administrator,
    services: UseCases,
    key_id: Annotated[Ref, Path(description="Id of the key, or its name while it is not revoked.")],
) -> ApiKey:
    """Revoke an API key.

    It is refused from now on, and stays in the list; its name is free again. Needs the scope `admin`.
    """
    return ApiKey.model_validate(await services.tenants.revoke_key(actor, key_id))


@router.get("/tenant")
async def get_own_tenant(actor: AnyKey, services: UseCases) -> OwnTenant:
    """Get the own tenant.

    How long its data are kept, how much it may have, and how much it has. The operator of the service sets
    both.
    """
    return OwnTenant.of(await services.tenants.own_tenant(actor))


@router.post("/tenants", status_code=201, responses=MADE)
async def create_tenant(
    actor: Operator,
    services: UseCases,
    request: Request,
    response: Response,
    body: Annotated[NewTenant, Body(openapi_examples=TENANTS)],
) -> NewTenantAnswer:
    """Create a tenant.

    With its first key, which has every scope but `operator`. Needs the scope `operator`.
    """
    created = await services.tenants.create_tenant(actor, body.name)
    answer = NewTenantAnswer.of(created)
    response.status_code = 201 if created.created else 200
    if answer.first_key is not None:
        kept = answer.model_copy(update={"first_key": answer.first_key.model_copy(update={"token": None})})
        request.state.reply_to_keep = kept.model_dump_json().encode()
    return answer


@router.get("/tenants")
async def list_tenants(actor: Operator, services: UseCases) -> TenantListing:
    """List tenants.

    All of them. Needs the scope `operator`.
    """
    return TenantListing(items=list(map(Tenant.model_validate, await services.tenants.list_tenants(actor))))
