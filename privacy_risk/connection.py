"""One pool of connections: requests that are sent again where that helps, and streams."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Generic

import httpx

from privacy_risk.answers import cursor_in, items_in
from privacy_risk.bodies import Content, is_repeatable
from privacy_risk.pools import Pool
from privacy_risk.problems import checked, checked_content, json_object
from privacy_risk.retries import Retries
from privacy_risk.values import Json

Parameters = Mapping[str, str | int | bool | Sequence[str] | None]

VERSION = "/v1"

LONGEST_SILENCE = 60.0
"""Seconds after which a stream of events is taken to be dead: the service sends a sign of life every 15."""


class Connection(Generic[Pool]):
    """Sends requests to one service and answers what it says; ProblemError where it refuses."""

    def __init__(self, pool: Pool, retries: Retries) -> None:
        self._pool = pool
        self._retries = retries
        self.blocks = pool.blocks

    async def get(
        self, path: str, parameters: Parameters | None = None, headers: Mapping[str, str] | None = None
    ) -> httpx.Response:
        """The answer to a GET."""
        return await self._send("GET", path, params=_said(parameters), headers=headers)

    async def get_json(
        self, path: str, parameters: Parameters | None = None, headers: Mapping[str, str] | None = None
    ) -> Json:
        """The JSON object that a GET answers."""
        return json_object(await self.get(path, parameters, headers))

    async def items(self, path: str, parameters: Parameters) -> AsyncIterator[Json]:
        """The items of a list, asked for page by page as they are needed."""
        cursor: str | None = None
        while True:
            page = await self.get_json(path, {**parameters, "cursor": cursor})
            for item in items_in(page):
                yield item
            cursor = cursor_in(page, cursor)
            if cursor is None:
                return

    async def post(
        self,
        path: str,
        body: Json | None = None,
        parameters: Parameters | None = None,
        idempotency_key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Json:
        """The JSON object that a POST of a JSON object answers."""
        sent: dict[str, Any] = {} if body is None else {"json": body}
        once = {**self._once(idempotency_key), **(headers or {})}
        response = await self._send("POST", path, params=_said(parameters), headers=once, **sent)
        return json_object(response)

    async def post_content(
        self, path: str, content: Content, media_type: str, parameters: Parameters | None = None
    ) -> Json:
        """The JSON object that a POST of bytes answers, however long they take."""
        headers = {"Content-Type": media_type, **self._once(None)}
        again = is_repeatable(content)

        async def send() -> httpx.Response:
            return await self._pool.request(
                "POST",
                path,
                params=_said(parameters),
                content=self._pool.body(content),
                headers=headers,
                timeout=httpx.Timeout(None, connect=self._pool.timeout.connect),
            )

        return json_object(checked(await self._repeated("POST", send) if again else await send()))

    async def post_form(self, path: str, file: bytes, parameters: Parameters | None = None) -> Json:
        """The JSON object that a POST of a form with one file answers."""
        response = await self._send(
            "POST", path, params=_said(parameters), files={"file": file}, headers=self._once(None)
        )
        return json_object(response)

    async def delete(self, path: str, parameters: Parameters | None = None) -> Json:
        """Delete; what else is answered than that it is done. AnswerError unless the service says so."""
        response = await self._send("DELETE", path, params=_said(parameters))
        return {} if response.status_code == httpx.codes.NO_CONTENT else json_object(response)

    async def pieces(self, path: str, parameters: Parameters | None = None) -> AsyncIterator[bytes]:
        """The content that a GET answers, as it comes."""
        async with self._pool.stream("GET", path, params=_said(parameters)) as response:
            async for piece in self._pool.pieces(checked_content(response)):
                yield piece

    async def content(self, path: str, parameters: Parameters | None = None) -> bytes:
        """The content that a GET answers, as a whole."""
        return b"".join([piece async for piece in self.pieces(path, parameters)])

    async def lines(self, path: str, headers: Mapping[str, str]) -> AsyncIterator[str]:
        """The lines that a GET answers without an end, as they come; at times one says that it is alive."""
        timeout = httpx.Timeout(self._pool.timeout.connect, read=LONGEST_SILENCE)
        async with self._pool.stream("GET", path, headers=headers, timeout=timeout) as response:
            async for line in self._pool.lines(checked_content(response)):
                yield line

    async def _send(self, method: str, path: str, **request: Any) -> httpx.Response:  # noqa: ANN401 - httpx's
        async def send() -> httpx.Response:
            return await self._pool.request(method, path, **request)

        return checked(await self._repeated(method, send))

    async def _repeated(self, method: str, send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        """The answer of the last attempt, or its transport error."""
        attempt = 1
        while True:
            failure: httpx.Response | httpx.TransportError
            try:
                failure = await send()
                if not failure.is_error:
                    return failure
            except httpx.TransportError as error:
                failure = error
            delay = self._retries.delay(attempt, failure)
            if delay is None:
                return _final(method, attempt, failure)
            await self._pool.sleep(delay)
            attempt += 1

    def _once(self, idempotency_key: str | None) -> Mapping[str, str]:
        """The header by which the service knows the attempts of one POST to be one."""
        if idempotency_key is None and self._retries.attempts == 1:
            return {}
        return {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}


def in_background(wait_seconds: int) -> Mapping[str, str]:
    """The header that asks for a run, however small the work is; small work is done at once for who waits."""
    return waiting(wait_seconds) or {"Prefer": "respond-async"}


def waiting(seconds: int) -> Mapping[str, str]:
    """The header that asks to be answered at the end of a run, or after so many seconds; none for 0."""
    return {"Prefer": f"wait={seconds}"} if seconds else {}


def _final(method: str, attempt: int, failure: httpx.Response | httpx.TransportError) -> httpx.Response:
    if isinstance(failure, httpx.TransportError):
        raise failure
    if method == "DELETE" and attempt > 1 and failure.status_code == 404:
        # An earlier attempt has deleted it, and its answer was lost.
        return httpx.Response(204, request=failure.request)
    return failure


def _said(parameters: Parameters | None) -> dict[str, Any]:
    """The parameters that are not left to the service's default."""
    return {name: value for name, value in (parameters or {}).items() if value is not None}
