"""What is counted of the runs that wait, by kind, over all tenants and in the metrics."""

from __future__ import annotations

import asyncio

import psycopg
import pytest
from prometheus_client import CollectorRegistry, generate_latest

from app.api.metrics import QueueMetrics
from app.services.resources import WITH_RUNS, Kind, QueuedRuns, RunState
from tests.integration.population import resource

pytestmark = pytest.mark.anyio

FINISHED, QUEUED = 10_000, 40


class Queue:
    """Runs of tenants, made by hand."""

    def __init__(self, store, registry):
        self.store, self.registry = store, registry

    async def ask(self, tenant, kind, name, estimate):
        async with self.store.work(tenant) as work:
            stored, _ = await work.resources.add(resource(kind, name, sha256=f"{name:x<64}"))
            run = await work.runs.create(stored, f"{name:y<64}", estimate)
            await work.commit()
        return run.id

    async def begin(self, run_id):
        return await self.registry.claim(run_id, "worker", 15.0)

    async def end(self, claim):
        async with self.store.work(claim.tenant) as work:
            await work.runs.finish(claim, RunState.SUCCEEDED, result={}, error=None)
            await work.commit()


@pytest.fixture
def queue(store, registry, database_urls):
    with psycopg.connect(database_urls.admin, autocommit=True) as admin:
        admin.execute("UPDATE runs SET state = 'cancelled' WHERE state IN ('queued', 'running')")
    return Queue(store, registry)


async def shown(count):
    """The lines of a scrape, asked for from a thread as Prometheus's are."""
    registry = CollectorRegistry()
    registry.register(QueueMetrics(count, asyncio.get_running_loop()))
    text = await asyncio.to_thread(lambda: generate_latest(registry).decode())
    return [line for line in text.splitlines() if not line.startswith("#")]


async def test_runs_of_all_tenants_are_counted_by_kind(queue, registry, tenant, second_tenant, clock):
    assert await registry.run_queue() == []
    await queue.ask(tenant, Kind.FRONTIER, "oldest", {"seconds": 20.0, "bytes": 1})
    clock.advance(30)
    await queue.ask(second_tenant, Kind.FRONTIER, "younger", {"seconds": 1.5, "bytes": 1})
    begun = await queue.begin(await queue.ask(tenant, Kind.FRONTIER, "begun", {"seconds": 700.0}))
    await queue.ask(
        second_tenant, Kind.DRAW, "drawn", {}
    )  # whose estimate would tell how many records there are
    ended = await queue.begin(await queue.ask(tenant, Kind.ASSESSMENT, "ended", {"seconds": 3.0}))
    await queue.end(ended)
    clock.advance(12)
    expected = {QueuedRuns(Kind.FRONTIER, 2, 1, 42.0, 21.5), QueuedRuns(Kind.DRAW, 1, 0, 12.0, 0.0)}
    assert set(await registry.run_queue()) == expected
    await queue.end(begun)
    found = {own.kind: own for own in await registry.run_queue()}
    assert (found[Kind.FRONTIER].queued, found[Kind.FRONTIER].running) == (2, 0)


async def test_a_run_that_is_given_back_waits_since_it_was_asked_for(queue, registry, store, tenant, clock):
    claim = await queue.begin(await queue.ask(tenant, Kind.MEASUREMENT, "given back", {"seconds": 2.0}))
    clock.advance(60)
    async with store.work(tenant) as work:
        await work.runs.release(claim, spend_attempt=True)
        await work.commit()
    assert await registry.run_queue() == [QueuedRuns(Kind.MEASUREMENT, 1, 0, 60.0, 2.0)]


async def test_a_clock_that_is_behind_makes_no_negative_age(queue, registry, tenant, clock):
    await queue.ask(tenant, Kind.MEASUREMENT, "asked by a clock before", {})
    clock.advance(-5)
    assert await registry.run_queue() == [QueuedRuns(Kind.MEASUREMENT, 1)]


async def test_a_scrape_shows_every_kind_and_no_tenant(queue, registry, tenant, clock):
    await queue.ask(tenant, Kind.OPTIMISATION, "Zebediah", {"seconds": 5.0})
    clock.advance(2)
    lines = await shown(registry.run_queue)
    assert 'privacy_risk_runs{kind="optimisation",state="queued"} 1.0' in lines
    assert 'privacy_risk_runs{kind="optimisation",state="running"} 0.0' in lines
    assert 'privacy_risk_runs_oldest_queued_seconds{kind="optimisation"} 2.0' in lines
    assert 'privacy_risk_runs_queued_work_seconds{kind="optimisation"} 5.0' in lines
    assert len(lines) == 4 * len(WITH_RUNS)
    assert sum(float(line.split()[-1]) for line in lines) == 1 + 2 + 5
    assert tenant not in "".join(lines)
    assert "Zebediah" not in "".join(lines)


async def test_while_the_database_does_not_answer_a_scrape_shows_no_queue(monkeypatch):
    async def broken():
        raise OSError("Zebediah")

    async def silent():
        await asyncio.sleep(3600)

    monkeypatch.setattr("app.api.metrics.COUNTING_SECONDS", 0.05)
    assert await shown(broken) == []
    assert await shown(silent) == []


async def test_runs_that_have_ended_are_not_read(postgres):
    """By the plan of the function's statement among many runs that have ended."""
    name = postgres.clone()
    async with await psycopg.AsyncConnection.connect(postgres.urls(name).admin) as own:
        for statement in (
            "INSERT INTO tenants SELECT gen_random_uuid(), n::text, now() FROM generate_series(1, 4) n",
            "INSERT INTO resources (tenant_id, id, kind, name, sha256, summary, document, created_at)"
            " SELECT id, 'r' || n, 'rule', 'r' || n, '', '{}', '', now()"
            " FROM tenants, generate_series(1, 500) n",
            "INSERT INTO runs (tenant_id, id, resource_id, state, input_sha256, estimate, created_at)"
            " SELECT id, id::text || n, 'r' || (n % 500 + 1),"
            f" CASE WHEN n <= {QUEUED // 4} THEN 'queued' ELSE 'succeeded' END, '', '{{}}', now()"
            f" FROM tenants, generate_series(1, {(FINISHED + QUEUED) // 4}) n",
            "ANALYZE",
        ):
            await own.execute(statement)
        found = await own.execute("SELECT prosrc FROM pg_proc WHERE proname = 'lookup_run_queue'")
        ((source,),) = await found.fetchall()
        explained = await own.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {source.replace('FROM at ', 'FROM now() ')}"
        )
        ((plan,),) = await explained.fetchall()
    postgres.drop(name)
    assert read_from("runs", plan[0]["Plan"]) == QUEUED


def read_from(table, plan):
    """How many rows of a table an executed plan has read."""
    own = plan["Actual Rows"] * plan["Actual Loops"] + plan.get("Rows Removed by Filter", 0)
    return (own if plan.get("Relation Name") == table else 0) + sum(
        read_from(table, part) for part in plan.get("Plans", ())
    )
