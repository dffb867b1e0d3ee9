"""PostgreSQL killed and restarted under a worker with a run in the middle."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.persistence.addresses import create_engine
from app.persistence.embedded import EmbeddedPostgres, start_embedded
from app.persistence.registry import PostgresRegistry
from app.persistence.signals import PostgresRunSignals
from app.persistence.store import PostgresStore
from app.services.runs.runs import RunService
from tests.faults.conftest import Bench, WorkerProcess
from tests.faults.hash_chains import HashChains
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio

BLOCKS, UNITS = 10, 40


def end_server(embedded: EmbeddedPostgres, sig: signal.Signals) -> None:
    """Signal the server's first process and wait for its end."""
    postmaster = int((embedded.home / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
    os.kill(postmaster, sig)
    deadline = time.monotonic() + HANG_SECONDS
    while embedded._server.is_running():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGKILL])
async def test_a_run_goes_on_when_the_database_comes_back(short_folder: Path, sig: signal.Signals):
    home = short_folder / secrets.token_hex(4)
    with start_embedded(home) as embedded:
        worker = WorkerProcess(embedded.runtime_url, embedded.master_key)
        engine = create_engine(embedded.runtime_url)
        store = PostgresStore(engine, embedded.master_key, lambda: datetime.now(UTC))
        registry = PostgresRegistry(engine, embedded.master_key, lambda: datetime.now(UTC))
        try:
            tenant = (await registry.add_tenant("tenant"))[0].id
            async with PostgresRunSignals(embedded.runtime_url) as signals:
                bench = Bench(store, tenant, RunService(store, signals))
                run_id = await bench.start_run("restarted", BLOCKS, UNITS)
                await bench.until_done(run_id, BLOCKS * UNITS // 4)
                end_server(embedded, sig)
                await asyncio.sleep(0.5)
                assert embedded.ensure_running()

                result = await bench.service.wait(bench.actor, run_id, HANG_SECONDS)
                document = await bench.service.result(bench.actor, run_id)
                chains = HashChains("", BLOCKS, UNITS)
                assert document["digests"] == [chains.undisturbed(index).hex() for index in range(BLOCKS)]
                assert result.attempt == 1

                # The queue's worker leaves when its connection is lost; it has to be back for this one.
                await bench.result_bytes(await bench.start_run("later", 2, 2))
        finally:
            worker.end()
            await engine.dispose()
