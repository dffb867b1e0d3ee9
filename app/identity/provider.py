"""What an identity provider publishes of itself, asked for over HTTP (OpenID Connect Discovery 1.0)."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import httpx
from jwt import PyJWK, PyJWKError
from jwt.exceptions import InvalidKeyError, MissingCryptographyError

from app.domain.errors import Unavailable

DISCOVERY: Final = "/.well-known/openid-configuration"

ANSWER_SECONDS: Final = 5.0
"""How long a whole answer of the provider is waited for, however slowly its pieces come."""

_MOST_BYTES: Final = 512 * 1024
_MOST_KEYS: Final = 100

Keys = Mapping[tuple[str, str], PyJWK]
"""(key id, algorithm) → a public key for signatures of that algorithm."""


class ProviderFault(Exception):
    """The provider does not answer, or not as the standard says; the message holds nothing that it sent."""


class RefusedCode(ProviderFault):
    """The provider does not take the code that was sent to it (RFC 6749, section 5.2: ``invalid_grant``)."""


@dataclass(frozen=True)
class Metadata:
    """The addresses that the provider publishes, and how its token endpoint knows a client."""

    keys: str
    authorization: str
    token: str
    takes_secret_in_header: bool


class Provider:
    """Asks one provider; its addresses are asked for once and remembered."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self._metadata: Metadata | None = None
        self._asking: asyncio.Task[Metadata] | None = None

    async def metadata(self) -> Metadata:
        """The provider's addresses; ProviderFault if they cannot be had."""
        if self._metadata is not None:
            return self._metadata
        # Anybody may begin to sign in, so all who wait share one question; who leaves does not end it.
        if self._asking is None:
            self._asking = asyncio.create_task(self._discovered())
        return await asyncio.shield(self._asking)

    async def _discovered(self) -> Metadata:
        try:
            found = self._checked(await self._asked("GET", self.issuer.rstrip("/") + DISCOVERY))
        finally:
            self._asking = None
        self._metadata = found
        return found

    async def keys(self, algorithms: Sequence[str]) -> Keys:
        """The keys that the provider signs with at present, by id and algorithm; or ProviderFault."""
        found = await self._asked("GET", (await self.metadata()).keys)
        published = found.get("keys")
        if not isinstance(published, list):
            raise ProviderFault("Its keys are no JSON Web Key Set.")
        keys: dict[tuple[str, str], PyJWK] = {}
        for own in published[:_MOST_KEYS]:
            if isinstance(own, dict) and isinstance(own.get("kid"), str) and own.get("use", "sig") == "sig":
                keys |= _usable(own, algorithms)
        return keys

    async def tokens(self, form: Mapping[str, str], secret: tuple[str, str] | None) -> Mapping[str, Any]:
        """What the token endpoint answers to a form, with the client's id and secret in the header."""
        return await self._asked("POST", (await self.metadata()).token, form, secret)

    @cached_property
    def _trusted(self) -> ssl.SSLContext:
        """The certificates that are trusted: read once, for nothing else is answered meanwhile."""
        return httpx.create_ssl_context()

    async def _asked(
        self,
        method: str,
        url: str,
        form: Mapping[str, str] | None = None,
        secret: tuple[str, str] | None = None,
    ) -> dict[str, Any]:
        """The JSON object at an address of the provider, which may not lead elsewhere."""
        auth = httpx.USE_CLIENT_DEFAULT if secret is None else httpx.BasicAuth(*secret)
        headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
        try:
            async with (
                asyncio.timeout(ANSWER_SECONDS),
                httpx.AsyncClient(timeout=ANSWER_SECONDS, verify=self._trusted) as client,
                client.stream(method, url, data=form, auth=auth, headers=headers) as response,
            ):
                body = b""
                async for piece in response.aiter_bytes():
                    body += piece
                    if len(body) > _MOST_BYTES:
                        raise ProviderFault("Its answer is too large.")
                content = httpx.Response(200, content=body).json()
        except (TimeoutError, httpx.HTTPError, httpx.InvalidURL, ValueError, RecursionError) as error:
            raise ProviderFault(type(error).__name__) from None
        is_refusal = response.status_code == httpx.codes.BAD_REQUEST and isinstance(content, dict)
        if is_refusal and content.get("error") == "invalid_grant":
            raise RefusedCode("It does not take the code.")
        if response.status_code != httpx.codes.OK or not isinstance(content, dict):
            raise ProviderFault(f"It answered with status {response.status_code}.")
        return content

    def _checked(self, found: Mapping[str, Any]) -> Metadata:
        """The addresses, each as safe as the issuer's own."""
        if found.get("issuer") != self.issuer:
            raise ProviderFault("It calls itself by another issuer than the configured one.")
        names = ("jwks_uri", "authorization_endpoint", "token_endpoint")
        start = "https://" if self.issuer.startswith("https://") else ("https://", "http://")
        addresses = [found.get(name) for name in names]
        if not all(isinstance(own, str) and own.startswith(start) for own in addresses):
            raise ProviderFault(f"It does not publish {', '.join(names)} with https.")
        keys, authorization, token = map(str, addresses)
        methods = found.get("token_endpoint_auth_methods_supported")
        takes_header = not isinstance(methods, list) or "client_secret_basic" in methods
        return Metadata(keys, authorization, token, takes_header)


def no_answer(said: str) -> Unavailable:
    """The error of a request that needs an answer of the provider."""
    return Unavailable(
        f"The identity provider does not answer as it should: {said}", "Try again later, or use an API key."
    )


def _usable(published: dict[str, Any], algorithms: Sequence[str]) -> dict[tuple[str, str], PyJWK]:
    """The key for each algorithm that it is of; others, such as secret ones, are none of ours.

    With a private key that is published anybody could sign.
    """
    keys: dict[tuple[str, str], PyJWK] = {}
    if "d" in published:
        return keys
    for algorithm in algorithms:
        if published.get("alg", algorithm) == algorithm:
            try:
                keys[published["kid"], algorithm] = PyJWK(published, algorithm)
            except (InvalidKeyError, PyJWKError, MissingCryptographyError):
                continue
    return keys
