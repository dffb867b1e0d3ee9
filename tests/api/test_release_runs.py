"""Releases that a mechanism makes by a run: one draw, whoever asks, however often, whatever is cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pkgutil import resolve_name
from typing import Any

import httpx
import psycopg
import pytest

from app.api.routers.answers import RUN_MEDIA_TYPE
from app.domain.errors import Conflict, QuotaExceeded
from app.persistence.draws import PostgresDraws
from app.services.questions import DirectBudget
from app.services.resources import Actor, RunState
from tests.api.drawn_people import PERTURBED, asked, data, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import Api, build_api
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio
TIGHT = DirectBudget(seconds=1e-9)


@pytest.fixture
async def api(store, registry, clock) -> Api:
    """A service that draws nothing at once."""
    return build_api(store, registry, clock, budget=TIGHT)


@pytest.fixture
async def owner(api: Api) -> tuple[Actor, str]:
    """A new tenant's key."""
    return await api.tenant_with_key()


@pytest.fixture
async def client(api: Api, owner: tuple[Actor, str]) -> AsyncIterator[httpx.AsyncClient]:
    async with api.client(owner[1]) as found:
        yield found


@pytest.fixture
async def at_once(store, registry, clock, owner: tuple[Actor, str]) -> AsyncIterator[httpx.AsyncClient]:
    """The same tenant's client of a service that draws such small tables at once."""
    async with build_api(store, registry, clock).client(owner[1]) as found:
        yield found


Draws = Callable[[], tuple[int, int]]


@pytest.fixture
def draws(database_urls: Any, owner: tuple[Actor, str]) -> Draws:
    """How many draws of the tenant are counted, and how many of them still have their secret."""

    def count() -> tuple[int, int]:
        query = "SELECT count(*), count(sealed) FROM draws WHERE tenant_id = %s"
        with psycopg.connect(database_urls.admin) as connection:
            row = connection.execute(query, [owner[0].tenant]).fetchone()
        assert row is not None
        return row[0], row[1]

    return count


async def started(client: httpx.AsyncClient, body: dict[str, Any], status: int = 202) -> dict[str, Any]:
    answer = await client.post("/v1/releases/runs", json=body)
    assert answer.status_code == status, answer.text
    run: dict[str, Any] = answer.json()
    assert answer.headers["Location"] == f"/v1/runs/{run['id']}"
    return run


async def test_a_draw_above_the_direct_budget_becomes_a_run(
    api: Api, client: httpx.AsyncClient, draws: Draws
):
    await people(client)
    plan = (await client.post("/v1/releases/plans", json=asked())).json()
    assert (plan["route"], plan["missing"]) == ("run", [])

    answer = await client.post("/v1/releases", json=asked())
    assert (answer.status_code, answer.headers["content-type"]) == (202, RUN_MEDIA_TYPE)
    run = answer.json()
    assert answer.headers["Location"] == f"/v1/runs/{run['id']}"
    assert await started(client, asked()) == run
    assert (run["state"], run["resource"]["kind"], run["resource"]["name"]) == ("queued", "draw", "drawn")
    assert draws() == (0, 0)
    assert (await client.get("/v1/releases")).json()["items"] == []
    await api.work_off(run["id"])
    release = (await client.get("/v1/releases/drawn")).json()
    assert (await client.get("/v1/runs/drawn/result")).json() == {"release": release["id"]}
    assert draws() == (1, 0)
    assert (await data(client)).startswith(b"town,illness\n")
    progress = (await client.get(f"/v1/runs/{run['id']}")).json()["progress"]
    assert (progress["done"], progress["total"]) == (4, 4)
    created = (await client.get("/v1/audit-events?action=release.create")).json()["items"]
    assert [own["subject"] for own in created] == [release["id"]]
    again = await client.post("/v1/releases", json=asked(), headers={"Prefer": "respond-async"})
    assert (again.status_code, again.json()) == (200, release)
    assert again.headers["Location"] == f"/v1/releases/{release['id']}"


async def test_whoever_waits_for_a_large_draw_has_the_release(api: Api, client: httpx.AsyncClient):
    await people(client)
    posting = asyncio.create_task(client.post("/v1/releases", json=asked(), headers={"Prefer": "wait=30"}))
    async with asyncio.timeout(HANG_SECONDS):
        while (queued := await client.get("/v1/runs/drawn")).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await api.work_off(queued.json()["id"])
    answer = await posting
    assert (answer.status_code, answer.headers["preference-applied"]) == (201, "wait=30")
    assert answer.json() == (await client.get("/v1/releases/drawn")).json()


