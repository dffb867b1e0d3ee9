"""What becomes of a run that the queue delivers: attempts until it is final, given back or taken over."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import structlog

from app.domain.errors import Unavailable
from app.services.ports import Fenced, Registry, Store, UnitOfWork
from app.services.resources import Claim, JsonObject, RunState
from app.workers.failures import worker_lost
from app.workers.supervisor import Ending, Outcome, Supervisor

MAX_LOSSES: Final = 3
"""Deaths of a run's own process that end the run: its worker alive, and nothing new finished in between."""

MOST_ATTEMPTS: Final = 20
"""A worker's death does not count as a loss; a run that takes every worker with it has to end some time."""

FIRST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 5.0
PARTING_SECONDS: Final = 5.0
"""How long a stopping worker tries to give a run back; after that the reaper of another has to."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Worker:
    """Who executes."""

    name: str
    """The worker's name in the store."""
    slots: int
    """Runs executed at once."""
    silent_seconds: float
    """Silence after which it may take another worker's run."""
    stop: asyncio.Event
    """Set when the worker is to give its runs back."""


class RunExecutor:
    """Executes runs in supervised attempts, as many at a time as the worker has slots."""

    def __init__(self, registry: Registry, store: Store, supervisor: Supervisor, worker: Worker) -> None:
        self._registry = registry
        self._store = store
        self._supervisor = supervisor
        self._worker = worker
        self._slots = asyncio.Semaphore(worker.slots)
        self._running: dict[str, asyncio.Task[None]] = {}

    async def execute(self, run_id: str) -> None:
        """Bring the run to an end if it is free to take; a no-op otherwise.

        The work goes on if the caller is cancelled (the queue loses its connection): only the worker's
        ``stop`` ends it early.
        """
        task = self._running.get(run_id)
        if task is None:
            task = asyncio.create_task(self._execute(run_id), name=f"run {run_id}")
            self._running[run_id] = task
            task.add_done_callback(lambda _: self._running.pop(run_id, None))
        await asyncio.shield(task)

    async def drain(self) -> None:
        """Wait until nothing is executed any more; soon, once the worker is asked to stop."""
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _execute(self, run_id: str) -> None:
        async with self._slots:
            while not self._worker.stop.is_set():
                claim = await self._registry.claim(run_id, self._worker.name, self._worker.silent_seconds)
                if claim is None:
                    return
                if claim.attempt > MOST_ATTEMPTS:
                    outcome = Outcome(Ending.FAILED, worker_lost(MOST_ATTEMPTS))
                else:
                    outcome = await self._supervisor.attempt(claim, self._worker.stop)
                log.info(
                    "attempt_ended", run_id=run_id, attempt=claim.attempt, ending=outcome.ending.name.lower()
                )
                if not await self._conclude(claim, outcome):
                    return

    async def _conclude(self, claim: Claim, outcome: Outcome) -> bool:
        """Write down what the attempt came to; whether another one should follow here and now."""
        match outcome.ending:
            case Ending.FINISHED | Ending.FENCED:
                return False
            case Ending.CANCELLED:
                await self._finish(claim, RunState.CANCELLED, None)
                return False
            case Ending.FAILED:
                await self._finish(claim, RunState.FAILED, outcome.error)
                return False
            case Ending.STOPPED:
                await self._give_back(claim)
                return False
            case Ending.LOST:
                return await self._lose(claim)

    async def _finish(self, claim: Claim, state: RunState, error: JsonObject | None) -> None:
        await self._write(claim, lambda work: work.runs.finish(claim, state, result=None, error=error))

    async def _lose(self, claim: Claim) -> bool:
        """Count the loss; whether another attempt follows."""
        losses = 0

        async def lose(work: UnitOfWork) -> None:
            nonlocal losses
            losses = await work.runs.count_loss(claim)
            if losses < MAX_LOSSES:
                await work.runs.release(claim, spend_attempt=True)
            else:
                await work.runs.finish(claim, RunState.FAILED, result=None, error=worker_lost(losses))

        return await self._write(claim, lose) and losses < MAX_LOSSES

    async def _give_back(self, claim: Claim) -> None:
        async def release(work: UnitOfWork) -> None:
            await work.runs.release(claim, spend_attempt=False)
            await work.enqueue(claim.run_id)

        await self._write(claim, release)

    async def _write(self, claim: Claim, change: Callable[[UnitOfWork], Awaitable[object]]) -> bool:
        """Commit the change, waiting for the store as long as it takes; False if the claim is outdated."""
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE_SECONDS
        give_up_at: float | None = None
        while True:
            try:
                async with self._store.work(claim.tenant) as work:
                    await change(work)
                    await work.commit()
            except Fenced:
                return False
            except Unavailable:
                log.warning("store_unavailable", run_id=claim.run_id, attempt=claim.attempt)
            else:
                return True
            if self._worker.stop.is_set():
                give_up_at = give_up_at or loop.time() + PARTING_SECONDS
                if loop.time() > give_up_at:
                    return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
