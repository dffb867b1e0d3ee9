"""The application for clients that block, as commands and functions have them."""

from __future__ import annotations

import anyio
import httpx

from tests.api.service import Api


class Blocking(httpx.BaseTransport):
    """Passes the requests of a client that blocks, in a thread, on to the application."""

    def __init__(self, api: Api) -> None:
        self._inner = httpx.ASGITransport(app=api.app)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return anyio.from_thread.run(self._answered, request)

    async def _answered(self, request: httpx.Request) -> httpx.Response:
        own = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
        response = await self._inner.handle_async_request(own)
        return httpx.Response(
            response.status_code, headers=response.headers, content=await response.aread(), request=request
        )