async def test_the_name_of_a_release_that_a_run_is_to_draw_is_taken(
    api: Api, client: httpx.AsyncClient, at_once: httpx.AsyncClient
):
    await people(client)
    run = await started(client, asked())
    rule = {"kind": "identity"}
    body = {"name": "as-is", "dataset": "people", "rule": rule}
    assert (await client.post("/v1/rules", json=body)).status_code == 201
    for own in (client, at_once):
        shown = {"name": "drawn", "dataset": "people", "rule": "as-is"}
        refused = problem_of(await own.post("/v1/releases", json=shown), 409, "conflict")
        assert refused["details"]["existing"] == {"kind": "run", "name": "drawn", "id": run["id"]}
    other = asked(mechanism=PERTURBED | {"beta": 3})
    problem_of(await at_once.post("/v1/releases", json=other), 409, "conflict")
    await client.post(f"/v1/runs/{run['id']}/cancel")
    shown = {"name": "drawn", "dataset": "people", "rule": "as-is"}
    assert (await client.post("/v1/releases", json=shown)).status_code == 201


async def test_the_same_question_has_one_run_and_one_draw_under_any_name(
    api: Api, client: httpx.AsyncClient, draws: Draws
):
    await people(client)
    run = await started(client, asked())
    assert await started(client, asked("again")) == run
    await api.work_off(run["id"])
    after = await started(client, asked("once-more"), 200)
    assert (after["id"], after["state"], "result" in after) == (run["id"], "succeeded", True)
    assert draws() == (1, 0)
    names = [own["name"] for own in (await client.get("/v1/releases")).json()["items"]]
    assert names == ["drawn"]


async def test_what_was_drawn_without_a_run_is_found_by_one(
    api: Api, client: httpx.AsyncClient, at_once: httpx.AsyncClient, draws: Draws
):
    await people(client)
    release = await made(at_once.post("/v1/releases", json=asked()))
    run = await started(client, asked("again"))
    await api.work_off(run["id"])
    assert (await client.get(f"/v1/runs/{run['id']}/result")).json() == {"release": release["id"]}
    assert draws() == (1, 0)


async def test_who_asks_at_once_while_a_run_waits_draws_for_both(
    api: Api, client: httpx.AsyncClient, at_once: httpx.AsyncClient, draws: Draws
):
    await people(client)
    run = await started(client, asked())
    release = await made(at_once.post("/v1/releases", json=asked("at-once")))
    await api.work_off(run["id"])
    assert (await client.get(f"/v1/runs/{run['id']}/result")).json() == {"release": release["id"]}
    assert draws() == (1, 0)
    assert (await client.get("/v1/releases/drawn")).status_code == 404


async def test_a_run_that_is_cancelled_before_it_begins_counts_no_draw(
    api: Api, client: httpx.AsyncClient, draws: Draws
):
    await people(client)
    run = await started(client, asked())
    assert (await client.post(f"/v1/runs/{run['id']}/cancel")).json()["state"] == "cancelled"
    await api.work_off(run["id"])
    assert draws() == (0, 0)
    other = await started(client, asked(mechanism=PERTURBED | {"beta": 3}))
    await api.work_off(other["id"])
    assert (await client.get("/v1/releases/drawn")).json()["mechanism"]["parameters"]["beta"] == 3
    assert draws() == (1, 0)


async def test_a_draw_that_was_begun_is_gone_on_with_by_the_next_run(
    api: Api, client: httpx.AsyncClient, draws: Draws, monkeypatch
):
    await people(client)
    run = await started(client, asked())
    with monkeypatch.context() as patched:
        patched.setattr("app.services.releases.draw_work.drawn_release", _fails)
        with pytest.raises(RuntimeError):
            await api.work_off(run["id"])
    assert draws() == (1, 1)
    assert (await client.post(f"/v1/runs/{run['id']}/cancel")).json()["cancel_requested"]
    claim = await api.registry.claim(run["id"], "test", 0.0)
    assert claim is not None
    async with api.store.work(claim.tenant) as work:
        await work.runs.finish(claim, RunState.CANCELLED, result=None, error=None)
        await work.commit()
    other = problem_of(
        await client.post("/v1/releases/runs", json=asked(mechanism=PERTURBED | {"beta": 3})), 409, "conflict"
    )
    assert len(other["details"]["earlier"]) == 1
    following = await started(client, asked())
    assert following["id"] != run["id"]
    await api.work_off(following["id"])
    assert draws() == (1, 0)


