"""What holds for a tenant, over HTTP: it sees its retention and quotas, and nobody gets beyond them."""

from __future__ import annotations

import asyncio

import httpx
import psycopg
import pytest

from app.api.examples.searches import OPTIMISATIONS
from app.services.access.tenant_settings import DEFAULT, USUAL
from tests.api.optimisations import IN_BACKGROUND
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

QUESTION = OPTIMISATIONS["members-optimum"]["value"]


async def seen(client):
    answer = await client.get("/v1/tenant")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def set_for(api, client, **changes):
    return await api.services.tenants.change_settings((await seen(client))["name"], changes)


async def upload(client, name, content=b"city\na\nb\n"):
    return await client.post(f"/v1/uploads?name={name}&format=csv", content=content)


async def dataset(client, name, source="members"):
    attributes = [{"name": "city", "type": "text", "role": "quasi_identifier"}]
    body = {"name": name, "upload": source, "attributes": attributes}
    return await client.post("/v1/datasets", json=body)


async def ask(client, name, floor):
    body = QUESTION | {"name": name, "objective": {"kind": "min_risk", "utility_floor": floor}}
    return await client.post("/v1/optimisations", json=body, headers=IN_BACKGROUND)


def pieces(urls):
    with psycopg.connect(urls.admin) as connection:
        return connection.execute("SELECT count(*), sum(length(payload)) FROM upload_pieces").fetchone()


async def test_a_tenant_sees_what_holds_for_it_and_what_it_has(api, client: httpx.AsyncClient):
    assert (await upload(client, "members")).status_code == 201
    assert (await dataset(client, "members")).status_code == 201
    own = await seen(client)
    assert own["retention"] == {"results_days": 365, "runs_days": None, "unused_uploads_days": 30}
    used = {name: quota["used"] for name, quota in own["quotas"].items()}
    assert used.pop("stored_bytes") > 0
    assert used == {"uploads": 1, "datasets": 1, "active_runs": 0}
    for name, quota in own["quotas"].items():
        assert quota["limit"] == getattr(USUAL, name)
    await set_for(api, client, results_days=30, unused_uploads_days=None, uploads=7)
    own = await seen(client)
    assert own["retention"] == {"results_days": 30, "runs_days": None, "unused_uploads_days": None}
    assert own["quotas"]["uploads"] == {"limit": 7, "used": 1}
    await set_for(api, client, uploads=DEFAULT)
    own = await seen(client)
    assert own["quotas"]["uploads"]["limit"] == USUAL.uploads
    assert own["retention"]["results_days"] == 30
    trail = (await client.get("/v1/audit-events", params={"action": "tenant.settings"})).json()["items"]
    assert [event["details"] for event in trail] == [
        {"uploads": "default"},
        {"results_days": 30, "unused_uploads_days": None, "uploads": 7},
    ]


async def test_a_dataset_beyond_the_quota_is_refused_with_its_remedy_and_stores_nothing(api, client):
    await set_for(api, client, datasets=1)
    assert (await upload(client, "members")).status_code == 201
    assert (await dataset(client, "one")).status_code == 201
    problem = problem_of(await dataset(client, "two"), 413, "quota-exceeded")
    assert problem["quota"] == {"name": "datasets", "limit": 1, "needed": 2}
    assert "2 datasets" in problem["detail"]
    assert "Delete datasets" in problem["remedy"]
    # What is there already takes no place, and a place that is left is free again.
    assert (await dataset(client, "one")).status_code == 200
    assert (await client.delete("/v1/datasets/one")).status_code == 204
    assert (await dataset(client, "two")).status_code == 201


async def test_of_many_uploads_at_once_as_many_are_stored_as_there_are_places(api, client, database_urls):
    before, _ = pieces(database_urls)
    await set_for(api, client, uploads=3)
    answers = await asyncio.gather(*(upload(client, f"u{number}") for number in range(8)))
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [413] * 5
    for answer in answers:
        if answer.status_code == 413:
            assert problem_of(answer, 413, "quota-exceeded")["quota"]["limit"] == 3
    assert (await seen(client))["quotas"]["uploads"]["used"] == 3
    assert pieces(database_urls)[0] == before + 3


