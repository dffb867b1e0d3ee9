"""Runs whose children, workers and queue are taken away in the middle, on a real database."""

from __future__ import annotations

import asyncio
import json
import signal
import time
from dataclasses import replace
from functools import cache

import psycopg
import pytest

from app.persistence.signals import DELETIONS_CHANNEL
from app.services.fingerprints import canonical_json as canonical
from app.services.resources import Kind, NewResource, RunState
from app.services.runs.kept_blocks import HEADER, STATE_NUMBER
from app.workers.executor import MOST_ATTEMPTS
from tests.faults.hash_chains import HashChains
from tests.faults.least_losses import LeastLoss, least_loss, steps_in
from tests.processes import HANG_SECONDS, is_alive, seconds_until_gone, until

pytestmark = pytest.mark.anyio

BLOCKS, UNITS = 10, 32
TOTAL = BLOCKS * UNITS


@cache
def undisturbed(blocks: int = BLOCKS, units: int = UNITS) -> bytes:
    """The result computed without any run."""
    work = HashChains("", blocks, units)
    finished = {index: work.undisturbed(index) for index in range(blocks)}
    return canonical(work.conclude(finished).result)


async def test_killing_the_child_then_the_worker_changes_no_byte_of_the_result(bench, start_worker):
    first = start_worker()
    quiet_id = await bench.start_run("quiet", 2, 8)
    quiet = await bench.result_bytes(quiet_id)
    run_id = await bench.start_run("disturbed", BLOCKS, UNITS)

    await bench.until_done(run_id, TOTAL // 5)
    (child,) = first.children()
    child.kill()
    await bench.until(run_id, lambda run: run.attempt == 2)

    await bench.until_done(run_id, TOTAL // 2)
    (child,) = first.children()
    first.process.kill()
    assert seconds_until_gone(child) <= 1.0

    start_worker()
    disturbed = await bench.result_bytes(run_id)
    assert (await bench.run(run_id)).attempt == 3
    async with bench.store.work(bench.tenant) as work:
        rule = await work.resources.get(Kind.RULE, "disturbed")
    assert quiet == undisturbed(2, 8)
    assert disturbed == undisturbed()
    assert canonical(rule.document) == disturbed


async def test_a_search_for_the_least_loss_goes_on_from_its_state_when_its_process_is_killed(
    bench, start_worker
):
    # Before the run, which would not wait for it.
    whole = LeastLoss(1, step_seconds=0.0)
    block = whole.run_block(0, lambda _: None)
    worker = start_worker()
    run_id = await bench.start(least_loss("killed", seed=1))

    await bench.until_done(run_id, whole.steps // 2)
    async with asyncio.timeout(HANG_SECONDS):
        while STATE_NUMBER not in (saved := await saved_blocks(bench, run_id)):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
    (child,) = worker.children()
    child.kill()

    found = json.loads(await bench.result_bytes(run_id))
    assert (await bench.run(run_id)).attempt == 2
    assert found["block"] == block.hex()
    kept = steps_in(saved[STATE_NUMBER][HEADER.size :])
    assert kept > 0
    assert 0 < found["steps"] <= whole.steps - kept


async def saved_blocks(bench, run_id: str) -> dict[int, bytes]:
    async with bench.store.work(bench.tenant) as work:
        return await work.runs.blocks(run_id)


async def test_a_killed_worker_loses_no_finished_block(bench, start_worker):
    worker = start_worker()
    run_id = await bench.start_run("blocks", BLOCKS, UNITS)
    await bench.until_done(run_id, TOTAL // 2)
    worker.process.kill()
    saved = await saved_blocks(bench, run_id)
    assert len(saved) >= BLOCKS // 2 - 1
    start_worker()
    await bench.result_bytes(run_id)
    stages = [event.data async for event in bench.service.events(bench.actor, run_id)]
    done = [data["done"] for data in stages if "done" in data]
    assert done == sorted(done)


async def test_a_worker_that_comes_back_from_a_pause_overwrites_nothing(bench, start_worker):
    # Its child ends with its run, whether that is refused or had an end when it was.
    paused = start_worker(idle_seconds=0.0)
    run_id = await bench.start_run("paused", BLOCKS, UNITS)
    await bench.until_done(run_id, TOTAL // 5)
    (child,) = paused.children()
    child.suspend()
    paused.process.suspend()

    start_worker()
    await bench.until(run_id, lambda run: run.attempt == 2)
    child.resume()
    paused.process.resume()
    async with asyncio.timeout(HANG_SECONDS):
        while is_alive(child):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)

    assert await bench.result_bytes(run_id) == undisturbed()
    assert (await bench.run(run_id)).attempt == 2
    events = [event async for event in bench.service.events(bench.actor, run_id)]
    assert events[-1].data["state"] == "succeeded"
    assert [event.data["attempt"] for event in events if "attempt" in event.data] == [1, 2]


async def test_a_cancel_takes_at_most_a_second_and_leaves_no_child(bench, start_worker):
    worker = start_worker()
    run_id = await bench.start_run("cancelled", BLOCKS, UNITS)
    await bench.until_done(run_id, 1)
    (child,) = worker.children()
    await bench.service.cancel(bench.actor, run_id)
    assert seconds_until_gone(child) <= 1.0
    run = await bench.service.wait(bench.actor, run_id, HANG_SECONDS)
    assert run.state is RunState.CANCELLED
    async with bench.store.work(bench.tenant) as work:
        assert await work.runs.blocks(run_id) == {}


async def test_a_stop_ends_with_the_finished_blocks_though_its_worker_is_killed(bench, start_worker):
    worker = start_worker()
    run_id = await bench.start_run("stopped", BLOCKS, UNITS)
    await bench.until_done(run_id, UNITS + 1)  # the first block is kept before the second begins
    worker.process.kill()
    await bench.service.stop(bench.actor, run_id)
    async with bench.store.work(bench.tenant) as work:
        saved = await work.runs.blocks(run_id)

    start_worker()
    found = json.loads(await bench.result_bytes(run_id))
    assert found["digests"] == json.loads(undisturbed())["digests"][: len(saved)]
    assert 0 < len(saved) < BLOCKS
    assert (await bench.run(run_id)).attempt == 2

    # The same question is asked again: what was stopped does not answer it, and need not be computed here.
    async with bench.store.work(bench.tenant) as work:
        (resource,) = (
            await work.resources.list(Kind.OPTIMISATION, name="stopped", limit=1, cursor=None)
        ).items
        assert (await work.runs.create(resource, resource.sha256, {})).state is RunState.QUEUED


async def test_a_worker_asked_to_stop_returns_its_run_unblamed(bench, start_worker):
    worker = start_worker()
    run_id = await bench.start_run("returned", BLOCKS, UNITS)
    await bench.until_done(run_id, TOTAL // 5)
    asked = time.monotonic()
    worker.process.send_signal(signal.SIGTERM)
    assert worker.process.wait(HANG_SECONDS) == 0
    assert time.monotonic() - asked < 10  # as is promised
    run = await bench.run(run_id)
    assert (run.state, run.attempt) == (RunState.QUEUED, 0)

    start_worker()
    assert await bench.result_bytes(run_id) == undisturbed()
    assert (await bench.run(run_id)).attempt == 1


async def test_a_run_without_a_job_is_found(bench, start_worker):
    run_id = await bench.start_run("jobless", 2, 2, enqueue=False)
    start_worker()
    await bench.result_bytes(run_id)


async def test_a_run_that_takes_every_worker_with_it_fails_and_says_so(bench, registry, start_worker):
    run_id = await bench.start_run("lost", 2, 2, enqueue=False)
    for _ in range(MOST_ATTEMPTS):
        claim = await registry.claim(run_id, "dead worker", 0.0)
        assert claim is not None
    start_worker()
    run = await bench.until(run_id, lambda run: run.state.is_final)
    assert run.state is RunState.FAILED
    assert run.error["code"] == "worker-lost"


async def test_progress_is_told_often_never_backwards_and_can_be_resumed(bench, start_worker):
    start_worker()
    run_id = await bench.start_run("told", BLOCKS, UNITS)
    events = [event async for event in bench.service.events(bench.actor, run_id)]
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    progress = [event.data for event in events if event.type == "progress"]
    done = [data["done"] for data in progress]
    assert done == sorted(done)
    assert len(set(done)) >= 5
    assert all(data["stage"] and data["total"] in (1, TOTAL) for data in progress)
    assert any(data["rate"] for data in progress)
    half = len(events) // 2
    rest = [event async for event in bench.service.events(bench.actor, run_id, after=half)]
    assert rest == events[half:]


def worker_that_hears(start_worker, database_urls):
    """A worker that is told of deletions by now: it keeps no process of before, which may have missed one."""
    hearing = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND backend_start > %s"
        f" AND query = 'LISTEN {DELETIONS_CHANNEL}'"
    )
    with psycopg.connect(database_urls.admin, autocommit=True) as connection:
        before = connection.execute("SELECT clock_timestamp()").fetchone()
        worker = start_worker()
        until(lambda: connection.execute(hearing, before).fetchone() == (1,))
    return worker


async def test_deleted_data_leave_no_process_that_has_loaded_them(bench, start_worker, database_urls):
    worker = worker_that_hears(start_worker, database_urls)
    hierarchy = NewResource(Kind.HIERARCHY, "held", "b" * 64, {}, {})
    async with bench.store.work(bench.tenant) as work:
        await work.resources.add(hierarchy)
        await work.commit()
    assert await bench.result_bytes(await bench.start_run("first", 2, 8)) == undisturbed(2, 8)
    (child,) = worker.children()
    assert await bench.result_bytes(await bench.start_run("second", 2, 9)) == undisturbed(2, 9)
    assert worker.children() == [child]
    async with bench.store.work(bench.tenant) as work:
        await work.resources.delete(Kind.HIERARCHY, "held")
        await work.commit()
    async with asyncio.timeout(HANG_SECONDS):
        while is_alive(child):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
    assert await bench.result_bytes(await bench.start_run("third", 2, 10)) == undisturbed(2, 10)


async def test_a_process_that_waits_for_its_next_run_ends_with_its_worker(bench, start_worker, database_urls):
    worker = worker_that_hears(start_worker, database_urls)
    await bench.result_bytes(await bench.start_run("only", 2, 8))
    (child,) = worker.children()
    worker.process.kill()
    async with asyncio.timeout(HANG_SECONDS):
        while is_alive(child):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)


async def test_a_run_behind_thirty_of_another_tenant_is_the_second_to_begin(bench, registry, start_worker):
    """And none of them is begun out of turn, or twice."""
    newcomer, _ = await registry.add_tenant("newcomer")
    other = replace(bench, tenant=newcomer.id)
    theirs = [await bench.start_run(f"crowd-{number}", 1, 1) for number in range(30)]
    own = await other.start_run("small", 1, 1)
    start_worker()
    await other.result_bytes(own)
    begun = (await other.run(own)).started_at
    await bench.result_bytes(theirs[-1])
    crowd = [await bench.run(run_id) for run_id in theirs]
    assert sum(run.started_at < begun for run in crowd) == 1
    assert [run.started_at for run in crowd] == sorted(run.started_at for run in crowd)
    assert {run.attempt for run in crowd} == {1}
