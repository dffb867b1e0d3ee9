"""One attempt of a run, seen from the worker: give it to a child, tell its progress, end it when it must.

The worker alone talks to the store about the attempt's life (heartbeat, progress, what users ask of the
run); the child writes blocks and the result. Both carry the claim, so neither outlives a newer attempt.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

import structlog

from app.domain.errors import Unavailable
from app.services.ports import Fenced, Store
from app.services.resources import Claim, JsonObject, Progress
from app.workers.children import Child, ChildProcesses
from app.workers.failures import memory_limit, time_limit

BEAT_SECONDS: Final = 0.4
"""Between two heartbeats, each of which brings what users ask of the run: well below the second promised."""

MAX_TELL_SECONDS: Final = 10.0
TELL_SHARE: Final = 0.02
"""Progress is told at every beat at first, later each time a run has lasted this share longer."""

STOP_GRACE_SECONDS: Final = 0.3

SAY_SECONDS: Final = 1.0

log = structlog.get_logger(__name__)


class Ending(Enum):
    """How an attempt ended."""

    FINISHED = auto()
    FAILED = auto()
    CANCELLED = auto()
    STOPPED = auto()
    LOST = auto()
    FENCED = auto()


@dataclass(frozen=True)
class Outcome:
    """The ending of an attempt, with its error document if it failed."""

    ending: Ending
    error: JsonObject | None = None


class Supervisor:
    """Watches over the attempts of runs until each has ended and its process is dead or idle."""

    def __init__(self, store: Store, children: ChildProcesses) -> None:
        self._store = store
        self._children = children

    async def attempt(self, claim: Claim, stop: asyncio.Event) -> Outcome:
        """Execute one claim in a child; ``stop`` ends it early without blame."""
        child = await self._children.take(claim)
        log.info("run_started", run_id=claim.run_id, attempt=claim.attempt, child=child.pid)
        limit = self._children.limits.seconds
        over = asyncio.create_task(child.over.wait())
        stopped = asyncio.create_task(stop.wait())
        beats = asyncio.create_task(self._beat(claim, child))
        try:
            await asyncio.wait({over, stopped, beats}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if over.done():
                return await self._judge_end(child, stop)
            if beats.done():
                return Outcome(await self._judge_beats(beats.result(), child))
            if stopped.done():
                return Outcome(Ending.STOPPED)
            return Outcome(Ending.FAILED, self._judge_delay(child))
        finally:
            for task in (over, stopped, beats):
                task.cancel()
            # Not before the last heartbeat has been given up may anything else be written for the claim.
            await asyncio.gather(over, stopped, beats, return_exceptions=True)
            await self._children.give_back(child)

    async def _judge_end(self, child: Child, stop: asyncio.Event) -> Outcome:
        if child.ended is not None:
            failure = child.ended.failure
            if failure is None:
                return Outcome(Ending.FINISHED)
            if failure.where:
                log.error("run_broke_down", child=child.pid, where=failure.where)
            return Outcome(Ending.FAILED, failure.error)
        # A service manager signals all processes at once; the child may heed it before the worker does.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), STOP_GRACE_SECONDS)
            return Outcome(Ending.STOPPED)
        return Outcome(Ending.LOST)

    def _judge_delay(self, child: Child) -> JsonObject:
        """Why the time is over: a thread that finds no memory as it begins is waited for without end."""
        limits = self._children.limits
        return memory_limit(limits.memory_bytes) if child.has_no_room() else time_limit(limits.seconds)

    async def _judge_beats(self, ending: Ending, child: Child) -> Ending:
        # The claim ends with the child's own success too; then the child is about to say so.
        if ending is Ending.FENCED:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(child.over.wait(), SAY_SECONDS)
                is_finished = child.ended is not None and child.ended.failure is None
                return Ending.FINISHED if is_finished else Ending.FENCED
        return ending

    async def _beat(self, claim: Claim, child: Child) -> Ending:
        """Tell life and progress until a cancel is asked for or the claim is outdated; pass on a stop."""
        loop = asyncio.get_running_loop()
        started = told_at = loop.time()
        told: Progress | None = None
        stopping = False
        while True:
            now = loop.time()
            pause = min(TELL_SHARE * (now - started), MAX_TELL_SECONDS)
            news = child.progress if child.progress != told and now - told_at >= pause else None
            try:
                async with self._store.work(claim.tenant) as work:
                    wishes = await work.runs.heartbeat(claim, news)
                    await work.commit()
            except Fenced:
                return Ending.FENCED
            except Unavailable:
                # The run goes on without the store; if that lasts, the reaper gives it to another worker.
                log.warning("heartbeat_missed", run_id=claim.run_id, attempt=claim.attempt)
            else:
                if news is not None:
                    told, told_at = news, now
                if wishes.cancel:
                    return Ending.CANCELLED
                if wishes.stop and not stopping:
                    stopping = True
                    child.tell_to_stop()
            await asyncio.sleep(BEAT_SECONDS)
