"""In which order the queue hands out the runs of several tenants."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from app.persistence.addresses import libpq_url
from app.services.resources import Kind, RunState
from tests.integration.population import resource

pytestmark = pytest.mark.anyio

FETCH = "SELECT args ->> 'run_id' FROM procrastinate_fetch_job_v2(ARRAY['runs'], %s)"


class Line:
    """Runs of tenants that wait, and workers that take one job after the other."""

    def __init__(self, store, registry, connection):
        self.store, self.registry, self.connection = store, registry, connection
        self.names: dict[str, str] = {}
        self.workers: list[int] = []

    async def queue(self, tenant, *names):
        for name in names:
            async with self.store.work(tenant) as work:
                stored, _ = await work.resources.add(resource(Kind.OPTIMISATION, name, sha256=f"{name:x<64}"))
                run = await work.runs.create(stored, f"{name:y<64}", {})
                await work.enqueue(run.id)
                await work.commit()
            self.names[run.id] = name

    async def fetch(self, connection=None):
        """The run of the job that the next free worker gets; it is not begun yet."""
        cursor = await (connection or self.connection).execute(FETCH, (self.workers[0],))
        ((run_id,),) = await cursor.fetchall()
        return run_id

    async def begin(self):
        """Have the next free worker take a job and begin its run; the claim, and the name."""
        run_id = await self.fetch()
        return await self.registry.claim(run_id, "worker", 15.0), self.names[run_id]

    async def end(self, claim):
        async with self.store.work(claim.tenant) as work:
            await work.runs.finish(claim, RunState.SUCCEEDED, result={}, error=None)
            await work.commit()
        await self.connection.execute(
            "DELETE FROM procrastinate_jobs WHERE args ->> 'run_id' = %s", (claim.run_id,)
        )


@pytest.fixture
async def line(store, registry, database_urls):
    async with await psycopg.AsyncConnection.connect(database_urls.admin, autocommit=True) as admin:
        await admin.execute("DELETE FROM procrastinate_jobs")
        await admin.execute("UPDATE runs SET state = 'cancelled' WHERE state IN ('queued', 'running')")
    url = libpq_url(database_urls.runtime)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as own:
        made = Line(store, registry, own)
        cursor = await own.execute("INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id")
        made.workers = [row[0] for row in await cursor.fetchall()]
        yield made


@pytest.fixture
async def tenants(registry, request):
    return [(await registry.add_tenant(f"{request.node.name} {name}"))[0].id for name in "abc"]


FILLED = (
    "INSERT INTO resources (tenant_id, id, kind, name, sha256, summary, document, created_at)"
    " SELECT id, 'r', 'rule', 'r', '', '{{}}', '', now() FROM tenants",
    "INSERT INTO runs (tenant_id, id, resource_id, state, input_sha256, estimate, created_at)"
    " SELECT id, id::text || n, 'r', 'queued', '', '{{}}', now() FROM tenants, generate_series(1, {each}) n",
    "INSERT INTO procrastinate_jobs (queue_name, task_name, args)"
    " SELECT 'runs', 'run', jsonb_build_object('run_id', id) FROM runs",
)


def looked_at(plan):
    """How many rows all parts of an executed plan have looked at."""
    own = sum(rows for name, rows in plan.items() if name == "Actual Rows" or name.startswith("Rows Removed"))
    return plan["Actual Loops"] * own + sum(map(looked_at, plan.get("Plans", ())))


@pytest.mark.parametrize("function", ["lookup_turns", "procrastinate_fetch_job_v2"])
async def test_a_queue_that_no_statistics_know_of_is_not_compared_with_itself(postgres, function):
    """Each run is looked at a few times, by the statement of the function under the function's settings."""
    name, runs = postgres.clone(), 400
    async with await psycopg.AsyncConnection.connect(postgres.urls(name).admin) as own:
        for table in ("runs", "procrastinate_jobs"):
            await own.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        await own.execute(
            "INSERT INTO tenants SELECT gen_random_uuid(), n::text, now() FROM generate_series(1, 4) n"
        )
        for statement in FILLED:
            await own.execute(statement.format(each=runs // 4))
        found = await own.execute("SELECT prosrc, proconfig FROM pg_proc WHERE proname = %s", [function])
        ((source, settings),) = await found.fetchall()
        for setting in settings or ():
            await own.execute("SELECT set_config(%s, %s, true)", setting.split("="))
        await own.execute("SET LOCAL search_path = public")
        statement = source[source.index("WITH ") :].partition(" INTO found_jobs")[0]
        statement = statement.replace("target_queue_names", "ARRAY['runs']").replace("p_worker_id", "NULL")
        ((plan,),) = await (await own.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")).fetchall()
    postgres.drop(name)
    assert looked_at(plan[0]["Plan"]) < 20 * runs


async def test_one_worker_takes_tenants_in_turn_and_each_ones_runs_in_order(line, tenants, clock):
    first, second, third = tenants
    await line.queue(first, *(f"a{number}" for number in range(6)))
    begun = []
    for number in range(10):
        if number == 2:
            await line.queue(second, "b0", "b1")
        if number == 3:
            await line.queue(third, "c0", "c1")
        claim, name = await line.begin()
        begun.append(name)
        clock.advance(1)
        await line.end(claim)
    assert begun == ["a0", "a1", "b0", "c0", "a2", "b1", "c1", "a3", "a4", "a5"]


async def test_what_is_more_urgent_goes_first_and_in_order_whoever_it_belongs_to(line, tenants):
    """Of equal urgency tenants take turns, and each one's runs begin as they came."""
    first, second, _ = tenants
    await line.queue(first, "u0", "u1", "u2", "u3")
    await line.queue(second, "v0", "v1")
    urgent = [run_id for run_id, name in line.names.items() if name in ("u1", "u3", "v1")]
    await line.connection.execute(
        "UPDATE procrastinate_jobs SET priority = 5 WHERE args ->> 'run_id' = ANY(%s)", [urgent]
    )
    begun = [(await line.begin())[1] for _ in range(6)]
    assert begun == ["u1", "v1", "u3", "v0", "u0", "u2"]


async def test_who_has_fewer_runs_at_work_comes_first_however_long_they_last(line, tenants, clock):
    first, second, _ = tenants
    await line.queue(first, *(f"l{number}" for number in range(5)))
    held = []
    for number in range(6):
        if number == 2:
            await line.queue(second, "s0", "s1", "s2")
        held.append(await line.begin())
        clock.advance(1)
    assert [name for _, name in held] == ["l0", "l1", "s0", "s1", "l2", "s2"]
    await line.end(held[0][0])
    await line.end(held[1][0])
    assert (await line.begin())[1].startswith("l")


async def test_two_workers_at_once_take_of_two_tenants_and_never_the_same(line, tenants, database_urls):
    """Neither has begun when the other chooses: what counts is that its job was handed out."""
    first, second, _ = tenants
    await line.queue(first, *(f"p{number}" for number in range(4)))
    await line.queue(second, *(f"q{number}" for number in range(4)))
    url = libpq_url(database_urls.runtime)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as other:
        taken = []
        for _ in range(4):
            both = await asyncio.gather(line.fetch(), line.fetch(other))
            assert {line.names[run_id][0] for run_id in both} == {"p", "q"}
            taken += both
    assert len(set(taken)) == 8
    assert sorted(line.names[one] for one in taken) == sorted(
        name for name in line.names.values() if name[0] in "pq"
    )


async def test_a_run_that_waits_to_be_taken_over_is_none_at_work_and_comes_first_of_its_tenants(
    line, tenants
):
    first, second, _ = tenants
    await line.queue(first, "x0", "x1")
    claim, name = await line.begin()
    assert name == "x0"
    await line.queue(second, "y0")
    async with line.store.work(claim.tenant) as work:
        await work.enqueue(claim.run_id)
        await work.commit()
    await line.connection.execute("DELETE FROM procrastinate_jobs WHERE status = 'doing'")
    assert await line.registry.forsake("worker", 15.0) == 1
    assert [(await line.begin())[1] for _ in range(3)] == ["y0", "x0", "x1"]


async def test_only_the_runs_of_the_worker_that_died_are_forsaken(line, tenants):
    await line.queue(tenants[0], "m0", "m1")
    claims = [await line.registry.claim(await line.fetch(), worker, 15.0) for worker in ("host:1", "host:2")]
    assert await line.registry.forsake("host:1", 15.0) == 1
    assert [lost.run_id for lost in await line.registry.lost_runs(15.0)] == [claims[0].run_id]
    assert await line.registry.claim(claims[1].run_id, "host:3", 15.0) is None
    taken = await line.registry.claim(claims[0].run_id, "host:3", 15.0)
    assert taken.attempt == claims[0].attempt + 1
