"""Pools of connections: of programs that await and of programs that block, used in the same way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import Any, TypeVar, final

import httpx

from privacy_risk.bodies import Content, pieces_of

_Item = TypeVar("_Item")


@final
class AwaitedPool(httpx.AsyncClient):
    """Connections that other tasks of the program need not wait for."""

    blocks = False
    sleep = staticmethod(asyncio.sleep)

    @asynccontextmanager
    async def stream(self, *what: Any, **request: Any) -> AsyncIterator[httpx.Response]:  # noqa: ANN401 - httpx's
        """The answer, to be read within the context; one of refusal has been."""
        async with super().stream(*what, **request) as response:
            if response.is_error:
                await response.aread()
            yield response

    def body(self, content: Content) -> bytes | AsyncIterator[bytes]:
        """The body of a request; reading a local file is taken to be quick."""
        if isinstance(content, bytes):
            return content
        return aiter(content) if isinstance(content, AsyncIterable) else _one_by_one(pieces_of(content))

    def pieces(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """The content of a streamed answer as it comes."""
        return response.aiter_bytes()

    def lines(self, response: httpx.Response) -> AsyncIterator[str]:
        """The lines of a streamed answer as they come."""
        return response.aiter_lines()


@final
class BlockingPool:
    """Connections that are waited for: none of the coroutines ever hands over to an event loop."""

    blocks = True

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self.timeout = http.timeout

    async def request(self, *what: Any, **request: Any) -> httpx.Response:  # noqa: ANN401 - httpx's
        """The answer, read to its end."""
        return self._http.request(*what, **request)

    @asynccontextmanager
    async def stream(self, *what: Any, **request: Any) -> AsyncIterator[httpx.Response]:  # noqa: ANN401 - httpx's
        """The answer, to be read within the context; one of refusal has been."""
        with self._http.stream(*what, **request) as response:
            if response.is_error:
                response.read()
            yield response

    async def aclose(self) -> None:
        """Close the connections."""
        self._http.close()

    async def sleep(self, seconds: float) -> None:
        """Let the program wait."""
        time.sleep(seconds)  # noqa: ASYNC251 - no event loop runs this

    def body(self, content: Content) -> bytes | Iterator[bytes]:
        """The body of a request; TypeError for pieces that would have to be awaited."""
        if isinstance(content, AsyncIterable):
            raise TypeError("Pieces that are awaited can be sent by AsyncClient only.")
        return content if isinstance(content, bytes) else pieces_of(content)

    def pieces(self, response: httpx.Response) -> AsyncIterator[bytes]:
        """The content of a streamed answer as it comes."""
        return _one_by_one(response.iter_bytes())

    def lines(self, response: httpx.Response) -> AsyncIterator[str]:
        """The lines of a streamed answer as they come."""
        return _one_by_one(response.iter_lines())


Pool = TypeVar("Pool", bound=AwaitedPool | BlockingPool)


async def _one_by_one(items: Iterable[_Item]) -> AsyncIterator[_Item]:
    for item in items:
        yield item
