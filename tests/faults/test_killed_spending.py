"""Processes that are killed around a draw: a budget is spent once for it, and nothing is released unspent."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psycopg
import pytest

from app.persistence.encryption import MasterKey
from app.services.datasets.tables import TableLoader
from app.services.questions import DirectBudget
from app.services.releases.drawing import drawn_release
from app.services.releases.mechanism_releases import MechanismReleases
from app.services.resources import Actor, Scope
from tests.api.drawn_people import asked, data, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import build_api
from tests.conftest import DatabaseUrls
from tests.faults.conftest import ROOT
from tests.faults.drawing_process import private_request

pytestmark = pytest.mark.anyio

Kill = Callable[[str, str, float, str], None]
KILLS = {
    "one": ("loaded", "sealed", "drawn", "written"),
    "two": ("loaded", "sealed", "written", "committed"),
    "three": ("sealed", "drawn", "drawn", "committed"),
    "four": ("loaded", "loaded", "written", "written"),
    "five": ("written", "drawn", "sealed", "committed"),
}
"""Release → the moments at which processes that make it are killed, one after the other; 20 in all."""
BY_RUN = {"two", "four", "five"}


@pytest.fixture
async def killed(database_urls: DatabaseUrls, master_key: MasterKey) -> Iterator[Callable[[str], Kill]]:
    """Kills a process that makes a release of a tenant, at a moment."""
    started: list[subprocess.Popen[str]] = []

    def of_tenant(tenant: str) -> Kill:
        program = [sys.executable, "-m", "tests.faults.drawing_process"]
        told = [database_urls.runtime, master_key.to_text(), tenant]
        process = subprocess.Popen(
            [*program, *told], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)

        def kill(moment: str, name: str, delta: float, run_id: str) -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{moment} {name} {delta} {run_id}\n")
            process.stdin.flush()
            assert int(process.stdout.readline()) == -signal.SIGKILL

        return kill

    yield of_tenant
    for process in started:
        process.communicate()


def body(name: str, delta: float) -> dict[str, Any]:
    mechanism = {"kind": "stability_histogram", "epsilon": 1, "delta": delta, "least_records": 20}
    return asked(name, mechanism=mechanism, independent_of_earlier=True)


async def account(client: httpx.AsyncClient) -> tuple[dict[str, Any], dict[str | None, str]]:
    """The sums of ε, and the state of each entry by the δ that tells them apart."""
    told = (await client.get("/v1/datasets/people/budget")).json()
    states = {own["delta"]: own["state"] for own in told["releases"]}
    assert len(states) == len(told["releases"]), "one reservation stands twice"
    return told["epsilon"], states


async def test_twenty_kills_spend_nothing_twice_and_release_nothing_unspent(
    killed: Callable[[str], Kill], store: Any, registry: Any, clock: Any, database_urls: DatabaseUrls
):
    api = build_api(store, registry, clock)
    actor, token = await api.tenant_with_key()
    kill = killed(actor.tenant)
    preparing = MechanismReleases(store, TableLoader(store), DirectBudget())
    async with api.client(token) as client:
        await people(client)
        limits = {"name": "all", "dataset": "people", "epsilon": "5", "delta": "0.005"}
        await made(client.post("/v1/budgets", json=limits))
        for place, (name, moments) in enumerate(KILLS.items(), start=1):
            delta, is_run = place / 10_000, name in BY_RUN
            run_id = ""
            if is_run:
                run_id = (await client.post("/v1/releases/runs", json=body(name, delta))).json()["id"]
            begun = False
            for moment in moments:
                kill(moment, name, delta, run_id)
                begun = begun or moment != "loaded"
                sums, states = await account(client)
                stored = moment == "committed"
                expected = "spent" if stored else "reserved" if begun or is_run else None
                assert states.get(str(delta)) == expected, (name, moment)
                assert float(sums["spent"]) == place - 1 + stored
                listed = (await client.get("/v1/releases")).json()["items"]
                assert len(listed) == int(sums["spent"]), "a release without its share, or a share without it"
            lost = None
            if moments[-1] != "committed":
                with psycopg.connect(database_urls.admin) as connection:
                    found = connection.execute("SELECT id FROM draws WHERE sealed IS NOT NULL").fetchall()
                ((draw_id,),) = found
                async with store.work(actor.tenant) as work:
                    secret = await work.draws.secret(draw_id)
                prepared = await preparing._prepared(
                    Actor(actor.tenant, "key", frozenset(Scope)), private_request(name, delta)
                )
                lost = drawn_release(prepared, secret)[1]
            answer = await client.post("/v1/releases", json=body(name, delta))
            assert answer.status_code == (201 if lost is not None else 200), answer.text
            assert lost in (None, await data(client, name, "parquet"))
            assert (await account(client))[0]["spent"] == str(place)
        refused = await client.post("/v1/releases", json=body("six", 0.0006))
        assert problem_of(refused, 409, "conflict")["details"]["budget"]["epsilon"]["remaining"] == "0"
    with psycopg.connect(database_urls.admin) as connection:
        counts = "SELECT count(*), count(DISTINCT release_id) FROM release_pieces WHERE tenant_id = %s"
        assert connection.execute(counts, [actor.tenant]).fetchone() == (5, 5)
        draws = "SELECT count(*), count(sealed) FROM draws WHERE tenant_id = %s"
        assert connection.execute(draws, [actor.tenant]).fetchone() == (5, 0)


async def test_what_was_begun_of_an_erased_dataset_stays_spent(
    killed: Callable[[str], Kill], store: Any, registry: Any, clock: Any
):
    """Its secret is destroyed, so that nothing can be drawn by it; what was seen of the draw stays seen."""
    api = build_api(store, registry, clock)
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        await people(client)
        limits = {"name": "all", "dataset": "people", "epsilon": "1", "delta": "0.005"}
        await made(client.post("/v1/budgets", json=limits))
        killed(actor.tenant)("drawn", "one", 0.0001, "")
        assert (await account(client))[0]["remaining"] == "0"
        assert (await client.delete("/v1/datasets/people")).status_code == 204
        told = (await client.get("/v1/budgets/all")).json()["epsilon"]
        assert (told["spent"], told["remaining"]) == ("1", "0")
        await people(client, "people", "people")
        problem_of(await client.post("/v1/releases", json=body("one", 0.0001)), 409, "conflict")
        assert (await account(client))[1] == {"0.0001": "spent"}
