"""The load generator: ``python -m tests.benchmarks.service.load_clients`` reads a plan and sends it.

A process of its own, so that what it costs is not taken for the service's.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict
from typing import Final

import httpx

from tests.benchmarks.service.load_plan import Asking, Plan, Told, mixed

BROKEN: Final = 599
_TIMEOUT: Final = 60.0


class Load:
    """One load from its first to its last request."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._requests: Iterator[tuple[str, Asking]] = mixed(plan)
        self._free: list[httpx.AsyncClient] = []
        self._is_over = False
        self._awaited = plan.listeners
        self._listening = asyncio.Event()
        if not self._awaited:
            self._listening.set()
        self.told = Told()

    async def run(self, begin: Callable[[], object]) -> Told:
        """Send everything, as soon as the listeners listen and ``begin`` has returned."""
        listeners = [asyncio.create_task(self._listen()) for _ in range(self._plan.listeners)]
        async with asyncio.timeout(_TIMEOUT):
            await self._listening.wait()
        begin()
        start, processor = time.perf_counter(), time.process_time()
        await (self._open(start) if self._plan.rate else self._closed(start))
        self.told.seconds = time.perf_counter() - start
        self.told.processor = time.process_time() - processor
        for listener in listeners:
            listener.cancel()
        await asyncio.gather(*listeners, return_exceptions=True)
        for client in self._free:
            await client.aclose()
        return self.told

    async def _closed(self, start: float) -> None:
        """Every client sends its next request as soon as it has its answer."""

        async def one() -> None:
            async with self._client() as client:
                while time.perf_counter() - start < self._plan.seconds and not self._is_over:
                    await self._send(client, time.perf_counter())

        await asyncio.gather(*(one() for _ in range(self._plan.clients)))

    async def _open(self, start: float) -> None:
        """Requests leave on time, however many are not answered yet; waiting counts from then on."""
        sent = []
        for number in range(max(round(self._plan.rate * self._plan.seconds), 1)):
            due = start + number / self._plan.rate
            await asyncio.sleep(max(due - time.perf_counter(), 0.0))
            sent.append(asyncio.create_task(self._one(due)))
        await asyncio.sleep(max(start + self._plan.seconds - time.perf_counter(), 0.0))
        await asyncio.gather(*sent)

    async def _one(self, due: float) -> None:
        async with self._client() as client:
            await self._send(client, due)

    @contextlib.asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx.AsyncClient]:
        """A connection that nobody uses: one pool for all would cost the generator more than its requests."""
        client = self._free.pop() if self._free else self._connected()
        try:
            yield client
        finally:
            self._free.append(client)

    def _connected(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            base_url=self._plan.base_url, trust_env=False, timeout=_TIMEOUT, verify=False,
        )  # fmt: skip

    async def _send(self, client: httpx.AsyncClient, since: float) -> None:
        drawn = next(self._requests, None)
        if drawn is None:
            self._is_over = True
            return
        kind, asking = drawn
        try:
            answer = await client.request(
                asking.method,
                asking.path,
                json=asking.body,
                content=asking.text,
                headers=self._headers(asking),
            )
        except httpx.HTTPError as error:
            self.told.note(kind, BROKEN, 0.0, f"{_place(asking)} {error!r}")
            return
        milliseconds = 1000 * (time.perf_counter() - since)
        self.told.note(kind, answer.status_code, milliseconds, f"{_place(asking)} {_said(answer)}")
        if answer.status_code == 429 and not self._plan.rate:
            await asyncio.sleep(float(answer.headers.get("Retry-After", 1)))

    def _headers(self, asking: Asking) -> dict[str, str]:
        if not asking.path.startswith("/v1/"):
            return {"Cookie": self._plan.cookie}
        own = {"Authorization": f"Bearer {self._plan.api_key}"}
        return own if asking.text is None else own | {"Content-Type": "text/csv"}

    async def _listen(self) -> None:
        async with (
            self._connected() as client,
            client.stream(
                "GET",
                self._plan.listened,
                headers={"Authorization": f"Bearer {self._plan.api_key}"},
                timeout=httpx.Timeout(_TIMEOUT, read=None),
            ) as answer,
        ):
            answer.raise_for_status()
            self._awaited -= 1
            if not self._awaited:
                self._listening.set()
            async for _ in answer.aiter_lines():
                self.told.events += 1


def _place(asking: Asking) -> str:
    """The method and the collection that was asked, without the names of what is in it."""
    words = asking.path.partition("?")[0].split("/")
    named = 3 if words[1:2] == ["v1"] else 2
    rest = ["…"] if len(words) > named else []
    return f"{asking.method} {'/'.join([*words[:named], *rest])}"


def _said(answer: httpx.Response) -> str:
    """The kind of problem that an answer names."""
    with contextlib.suppress(ValueError, AttributeError):
        return str(answer.json().get("type", ""))
    return ""


def _begin() -> None:
    """Say that all is ready, and wait for the word."""
    print("ready", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    load = Load(Plan.from_json(sys.stdin.readline()))
    print(json.dumps(asdict(asyncio.run(load.run(_begin)))))
