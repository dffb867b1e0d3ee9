"""Bodies: who asks is known before a byte is read, and no body holds others up."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest

from app.api.bodies.limits import LARGEST_BYTES, USUAL_BYTES, BodiesInFlight
from app.services.resources import Scope
from tests.api.operations import OPERATIONS, SCOPED, address
from tests.api.problem_documents import problem_of
from tests.api.service import Api, build_api

pytestmark = pytest.mark.anyio

WITH_BODY = [(method, path) for method, path, _ in OPERATIONS if method == "POST"]
JSON = {"Content-Type": "application/json"}


class Unread:
    """A request whose body counts how often somebody wants to read it."""

    def __init__(self, method: str, path: str, headers: dict[str, str]) -> None:
        query = b"name=x&format=csv"
        pairs = {"content-type": "application/json", "content-length": "1000", **headers}
        self.scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
            "scheme": "http", "path": path, "raw_path": path.encode(), "query_string": query, "root_path": "",
            "client": None, "server": None,
            "headers": [(name.lower().encode(), value.encode()) for name, value in pairs.items()],
        }  # fmt: skip
        self.reads = 0
        self.status = 0

    async def receive(self) -> dict[str, Any]:
        self.reads += 1
        return {"type": "http.request", "body": b"{}", "more_body": False}

    async def send(self, message: dict[str, Any]) -> None:
        self.status = message.get("status", self.status)

    async def ask(self, api: Api) -> tuple[int, int]:
        await api.app(self.scope, self.receive, self.send)
        return self.status, self.reads


@pytest.mark.parametrize(("method", "path"), WITH_BODY)
async def test_no_byte_of_a_body_is_read_before_the_key(api, method, path):
    assert await Unread(method, address(path), {}).ask(api) == (401, 0)
    headers = {"Authorization": "Bearer nobody.nothing", "Idempotency-Key": "x", "Content-Type": "text/csv"}
    assert await Unread(method, address(path), headers).ask(api) == (401, 0)


async def test_no_byte_of_a_body_is_read_for_a_key_without_the_scope(api):
    actor, _ = await api.tenant_with_key()
    tokens = {scope: await api.key_with(actor, *(set(Scope) - {scope})) for scope in Scope}
    for method, path, (scope,) in SCOPED:
        headers = {"Authorization": f"Bearer {tokens[Scope(scope)]}", "Idempotency-Key": "x"}
        assert await Unread(method, address(path), headers).ask(api) == (403, 0), (method, path)


async def test_most_operations_take_small_bodies_and_some_state_a_larger_one(client, anonymous):
    for path, limit in (
        ("/v1/policies", USUAL_BYTES),
        ("/v1/rules", 400_000),
        ("/v1/policies/yaml", USUAL_BYTES),
    ):
        refused = await client.post(path, content=b" " * (limit + 1), headers=JSON)
        assert problem_of(refused, 413, "too-large")["limit"] == limit
        read = await client.post(path, content=b" " * limit, headers=JSON)
        assert read.status_code == 422
    refused = await anonymous.post("/sign-in", content=b" " * 600_000)
    assert problem_of(refused, 413, "too-large")["limit"] == 400_000


async def test_bodies_in_flight_are_bounded_and_small_ones_always_pass(api, client):
    api.app.state.bodies_in_flight = BodiesInFlight(100_000, patience=0.01)
    large = await client.post("/v1/rules", content=b" " * 200_000, headers=JSON)
    problem_of(large, 503, "unavailable")
    assert int(large.headers["retry-after"]) > 0
    for _ in range(3):  # what was taken for a body is given back with its answer
        answer = await client.post("/v1/rules", content=b" " * 120_000, headers=JSON)
        assert answer.status_code == 422
    await api.app.state.bodies_in_flight.take(100_000)
    assert (await client.post("/v1/rules", content=b" " * 60_000, headers=JSON)).status_code == 422


async def timed(client: httpx.AsyncClient, body: bytes) -> tuple[httpx.Response, list[float]]:
    """The answer, and the processor's times that the event loop spent before others had a turn."""
    slices: list[float] = []

    async def take_turns() -> None:
        while True:
            start = time.thread_time()
            await asyncio.sleep(0.001)
            slices.append(time.thread_time() - start)

    turns = asyncio.create_task(take_turns())
    answer = await asyncio.create_task(client.post("/v1/hierarchies", content=body, headers=JSON))
    await asyncio.sleep(0.01)  # the last turn
    turns.cancel()
    return answer, slices


