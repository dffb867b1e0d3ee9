"""A worker whose death is seen: another takes its place, and its runs are taken up without waiting."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta

import psutil
import pytest

from app.services.resources import Claim
from app.workers.names import WORKER, worker_name
from tests.conftest import DatabaseUrls
from tests.faults.conftest import ROOT
from tests.processes import HANG_SECONDS, is_alive, name_of, ready_workers, until

pytestmark = pytest.mark.anyio

SILENT_SECONDS = HANG_SECONDS / 2
"""Longer than a busy machine takes to start a worker."""


@pytest.fixture
def keeper(database_urls: DatabaseUrls, master_key) -> Iterator[psutil.Popen]:
    module = "tests.faults.kept_worker_process"
    told = [database_urls.runtime, master_key.to_text(), str(SILENT_SECONDS)]
    kept = psutil.Popen([sys.executable, "-m", module, *told], cwd=ROOT)
    try:
        yield kept
    finally:
        kept.terminate()
        try:
            assert kept.wait(HANG_SECONDS) == 0
        except subprocess.TimeoutExpired:
            kept.kill()
            raise


async def test_a_worker_that_is_seen_to_die_is_replaced_and_its_run_taken_up_before_any_silence(
    bench, registry, keeper
):
    until(lambda: len(ready_workers(keeper)) == 1)
    (first,) = ready_workers(keeper)
    assert name_of(first) == WORKER
    # A run that the worker has, whose heartbeat is fresh; and one of a worker that lives elsewhere.
    held, other = [await bench.start_run(name, 2, 2, enqueue=False) for name in ("held", "elsewhere")]
    claims = [
        await registry.claim(held, worker_name(first.pid), SILENT_SECONDS),
        await registry.claim(other, "elsewhere:1", SILENT_SECONDS),
    ]
    assert all(isinstance(claim, Claim) for claim in claims)
    began = (await bench.run(held)).heartbeat_at
    first.kill()
    taken = await bench.until(held, lambda run: run.attempt == 2 or run.state.is_final)
    events = [event async for event in bench.service.events(bench.actor, held)]
    again = next(event.at for event in events if event.data.get("attempt") == 2)
    assert again - began < timedelta(seconds=SILENT_SECONDS), taken
    assert (await bench.run(other)).attempt == 1
    assert not is_alive(first)
    until(lambda: len(ready_workers(keeper)) == 1)
    assert ready_workers(keeper) != [first]
