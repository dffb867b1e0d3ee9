"""Use cases on tenants, API keys and the audit trail: who exists, who may do what, and who did.

A token is ``prefix.secret``: the prefix finds the key, the secret's 32 random bytes prove it. Only the
secret's sha256 is kept. That is enough, without a slow hash, because nobody can guess 256 random bits.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, count
from typing import Final

from app.domain.errors import Forbidden, InvalidInput, NotFound, Unauthenticated
from app.services.access.tenant_settings import Changes, TenantOverview
from app.services.ports import Clock, Registry, Store, UnitOfWork
from app.services.resources import (
    Actor,
    ApiKey,
    AuditEvent,
    AuditVerification,
    Page,
    Period,
    Scope,
    Tenant,
    TenantId,
    check_name,
    require,
)

TENANT_SCOPES: Final = frozenset(Scope) - {Scope.OPERATOR}

FIRST_KEY_NAME: Final = "admin"

BOOTSTRAP: Final = "bootstrap"
"""Who did it in the audit chain, where no key did: the operator's command line."""

COMMAND_LINE: Final = "command line"
"""The same for settings."""

TOUCH_EVERY: Final = timedelta(minutes=1)

_PREFIX_BYTES: Final = 8
_PREFIX: Final = re.compile(f"[0-9a-f]{{{2 * _PREFIX_BYTES}}}")
_SECRET_BYTES: Final = 32
_NO_HASH: Final = bytes(32)


@dataclass(frozen=True)
class CreateApiKey:
    """A key to be issued in the actor's tenant."""

    name: str
    scopes: frozenset[Scope]
    expires_at: datetime | None = None


@dataclass(frozen=True)
class IssuedApiKey:
    """A new key with the only showing of its token ``prefix.secret``."""

    key: ApiKey
    token: str


@dataclass(frozen=True)
class TenantCreated:
    """A tenant; when it is new, with its first key (every scope but operator)."""

    tenant: Tenant
    created: bool
    first_key: IssuedApiKey | None


