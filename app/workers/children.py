"""The processes of runs, seen from the worker: started, kept for the next run of the same tenant, ended.

A process that has executed a run still has its interpreter, its connection and the tables of that run. It is
kept for a while for the tenant whose data it holds, and ended when some of these are deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import select
import signal
from collections.abc import Sequence
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from typing import Final

from app.services.resources import Claim, Progress, TenantId
from app.workers.child import STOP, Ended, Entry, Limits, size_and_resident
from app.workers.nursery import Born, Nursery

IDLE_SECONDS: Final = 60.0
"""How long a process is kept that has nothing to do."""

STACK_BYTES: Final = 8 * 1024**2
"""Of a thread, as Linux has it where nobody says otherwise."""


class ChildProcesses:
    """Has the processes of runs started, and keeps those that are idle for a while.

    There are never more than runs at once: a run is given what is idle, and what is of no use to it is ended.
    Made before its process has an event loop or a thread: it forks one that starts the others.
    ``preload`` are modules that every process of runs needs, imported once.
    """

    def __init__(self, entry: Entry, limits: Limits, preload: Sequence[str]) -> None:
        self.limits = limits
        self._nursery = Nursery(entry, limits, preload)
        self._busy: set[Child] = set()
        self._idle: dict[Child, asyncio.Task[None]] = {}

    async def prepare(self) -> None:
        """Wait until processes of runs can be started; Unavailable if they never will.

        Starting a child before would hold the event loop, and with it all heartbeats, for as long.
        """
        await asyncio.to_thread(self._nursery.wait_until_loaded)

    def require(self) -> None:
        """Unavailable if no process of runs can be started any more."""
        self._nursery.require()

    async def lost(self) -> None:
        """Return when no process of runs can be started any more: what starts them has died."""
        died = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(self._nursery.sentinel, died.set)
        try:
            await died.wait()
        finally:
            loop.remove_reader(self._nursery.sentinel)

    async def take(self, claim: Claim) -> Child:
        """A process that executes this claim: one that the tenant's last run has left, or a new one."""
        for other in [own for own in self._idle if own.tenant != claim.tenant]:
            await self._end(other)
        child = next((own for own in self._idle if own.is_reusable), None)
        if child is not None:
            self._idle.pop(child).cancel()
        if child is None or not child.begin(claim):
            child = self._start(claim)
        self._busy.add(child)
        return child

    async def give_back(self, child: Child) -> None:
        """Keep the process if it may execute another run, else end it; returns when it is idle or dead."""
        self._busy.discard(child)
        if child.is_reusable:
            self._idle[child] = asyncio.create_task(self._end_when_idle_for_long(child))
        else:
            await child.kill()

    async def forget(self, tenant: TenantId | None) -> None:
        """Keep no process that holds data of this tenant, or of any; those at work end after their run."""
        held = [own for own in (*self._busy, *self._idle) if tenant in (None, own.tenant)]
        for child in held:
            child.is_kept = False
        for child in held:
            await self._end(child)

    async def _end(self, child: Child) -> None:
        """End the process if it is idle."""
        timer = self._idle.pop(child, None)
        if timer is not None:
            timer.cancel()
            await child.kill()

    async def _end_when_idle_for_long(self, child: Child) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(IDLE_SECONDS):
                await child.dead.wait()
        del self._idle[child]
        await child.kill()

    def _start(self, claim: Claim) -> Child:
        ours, theirs = Pipe(duplex=True)
        with theirs:
            child = Child(self._nursery.start(theirs), ours)
        child.begin(claim)
        return child


class Child:
    """A process of runs: its present run's latest progress and end, and its own death.

    ``is_kept`` unless it must not execute another run.
    """

    def __init__(self, born: Born, channel: Connection) -> None:
        self.pid = born.pid
        self.tenant: TenantId | None = None
        self.is_kept = True
        self.progress: Progress | None = None
        self.ended: Ended | None = None
        self.over = asyncio.Event()
        self.dead = asyncio.Event()
        self._descriptor = born.descriptor
        self._channel = channel
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(channel.fileno(), self._receive)
        self._loop.add_reader(self._descriptor, self._bury)

    @property
    def is_reusable(self) -> bool:
        """Whether it has ended its run and waits for another."""
        return self.is_kept and self.ended is not None and self.ended.reusable and not self.dead.is_set()

    def begin(self, claim: Claim) -> bool:
        """Have it execute the claim; False if it has died, and nothing was begun."""
        if select.select([self._descriptor], [], [], 0)[0]:
            return False
        self.tenant, self.progress, self.ended = claim.tenant, None, None
        self.over.clear()
        return self._send(claim)

    def tell_to_stop(self) -> None:
        """Have it finish the run with the best so far; nothing if it is dying."""
        self._send(STOP)

    def has_no_room(self) -> bool:
        """Whether less address space is left to it than one more thread takes for its stack."""
        try:
            limit, _ = resource.prlimit(self.pid, resource.RLIMIT_AS)
            taken = size_and_resident(self.pid)[0]
        except OSError:
            return False
        return limit != resource.RLIM_INFINITY and limit - taken < STACK_BYTES

    async def kill(self) -> None:
        """End the process if it lives; returns when it is dead."""
        if not self.dead.is_set():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._descriptor, signal.SIGKILL)
            await self.dead.wait()

    def _send(self, message: Claim | str) -> bool:
        try:
            self._channel.send(message)
        except OSError:
            return False
        return True

    def _receive(self) -> None:
        """Take in what the child has sent; its end of the channel closes with its death."""
        try:
            while self._channel.poll():
                message: Progress | Ended = self._channel.recv()
                if isinstance(message, Ended):
                    self.ended = message
                    self.over.set()
                else:
                    self.progress = message
        except (EOFError, OSError):
            self._loop.remove_reader(self._channel.fileno())

    def _bury(self) -> None:
        self._loop.remove_reader(self._descriptor)
        self._receive()
        self._loop.remove_reader(self._channel.fileno())
        os.close(self._descriptor)
        self._channel.close()
        self.over.set()
        self.dead.set()
