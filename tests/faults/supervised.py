"""A worker without a database, whose children are real."""

from __future__ import annotations

import asyncio
from functools import partial

import psutil

from app.services.resources import Claim
from app.workers.child import Limits
from app.workers.children import ChildProcesses
from app.workers.executor import RunExecutor, Worker
from app.workers.names import RUN
from app.workers.supervisor import BEAT_SECONDS, Supervisor
from tests.faults import entries
from tests.processes import HANG_SECONDS, descendants, name_of
from tests.unit.workers.run_store import MemoryRuns

MIB = 1024**2


class Bench:
    """A worker around an in-memory store, its children real."""

    def __init__(self, entry, memory: int = 1024 * MIB, seconds: float = 60.0, slots: int = 1) -> None:
        self.store = MemoryRuns()
        self.store.add_run()
        self.stop = asyncio.Event()
        self.children = ChildProcesses(partial(entries.always, entry), Limits(memory, seconds), [])
        self.supervisor = Supervisor(self.store, self.children)
        worker = Worker("worker", slots, 15.0, self.stop)
        self.executor = RunExecutor(self.store, self.store, self.supervisor, worker)

    @property
    def run(self):
        return self.store.state.runs["run-1"]

    async def claim(self) -> Claim:
        claim = await self.store.claim("run-1", "worker", 15.0)
        assert claim is not None
        return claim

    def seconds_since(self, beats: int) -> float:
        """Since there were so many heartbeats, by how many there are now: a busy machine makes them later."""
        return (len(self.store.heartbeats) - beats) * BEAT_SECONDS

    async def until(self, condition) -> None:
        async with asyncio.timeout(HANG_SECONDS):
            while not condition():  # noqa: ASYNC110 - the condition looks at other processes
                await asyncio.sleep(0.005)


def children_of_tests() -> list[psutil.Process]:
    """The processes of runs: below the nurseries of this process, not of another tier's database."""
    return [one for one in descendants(psutil.Process()) if name_of(one) == RUN]