class TenantService:
    """Tenants, their API keys, and authentication."""

    def __init__(self, store: Store, registry: Registry, clock: Clock) -> None:
        self._store = store
        self._registry = registry
        self._clock = clock

    async def authenticate(self, token: str) -> Actor:
        """The actor of a token ``prefix.secret``; Unauthenticated if it is not a valid key's."""
        prefix, _, secret = token.partition(".")
        found = await self._registry.find_api_key(prefix) if _PREFIX.fullmatch(prefix) else None
        # An unknown prefix costs the same comparison as a wrong secret, and is answered alike.
        if not hmac.compare_digest(_hash(secret), found[1] if found else _NO_HASH) or found is None:
            raise Unauthenticated(
                "The API key is not valid.", "Send Authorization: Bearer <prefix>.<secret>."
            )
        key, now = found[0], self._clock()
        if key.revoked_at is not None:
            raise Unauthenticated("The API key was revoked.", "Use another key.")
        if key.expires_at is not None and key.expires_at <= now:
            raise Unauthenticated("The API key has expired.", "Use another key.")
        if key.last_used_at is None or now - key.last_used_at >= TOUCH_EVERY:
            await self._registry.touch_api_key(key.id)
        return Actor(key.tenant, key.id, key.scopes)

    async def create_tenant(self, actor: Actor, name: str) -> TenantCreated:
        """A tenant with its first key; needs operator.

        A tenant that exists already is answered without a key, unless it was left without any.
        """
        require(actor, Scope.OPERATOR)
        return await self._create_tenant(name, TENANT_SCOPES, actor.key_id, new_key=False)

    async def list_tenants(self, actor: Actor) -> Sequence[Tenant]:
        """All tenants; needs operator."""
        require(actor, Scope.OPERATOR)
        return await self._registry.list_tenants()

    async def bootstrap(self, name: str, *, new_key: bool = False) -> TenantCreated:
        """The first tenant, whose key has every scope; for the operator's command line, not for HTTP.

        Once the tenant has a key it gets another one only if ``new_key`` asks for it.
        """
        return await self._create_tenant(name, frozenset(Scope), BOOTSTRAP, new_key=new_key)

    async def own_tenant(self, actor: Actor) -> TenantOverview:
        """The actor's tenant: how long its data are kept, how much it may have and has."""
        async with self._store.work(actor.tenant) as work:
            return await work.tenant.overview()

    async def change_settings(self, name: str, changes: Changes) -> TenantOverview:
        """A tenant as it is after these changes; for the operator's command line, not for HTTP."""
        known = await self._registry.list_tenants()
        tenant = next((tenant for tenant in known if tenant.name == name), None)
        if tenant is None:
            raise NotFound("tenant", name)
        async with self._store.work(tenant.id) as work:
            if changes:
                await work.tenant.change(changes)
                await work.audit.record(COMMAND_LINE, "tenant.settings", tenant.id, dict(changes))
                await work.commit()
            return await work.tenant.overview()

    async def create_key(self, actor: Actor, request: CreateApiKey) -> IssuedApiKey:
        """A key of the actor's tenant with no scope that the actor lacks; needs admin.

        Conflict if a key that is not revoked has its name.
        """
        require(actor, Scope.ADMIN)
        check_name(request.name)
        if not request.scopes:
            raise InvalidInput.of(
                "/scopes", "empty", "A key needs at least one scope.", f"Choose from {', '.join(Scope)}."
            )
        for scope in sorted(request.scopes - actor.scopes):
            raise Forbidden(scope.value)
        self._check_expiry(request.expires_at)
        async with self._store.work(actor.tenant) as work:
            issued = await _issue(work, request, actor.key_id)
            await work.commit()
        return issued

    async def list_keys(self, actor: Actor) -> Sequence[ApiKey]:
        """The keys of the actor's tenant, never their secrets; needs admin."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            return await work.api_keys.list()

    async def own_key(self, actor: Actor) -> ApiKey:
        """The key that the actor asks with; NotFound if it asks with a token of an identity provider."""
        async with self._store.work(actor.tenant) as work:
            own = next((key for key in await work.api_keys.list() if key.id == actor.key_id), None)
        if own is None:
            raise NotFound("API key", actor.key_id)
        return own

    async def revoke_key(self, actor: Actor, ref: str) -> ApiKey:
        """End a key of the actor's tenant for good, by id or name; needs admin."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            key = await work.api_keys.revoke(ref)
            await work.audit.record(actor.key_id, "api_key.revoke", key.id, {})
            await work.commit()
        return key

    async def _create_tenant(
        self, name: str, scopes: frozenset[Scope], by: str, *, new_key: bool
    ) -> TenantCreated:
        tenant, created = await self._registry.add_tenant(check_name(name))
        first_key = await self._first_key(tenant.id, scopes, by, created=created, new_key=new_key)
        return TenantCreated(tenant, created, first_key)

    async def _first_key(
        self, tenant: TenantId, scopes: frozenset[Scope], by: str, *, created: bool, new_key: bool
    ) -> IssuedApiKey | None:
        async with self._store.work(tenant) as work:
            if created:
                await work.audit.record(by, "tenant.create", tenant, {})
            # A tenant without any key is what an interrupted creation leaves; nobody could ever use it.
            keys = await work.api_keys.list()
            if keys and not new_key:
                return None
            taken = {key.name for key in keys if key.revoked_at is None}
            others = (f"{FIRST_KEY_NAME}-{number}" for number in count(2))
            name = next(name for name in chain([FIRST_KEY_NAME], others) if name not in taken)
            issued = await _issue(work, CreateApiKey(name, scopes), by)
            await work.commit()
        return issued

    def _check_expiry(self, expires_at: datetime | None) -> None:
        if expires_at is None:
            return
        if expires_at.tzinfo is None or expires_at <= self._clock():
            raise InvalidInput.of(
                "/expires_at",
                "out-of-range",
                "The end of a key must be a point in the future, with its time zone.",
                "Choose a later time such as 2036-01-01T00:00:00Z, or none.",
            )


async def _issue(work: UnitOfWork, request: CreateApiKey, by: str) -> IssuedApiKey:
    prefix, secret = secrets.token_hex(_PREFIX_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
    key = await work.api_keys.add(request.name, prefix, _hash(secret), request.scopes, request.expires_at)
    await work.audit.record(by, "api_key.create", key.id, {"scopes": sorted(request.scopes)})
    return IssuedApiKey(key, f"{prefix}.{secret}")


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


class AuditTrailService:
    """The tenant's audit events; reading them needs the scope admin."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(
        self,
        actor: Actor,
        *,
        action: str | None,
        subject: str | None,
        created: Period,
        limit: int,
        cursor: str | None,
    ) -> Page[AuditEvent]:
        """One page; ``action`` filters by its beginning, ``subject`` by the id of what was acted on."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            return Page(
                *await work.audit.list(
                    action=action, subject=subject, limit=limit, cursor=cursor, created=created
                )
            )

    async def verify(self, actor: Actor) -> AuditVerification:
        """Recompute the chain of hashes from its first event on."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            return await work.audit.verify()
