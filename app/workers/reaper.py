"""Takes up what others dropped: runs that nobody works on any more, uploads that never came to an end."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from app.services.leases import UPLOAD_LEASE
from app.services.ports import Registry
from app.workers.executor import MOST_ATTEMPTS
from app.workers.failures import worker_lost
from app.workers.queue import RunQueue

PASSES_PER_SILENCE: Final = 5

UPLOAD_PASS_SECONDS: Final = 30.0
"""Half-written uploads are invisible and harmless; they are gone so long after their lease, at the latest."""

log = structlog.get_logger(__name__)


class Reaper:
    """Looks for lost runs a few times per silence; one that is lost time and again is ended.

    ``dead_worker`` is one whose death somebody has seen: its runs are lost without any silence.
    """

    def __init__(
        self, registry: Registry, queue: RunQueue, silent_seconds: float, dead_worker: str | None = None
    ) -> None:
        self._registry = registry
        self._queue = queue
        self._silent_seconds = silent_seconds
        self._dead_worker = dead_worker
        self._uploads_due_at = 0.0

    async def serve(self, stop: asyncio.Event) -> None:
        """Reap until ``stop``; whatever fails is tried again.

        After a failure a whole silence passes first: workers that lost the database too must have
        had the time to show that they live.
        """
        stopped = asyncio.create_task(stop.wait())
        if self._dead_worker is not None:  # its runs cannot be queued before
            connected = asyncio.create_task(self._queue.connected.wait())
            await asyncio.wait({stopped, connected}, return_when=asyncio.FIRST_COMPLETED)
            connected.cancel()
        pause = 0.0
        while not stop.is_set():
            await asyncio.wait({stopped}, timeout=pause)
            if stop.is_set():
                return
            try:
                await self.reap()
            except Exception as error:
                log.warning("reaper_failed", error=type(error).__name__)
                pause = self._silent_seconds
            else:
                pause = self._silent_seconds / PASSES_PER_SILENCE

    async def reap(self) -> None:
        """One pass: clear the jobs of dead workers, requeue or end lost runs, now and then clear uploads."""
        if self._dead_worker is not None:
            await self._registry.forsake(self._dead_worker, self._silent_seconds)
            self._dead_worker = None
        await self._queue.sweep()
        for lost in await self._registry.lost_runs(self._silent_seconds):
            log.warning("run_lost", run_id=lost.run_id, attempt=lost.attempt)
            if lost.attempt < MOST_ATTEMPTS:
                await self._queue.enqueue(lost.run_id)
            else:
                await self._registry.fail_lost(lost, worker_lost(lost.attempt))
        now = asyncio.get_running_loop().time()
        if now >= self._uploads_due_at:
            discarded = await self._registry.discard_stale_uploads(UPLOAD_LEASE.seconds)
            if discarded:
                log.info("stale_uploads_discarded", uploads=discarded)
            self._uploads_due_at = now + UPLOAD_PASS_SECONDS
