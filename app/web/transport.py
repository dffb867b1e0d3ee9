"""The application as what a client sends to, without a network in between and without holding answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Final, cast

import httpx
from starlette.types import ASGIApp, Message

AHEAD: Final = 2
"""Pieces that the application may be ahead of who reads them."""


class StreamedTransport(httpx.AsyncBaseTransport):
    """Hands on what the application answers piece by piece, as fast as it is read.

    An answer that breaks off raises ``httpx.ReadError``, so that part of a table never passes for the whole;
    closing it before its end tells the application that nobody reads any more. Who is ``signed_in`` is told
    beside the request, where nothing that comes over a network can say it.
    """

    def __init__(self, app: ASGIApp, signed_in: object = None) -> None:
        self._app = app
        self._state = {} if signed_in is None else {"signed_in": signed_in}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer once its headers are known; status 500 if the application failed before."""
        exchange = _Exchange(request, self._state)
        work = asyncio.create_task(exchange.run(self._app))
        answer = _Answer(exchange, work)
        try:
            start = await exchange.messages.get()
        except BaseException:
            await answer.aclose()
            raise
        if start is None:
            return httpx.Response(500)
        return httpx.Response(start["status"], headers=start.get("headers", []), stream=answer)


class _Exchange:
    """One request and its answer, whose messages wait until they are read; None is the last one."""

    def __init__(self, request: httpx.Request, state: dict[str, object]) -> None:
        self._state = state
        self.messages: asyncio.Queue[Message | None] = asyncio.Queue(AHEAD)
        self._request = request
        self._body = aiter(cast(httpx.AsyncByteStream, request.stream))
        self._is_read = False
        self._nobody_reads = asyncio.Event()

    async def run(self, app: ASGIApp) -> None:
        """Let the application answer."""
        # The application logs what goes wrong in it; who reads is told by the missing end.
        with contextlib.suppress(Exception):
            request = self._request
            scope = {
                "type": "http",
                "asgi": {"version": "3.0"},
                "http_version": "1.1",
                "method": request.method,
                "headers": [(name.lower(), value) for name, value in request.headers.raw],
                "scheme": request.url.scheme,
                "path": request.url.path,
                "raw_path": request.url.raw_path.split(b"?")[0],
                "query_string": request.url.query,
                "server": (request.url.host, request.url.port),
                "client": ("127.0.0.1", 123),
                "root_path": "",
                "state": dict(self._state),
            }
            await app(scope, self._receive, self.messages.put)
        if not self._nobody_reads.is_set():
            await self.messages.put(None)

    def leave(self) -> None:
        """Nobody reads what is still to come."""
        self._nobody_reads.set()

    async def _receive(self) -> Message:
        if self._is_read:
            await self._nobody_reads.wait()
            return {"type": "http.disconnect"}
        try:
            return {"type": "http.request", "body": await anext(self._body), "more_body": True}
        except StopAsyncIteration:
            self._is_read = True
            return {"type": "http.request", "body": b"", "more_body": False}


class _Answer(httpx.AsyncByteStream):
    """The body of an answer, while the application still makes it."""

    def __init__(self, exchange: _Exchange, work: asyncio.Task[None]) -> None:
        self._exchange = exchange
        self._work = work
        self._is_whole = False

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            message = await self._exchange.messages.get()
            if message is None:
                raise httpx.ReadError("The answer has broken off.")
            # Noted first: whoever has the last piece may not ask for another one.
            self._is_whole = not message.get("more_body", False)
            if message.get("body"):
                yield message["body"]
            if self._is_whole:
                return

    async def aclose(self) -> None:
        """Let the application end what follows its answer; end it if the answer was not read to its end."""
        self._exchange.leave()
        if not self._is_whole:
            self._work.cancel()
        await asyncio.wait([self._work])