def _fails(*_: Any) -> None:
    raise RuntimeError("the process ends")


async def test_of_two_runs_that_would_draw_the_same_data_the_second_fails_and_says_why(
    api: Api, client: httpx.AsyncClient, draws: Draws
):
    await people(client)
    first = await started(client, asked())
    second = await started(client, asked("other", mechanism=PERTURBED | {"beta": 3}))
    await api.work_off(second["id"])
    with pytest.raises(Conflict, match="the release 'other'"):
        await api.work_off(first["id"])
    assert draws() == (1, 0)


async def test_what_cannot_be_a_run_is_refused(client: httpx.AsyncClient):
    await people(client)
    by_rule = {"name": "plain", "dataset": "people", "rule": "none"}
    fault = problem_of(await client.post("/v1/releases/runs", json=by_rule), 422, "invalid-input")
    assert [own["pointer"] for own in fault["errors"]] == ["/mechanism"]
    too_much = asked(mechanism=PERTURBED | {"alpha_floor": 0.99})
    fault = problem_of(await client.post("/v1/releases/runs", json=too_much), 422, "invalid-input")
    assert fault["errors"][0]["code"] == "alpha-floor-too-large"
    further = asked(independent_of_earlier=True)
    assert (await client.post("/v1/releases/runs", json=further)).status_code == 202


async def test_a_dataset_takes_the_questions_about_it_along_once_no_run_is_at_work(
    client: httpx.AsyncClient, owner: tuple[Actor, str], database_urls
):
    await people(client)
    run = await started(client, asked())
    in_use = problem_of(await client.delete("/v1/datasets/people"), 409, "conflict")
    assert in_use["details"]["users"] == [{"kind": "run", "name": run["id"], "href": f"/v1/runs/{run['id']}"}]
    await client.post(f"/v1/runs/{run['id']}/cancel")
    assert (await client.delete("/v1/datasets/people")).status_code == 204
    assert (await client.get(f"/v1/runs/{run['id']}")).status_code == 404
    with psycopg.connect(database_urls.admin) as connection:
        left = "SELECT count(*) FROM resources WHERE kind = 'draw' AND tenant_id = %s"
        assert connection.execute(left, [owner[0].tenant]).fetchone() == (0,)


async def at_once_with(
    database_urls: Any,
    first: Callable[[Callable[[], Awaitable[None]]], Awaitable[Any]],
    second: Callable[[], Awaitable[Any]],
) -> tuple[Any, Any]:
    """Both answers, the second one asked for in the middle of the first.

    ``first`` is given what it awaits in its middle: that goes on once the second waits for it, or is done.
    """
    asking: list[asyncio.Task[Any]] = []

    async def others_turn() -> None:
        asking.append(asyncio.ensure_future(second()))
        waiting = (
            "SELECT count(*) FROM pg_locks AS l JOIN pg_stat_activity AS a USING (pid) WHERE NOT l.granted"
        )
        waiting += " AND a.datname = current_database()"
        with psycopg.connect(database_urls.admin, autocommit=True) as connection:
            async with asyncio.timeout(HANG_SECONDS):
                while not asking[0].done() and connection.execute(waiting).fetchone() == (0,):  # noqa: ASYNC110
                    await asyncio.sleep(0.01)

    answer = await first(others_turn)
    return answer, await asking[0]


def paused(monkeypatch: pytest.MonkeyPatch, place: str, others_turn: Callable[[], Awaitable[None]]) -> None:
    """Let others go on before the asynchronous function at this place does, the first time."""
    module, _, name = place.rpartition(".")
    owner = resolve_name(module)
    real, turns = getattr(owner, name), [others_turn]

    async def waiting(*own: Any) -> Any:
        if turns:
            await turns.pop()()
        return await real(*own)

    monkeypatch.setattr(owner, name, waiting)


async def test_who_asks_for_a_run_and_who_deletes_its_dataset_meanwhile_are_both_answered(
    client: httpx.AsyncClient, database_urls: Any, monkeypatch: pytest.MonkeyPatch
):
    await people(client)

    async def ask(others_turn: Callable[[], Awaitable[None]]) -> httpx.Response:
        paused(monkeypatch, "app.services.releases.draw_runs._same_question", others_turn)
        return await client.post("/v1/releases/runs", json=asked())

    run, deletion = await at_once_with(database_urls, ask, lambda: client.delete("/v1/datasets/people"))
    assert run.status_code == 202, run.text
    assert problem_of(deletion, 409, "conflict")["details"]["users"] == [
        {"kind": "run", "name": run.json()["id"], "href": f"/v1/runs/{run.json()['id']}"}
    ]


