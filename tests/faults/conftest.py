"""Workers as real processes, and one tenant's view of what they do."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from app.persistence.encryption import MasterKey
from app.persistence.signals import PostgresRunSignals
from app.persistence.store import PostgresStore
from app.services.fingerprints import canonical_json
from app.services.resources import Actor, NewResource, Run, RunState, Scope, TenantId
from app.services.runs.runs import RunService
from app.workers.children import IDLE_SECONDS
from tests.conftest import DatabaseUrls
from tests.faults.hash_chains import chains
from tests.processes import HANG_SECONDS, grandchildren

ROOT = Path(__file__).parents[2]
SILENT_SECONDS = 2.0


class WorkerProcess:
    """A worker, and the children that execute its runs, which are kept for so long when they are idle."""

    def __init__(self, url: str, key: MasterKey, *cluster: str, idle_seconds: float = IDLE_SECONDS) -> None:
        self.process = psutil.Popen(
            [
                sys.executable, "-m", "tests.faults.worker_process",
                url, key.to_text(), str(SILENT_SECONDS), str(idle_seconds), *cluster,
            ],
            cwd=ROOT,
        )  # fmt: skip

    def children(self) -> list[psutil.Process]:
        """The processes of runs: below the nursery, which is this process's child."""
        return grandchildren(self.process)

    def end(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            self.process.resume()
            self.process.terminate()
        try:
            self.process.wait(HANG_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


@dataclass
class Bench:
    """One tenant's runs, and what the tests wait for."""

    store: PostgresStore
    tenant: TenantId
    service: RunService

    @property
    def actor(self) -> Actor:
        return Actor(self.tenant, "key", frozenset(Scope))

    async def start_run(self, name: str, blocks: int, units_per_block: int, *, enqueue: bool = True) -> str:
        return await self.start(chains(name, blocks, units_per_block), enqueue=enqueue)

    async def start(self, asked: NewResource, *, enqueue: bool = True) -> str:
        async with self.store.work(self.tenant) as work:
            resource, _ = await work.resources.add(asked)
            run = await work.runs.create(resource, resource.sha256, {})
            if enqueue:
                await work.enqueue(run.id)
            await work.commit()
        return run.id

    async def run(self, run_id: str) -> Run:
        return await self.service.get(self.actor, run_id)

    async def until(
        self, run_id: str, condition: Callable[[Run], bool], seconds: float = HANG_SECONDS
    ) -> Run:
        deadline = time.monotonic() + seconds
        while not condition(run := await self.run(run_id)):
            assert time.monotonic() < deadline, f"still waiting; the run is {run}"
            assert not run.state.is_final, f"it will not come to that; the run is {run}"
            await asyncio.sleep(0.02)
        return run

    async def until_done(self, run_id: str, units: int) -> Run:
        """Until the run has told that so many units are done, and still runs."""
        run = await self.until(run_id, lambda run: run.progress is not None and run.progress.done >= units)
        assert run.state is RunState.RUNNING, f"too late to disturb the run: {run}"
        return run

    async def result_bytes(self, run_id: str) -> bytes:
        run = await self.until(run_id, lambda run: run.state.is_final)
        assert run.state is RunState.SUCCEEDED, f"the run ended as {run}"
        return canonical_json(await self.service.result(self.actor, run_id))


@pytest.fixture(scope="module")
def file_database(own_database: str) -> str:
    return own_database


@pytest.fixture
async def bench(store: PostgresStore, tenant: TenantId, database_urls: DatabaseUrls) -> AsyncIterator[Bench]:
    async with PostgresRunSignals(database_urls.runtime) as signals:
        yield Bench(store, tenant, RunService(store, signals))


@pytest.fixture
def start_worker(
    database_urls: DatabaseUrls, master_key: MasterKey
) -> Iterator[Callable[..., WorkerProcess]]:
    """Start workers, perhaps of a cluster at an address; they are ended with the test."""
    started: list[WorkerProcess] = []

    def start(*cluster: str, **options: float) -> WorkerProcess:
        started.append(WorkerProcess(database_urls.runtime, master_key, *cluster, **options))
        return started[-1]

    yield start
    for worker in started:
        worker.end()
