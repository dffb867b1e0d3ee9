"""Runs in the store: fenced, numbered, cancelled, resumed, deduplicated, told."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from app.domain.errors import Conflict, NotFound
from app.persistence.signals import PostgresRunSignals
from app.services.ports import Fenced
from app.services.resources import Kind, LostRun, Progress, RunState, Wishes
from tests.integration.population import resource
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio

SILENT = 15.0
HASH = "c" * 64


class Desk:
    """Does one thing per committed unit of work."""

    def __init__(self, store, registry, tenant):
        self.store, self.registry, self.tenant = store, registry, tenant

    async def do(self, action):
        async with self.store.work(self.tenant) as work:
            answer = await action(work)
            await work.commit()
        return answer

    async def run(self, name="optimum", input_sha256=HASH):
        async def create(work):
            stored, _ = await work.resources.add(resource(Kind.OPTIMISATION, name, sha256=f"{name:x<64}"))
            run = await work.runs.create(stored, input_sha256, {"seconds": 3.0})
            await work.enqueue(run.id)
            return run

        return await self.do(create)

    async def claim(self, run_id, silent=SILENT, worker="worker"):
        return await self.registry.claim(run_id, worker, silent)

    async def finish(self, claim, state=RunState.SUCCEEDED, result=None, error=None, reproducible=True):
        return await self.do(
            lambda work: work.runs.finish(claim, state, result=result, error=error, reproducible=reproducible)
        )

    async def events(self, run_id, after=0):
        return await self.do(lambda work: work.runs.events_after(run_id, after, 1000))


@pytest.fixture
def desk(store, registry, tenant):
    return Desk(store, registry, tenant)


async def test_a_run_goes_from_queued_over_running_to_succeeded(desk, clock):
    run = await desk.run()
    assert (run.state, run.attempt, run.heartbeat_at, run.created_at) == (RunState.QUEUED, 0, None, clock.now)
    assert (run.resource_kind, run.resource_name) == (Kind.OPTIMISATION, "optimum")
    clock.advance(2)
    claim = await desk.claim(run.id)
    assert claim.attempt == 1
    assert claim.tenant == desk.tenant
    beat = await desk.do(lambda work: work.runs.heartbeat(claim, Progress("computing", 3, 10, 1.5)))
    assert beat == Wishes()
    running = await desk.do(lambda work: work.runs.get(run.id))
    assert (running.state, running.started_at) == (RunState.RUNNING, clock.now)
    assert running.progress == Progress("computing", 3, 10, 1.5)
    clock.advance(2)
    done = await desk.finish(claim, result={"risk": 0.25, "levels": [1, 2]})
    assert (done.state, done.finished_at) == (RunState.SUCCEEDED, clock.now)
    assert await desk.do(lambda work: work.runs.result(run.id)) == {"risk": 0.25, "levels": [1, 2]}


async def test_a_running_run_is_not_given_to_a_second_worker_until_its_worker_is_silent(desk):
    run = await desk.run()
    claims = await asyncio.gather(*(desk.claim(run.id, worker=f"worker {n}") for n in range(4)))
    assert sum(claim is not None for claim in claims) == 1
    assert await desk.claim(run.id, silent=SILENT) is None
    assert (await desk.claim(run.id, silent=0)).attempt == 2


async def test_a_revived_worker_can_write_nothing_over_a_newer_attempt(desk):
    run = await desk.run()
    old = await desk.claim(run.id)
    new = await desk.claim(run.id, silent=0)
    for write in (
        lambda work: work.runs.heartbeat(old, Progress("computing", 9, 10)),
        lambda work: work.runs.save_block(old, 0, b"old"),
        lambda work: work.runs.release(old, spend_attempt=True),
        lambda work: work.runs.finish(old, RunState.SUCCEEDED, result={"risk": 9}, error=None),
    ):
        with pytest.raises(Fenced):
            await desk.do(write)
    await desk.finish(new, result={"risk": 1})
    assert await desk.do(lambda work: work.runs.result(run.id)) == {"risk": 1}
    with pytest.raises(Fenced):
        await desk.finish(new, result={"risk": 2})


async def test_blocks_outlive_an_attempt_and_end_with_the_run(desk):
    run = await desk.run()
    first = await desk.claim(run.id)
    await desk.do(lambda work: work.runs.save_block(first, 0, b"zero"))
    await desk.do(lambda work: work.runs.save_block(first, 2, bytes(range(256)) * 1000))
    await desk.do(lambda work: work.runs.save_block(first, 0, b"zero again"))
    second = await desk.claim(run.id, silent=0)
    blocks = await desk.do(lambda work: work.runs.blocks(run.id))
    assert blocks == {0: b"zero again", 2: bytes(range(256)) * 1000}
    await desk.finish(second)
    assert await desk.do(lambda work: work.runs.blocks(run.id)) == {}


@pytest.mark.parametrize(("spend", "following"), [(True, 2), (False, 1)])
async def test_a_released_run_is_queued_again_and_its_claim_ends(desk, spend, following):
    run = await desk.run()
    claim = await desk.claim(run.id)
    await desk.do(lambda work: work.runs.save_block(claim, 0, b"zero"))
    await desk.do(lambda work: work.runs.release(claim, spend_attempt=spend))
    with pytest.raises(Fenced):
        await desk.do(lambda work: work.runs.heartbeat(claim, None))
    assert await desk.do(lambda work: work.runs.blocks(run.id)) == {0: b"zero"}
    assert (await desk.claim(run.id)).attempt == following


async def test_cancelling_ends_a_queued_run_flags_a_running_one_and_refuses_a_final_one(desk):
    queued = await desk.run()
    assert (await desk.do(lambda work: work.runs.request_cancel(queued.id))).state is RunState.CANCELLED
    assert await desk.claim(queued.id) is None
    running = await desk.run("second", "d" * 64)
    claim = await desk.claim(running.id)
    assert (await desk.do(lambda work: work.runs.request_cancel(running.id))).cancel_requested
    assert (await desk.do(lambda work: work.runs.heartbeat(claim, None))).cancel
    await desk.finish(claim, RunState.CANCELLED)
    with pytest.raises(Conflict, match="cancelled"):
        await desk.do(lambda work: work.runs.request_cancel(running.id))
    with pytest.raises(NotFound):
        await desk.do(lambda work: work.runs.result(running.id))


async def test_a_stop_is_told_to_the_worker_of_every_attempt_until_the_run_is_final(desk):
    run = await desk.run()
    assert await desk.do(lambda work: work.runs.request_stop(run.id)) == (
        await desk.do(lambda work: work.runs.get(run.id)),
        True,
    )
    claim = await desk.claim(run.id)
    assert await desk.do(lambda work: work.runs.heartbeat(claim, None)) == Wishes(stop=True)
    claim = await desk.claim(run.id, silent=0)
    stopped, is_news = await desk.do(lambda work: work.runs.request_stop(run.id))
    assert (stopped.state, stopped.attempt, stopped.stop_requested, is_news) == (
        RunState.RUNNING,
        2,
        True,
        False,
    )
    await desk.finish(claim, result={"risk": 0.5})
    assert not (await desk.do(lambda work: work.runs.request_stop(run.id)))[1]
    cancelled = await desk.run("second", "d" * 64)
    await desk.do(lambda work: work.runs.request_cancel(cancelled.id))
    with pytest.raises(Conflict, match="nothing to end with"):
        await desk.do(lambda work: work.runs.request_stop(cancelled.id))


async def test_a_result_that_is_not_reproducible_answers_its_own_run_and_is_erased_with_it(
    desk, database_urls
):
    run = await desk.run("first")
    await desk.finish(await desk.claim(run.id), result={"risk": 0.5}, reproducible=False)
    assert await desk.do(lambda work: work.runs.result(run.id)) == {"risk": 0.5}
    assert await desk.do(lambda work: work.results.find("optimisation", HASH)) is None
    assert (await desk.run("second")).state is RunState.QUEUED
    with psycopg.connect(database_urls.admin) as connection:
        alone = "SELECT count(*) FROM results WHERE input_sha256 IS NULL"
        assert connection.execute(alone).fetchone() == (1,)
        connection.commit()
        await desk.do(lambda work: work.resources.delete(Kind.OPTIMISATION, "first"))
        assert connection.execute(alone).fetchone() == (0,)


async def test_events_are_numbered_without_gaps_however_many_write_at_once(desk):
    run = await desk.run()
    claim = await desk.claim(run.id)
    beats = (
        desk.do(lambda work, n=n: work.runs.heartbeat(claim, Progress("computing", n, 20))) for n in range(8)
    )
    await asyncio.gather(*beats)
    with pytest.raises(RuntimeError):
        await desk.do(lambda work: rolled_back(work, claim))
    await desk.finish(claim)
    events = await desk.events(run.id)
    assert [event.number for event in events] == list(range(1, 12))
    assert [event.data["state"] for event in events if event.type == "state"] == [
        "queued",
        "running",
        "succeeded",
    ]
    assert [event.number for event in await desk.events(run.id, after=9)] == [10, 11]


async def rolled_back(work, claim):
    await work.runs.heartbeat(claim, Progress("computing", 9, 20))
    raise RuntimeError


async def test_the_same_question_is_answered_by_the_stored_result(desk):
    first = await desk.run("first")
    await desk.finish(await desk.claim(first.id), result={"risk": 0.5})
    second = await desk.run("second")
    assert second.state is RunState.SUCCEEDED
    assert await desk.do(lambda work: work.runs.result(second.id)) == {"risk": 0.5}
    assert await desk.do(lambda work: work.results.find("optimisation", HASH)) == {"risk": 0.5}


async def test_a_resource_with_a_live_run_is_in_use_and_takes_final_runs_and_results_with_it(desk):
    run = await desk.run()
    with pytest.raises(Conflict) as caught:
        await desk.do(lambda work: work.resources.delete(Kind.OPTIMISATION, "optimum"))
    assert caught.value.details["users"] == [{"kind": "run", "name": run.id}]
    await desk.finish(await desk.claim(run.id), result={"risk": 0.5})
    await desk.do(lambda work: work.resources.delete(Kind.OPTIMISATION, "optimum"))
    with pytest.raises(NotFound):
        await desk.do(lambda work: work.runs.get(run.id))
    assert await desk.do(lambda work: work.results.find("optimisation", HASH)) is None


async def test_a_result_that_another_run_leads_to_stays(desk):
    first, second = await desk.run("first"), await desk.run("second")
    await desk.finish(await desk.claim(first.id), result={"risk": 0.5})
    await desk.finish(await desk.claim(second.id), result={"risk": 0.5})
    await desk.do(lambda work: work.resources.delete(Kind.OPTIMISATION, "first"))
    assert await desk.do(lambda work: work.runs.result(second.id)) == {"risk": 0.5}


async def test_runs_are_listed_by_resource_and_state_newest_first(desk):
    made = [await desk.run(f"optimum {number}", f"{number}" * 64) for number in range(5)]
    await desk.claim(made[3].id)
    ids, cursor = [], None
    while True:
        page, cursor = await desk.do(
            lambda work, at=cursor: work.runs.list(resource_id=None, state=None, limit=2, cursor=at)
        )
        ids += [run.id for run in page]
        if cursor is None:
            break
    assert ids == [run.id for run in made[::-1]]
    running, _ = await desk.do(
        lambda work: work.runs.list(resource_id=None, state=RunState.RUNNING, limit=9, cursor=None)
    )
    assert [run.id for run in running] == [made[3].id]
    of_one, _ = await desk.do(
        lambda work: work.runs.list(resource_id=made[1].resource_id, state=None, limit=9, cursor=None)
    )
    assert [run.id for run in of_one] == [made[1].id]


async def test_a_job_is_queued_with_its_run_or_not_at_all(desk, database_urls):
    run = await desk.run()

    async def enqueue_and_fail(work):
        await work.enqueue("0" * 32)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        await desk.do(enqueue_and_fail)
    await desk.do(lambda work: work.enqueue(run.id))  # waits already: nothing is added
    with psycopg.connect(database_urls.runtime) as connection:
        jobs = connection.execute(
            "SELECT task_name, queue_name, queueing_lock, args FROM procrastinate_jobs"
            " WHERE args ->> 'run_id' IN (%s, %s)",
            [run.id, "0" * 32],
        ).fetchall()
    assert jobs == [("execute_run", "runs", run.id, {"run_id": run.id})]


async def test_lost_runs_are_the_silent_and_the_jobless(desk, registry, database_urls):
    waiting, silent, final = [await desk.run(f"optimum {n}", f"{n}" * 64) for n in range(3)]
    await desk.claim(silent.id)
    await desk.finish(await desk.claim(final.id), RunState.FAILED, error={"code": "memory-limit"})
    lost = {run.run_id: run.attempt for run in await registry.lost_runs(0)}
    assert lost[silent.id] == 1
    assert not {waiting.id, final.id} & lost.keys()
    assert LostRun(silent.id, 1) not in await registry.lost_runs(SILENT)
    with psycopg.connect(database_urls.runtime) as connection:
        connection.execute("DELETE FROM procrastinate_jobs WHERE args ->> 'run_id' = %s", [waiting.id])
    assert LostRun(waiting.id, 0) in await registry.lost_runs(0)
    assert LostRun(waiting.id, 0) not in await registry.lost_runs(SILENT)


async def test_a_lost_run_is_ended_once_and_unknown_runs_are_no_trouble(desk, registry):
    run = await desk.run()
    await registry.fail_lost(LostRun(run.id, 3), {"code": "of another attempt"})
    await registry.fail_lost(LostRun(run.id, 0), {"code": "worker-lost"})
    await registry.fail_lost(LostRun(run.id, 0), {"code": "other"})
    await registry.fail_lost(LostRun("0" * 32, 0), {"code": "other"})
    assert await registry.claim("0" * 32, "worker", 0) is None
    failed = await desk.do(lambda work: work.runs.get(run.id))
    assert (failed.state, failed.error) == (RunState.FAILED, {"code": "worker-lost"})


async def test_news_of_a_run_wake_its_waiters_and_no_others(desk, database_urls):
    run, other = await desk.run(), await desk.run("other", "d" * 64)
    async with PostgresRunSignals(database_urls.runtime) as signals:
        waiting = [asyncio.create_task(signals.wait(run.id, 2 * HANG_SECONDS)) for _ in range(3)]
        undisturbed = asyncio.create_task(signals.wait(other.id, 2 * HANG_SECONDS))
        await asyncio.sleep(0.05)
        await desk.claim(run.id)
        async with asyncio.timeout(HANG_SECONDS):
            await asyncio.gather(*waiting)
        assert not undisturbed.done()
        undisturbed.cancel()


@pytest.mark.deep
async def test_signals_come_back_after_their_connection_is_lost(desk, database_urls):
    run = await desk.run()
    async with PostgresRunSignals(database_urls.runtime) as signals:
        with psycopg.connect(database_urls.admin, autocommit=True) as superuser:
            superuser.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
            )
        async with asyncio.timeout(HANG_SECONDS):
            await signals.wait(run.id, 2 * HANG_SECONDS)  # woken by the return of the connection
            waiting = asyncio.create_task(signals.wait(run.id, 2 * HANG_SECONDS))
            await asyncio.sleep(0.05)
            await desk.claim(run.id)
            await waiting