MEMBERS = 300_000


def hostile_bodies() -> dict[str, str]:
    members = ",".join(f'"k{i:06}":1' for i in range(MEMBERS))
    return {
        "members": f"{{{members}}}",
        "small objects": '{"name":"x","definition":{"kind":"rows","rows":[' + "{}," * 500_000 + "{}]}}",
        "more than are read": "[" + "{}," * 1_600_000 + "{}]",
    }


@pytest.mark.deep
@pytest.mark.usefixtures("frozen")
async def test_no_hostile_body_holds_the_event_loop(api, store, registry, clock):
    """Without a key nothing is read; with one it is read beside the loop, and refused in few words."""
    large = build_api(store, registry, clock, body_bytes=LARGEST_BYTES)
    _, token = await large.tenant_with_key()
    for name, text in hostile_bodies().items():
        body = text.encode()
        for key, bound in ((None, 0.05), (token, 0.1)):
            async with large.client(key) as client:
                answer, slices = await timed(client, body)
                assert answer.status_code == (401 if key is None else 413 if "more" in name else 422)
                assert len(answer.content) < 20_000
                assert max(slices) < bound, (name, key)


@pytest.mark.deep
@pytest.mark.usefixtures("frozen")
async def test_a_large_body_is_read_beside_the_event_loop(api, store, registry, clock):
    large = build_api(store, registry, clock, body_bytes=LARGEST_BYTES)
    _, token = await large.tenant_with_key()
    rows = [[f"value {i}", f"group {i // 10}", f"part {i // 100}"] for i in range(50_000)]
    body = json.dumps({"name": "large", "definition": {"kind": "rows", "rows": rows}}).encode()
    async with large.client(token) as client:
        answer, slices = await timed(client, body)
        assert answer.status_code == 201, answer.text
        assert max(slices) < 0.1
        again = json.loads(body) | {"extra": 1}
        refused = await client.post("/v1/hierarchies", json=again)
        assert [fault["pointer"] for fault in problem_of(refused, 422, "invalid-input")["errors"]] == [
            "/extra"
        ]
        again["definition"]["rows"][40_000] = ["", 3]
        del again["extra"]
        refused = await client.post("/v1/hierarchies", json=again)
        (fault,) = problem_of(refused, 422, "invalid-input")["errors"]
        assert (fault["pointer"], fault["code"]) == ("/definition/rows/40000/1", "string-type")


def documented(operation: dict[str, Any]) -> set[int]:
    return {int(status) for status in operation["responses"]}


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"\xff\xfe{}", JSON),
        (b"{", JSON),
        (b"[" * 100_000, JSON),
        (b"{}", {"Content-Type": "text/plain"}),
        (b"--x\r\nbroken", {"Content-Type": "multipart/form-data; boundary=x"}),
        (b"{}", JSON | {"Idempotency-Key": "\u00e4".encode("latin-1")}),
        (b" " * 400_001, JSON),
    ],
    ids=["no text", "no JSON", "too deep", "other type", "broken form", "no key", "too large"],
)
async def test_every_status_of_a_bad_body_is_documented(client, body, headers):
    answered = set()
    for method, path, operation in OPERATIONS:
        if method == "POST":
            answer = await client.post(address(path), content=body, headers=headers)
            assert answer.status_code in documented(operation), (path, answer.status_code)
            answered.add(answer.status_code)
    assert max(answered) < 500


async def test_every_status_of_a_repeated_get_is_documented(journey: httpx.AsyncClient):
    seen = 0
    for method, path, operation in OPERATIONS:
        if method == "GET" and "{" not in path:
            first = await journey.get(path)
            assert first.status_code in documented(operation), path
            if "etag" in first.headers:
                again = await journey.get(path, headers={"If-None-Match": first.headers["etag"]})
                assert again.status_code in documented(operation), path
                seen += again.status_code == 304
    assert seen > 10


async def test_asking_for_the_example_data_again_has_a_documented_answer(client: httpx.AsyncClient):
    (operation,) = [o for m, p, o in OPERATIONS if (m, p) == ("POST", "/v1/example-data")]
    body = next(iter(operation["requestBody"]["content"]["application/json"]["examples"].values()))["value"]
    few = body | {"members": 20}
    statuses = [(await client.post("/v1/example-data", json=few)).status_code for _ in range(2)]
    assert statuses == [201, 200]
    assert set(statuses) <= documented(operation)
