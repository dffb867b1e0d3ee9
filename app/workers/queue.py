"""The queue that carries runs to workers: procrastinate, kept behind three verbs.

A job carries the id of a run and nothing else. The run table is the truth: a job that is lost, comes
twice or comes late does no harm, because a run is executed by whoever claims it there.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued, ConnectorException
from procrastinate.jobs import Status

from app.services.ports import RUN_QUEUE, RUN_TASK

FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 10.0
POLL_SECONDS: Final = 2.0
BEATS_PER_SILENCE: Final = 3
CONNECT_SECONDS: Final = 5.0

log = structlog.get_logger(__name__)


class RunQueue:
    """Hands the runs that the queue carries to a handler.

    Parameters
    ----------
    conninfo
        libpq connection string.
    handler
        Takes the id of a run; a job lasts as long as the handler.
    concurrency
        Jobs held at once.
    silent_seconds
        Silence after which a worker of the queue counts as dead and its jobs as lost.
    """

    def __init__(
        self,
        conninfo: str,
        handler: Callable[[str], Awaitable[None]],
        concurrency: int,
        silent_seconds: float,
    ) -> None:
        self._conninfo = conninfo
        self._handler = handler
        self._concurrency = concurrency
        self._silent_seconds = silent_seconds
        self._app: App | None = None
        self.connected = asyncio.Event()
        """Set while runs can be put on the queue."""

    async def serve(self, stop: asyncio.Event) -> None:
        """Take jobs until ``stop``, coming back whenever the queue's own worker leaves.

        It leaves without an error when the database goes away.
        """
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE_SECONDS
        stopped = asyncio.create_task(stop.wait())
        while not stop.is_set():
            since = loop.time()
            serving = asyncio.create_task(self._serve_once())
            await asyncio.wait({serving, stopped}, return_when=asyncio.FIRST_COMPLETED)
            serving.cancel()
            (error,) = await asyncio.gather(serving, return_exceptions=True)
            if stop.is_set():
                return
            if loop.time() - since > LONGEST_PAUSE_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            log.warning("queue_worker_left", error=type(error).__name__, restart_seconds=pause)
            await asyncio.wait({stopped}, timeout=pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    async def enqueue(self, run_id: str) -> None:
        """Put a run on the queue unless a job waits for it already; nothing while not connected."""
        if self._app is None:
            return
        with contextlib.suppress(AlreadyEnqueued):
            await self._app.configure_task(RUN_TASK, queueing_lock=run_id).defer_async(run_id=run_id)

    async def sweep(self) -> None:
        """Remove the jobs of workers that died while they held them."""
        if self._app is None:
            return
        manager = self._app.job_manager
        for job in await manager.get_stalled_jobs(
            queue=RUN_QUEUE, seconds_since_heartbeat=self._silent_seconds
        ):
            with contextlib.suppress(ConnectorException):  # its worker may have finished it meanwhile
                await manager.finish_job(job, status=Status.ABORTED, delete_job=True)

    async def _serve_once(self) -> None:
        connector = PsycopgConnector(conninfo=self._conninfo, min_size=1, max_size=4, timeout=CONNECT_SECONDS)
        app = App(connector=connector)
        app.task(name=RUN_TASK, queue=RUN_QUEUE)(self._handler)
        try:
            async with app.open_async():
                self._app = app
                self.connected.set()
                await app.run_worker_async(
                    queues=[RUN_QUEUE],
                    concurrency=self._concurrency,
                    fetch_job_polling_interval=POLL_SECONDS,
                    shutdown_graceful_timeout=0.0,
                    update_heartbeat_interval=self._silent_seconds / BEATS_PER_SILENCE,
                    stalled_worker_timeout=self._silent_seconds,
                    delete_jobs="always",
                    install_signal_handlers=False,
                )
        finally:
            self._app = None
            self.connected.clear()
            # Opening that is cancelled leaves tasks that connect, and these take no cancellation for an end:
            # the process would wait for them without end.
            await app.close_async()