@pytest.mark.parametrize("route", ["/v1/releases/runs", "/v1/releases"])
async def test_who_deletes_a_dataset_and_who_asks_for_a_draw_of_it_meanwhile_are_both_answered(
    api: Api,
    client: httpx.AsyncClient,
    at_once: httpx.AsyncClient,
    database_urls: Any,
    draws: Draws,
    monkeypatch: pytest.MonkeyPatch,
    route: str,
):
    await people(client)

    async def drop(others_turn: Callable[[], Awaitable[None]]) -> httpx.Response:
        paused(monkeypatch, "app.persistence.resources:PostgresResources._drop_results", others_turn)
        return await client.delete("/v1/datasets/people")

    deletion, draw = await at_once_with(database_urls, drop, lambda: at_once.post(route, json=asked()))
    assert deletion.status_code == 204, deletion.text
    problem_of(draw, 422, "invalid-input")
    # Nothing is counted of what is gone, and no secret is left.
    assert draws() == (0, 0)


async def test_who_stores_a_draw_and_who_deletes_its_dataset_meanwhile_are_both_answered(
    at_once: httpx.AsyncClient, database_urls: Any, draws: Draws, monkeypatch: pytest.MonkeyPatch
):
    await people(at_once)

    async def ask(others_turn: Callable[[], Awaitable[None]]) -> httpx.Response:
        paused(monkeypatch, "app.persistence.draws:PostgresDraws._write", others_turn)
        return await at_once.post("/v1/releases", json=asked())

    release, deletion = await at_once_with(database_urls, ask, lambda: at_once.delete("/v1/datasets/people"))
    assert release.status_code == 201, release.text
    users = problem_of(deletion, 409, "conflict")["details"]["users"]
    assert users == [{"kind": "release", "name": "drawn", "href": "/v1/releases/drawn"}]
    assert draws() == (1, 0)


async def test_a_run_of_a_deleted_release_answers_no_further_question(
    api: Api, client: httpx.AsyncClient, draws: Draws
):
    await people(client)
    run = await started(client, asked())
    await api.work_off(run["id"])
    assert (await client.delete("/v1/releases/drawn")).status_code == 204
    problem_of(await client.post("/v1/releases/runs", json=asked()), 409, "conflict")
    further = asked(independent_of_earlier=True)
    for number in (2, 3):
        run = await started(client, further)
        await api.work_off(run["id"])
        assert draws() == (number, 0)
        assert (await client.delete("/v1/releases/drawn")).status_code == 204


async def test_whoever_waits_has_a_small_draw_at_once(at_once: httpx.AsyncClient):
    await people(at_once)
    answer = await at_once.post("/v1/releases/runs", json=asked(), headers={"Prefer": "wait=20"})
    assert answer.status_code == 201, answer.text
    release = (await at_once.get("/v1/releases/drawn")).json()
    run = answer.json()
    assert (run["state"], run["result"]) == ("succeeded", {"release": release["id"]})


async def test_a_run_goes_on_with_a_draw_in_the_words_that_it_was_begun_with(
    api: Api,
    client: httpx.AsyncClient,
    at_once: httpx.AsyncClient,
    draws: Draws,
    database_urls: Any,
    monkeypatch: pytest.MonkeyPatch,
):
    await people(client)
    real = PostgresDraws.store

    async def full(*_: object) -> Any:
        raise QuotaExceeded("It is full.", "Delete something.", {"name": "stored_bytes"})

    monkeypatch.setattr(PostgresDraws, "store", full)
    assert (await at_once.post("/v1/releases", json=asked())).status_code == 413
    monkeypatch.setattr(PostgresDraws, "store", real)
    named = asked(mechanism=PERTURBED | {"attribute": "illness"})
    await api.work_off((await started(client, named))["id"])
    assert draws() == (1, 0)
    release = (await client.get("/v1/releases/drawn")).json()
    assert release["mechanism"]["parameters"]["attribute"] is None
    with psycopg.connect(database_urls.admin) as connection:
        query = "SELECT question_sha256 FROM draws WHERE id = %s"
        assert connection.execute(query, [release["id"]]).fetchone() == (release["sha256"],)
