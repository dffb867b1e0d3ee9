"""A process that is killed in the middle of a draw leaves one draw, which is gone on with."""

from __future__ import annotations

import signal
import subprocess
import sys

import psycopg
import pytest

from app.persistence.encryption import MasterKey
from app.persistence.store import PostgresStore
from app.services.datasets.tables import TableLoader
from app.services.ports import Fenced
from app.services.questions import DirectBudget
from app.services.releases.drawing import drawn_release
from app.services.releases.mechanism_releases import MechanismReleases
from app.services.resources import Actor, RunState, Scope, TenantId
from tests.api.drawn_people import asked, data, people
from tests.api.problem_documents import problem_of
from tests.api.service import build_api
from tests.conftest import DatabaseUrls
from tests.faults.conftest import ROOT
from tests.faults.drawing_process import REQUEST
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio


def counted(database_urls: DatabaseUrls, tenant: str) -> tuple[int, int, int]:
    """How many draws are counted, how many have their secret, and how many pieces were stored."""
    with psycopg.connect(database_urls.admin) as connection:
        row = connection.execute(
            "SELECT count(*), count(sealed), (SELECT count(*) FROM release_pieces WHERE tenant_id = %(id)s)"
            " FROM draws WHERE tenant_id = %(id)s",
            {"id": tenant},
        ).fetchone()
    assert row is not None
    return row[0], row[1], row[2]


def kill_at(
    moment: str, database_urls: DatabaseUrls, master_key: MasterKey, tenant: str, run_id: str = ""
) -> None:
    """Let a process create the release, or do the work of the run, killed at this moment."""
    program = [sys.executable, "-m", "tests.faults.drawing_process"]
    told = [database_urls.runtime, master_key.to_text(), tenant, moment, run_id]
    process = subprocess.run([*program, *told], cwd=ROOT, timeout=HANG_SECONDS, check=False)
    assert process.returncode == -signal.SIGKILL


async def drawn_by_hand(store: PostgresStore, database_urls: DatabaseUrls, tenant: TenantId) -> bytes:
    """The bytes of the only draw of the tenant, from its secret."""
    with psycopg.connect(database_urls.admin) as connection:
        row = connection.execute("SELECT id FROM draws WHERE tenant_id = %s", [tenant]).fetchone()
    assert row is not None
    async with store.work(tenant) as work:
        secret = await work.draws.secret(row[0])
    service = MechanismReleases(store, TableLoader(store), DirectBudget())
    prepared = await service._prepared(Actor(tenant, "key", frozenset(Scope)), REQUEST)
    return drawn_release(prepared, secret)[1]


@pytest.mark.parametrize("moment", ["sealed", "drawn", "written"])
async def test_whoever_creates_again_gets_the_draw_that_was_begun(
    moment, store, registry, clock, database_urls, master_key: MasterKey
):
    api = build_api(store, registry, clock)
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        kill_at(moment, database_urls, master_key, actor.tenant)
        assert counted(database_urls, actor.tenant) == (1, 1, 0)
        assert (await client.get("/v1/releases")).json()["items"] == []

        lost = await drawn_by_hand(store, database_urls, actor.tenant)
        answer = await client.post("/v1/releases", json=asked())
        assert answer.status_code == 201, answer.text
        assert await data(client, format_="parquet") == lost
        assert counted(database_urls, actor.tenant) == (1, 0, 1)
        assert (await client.post("/v1/releases", json=asked("again"))).json() == answer.json()


