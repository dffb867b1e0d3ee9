"""One attempt of a run, seen from the worker: start the child, tell its progress, end it when it must.

The worker alone talks to the store about the attempt's life (heartbeat, progress, what users ask of the
run); the child writes blocks and the result. Both carry the claim, so neither outlives a newer attempt.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from typing import Final

import structlog

from app.domain.errors import Unavailable
from app.services.ports import Fenced, Store
from app.services.resources import Claim, JsonObject, Progress
from app.workers.child import Entry, Failure, Limits, child_main, leave_at_once
from app.workers.failures import time_limit

BEAT_SECONDS: Final = 0.4
"""Between two heartbeats, each of which brings what users ask of the run: well below the second promised."""

STOP_MESSAGE: Final = b"stop"

MAX_TELL_SECONDS: Final = 10.0
TELL_SHARE: Final = 0.02
"""Progress is told at every beat at first, later each time a run has lasted this share longer."""

STOP_GRACE_SECONDS: Final = 0.3

LEAVE_SECONDS: Final = 1.0

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


class ChildProcesses:
    """Starts the processes of runs from one prepared fork server."""

    def __init__(self, entry: Entry, limits: Limits, preload: Sequence[str]) -> None:
        self.limits = limits
        self._entry = entry
        self._context = get_context("forkserver")
        self._context.set_forkserver_preload([*preload, child_main.__module__])

    async def prepare(self) -> None:
        """Start the fork server and wait until it has imported the modules of every child.

        Starting a child before would hold the event loop, and with it all heartbeats, for as long.
        """

        def first_child() -> None:
            process = self._context.Process(target=leave_at_once)
            process.start()
            process.join()

        await asyncio.to_thread(first_child)

    def start(self, claim: Claim) -> Child:
        """Start a process for this claim."""
        ours, theirs = self._context.Pipe(duplex=True)
        process = self._context.Process(
            target=child_main, args=(self._entry, claim, self.limits, theirs), daemon=True
        )
        process.start()
        theirs.close()
        return Child(process, ours)


class Child:
    """A child process: its latest progress, its failure if it told one, and its death."""

    def __init__(self, process: ForkServerProcess, channel: Connection) -> None:
        self.progress: Progress | None = None
        self.failure: Failure | None = None
        self.dead = asyncio.Event()
        self._process = process
        self._channel = channel
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(channel.fileno(), self._receive)
        self._loop.add_reader(process.sentinel, self._bury)

    @property
    def pid(self) -> int:
        """The process's number; a started process has one."""
        assert self._process.pid is not None  # noqa: S101 - narrows the type
        return self._process.pid

    @property
    def left_in_peace(self) -> bool:
        """Whether the dead process left by itself with status 0."""
        return self._process.exitcode == 0

    def tell_to_stop(self) -> None:
        """Have it finish the run with the best so far; nothing if it is dying."""
        with contextlib.suppress(OSError):
            self._channel.send_bytes(STOP_MESSAGE)

    async def kill(self) -> None:
        """End the process if it lives; returns when it is dead."""
        if not self.dead.is_set():
            self._process.kill()
            await self.dead.wait()

    def _receive(self) -> None:
        """Take in what the child has sent; its end of the channel closes with its death."""
        try:
            while self._channel.poll():
                message: Progress | Failure = self._channel.recv()
                if isinstance(message, Failure):
                    self.failure = message
                else:
                    self.progress = message
        except (EOFError, OSError):
            self._loop.remove_reader(self._channel.fileno())

    def _bury(self) -> None:
        self._loop.remove_reader(self._process.sentinel)
        self._receive()
        self._loop.remove_reader(self._channel.fileno())
        self._process.join()
        self._channel.close()
        self.dead.set()


class Supervisor:
    """Watches over the attempts of runs until each has ended and its process is dead."""

    def __init__(self, store: Store, children: ChildProcesses) -> None:
        self._store = store
        self._children = children

    async def attempt(self, claim: Claim, stop: asyncio.Event) -> Outcome:
        """Execute one claim in a child of its own; ``stop`` ends it early without blame."""
        child = self._children.start(claim)
        log.info("run_started", run_id=claim.run_id, attempt=claim.attempt, child=child.pid)
        limit = self._children.limits.seconds
        dead = asyncio.create_task(child.dead.wait())
        stopped = asyncio.create_task(stop.wait())
        beats = asyncio.create_task(self._beat(claim, child))
        try:
            await asyncio.wait({dead, stopped, beats}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if dead.done():
                return await self._judge_death(child, stop)
            if beats.done():
                return Outcome(await self._judge_beats(beats.result(), child))
            if stopped.done():
                return Outcome(Ending.STOPPED)
            return Outcome(Ending.FAILED, time_limit(limit))
        finally:
            for task in (dead, stopped, beats):
                task.cancel()
            # Not before the last heartbeat has been given up may anything else be written for the claim.
            await asyncio.gather(dead, stopped, beats, return_exceptions=True)
            await child.kill()

    async def _judge_death(self, child: Child, stop: asyncio.Event) -> Outcome:
        if child.failure is not None:
            if child.failure.where:
                log.error("run_broke_down", child=child.pid, where=child.failure.where)
            return Outcome(Ending.FAILED, child.failure.error)
        if child.left_in_peace:
            return Outcome(Ending.FINISHED)
        # A service manager signals all processes at once; the child may heed it before the worker does.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), STOP_GRACE_SECONDS)
            return Outcome(Ending.STOPPED)
        return Outcome(Ending.LOST)

    async def _judge_beats(self, ending: Ending, child: Child) -> Ending:
        # The claim ends with the child's own success too; then the child is about to leave.
        if ending is Ending.FENCED:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(child.dead.wait(), LEAVE_SECONDS)
                return Ending.FINISHED if child.left_in_peace else Ending.FENCED
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
