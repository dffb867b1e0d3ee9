"""The queue's connection is given up in order, whenever the worker is asked to end."""

from __future__ import annotations

import asyncio
import socket

import pytest

from app.workers import queue as queue_module
from app.workers.queue import RunQueue

pytestmark = pytest.mark.anyio


async def test_a_queue_that_is_still_connecting_ends_when_asked_to(monkeypatch) -> None:
    """A database that answers nothing; what connects would outlive the queue, and the process wait for it."""
    monkeypatch.setattr(queue_module, "CONNECT_SECONDS", 0.5)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        silent.setblocking(False)
        queue = RunQueue(f"host=127.0.0.1 port={silent.getsockname()[1]}", _never, 1, 10.0)
        stop = asyncio.Event()
        before = asyncio.all_tasks()
        serving = asyncio.create_task(queue.serve(stop))
        async with asyncio.timeout(10):
            accepted, _ = await asyncio.get_running_loop().sock_accept(silent)
            with accepted:
                stop.set()
                await serving
    for task in _connecting(before):
        task.cancel()
    async with asyncio.timeout(10):
        await asyncio.gather(*_connecting(before), return_exceptions=True)


def _connecting(before: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
    return {one for one in asyncio.all_tasks() - before if one.get_name().startswith("pool-")}


async def _never(run_id: str) -> None:
    raise AssertionError(run_id)