@pytest.mark.parametrize(("moment", "begun"), [("loaded", 0), ("sealed", 1), ("drawn", 1), ("written", 1)])
async def test_a_run_whose_worker_is_killed_goes_on_with_its_only_draw(
    moment, begun, store, registry, clock, database_urls, master_key: MasterKey
):
    api = build_api(store, registry, clock)
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        run = (await client.post("/v1/releases/runs", json=asked())).json()
        kill_at(moment, database_urls, master_key, actor.tenant, run["id"])
        assert counted(database_urls, actor.tenant) == (begun, begun, 0)
        assert (await client.get("/v1/releases")).json()["items"] == []
        assert (await client.get("/v1/releases/drawn/data")).status_code == 404
        lost = await drawn_by_hand(store, database_urls, actor.tenant) if begun else None

        claim = await registry.claim(run["id"], "another", 0.0)
        assert claim is not None
        assert claim.attempt == 2
        await api.execute(claim)
        assert counted(database_urls, actor.tenant) == (1, 0, 1)
        stored = await data(client, format_="parquet")
        assert lost in (None, stored)
        again = await client.post("/v1/releases", json=asked("again"))
        assert (again.status_code, again.json()["name"]) == (200, "drawn")
        assert (await client.get(f"/v1/runs/{run['id']}/result")).json() == {"release": again.json()["id"]}


async def test_who_is_killed_after_storing_and_before_saying_so_has_stored_it(
    store, registry, clock, database_urls, master_key: MasterKey
):
    api = build_api(store, registry, clock)
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        kill_at("committed", database_urls, master_key, actor.tenant)
        assert counted(database_urls, actor.tenant) == (1, 0, 1)
        stored = await data(client)
        again = await client.post("/v1/releases", json=asked("again"))
        assert (again.status_code, again.json()["name"]) == (200, "drawn")
        assert await data(client) == stored
        assert counted(database_urls, actor.tenant) == (1, 0, 1)


async def test_a_run_whose_worker_is_killed_after_storing_has_succeeded(
    store, registry, clock, database_urls, master_key: MasterKey
):
    api = build_api(store, registry, clock)
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        run = (await client.post("/v1/releases/runs", json=asked())).json()
        kill_at("committed", database_urls, master_key, actor.tenant, run["id"])
        assert counted(database_urls, actor.tenant) == (1, 0, 1)
        release = (await client.get("/v1/releases/drawn")).json()
        assert (await client.get(f"/v1/runs/{run['id']}")).json()["state"] == "succeeded"
        assert (await client.get(f"/v1/runs/{run['id']}/result")).json() == {"release": release["id"]}
        assert await registry.claim(run["id"], "another", 0.0) is None
        same = await client.post("/v1/releases/runs", json=asked("again"))
        assert same.json()["state"] == "succeeded"
        assert counted(database_urls, actor.tenant) == (1, 0, 1)


async def test_an_attempt_that_was_given_up_begins_no_draw(
    store, registry, clock, database_urls, master_key: MasterKey
):
    api = build_api(store, registry, clock)
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        run = (await client.post("/v1/releases/runs", json=asked())).json()
        outdated = await registry.claim(run["id"], "frozen", 60.0)
        newer = await registry.claim(run["id"], "another", 0.0)
        async with store.work(actor.tenant) as work:
            await work.runs.finish(newer, RunState.CANCELLED, result=None, error=None)
            await work.commit()
        for claim in (outdated, newer):
            with pytest.raises(Fenced):
                await api.execute(claim)
        assert counted(database_urls, actor.tenant) == (0, 0, 0)


async def test_what_was_begun_of_an_erased_dataset_can_never_be_drawn(
    store, registry, clock, database_urls, master_key: MasterKey
):
    api = build_api(store, registry, clock)
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        kill_at("drawn", database_urls, master_key, actor.tenant)
        assert (await client.delete("/v1/datasets/people")).status_code == 204
        assert counted(database_urls, actor.tenant) == (1, 0, 0)
        keys = "SELECT count(*) FROM data_keys WHERE tenant_id = %s AND purpose = 'release'"
        with psycopg.connect(database_urls.admin) as connection:
            assert connection.execute(keys, [actor.tenant]).fetchone() == (0,)
        await people(client, "people", "people")
        refused = problem_of(await client.post("/v1/releases", json=asked()), 409, "conflict")
        assert len(refused["details"]["earlier"]) == 1
