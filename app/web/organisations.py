"""Signing in by the organisation's identity provider, as the pages see it: away to it, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


class SignInRefused(Exception):
    """Nobody is signed in; ``said`` tells whoever tried why."""

    def __init__(self, said: str, status: int) -> None:
        super().__init__(said)
        self.said = said
        self.status = status


@dataclass(frozen=True)
class Admitted:
    """Somebody whom the interface takes for who they are, without a key.

    ``actor`` is the interface's own, ``key`` holds their name and scopes as of a key.
    """

    actor: object
    key: Mapping[str, Any]


class Organisation(Protocol):
    """The organisation's identity provider."""

    async def begin(self) -> tuple[str, Mapping[str, str]]:
        """The address to send a browser to, and what it brings along when it comes back; or SignInRefused."""

    async def finish(
        self, attempt: Mapping[str, str], answer: Mapping[str, str]
    ) -> tuple[str, dict[str, Any]]:
        """The tenant and the identity of who came back, as a session keeps it; or SignInRefused."""

    def admitted(self, identity: Mapping[str, Any]) -> Admitted | None:
        """Who a session's identity is; None if what was allowed has changed since it began."""
