"""Who is signed in: an API key, or somebody by the organisation's identity provider, sealed in a cookie.

With it goes a token against forged forms.

The cookie is encrypted and authenticated (AES-256-GCM) under a key of the service, bound to its purpose, and
says itself when it ends. The service keeps of a session only the hash of its id: signing out removes it, and
a copy of the cookie is worth nothing any more.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, Protocol

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from starlette.requests import Request
from starlette.responses import Response

LIFETIME: Final = timedelta(hours=8)
"""After so long whoever is signed in signs in again."""

FORM_LIFETIME: Final = timedelta(hours=1)
"""How long the form for signing in can be sent."""

ATTEMPT_LIFETIME: Final = timedelta(minutes=10)
"""How long somebody may take at the identity provider."""

_NONCE_BYTES: Final = 12
_LONGEST: Final = 3072
"""Browsers keep cookies of up to 4096 bytes, with their names and attributes."""


@dataclass(frozen=True)
class Session:
    """A signed-in key; ``form_token`` is in every form that changes something.

    Who signed in by the identity provider has no key: ``identity`` is what the provider said of them.
    """

    api_key: str
    form_token: str
    ends: datetime
    id: str
    identity: Mapping[str, Any] = field(default_factory=dict)

    def allows(self, form_token: str) -> bool:
        """Whether a form was made for this session."""
        return hmac.compare_digest(self.form_token.encode(), form_token.encode())


class LiveSessions(Protocol):
    """The sessions that have begun and not ended, as all processes of the service see them."""

    async def begin(self, key_prefix: str, session_id: str, ends: datetime) -> None:
        """Note a session of the API key with this public prefix."""

    async def begin_in_tenant(self, tenant: str, session_id: str, ends: datetime) -> None:
        """Note a session in this tenant of somebody without an API key."""

    async def is_live(self, session_id: str) -> bool:
        """Whether the session has begun and not ended."""

    async def end(self, session_id: str) -> None:
        """End the session; a second time changes nothing."""


@dataclass(frozen=True)
class Cookies:
    """Seals and opens three cookies: of the session, and of the two ways that begin one.

    They are ``Secure`` where the request came by https, or ``always_secure``.
    """

    secret: bytes
    now: Callable[[], datetime]
    always_secure: bool = False

    def session(self, request: Request) -> Session | None:
        """The session of a request; None without one, or if it has ended or was altered."""
        return _session(self._open(request, "session"))

    def form(self, request: Request) -> Session | None:
        """The form that the request's browser was given; its key is empty."""
        return _session(self._open(request, "form"))

    def attempt(self, request: Request) -> Mapping[str, str] | None:
        """What the browser was given when it began to sign in by the identity provider."""
        found = self._open(request, "attempt")
        return None if found is None else found["attempt"]

    def new(self, api_key: str = "", identity: Mapping[str, Any] | None = None) -> Session:
        """A session that begins now, of a key or of somebody by the identity provider."""
        return Session(api_key, new_token(), self.now() + LIFETIME, new_token(), identity or {})

    def begin(self, request: Request, response: Response, session: Session) -> None:
        """Sign in."""
        self._set(request, response, "session", _content(session), LIFETIME)
        self._drop(request, response, "form")

    def offer(self, request: Request, response: Response, form_token: str) -> None:
        """Let the browser prove that the form for signing in was made for it."""
        form = Session("", form_token, self.now() + FORM_LIFETIME, "")
        self._set(request, response, "form", _content(form), FORM_LIFETIME)

    def send_away(self, request: Request, response: Response, attempt: Mapping[str, str]) -> None:
        """Let the browser prove, when it comes back, that it is the one that began.

        Its cookie is sent on the way back from the provider's site, which a strict one would not be.
        """
        ends = (self.now() + ATTEMPT_LIFETIME).timestamp()
        content = {"attempt": dict(attempt), "ends": ends}
        self._set(request, response, "attempt", content, ATTEMPT_LIFETIME, "lax")

    def come_back(self, request: Request, response: Response) -> None:
        """End the attempt, so that it cannot be answered twice."""
        self._drop(request, response, "attempt")

    def end(self, request: Request, response: Response) -> None:
        """Sign out."""
        self._drop(request, response, "session")

    def _set(
        self,
        request: Request,
        response: Response,
        purpose: str,
        content: Mapping[str, Any],
        lifetime: timedelta,
        same_site: Literal["strict", "lax"] = "strict",
    ) -> None:
        nonce = secrets.token_bytes(_NONCE_BYTES)
        sealed = AESGCM(self.secret).encrypt(nonce, json.dumps(content).encode(), purpose.encode())
        response.set_cookie(
            self._name(request, purpose),
            base64.urlsafe_b64encode(nonce + sealed).decode().rstrip("="),
            max_age=int(lifetime.total_seconds()),
            path="/",
            secure=self._is_secure(request),
            httponly=True,
            samesite=same_site,
        )

    def _drop(self, request: Request, response: Response, purpose: str) -> None:
        response.delete_cookie(
            self._name(request, purpose),
            path="/",
            secure=self._is_secure(request),
            httponly=True,
            samesite="strict",
        )

    def _open(self, request: Request, purpose: str) -> dict[str, Any] | None:
        """What a cookie holds that is whole and has not ended."""
        given = request.cookies.get(self._name(request, purpose), "")
        if not given or len(given) > _LONGEST:
            return None
        try:
            sealed = base64.urlsafe_b64decode(given + "=" * (-len(given) % 4))
            text = AESGCM(self.secret).decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], purpose.encode())
        except (InvalidTag, binascii.Error, ValueError):
            return None
        content: dict[str, Any] = json.loads(text)
        return None if self.now() >= datetime.fromtimestamp(content["ends"], UTC) else content

    def _is_secure(self, request: Request) -> bool:
        return self.always_secure or request.url.scheme == "https"

    def _name(self, request: Request, purpose: str) -> str:
        """By https under a name that browsers accept from this host alone, and only with ``Secure``."""
        prefix = "__Host-" if self._is_secure(request) else ""
        return f"{prefix}privacy-risk-{purpose}"


def _content(session: Session) -> dict[str, Any]:
    return {
        "key": session.api_key, "form": session.form_token, "ends": session.ends.timestamp(),
        "id": session.id, **({"identity": dict(session.identity)} if session.identity else {}),
    }  # fmt: skip


def _session(content: Mapping[str, Any] | None) -> Session | None:
    # Cookies of the version before have no id: whoever holds one signs in again.
    if content is None or "id" not in content:
        return None
    ends = datetime.fromtimestamp(content["ends"], UTC)
    return Session(content["key"], content["form"], ends, content["id"], content.get("identity", {}))


def new_token() -> str:
    """A random token that nobody can guess."""
    return secrets.token_urlsafe(32)
