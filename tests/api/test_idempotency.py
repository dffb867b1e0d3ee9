"""A repeated POST is done once."""

from __future__ import annotations

import asyncio

import httpx
import psycopg
import pytest

from app.api import idempotency
from app.persistence.records import PostgresIdempotencyKeys
from app.services.leases import KEY_LEASE, Lease
from app.services.resources import Scope
from tests.api.operations import DOCUMENT
from tests.api.problem_documents import pointers, problem_of
from tests.processes import HANG_SECONDS

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


class HeldUp:
    """The first request to make a hierarchy waits before its work, until it is let go on."""

    def __init__(self, api, monkeypatch):
        self.reached, self.may_go_on = asyncio.Event(), asyncio.Event()
        self._create = api.services.hierarchies.create
        monkeypatch.setattr(api.services.hierarchies, "create", self)

    async def __call__(self, *args):
        if not self.reached.is_set():
            self.reached.set()
            await self.may_go_on.wait()
        return await self._create(*args)


async def test_while_the_first_request_is_in_flight_the_second_is_told_when_to_come_back(
    api, client, monkeypatch
):
    held_up = HeldUp(api, monkeypatch)
    first = asyncio.create_task(client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY))
    await held_up.reached.wait()
    second = await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
    seconds = int(second.headers["retry-after"])
    assert 1 <= seconds <= KEY_LEASE.seconds
    assert f"{seconds} s" in problem_of(second, 409, "conflict")["remedy"]
    held_up.may_go_on.set()
    assert (await first).status_code == 201
    other = HIERARCHY | {"definition": {"kind": "flat", "values": ["green"]}}
    taken = await client.post("/v1/hierarchies", json=other)
    assert (taken.status_code, "retry-after" in taken.headers) == (409, False), "waiting does not help here"


async def test_who_is_held_up_for_longer_than_the_lease_does_not_answer_for_whoever_took_over(
    api, client, monkeypatch, database_urls
):
    held_up = HeldUp(api, monkeypatch)
    first = asyncio.create_task(client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY))
    await held_up.reached.wait()
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("UPDATE idempotency_keys SET lease_until = lease_until - interval '8 seconds'")
    second = await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
    assert second.status_code == 201
    held_up.may_go_on.set()
    assert (await first).status_code == 200, "what it was to make exists by now"
    third = await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
    assert (third.status_code, third.content) == (201, second.content)
    assert third.headers["idempotency-replayed"] == "true"


async def test_a_request_whose_key_is_lost_ends_before_its_work(api, client, monkeypatch, database_urls):
    """The heartbeat finds that the key is somebody else's."""
    monkeypatch.setattr(idempotency, "KEY_LEASE", Lease(KEY_LEASE.seconds, 0.01))
    HeldUp(api, monkeypatch)
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute(
            """
            CREATE FUNCTION taken() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN NEW.owner = 'another'; RETURN NEW; END $$
            """
        )
        connection.execute(
            "CREATE TRIGGER taken BEFORE INSERT ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION taken()"
        )
    try:
        async with asyncio.timeout(HANG_SECONDS):
            lost = await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
    finally:
        with psycopg.connect(database_urls.admin) as connection:
            connection.execute("DROP FUNCTION taken CASCADE")
    problem_of(lost, 503, "unavailable")
    assert lost.headers["retry-after"]
    problem_of(await client.get("/v1/hierarchies/colour"), 404, "not-found")


async def test_a_crash_between_the_work_and_its_reply_leads_the_repeat_to_what_was_made(
    client, monkeypatch, database_urls
):
    with monkeypatch.context() as patch:
        patch.setattr(PostgresIdempotencyKeys, "complete", _die)
        patch.setattr(PostgresIdempotencyKeys, "abandon", _die)
        await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
    made = (await client.get("/v1/hierarchies/colour")).json()
    waiting = await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
    assert waiting.status_code == 409
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("UPDATE idempotency_keys SET lease_until = lease_until - interval '8 seconds'")
    repeated = await client.post("/v1/hierarchies", json=HIERARCHY, headers=KEY)
    assert (repeated.status_code, repeated.json()["id"]) == (200, made["id"])


async def _die(*args):
    raise RuntimeError


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
    for path, methods in DOCUMENT["paths"].items():
        if "post" not in methods:
            continue
        response = await client.post(
            path.replace("{ref}", "x"), params={"name": "x"}, json={}, headers={"Idempotency-Key": "a b"}
        )
        assert response.status_code == 422, path
        assert "header/Idempotency-Key" in response.text, path
