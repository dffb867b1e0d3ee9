"""What surrounds every request: its id, headers, log line, counters, size limit, and the last resort."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Collection
from functools import cache
from typing import Any, Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from structlog.typing import FilteringBoundLogger

from app.api.access_log import frames_of, root_of
from app.api.bodies.limits import WITHOUT_KEY_BYTES, body_too_large, declared_length
from app.api.metrics import RequestMetrics
from app.api.problems import BY_CODE, body_of_error, problem_body, problem_response
from app.api.rate_fields import fields_of
from app.services.access.rates import Rate

SECURITY_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Without any referrer browsers do not say either that a form stood on a page of this service.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")

UNMATCHED: Final = "(none)"
"""The route that metrics and log show for addresses that no route matches."""


METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
"""Others are the caller's invention: each would become a label of its own."""


class BrokenAnswer(Exception):
    """An answer failed after its first byte; raised so that the server cuts the connection."""


class RequestFrame:
    """The outermost layer: whatever happens inside, the answer is well-formed, labelled and counted."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics, log: FilteringBoundLogger) -> None:
        self._app = app
        self._metrics = metrics
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, receive, send)
        error: BaseException | None = None
        with self._metrics.in_flight.track_inprogress():
            try:
                await self._app(scope, exchange.receive, exchange.send)
            except ClientDisconnect:
                exchange.status = exchange.status or 499
            except Exception as raised:
                error = raised
                if not exchange.has_started:
                    await exchange.send_internal_error(scope)
            finally:
                self._account(exchange, scope, error)
        if error is not None and exchange.is_broken:
            raise BrokenAnswer(exchange.request_id) from None

    def _account(self, exchange: _Exchange, scope: Scope, error: BaseException | None) -> None:
        route = route_of(scope)
        seconds = time.perf_counter() - exchange.began
        method = scope["method"] if scope["method"] in METHODS else UNMATCHED
        self._metrics.requests.labels(method, route, exchange.status).inc()
        self._metrics.seconds.labels(method, route).observe(seconds)
        self._metrics.received.inc(exchange.bytes_in)
        actor = scope["state"].get("actor")
        fields: dict[str, Any] = {
            "request_id": exchange.request_id,
            "tenant": actor.tenant if actor else None,
            "key_id": actor.key_id if actor else None,
            "method": method,
            "route": route,
            "status": exchange.status,
            "seconds": round(seconds, 4),
            "bytes_in": exchange.bytes_in,
            "bytes_out": exchange.bytes_out,
            "problem": scope["state"].get("problem"),
        }
        if error is None:
            self._log.info("request", **fields)
        else:
            root = root_of(error)
            self._log.error("request", **fields, error=type(root).__qualname__, frames=frames_of(root))


class _Exchange:
    """One request and its answer as they pass through the frame."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.began = time.perf_counter()
        given = Headers(scope=scope).get("x-request-id", "")
        self.request_id = given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        self._state = scope["state"] = {**scope.get("state", {}), "request_id": self.request_id}
        self.status = 0
        self.bytes_in = self.bytes_out = 0
        self.has_started = self.is_broken = False
        self._receive = receive
        self._send = send

    async def receive(self) -> Message:
        message = await self._receive()
        self.bytes_in += len(message.get("body", b""))
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_started = self.is_broken = True
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self.request_id
            rate: Rate | None = self._state.get("rate")
            if rate is not None:
                headers.update(fields_of(rate))
            for name, value in SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        elif message["type"] == "http.response.body":
            self.bytes_out += len(message.get("body", b""))
            self.is_broken = message.get("more_body", False)
        await self._send(message)

    async def send_internal_error(self, scope: Scope) -> None:
        problem = BY_CODE["internal-error"]
        body = problem_body(problem, problem.meaning, request_id=self.request_id)
        scope["state"]["problem"] = problem.code
        await problem_response(body)(scope, self._receive, self.send)


class HeadAsGet:
    """Answers HEAD wherever GET is answered: with the same status and headers, and no content."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass HEAD on as GET, up to the first piece of its answer."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body"})
            elif message.get("more_body"):
                raise _HeadSent

        asked = {**scope, "method": "GET"}
        try:
            await self._app(asked, receive, send_head)
        except* _HeadSent:
            pass
        finally:
            scope["route"] = asked.get("route")


class _HeadSent(Exception):
    """The content that would follow is nobody's."""


def route_of(scope: Scope) -> str:
    """The template of the matched route, as ``/v1/runs/{ref}``; names of resources stay out of the log."""
    template = getattr(scope.get("route"), "path_format", None)
    return template if isinstance(template, str) else UNMATCHED


@cache
def _template(path: str) -> re.Pattern[str]:
    return compile_path(path)[0]


class BodyLimit:
    """Refuses bodies above a limit, by their declared length at once, else at the first byte too many.

    These are the outermost bounds; the routes of the interface have narrower ones of their own. The
    framework's own limit answers a declared length in plain text, whatever the handlers say. Bodies of
    ``passed_on``, templates of addresses, are counted where they arrive: pages hand the file in them on to
    the interface.
    """

    def __init__(
        self,
        app: ASGIApp,
        limit: int,
        upload_limit: int,
        upload_paths: frozenset[str],
        passed_on: Collection[str],
    ) -> None:
        self._app = app
        self._limit = limit
        self._upload_limit = upload_limit
        self._upload_paths = upload_paths
        self._passed_on = passed_on

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with its body counted."""
        if scope["type"] != "http" or any(
            _template(template).match(scope["path"]) is not None for template in self._passed_on
        ):
            await self._app(scope, receive, send)
            return
        limit = self._limit_of(scope["path"])
        declared = declared_length(Headers(scope=scope))
        if declared is not None and declared > limit:
            await self._refuse(limit, scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > limit:
                raise HTTPException(413, detail=str(limit))
            return message

        await self._app(scope, counted, send)

    def _limit_of(self, path: str) -> int:
        if path in self._upload_paths:
            return self._upload_limit
        return self._limit if path.startswith("/v1/") else min(self._limit, WITHOUT_KEY_BYTES)

    async def _refuse(self, limit: int, scope: Scope, receive: Receive, send: Send) -> None:
        error = body_too_large(limit)
        scope["state"]["problem"] = error.code
        body = body_of_error(error, scope["state"]["request_id"])
        await problem_response(body)(scope, receive, send)