async def test_bytes_beyond_the_quota_are_refused_while_they_arrive(api, client, other_client, database_urls):
    assert (await upload(client, "first")).status_code == 201
    used = (await seen(client))["quotas"]["stored_bytes"]["used"]
    await set_for(api, client, stored_bytes=3 * used)
    before = pieces(database_urls)
    answers = await asyncio.gather(*(upload(client, f"u{number}") for number in range(6)))
    codes = sorted(answer.status_code for answer in answers)
    assert codes == [201] * 2 + [413] * 4
    refused = next(answer for answer in answers if answer.status_code == 413)
    assert problem_of(refused, 413, "quota-exceeded")["quota"]["name"] == "stored_bytes"
    own = (await seen(client))["quotas"]["stored_bytes"]
    assert own["used"] == used * (1 + codes.count(201)) <= own["limit"]
    assert pieces(database_urls)[1] - before[1] == used * codes.count(201)
    assert (await upload(other_client, "first")).status_code == 201


async def test_of_many_runs_asked_for_at_once_as_many_wait_as_may(api, journey: httpx.AsyncClient):
    already = (await seen(journey))["quotas"]["active_runs"]["used"]
    await set_for(api, journey, active_runs=already + 2)
    answers = await asyncio.gather(*(ask(journey, f"asked-{n}", 5 + n / 8) for n in range(6)))
    assert sorted(answer.status_code for answer in answers) == [202] * 2 + [429] * 4
    for number, answer in enumerate(answers):
        found = await journey.get(f"/v1/optimisations/asked-{number}")
        if answer.status_code == 429:
            problem = problem_of(answer, 429, "rate-limited")
            assert problem["quota"] == {"name": "active_runs", "limit": already + 2, "needed": already + 3}
            assert int(answer.headers["retry-after"]) > 0
            assert "cancel" in problem["remedy"]
            assert found.status_code == 404
        else:
            assert found.status_code == 200
    running = next(answer for answer in answers if answer.status_code == 202).json()
    assert (await journey.post(f"/v1/runs/{running['id']}/cancel")).status_code == 200
    assert (await ask(journey, "next", 9)).status_code == 202


async def test_an_expired_result_is_told_with_its_remedy_which_works(api, journey: httpx.AsyncClient, clock):
    evidence = (await journey.get("/v1/evaluations/members-gate/evidence")).content
    question = QUESTION | {"name": "fading"}
    question["objective"] = {"kind": "min_risk", "utility_floor": 6.5}
    run = (await journey.post("/v1/optimisations", json=question, headers=IN_BACKGROUND)).json()
    await api.work_off(run["id"])
    before = (await journey.get(f"/v1/runs/{run['id']}/result")).json()
    clock.advance(USUAL.results_days * 24 * 3600)
    tenant = (await api.services.tenants.authenticate(journey.headers["Authorization"][7:])).tenant
    assert (await api.registry.apply_retention(tenant, 50)).results > 0
    shown = (await journey.get(f"/v1/runs/{run['id']}")).json()
    assert (shown["state"], shown["result_id"]) == ("expired", None)
    assert set(shown["error"]) == {"code", "message", "remedy"}
    refused = problem_of(await journey.get(f"/v1/runs/{run['id']}/result"), 409, "conflict")
    assert "again" in refused["remedy"]
    assert (await journey.get("/v1/optimisations/fading")).json()["result"] is None
    listed = await journey.get("/v1/runs", params={"state": "expired", "name": "fading"})
    assert [item["id"] for item in listed.json()["items"]] == [run["id"]]
    # What was signed about a verdict is as it was, and the datasets are there.
    assert (await journey.get("/v1/evaluations/members-gate/evidence")).content == evidence
    assert (await journey.get("/v1/datasets/members")).status_code == 200
    again = await journey.post("/v1/optimisations", json=question, headers=IN_BACKGROUND)
    assert (again.status_code, again.json()["state"]) == (202, "queued")
    await api.work_off(again.json()["id"])
    assert (await journey.get(f"/v1/runs/{again.json()['id']}/result")).json() == before
