"""The example data set: one call, the demonstration's journey, as often as anybody likes."""

from __future__ import annotations

import httpx
import pytest

from app.services.resources import Scope
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

SMALL = {"prefix": "try", "members": 60}


async def test_one_call_makes_what_a_question_needs_and_says_how_to_ask_it(api, client: httpx.AsyncClient):
    made = await client.post("/v1/example-data", json=SMALL)
    assert made.status_code == 201, made.text
    names = made.json()["names"]
    assert names["upload"] == ["try-members", "try-census", "try-zip-city"]
    dataset = (await client.get("/v1/datasets/try-members")).json()
    assert (dataset["status"], dataset["rows"]) == ("ready", 60)
    score, best = made.json()["next"]
    answer = await client.request(score["method"], score["path"], json=score["body"])
    assert answer.status_code == 201, answer.text
    assert answer.json()["result"]["absent"] == 0
    run = await client.request(best["method"], best["path"], json=best["body"])
    assert run.status_code == 201
    await api.work_off(run.json()["id"])
    assert (await client.get("/v1/runs/try-optimum/result")).json()["status"] == "optimal"


async def test_the_same_call_again_changes_nothing_and_another_by_its_names_is_a_conflict(
    client: httpx.AsyncClient,
):
    first = await client.post("/v1/example-data", json=SMALL)
    before = [(await client.get(f"/v1/{kind}")).json() for kind in ("uploads", "datasets", "rules")]
    again = await client.post("/v1/example-data", json=SMALL)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert before == [(await client.get(f"/v1/{kind}")).json() for kind in ("uploads", "datasets", "rules")]
    other = await client.post("/v1/example-data", json=SMALL | {"members": 70})
    assert "try-members" in problem_of(other, 409, "conflict")["detail"]


@pytest.mark.deep
async def test_what_an_interrupted_call_left_is_found_by_the_next(client: httpx.AsyncClient):
    await client.post("/v1/example-data", json=SMALL)
    await client.delete("/v1/rules/try-proposal")
    await client.delete("/v1/sensitivity-profiles/try-harm")
    assert (await client.post("/v1/example-data", json=SMALL)).status_code == 201
    assert (await client.get("/v1/rules/try-proposal")).status_code == 200


async def test_only_who_writes_data_makes_it(api, client: httpx.AsyncClient):
    actor = await api.services.tenants.authenticate(client.headers["authorization"].split()[1])
    async with api.client(await api.key_with(actor, Scope.ASSESS, Scope.DATA_READ)) as reader:
        problem_of(await reader.post("/v1/example-data", json=SMALL), 403, "forbidden")
    for body in ({"members": 0}, {"members": 10**9}, {"prefix": "a b"}, {"rows": 5}):
        problem_of(await client.post("/v1/example-data", json=body), 422, "invalid-input")
