"""Signing in by the organisation's identity provider, as the pages see it: away to it, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.web.sessions import Cookies, LiveSessions
from app.web.visits import Page, rendered
from app.web.words import local


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


@dataclass(frozen=True)
class WayThere:
    """Sends browsers to the identity provider, and begins the sessions of those who come back.

    ``form`` makes the page for signing in: of a request, where it leads, what is said there, and a status.
    """

    organisation: Organisation
    cookies: Cookies
    sessions: LiveSessions
    form: Callable[[Request, str, str, int], Response]

    async def leave(self, request: Request) -> Response:
        """Send the browser to the identity provider."""
        goal = local(request.query_params.get("next", "/"))
        try:
            there, attempt = await self.organisation.begin()
        except SignInRefused as refused:
            return self.form(request, goal, refused.said, refused.status)
        before = self.cookies.session(request)
        response = RedirectResponse(there, 303)
        kept = {**attempt, "goal": goal, "before": "" if before is None else before.id}
        self.cookies.send_away(request, response, kept)
        return response

    async def come_back(self, request: Request) -> Response:
        """Begin the session of who comes back from the identity provider."""
        attempt = self.cookies.attempt(request)
        if attempt is None:
            said = (
                "You took too long at the identity provider, or began in another browser. Please try again."
            )
            return self.form(request, "/", said, 400)
        goal = local(attempt["goal"])
        try:
            tenant, identity = await self.organisation.finish(attempt, request.query_params)
        except SignInRefused as refused:
            response = self.form(request, goal, refused.said, refused.status)
        else:
            await self.sessions.end(attempt["before"])
            session = self.cookies.new(identity=identity)
            # A page and no redirection: on the way from another site the new cookie would not be sent.
            response = rendered(Page("come_back.html", {"goal": goal}))
            self.cookies.begin(request, response, session)
            await self.sessions.begin_in_tenant(tenant, session.id, session.ends)
        self.cookies.come_back(request, response)
        return response
