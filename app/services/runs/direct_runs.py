"""Small runs, done by the process that was asked for them while whoever asked waits.

Such a run is claimed as a worker claims it, so that whatever becomes of this process, a worker takes it over.
What has not succeeded here, for whichever reason, is given to a worker, which brings it to its end.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from app.domain.errors import Unavailable
from app.services.ports import Fenced, Store, UnitOfWork
from app.services.questions import Claimant
from app.services.resources import Claim, Progress, RunState
from app.services.runs.run_execution import RunExecution

OVERRUN: Final = 10.0
"""So many times the direct budget a run may take here: its cost was estimated."""

BEAT_SECONDS: Final = 0.4
"""Between two looks at what users ask of the run."""

log = structlog.get_logger(__name__)


class DirectRuns:
    """Does small runs at once; ``claimant`` says which, and who this process is."""

    def __init__(self, store: Store, execution: RunExecution, claimant: Claimant) -> None:
        self.claimant = claimant
        self._store = store
        self._execution = execution
        self._at_work: set[asyncio.Task[None]] = set()

    async def finish(self, claim: Claim, seconds: float) -> None:
        """Do a claimed run's work for so long, at most; then it is final, or queued for a worker.

        That comes about even if the caller is cancelled.
        """
        work = asyncio.create_task(self._finish(claim, seconds), name=f"run {claim.run_id}")
        self._at_work.add(work)
        work.add_done_callback(self._at_work.discard)
        await asyncio.shield(work)

    async def _finish(self, claim: Claim, seconds: float) -> None:
        attempt = _Attempt(self._execution, claim)
        ends = asyncio.get_running_loop().time() + min(seconds, OVERRUN * self.claimant.budget.seconds)
        try:
            try:
                is_cancelled = await self._watch(attempt, ends)
            finally:
                # From here on nothing writes for the claim any more but what follows.
                await attempt.abandon()
            if not attempt.has_ended_the_run:
                await self._write(claim, _cancel(claim) if is_cancelled else _hand_over(claim))
        except Fenced:
            return
        except Unavailable:
            log.warning("direct_run_left", run_id=claim.run_id)  # a worker finds it by its silence

    async def _watch(self, attempt: _Attempt, ends: float) -> bool:
        """Wait until the attempt is over or out of time; True as soon as the run is to be cancelled."""
        loop = asyncio.get_running_loop()
        told: Progress | None = None
        while not await attempt.is_over_within(min(BEAT_SECONDS, ends - loop.time())):
            if loop.time() >= ends:
                return False
            news, told = attempt.progress if attempt.progress != told else None, attempt.progress
            async with self._store.work(attempt.claim.tenant) as work:
                wishes = await work.runs.heartbeat(attempt.claim, news)
                await work.commit()
            if wishes.cancel:
                return True
            if wishes.stop:
                attempt.stop()
        return False

    async def _write(self, claim: Claim, change: Callable[[UnitOfWork], Awaitable[None]]) -> None:
        async with self._store.work(claim.tenant) as work:
            await change(work)
            await work.commit()


class _Attempt:
    """The work on one claim: it computes in a thread, and ends by itself, soon after a stop or abandoned."""

    def __init__(self, execution: RunExecution, claim: Claim) -> None:
        self.claim = claim
        self.progress: Progress | None = None
        self._stopped = threading.Event()
        self._task = asyncio.create_task(execution.execute(claim, self._report, self._stopped.is_set))

    @property
    def has_ended_the_run(self) -> bool:
        """Whether the run has been finished in the store, here or by another who has taken it over."""
        if not self._task.done() or self._task.cancelled():
            return False
        error = self._task.exception()
        return error is None or isinstance(error, Fenced)

    async def is_over_within(self, seconds: float) -> bool:
        """Whether it is over, waited for so long."""
        await asyncio.wait({self._task}, timeout=max(0.0, seconds))
        return self._task.done()

    def stop(self) -> None:
        """Have it end with the best so far."""
        self._stopped.set()

    async def abandon(self) -> None:
        """Let nothing more come of it; returns when it writes no more, though a thread may go on a little."""
        self._task.cancel()
        self._stopped.set()
        (error,) = await asyncio.gather(self._task, return_exceptions=True)
        if isinstance(error, Exception):
            log.info("direct_run_failed", run_id=self.claim.run_id, error=type(error).__name__)

    def _report(self, progress: Progress) -> None:
        self.progress = progress


def _cancel(claim: Claim) -> Callable[[UnitOfWork], Awaitable[None]]:
    async def cancel(work: UnitOfWork) -> None:
        await work.runs.finish(claim, RunState.CANCELLED, result=None, error=None)

    return cancel


def _hand_over(claim: Claim) -> Callable[[UnitOfWork], Awaitable[None]]:
    async def release(work: UnitOfWork) -> None:
        await work.runs.release(claim, spend_attempt=False)
        await work.enqueue(claim.run_id)

    return release
