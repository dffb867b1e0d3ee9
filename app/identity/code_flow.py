"""Signing in by the identity provider: the authorisation code flow with PKCE, state and nonce.

Sources: OpenID Connect Core 1.0, authorisation code flow; RFC 7636 (PKCE, S256); RFC 9207 (the issuer in the
answer).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from app.domain.errors import Unauthenticated
from app.identity.provider import Provider, ProviderFault, RefusedCode, no_answer
from app.identity.tokens import ID_TYPES, VerifiedTokens
from app.services.access.identities import Identity

_RANDOM_BYTES: Final = 32
_MOST_ANSWERED: Final = 10_000


@dataclass(frozen=True)
class OidcClient:
    """The service as the provider knows it; ``redirect_uri`` is where browsers are sent back to."""

    id: str
    secret: str | None
    redirect_uri: str
    scope: str


@dataclass(frozen=True)
class Attempt:
    """What the browser that began to sign in keeps until it comes back; each part is random."""

    state: str
    nonce: str
    verifier: str


class CodeFlow:
    """Sends browsers to the provider, and finds out who came back."""

    def __init__(self, provider: Provider, tokens: VerifiedTokens, client: OidcClient) -> None:
        self._provider = provider
        self._tokens = tokens
        self._client = client
        self._answered: dict[str, None] = {}

    async def begin(self) -> tuple[str, Attempt]:
        """The address at the provider to send a browser to; Unavailable if the provider does not answer."""
        attempt = Attempt(*(secrets.token_urlsafe(_RANDOM_BYTES) for _ in range(3)))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(attempt.verifier.encode()).digest())
        asked = {
            "response_type": "code",
            "client_id": self._client.id,
            "redirect_uri": self._client.redirect_uri,
            "scope": self._client.scope,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": challenge.decode().rstrip("="),
            "code_challenge_method": "S256",
        }
        try:
            address = (await self._provider.metadata()).authorization
        except ProviderFault as fault:
            raise no_answer(str(fault)) from None
        return f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}", attempt

    async def finish(self, attempt: Attempt, answer: Mapping[str, str]) -> Identity:
        """Who came back with this answer; Unauthenticated if it is not the first one to this attempt.

        The provider is asked about the first one alone, so that nobody has it asked about codes at will.
        """
        if not hmac.compare_digest(attempt.state.encode(), answer.get("state", "").encode()):
            raise _refused("The answer of the identity provider is not one to this browser's question.")
        if answer.get("iss", self._provider.issuer) != self._provider.issuer:
            raise _refused("The answer is of another identity provider.")
        if "code" not in answer:
            raise _refused("The identity provider did not sign you in.")
        if not self._is_first(attempt):
            raise _refused("This attempt to sign in has been answered already.")
        try:
            token = (await self._exchange(answer["code"], attempt.verifier)).get("id_token")
        except RefusedCode:
            raise _refused(
                "The identity provider does not take the code that you came back with: it is none of its "
                "own, used already or too old."
            ) from None
        except ProviderFault as fault:
            raise no_answer(str(fault)) from None
        if not isinstance(token, str):
            raise _refused("The identity provider did not say who you are.")
        claims = await self._tokens.claims_of(token, self._client.id, ID_TYPES)
        nonce = claims.get("nonce")
        if not isinstance(nonce, str) or not hmac.compare_digest(
            nonce.encode(errors="replace"), attempt.nonce.encode()
        ):
            raise _refused("The token was not made for this attempt to sign in.")
        is_for_others = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if claims.get("azp", None if is_for_others else self._client.id) != self._client.id:
            raise _refused("The token was made for another client of the identity provider.")
        return self._tokens.identity_in(claims)

    def _is_first(self, attempt: Attempt) -> bool:
        """Whether no answer to the attempt was looked at before; the last ones are remembered."""
        if attempt.state in self._answered:
            return False
        self._answered[attempt.state] = None
        if len(self._answered) > _MOST_ANSWERED:
            del self._answered[next(iter(self._answered))]
        return True

    async def _exchange(self, code: str, verifier: str) -> Mapping[str, object]:
        """What the provider gives for a code; the secret is sent in the way that the provider takes it."""
        client = self._client
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": client.redirect_uri,
            "code_verifier": verifier,
        }
        if client.secret is None:
            return await self._provider.tokens({**form, "client_id": client.id}, None)
        if (await self._provider.metadata()).takes_secret_in_header:
            return await self._provider.tokens(
                form, (quote(client.id, safe=""), quote(client.secret, safe=""))
            )
        return await self._provider.tokens(
            {**form, "client_id": client.id, "client_secret": client.secret}, None
        )


def _refused(said: str) -> Unauthenticated:
    return Unauthenticated(said, "Try again, or sign in with an API key.")
