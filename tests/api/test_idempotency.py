"""A repeated POST is done once."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from app.api.app import routed_app
from app.services.resources import Scope
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

HIERARCHY = {"name": "colour", "definition": {"kind": "flat", "values": ["red", "blue"]}}
KEY = {"Idempotency-Key": "2c1a"}
CSV = b"a,b\n1,2\n3,4\n"


async def test_a_repeated_post_is_answered_as_the_first_one_was(client: httpx.AsyncClient):
    first = await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
    assert first.status_code == 201
    assert (await client.delete("/v1/hierarchies/colour")).status_code == 204
    second = await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
    assert (second.status_code, second.content) == (201, first.content)
    assert second.headers["location"] == first.headers["location"]
    assert second.headers["idempotency-replayed"] == "true"
    problem_of(await client.get("/v1/hierarchies/colour"), 404, "not-found")


async def test_the_same_key_with_another_body_is_refused(client: httpx.AsyncClient):
    await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
    other = HIERARCHY | {"name": "other"}
    body = problem_of(await client.post("/v1/hierarchies", json=other, headers=KEY), 422, "invalid-input")
    assert body["errors"][0]["code"] == "idempotency-key-reused"
    problem_of(await client.get("/v1/hierarchies/other"), 404, "not-found")


async def test_a_key_is_free_again_after_a_refusal(client: httpx.AsyncClient):
    wrong = {"name": "colour", "definition": {"kind": "flat"}}
    problem_of(await client.post("/v1/hierarchies", json=wrong, headers=KEY), 422, "invalid-input")
    assert (await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)).status_code == 201


async def test_a_key_holds_for_one_address_one_tenant_and_one_api_key(api, client, other_client):
    assert (await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)).status_code == 201
    key = await client.post("/v1/api-keys", json={"name": "k", "scopes": ["data:write"]}, headers=KEY)
    assert key.status_code == 201
    theirs = await other_client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
    assert theirs.status_code == 201
    assert "idempotency-replayed" not in theirs.headers
    async with api.client(key.json()["token"]) as colleague:
        response = await colleague.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
        problem_of(response, 422, "invalid-input")


async def test_while_the_first_request_is_in_flight_the_second_is_a_conflict(api, client, monkeypatch):
    reached, may_go_on = asyncio.Event(), asyncio.Event()
    create = api.services.hierarchies.create

    async def slow(*args):
        reached.set()
        await may_go_on.wait()
        return await create(*args)

    monkeypatch.setattr(api.services.hierarchies, "create", slow)
    first = asyncio.create_task(client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY))
    await reached.wait()
    problem_of(await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY), 409, "conflict")
    may_go_on.set()
    assert (await first).status_code == 201


async def test_an_interrupted_request_frees_its_key(api, client, monkeypatch):
    async def fail(*args):
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(api.services.hierarchies, "create", fail)
        problem_of(await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY), 500, "internal-error")
    assert (await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)).status_code == 201


async def test_a_repeated_upload_is_compared_by_its_content(client: httpx.AsyncClient):
    name = {"name": "t"}
    first = await client.post("/v1/uploads", params=name, content=CSV, headers=KEY)
    assert first.status_code == 201
    second = await client.post("/v1/uploads", params=name, content=CSV, headers=KEY)
    assert (second.status_code, second.content) == (201, first.content)
    assert second.headers["idempotency-replayed"] == "true"
    response = await client.post("/v1/uploads", params=name, content=CSV + b"5,6\n", headers=KEY)
    body = problem_of(response, 422, "invalid-input")
    assert pointers(body) == ["header/Idempotency-Key"]


async def test_a_repeated_form_is_compared_by_its_file_whatever_its_boundary(client: httpx.AsyncClient):
    params = {"name": "t"}
    first = await client.post("/v1/uploads/form", params=params, files={"file": CSV}, headers=KEY)
    assert first.status_code == 201
    second = await client.post("/v1/uploads/form", params=params, files={"file": CSV}, headers=KEY)
    assert second.headers["idempotency-replayed"] == "true"


async def test_a_repeated_key_creation_does_not_show_the_secret_again(client: httpx.AsyncClient):
    request = {"name": "k", "scopes": [Scope.ASSESS]}
    first = await client.post("/v1/api-keys", json=request, headers=KEY)
    second = await client.post("/v1/api-keys", json=request, headers=KEY)
    assert first.json()["token"]
    assert second.json()["token"] is None
    assert second.json()["key"] == first.json()["key"]
    request = {"name": "acme-of-keys"}
    first = await client.post("/v1/tenants", json=request, headers=KEY)
    second = await client.post("/v1/tenants", json=request, headers=KEY)
    assert first.json()["first_key"]["token"]
    assert second.json()["first_key"]["token"] is None


@pytest.mark.parametrize("key", ["", "a b", "x" * 201])
async def test_a_key_that_cannot_be_one_is_refused(client: httpx.AsyncClient, key: str):
    response = await client.post("/v1/hierarchies", json=HIERARCHY, headers={"Idempotency-Key": key})
    assert pointers(problem_of(response, 422, "invalid-input")) == ["header/Idempotency-Key"]


async def test_every_post_heeds_the_key(client: httpx.AsyncClient):
    """Every POST of the document refuses an impossible key before it does anything."""
    for path, methods in routed_app().openapi()["paths"].items():
        if "post" not in methods:
            continue
        response = await client.post(
            path.replace("{ref}", "x"), params={"name": "x"}, json={}, headers={"Idempotency-Key": "a b"}
        )
        assert response.status_code == 422, path
        assert "header/Idempotency-Key" in response.text, path
