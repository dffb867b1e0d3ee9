"""Somebody whom the organisation's identity provider vouches for: which tenant, and what they may do there.

Groups of the provider are mapped to scopes by the operator. Nothing is stored of anybody: who signs in is
known by issuer and subject, and may do what the groups in their token allow at that moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from app.domain.errors import NotAdmitted
from app.services.ports import Registry
from app.services.resources import Actor, Scope, TenantId

_PARTS_OF_A_TOKEN: Final = 3


@dataclass(frozen=True)
class Grant:
    """What members of a group may do, in one tenant or, if it is None, in the one that their token names."""

    scopes: frozenset[Scope]
    tenant: str | None = None


@dataclass(frozen=True)
class Identity:
    """Somebody as a verified token describes them; ``tenant`` only where a claim names it."""

    issuer: str
    subject: str
    groups: frozenset[str]
    tenant: str | None = None
    name: str | None = None

    @property
    def principal(self) -> str:
        """Issuer and subject, which together are nobody else's: how log and audit trail call them."""
        return f"{self.issuer} {self.subject}"


class TokenVerifier(Protocol):
    """Tells whom a token of the identity provider is about."""

    async def identity_of(self, token: str) -> Identity:
        """Whom the token is about; Unauthenticated unless it is genuine, valid now and for this service."""


class IdentityService:
    """Admits those whom the identity provider vouches for."""

    def __init__(self, verifier: TokenVerifier, registry: Registry, grants: Mapping[str, Grant]) -> None:
        self._verifier = verifier
        self._registry = registry
        self._grants = grants
        self._tenants: dict[str, TenantId] = {}

    @staticmethod
    def is_token(credential: str) -> bool:
        """Whether it has the form of a provider's token, which no API key has."""
        return credential.count(".") == _PARTS_OF_A_TOKEN - 1

    async def authenticate(self, token: str) -> Actor:
        """The actor of a token; Unauthenticated if it is not valid, NotAdmitted if it opens nothing."""
        return await self.actor_of(await self._verifier.identity_of(token))

    async def actor_of(self, identity: Identity) -> Actor:
        """The actor whom the identity's groups make of it; NotAdmitted if they make none."""
        mapped = {group: self._grants[group] for group in identity.groups & self._grants.keys()}
        if identity.tenant is not None:
            mapped = {group: own for group, own in mapped.items() if own.tenant in (None, identity.tenant)}
        if not mapped:
            raise self._nothing_mapped(identity)
        tenants = {own.tenant or identity.tenant for own in mapped.values()}
        if len(tenants) > 1:
            raise NotAdmitted(
                f"The groups {_listed(mapped)} lead to different tenants: {_listed(filter(None, tenants))}.",
                "Leave one of the groups, or have the operator set PRIVACY_RISK_OIDC_TENANT_CLAIM to a claim "
                "that names the tenant.",
            )
        scopes = frozenset[Scope]().union(*(own.scopes for own in mapped.values()))
        if not scopes:
            raise NotAdmitted(
                f"Nothing is allowed to the groups {_listed(mapped)}: they are mapped to no scope.",
                "Have the operator give one of them a scope in PRIVACY_RISK_OIDC_GROUPS.",
            )
        tenant = await self._tenant(tenants.pop() or "")
        return Actor(tenant, identity.principal, scopes)

    def _nothing_mapped(self, identity: Identity) -> NotAdmitted:
        of_tenant = "" if identity.tenant is None else f" in the tenant {identity.tenant!r}"
        # Where groups are addresses of people, a stranger is not told whose.
        useful = [
            group
            for group, own in self._grants.items()
            if "@" not in group and (identity.tenant is None or own.tenant in (None, identity.tenant))
        ]
        return NotAdmitted(
            f"None of the groups of this token allows anything{of_tenant}."
            + (f" Groups that do: {_listed(useful)}." if useful else ""),
            "Join one of these groups at the identity provider and sign in again, or have the operator map "
            "one of yours in PRIVACY_RISK_OIDC_GROUPS.",
        )

    async def _tenant(self, name: str) -> TenantId:
        """The tenant of this name, which is remembered: a tenant keeps name and id as long as it exists."""
        if name not in self._tenants:
            self._tenants = {tenant.name: tenant.id for tenant in await self._registry.list_tenants()}
        try:
            return self._tenants[name]
        except KeyError:
            raise NotAdmitted(
                f"The tenant {name!r} that this token leads to does not exist.",
                "Have the operator create it, or correct the mapping.",
            ) from None


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
