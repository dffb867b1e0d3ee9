"""Composes signing in by an identity provider: settings → provider → tokens → who is admitted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from app.domain.errors import NotAdmitted, PrivacyRiskError, Unauthenticated
from app.identity.code_flow import Attempt, CodeFlow, OidcClient
from app.identity.keys import KnownKeys
from app.identity.provider import Provider
from app.identity.tokens import ClaimNames, VerifiedTokens
from app.services.access.identities import Grant, IdentityService
from app.services.ports import Registry
from app.services.resources import Actor, Scope, TenantId
from app.settings import Settings
from app.web.organisations import Admitted, SignInRefused


@dataclass(frozen=True)
class SigningIn:
    """What the interface and the pages know of the identity provider, the pages only if it is theirs, too."""

    identities: IdentityService
    organisation: PagesOrganisation | None


def signing_in(
    settings: Settings, issuer: str, registry: Registry, clock: Callable[[], datetime]
) -> SigningIn:
    """The configured identity provider; asks it for nothing yet, so that the service starts without it."""
    algorithms = settings.oidc_algorithms
    provider = Provider(issuer)
    tokens = VerifiedTokens(
        issuer,
        settings.oidc_audience,
        frozenset(algorithms),
        ClaimNames(settings.oidc_groups_claim, settings.oidc_tenant_claim),
        KnownKeys(provider, algorithms),
        clock,
    )
    grants = {
        name: Grant(frozenset(map(Scope, own.scopes)), own.tenant)
        for name, own in (settings.oidc_groups or {}).items()
    }
    identities = IdentityService(tokens, registry, grants)
    client = _client(settings)
    if client is None:
        return SigningIn(identities, None)
    flow = CodeFlow(provider, tokens, client)
    mapping = {name: [own.tenant, sorted(own.scopes)] for name, own in grants.items()}
    read = [settings.oidc_issuer, settings.oidc_groups_claim, settings.oidc_tenant_claim, mapping]
    fingerprint = hashlib.sha256(json.dumps(read, sort_keys=True).encode()).hexdigest()[:32]
    return SigningIn(identities, PagesOrganisation(flow, identities, fingerprint))


class PagesOrganisation:
    """Implements ``Organisation`` of the pages.

    A session keeps what its groups came to when it began, and of which mapping: another mapping ends it.
    """

    def __init__(self, flow: CodeFlow, identities: IdentityService, mapping: str) -> None:
        self._flow = flow
        self._identities = identities
        self._mapping = mapping

    async def begin(self) -> tuple[str, Mapping[str, str]]:
        """The address to send a browser to, and what it brings along when it comes back."""
        try:
            address, attempt = await self._flow.begin()
        except PrivacyRiskError as error:
            raise _refused(error) from None
        return address, asdict(attempt)

    async def finish(
        self, attempt: Mapping[str, str], answer: Mapping[str, str]
    ) -> tuple[str, dict[str, Any]]:
        """The tenant and the identity of who came back."""
        begun = Attempt(attempt["state"], attempt["nonce"], attempt["verifier"])
        try:
            identity = await self._flow.finish(begun, answer)
            actor = await self._identities.actor_of(identity)
        except PrivacyRiskError as error:
            raise _refused(error) from None
        return actor.tenant, {
            "principal": actor.key_id,
            "tenant": actor.tenant,
            "scopes": sorted(actor.scopes),
            "name": identity.name or identity.subject,
            "mapping": self._mapping,
        }

    def admitted(self, identity: Mapping[str, Any]) -> Admitted | None:
        """Who a session's identity is; None if it was made by another mapping of groups."""
        if identity["mapping"] != self._mapping:
            return None
        scopes = frozenset(map(Scope, identity["scopes"]))
        actor = Actor(TenantId(identity["tenant"]), identity["principal"], scopes)
        return Admitted(actor, {"name": identity["name"], "scopes": identity["scopes"]})


def _client(settings: Settings) -> OidcClient | None:
    if settings.oidc_client_id is None or settings.public_url is None:
        return None
    secret = settings.oidc_client_secret
    return OidcClient(
        settings.oidc_client_id,
        None if secret is None else secret.get_secret_value(),
        f"{str(settings.public_url).rstrip('/')}/sign-in/callback",
        settings.oidc_scope,
    )


def _refused(error: PrivacyRiskError) -> SignInRefused:
    statuses = ((NotAdmitted, 403), (Unauthenticated, 400))
    status = next((status for kind, status in statuses if isinstance(error, kind)), 503)
    return SignInRefused(f"{error.message} {error.remedy}", status)
