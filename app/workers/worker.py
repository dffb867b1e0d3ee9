"""A worker: takes runs off the queue and executes them in child processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass

from app.services.deletions import Deletions
from app.services.ports import Clock, Registry, Store
from app.workers.children import ChildProcesses
from app.workers.executor import RunExecutor, Worker
from app.workers.names import worker_name
from app.workers.public_addresses import Network
from app.workers.queue import RunQueue
from app.workers.reaper import Reaper
from app.workers.retention import RetentionKeeper
from app.workers.supervisor import Supervisor
from app.workers.webhook_delivery import WebhookDelivery
from app.workers.webhook_sender import WebhookSender


@dataclass(frozen=True)
class WorkerOptions:
    """How a worker works."""

    slots: int = 1
    """Runs executed at once, each in a process."""
    silent_seconds: float = 10.0
    """Silence after which a run counts as lost by its worker."""
    dead_worker: str | None = None
    """The worker that this one replaces, for whoever has seen it die."""
    webhook_networks: Sequence[Network] = ()
    """Networks beside the public ones that messages of webhooks may be sent to."""


async def run_worker(
    store: Store,
    registry: Registry,
    deletions: Deletions,
    conninfo: str,
    children: ChildProcesses,
    options: WorkerOptions,
    clock: Clock,
    stop: asyncio.Event,
) -> None:
    """Work off the queue until ``stop`` is set; then give running work back and return.

    Without that, too, once no run can be started any more; Unavailable then says so.

    Parameters
    ----------
    deletions
        Tells whose data must not stay in memory.
    conninfo
        libpq connection string of the queue's database, for the runtime role.
    children
        The processes that execute claims.
    """
    await children.prepare()
    worker = Worker(worker_name(os.getpid()), options.slots, options.silent_seconds, stop)
    executor = RunExecutor(registry, store, Supervisor(store, children), worker)
    queue = RunQueue(conninfo, executor.execute, options.slots, options.silent_seconds)
    reaper = Reaper(registry, queue, options.silent_seconds, options.dead_worker)
    delivery = WebhookDelivery(registry, store, WebhookSender(options.webhook_networks), clock)
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(queue.serve(stop))
            group.create_task(delivery.serve(stop))
            group.create_task(reaper.serve(stop))
            group.create_task(_until(stop, deletions.follow(children.forget)))
            group.create_task(RetentionKeeper(registry).serve(stop))
            group.create_task(_until(stop, _end_without(children, stop)))
    finally:
        stop.set()
        await executor.drain()
        await children.forget(None)
    children.require()


async def _end_without(children: ChildProcesses, stop: asyncio.Event) -> None:
    await children.lost()
    stop.set()


async def _until(stop: asyncio.Event, work: Coroutine[None, None, None]) -> None:
    """Do work that never ends by itself until ``stop`` is set."""
    working, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({working, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            working.result()
    finally:
        working.cancel()
        stopped.cancel()
        await asyncio.gather(working, stopped, return_exceptions=True)
