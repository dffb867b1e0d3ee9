"""Tenants and API keys."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BeforeValidator, Field

from app.api.schemas.common import Answer, Count, Moment, Name, Request
from app.api.schemas.derived import Asking
from app.services.access.tenant_settings import TenantOverview
from app.services.access.tenants import CreateApiKey, TenantCreated
from app.services.resources import Scope

Identifier = Annotated[str, Field(max_length=100, description="Random public id.")]
Instant = Annotated[datetime, Field(description="When it was created.", examples=["2026-11-20T09:00:00Z"])]


class NewApiKey(Asking[CreateApiKey]):
    """A key to be issued."""

    name: Name
    scopes: Annotated[frozenset[Scope], Field(min_length=1, max_length=6, examples=[["assess"]])]
    """What it may do; none that the issuing key lacks."""
    expires_at: Annotated[Moment | None, Field(examples=["2036-01-01T00:00:00Z"])] = None
    """When it ends; null: never."""


class ApiKey(Answer):
    """A key as it may be shown: never its secret."""

    id: Identifier
    name: Annotated[str, Field(max_length=100, description="Its name.", examples=["reader"])]
    prefix: Annotated[str, Field(max_length=100, description="Public first part of the key.")]
    scopes: Annotated[list[Scope], BeforeValidator(sorted), Field(max_length=6, examples=[["assess"]])]
    """What it may do."""
    created_at: Instant
    expires_at: Annotated[datetime | None, Field(description="When it ends by itself.")]
    last_used_at: Annotated[datetime | None, Field(description="When it was last used, to the minute or so.")]
    revoked_at: Annotated[datetime | None, Field(description="When it was revoked.")]


class IssuedKey(Answer):
    """A new key."""

    key: Annotated[ApiKey, Field(description="The key.")]
    token: Annotated[str | None, Field(max_length=200)]
    """`prefix.secret`, shown this once: a repeated request with the same Idempotency-Key is answered null."""


class ApiKeyListing(Answer):
    """The keys of the tenant."""

    items: Annotated[list[ApiKey], Field(max_length=10_000, description="The keys, revoked ones included.")]


class NewTenant(Request):
    """A tenant to be created."""

    name: Name


class Tenant(Answer):
    """A tenant: the border that no data crosses."""

    id: Identifier
    name: Annotated[str, Field(max_length=100, description="Its name.", examples=["acme"])]
    created_at: Instant


class NewTenantAnswer(Tenant):
    """A tenant with its first key."""

    first_key: IssuedKey | None
    """Its first key, if the tenant is new; shown this once."""

    @classmethod
    def of(cls, created: TenantCreated) -> NewTenantAnswer:
        """The use case's answer as a body."""
        return cls.model_validate({**vars(created.tenant), "first_key": created.first_key})


Days = Annotated[int, Field(ge=1)] | None


class Retention(Answer):
    """How long data are kept. Datasets, rules and evidence are never removed by themselves."""

    results_days: Annotated[Days, Field(examples=[365])]
    """From its end until the result of a run is removed; null: never."""
    runs_days: Annotated[Days, Field(examples=[None])]
    """From the end of a run that failed, was cancelled or has expired until it leaves; null: never."""
    unused_uploads_days: Annotated[Days, Field(examples=[30])]
    """Since anything was built on an upload last until it is removed; null: never."""


class Quota(Answer):
    """How much there may be."""

    limit: Annotated[int | None, Field(description="The most; null: any number.", examples=[1000])]
    used: Annotated[Count, Field(description="How much there is.", examples=[3])]


class Quotas(Answer):
    """What is counted; a request above a limit is refused with `quota-exceeded` or `rate-limited`."""

    uploads: Annotated[Quota, Field(description="Uploads.")]
    datasets: Annotated[Quota, Field(description="Datasets.")]
    stored_bytes: Annotated[Quota, Field(description="Bytes of uploads, compressed and encrypted.")]
    active_runs: Annotated[Quota, Field(description="Runs that are queued or running.")]


class OwnTenant(Tenant):
    """The tenant of the key that asks."""

    retention: Annotated[Retention, Field(description="How long its data are kept.")]
    quotas: Annotated[Quotas, Field(description="How much it may have, and has.")]

    @classmethod
    def of(cls, seen: TenantOverview) -> OwnTenant:
        """The use case's answer as a body."""
        quotas = {
            name: Quota(limit=getattr(seen.settings, name), used=used)
            for name, used in vars(seen.usage).items()
        }
        return cls.model_validate({**vars(seen.tenant), "retention": vars(seen.settings), "quotas": quotas})


class TenantListing(Answer):
    """All tenants."""

    items: Annotated[list[Tenant], Field(max_length=100_000, description="The tenants.")]
