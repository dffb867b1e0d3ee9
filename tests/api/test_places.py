"""Costly requests of one tenant wait for each other a little, and then are told when to come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from app.api.places import PlaceKind, Places, kind_of_place
from app.domain.errors import TooManyAtOnce
from tests.api.operations import DOCUMENT, answers_of
from tests.api.problem_documents import problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio

UPLOAD = "/v1/uploads"


class Sender:
    """A body that begins, and ends when it is told to."""

    def __init__(self, ends: asyncio.Event, breaks: bool = False) -> None:
        self.began = asyncio.Event()
        self.asked = 0
        self._ends = ends
        self._breaks = breaks

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self.asked += 1
        self.began.set()
        yield b"a,b\n1,2\n"
        await self._ends.wait()
        if self._breaks:
            raise ConnectionResetError
        yield b"3,4\n"


def upload(client: httpx.AsyncClient, name: str, body: Any, **headers: str) -> asyncio.Task[httpx.Response]:
    return asyncio.create_task(client.post(UPLOAD, params={"name": name}, content=body, headers=headers))


@pytest.fixture
def places(api: Api) -> Places:
    api.app.state.places = Places(uploads_at_once=1, direct_at_once=1, wait_seconds=0.05)
    return api.app.state.places


async def test_one_upload_too_many_is_refused_before_its_body_is_read(
    api: Api, client: httpx.AsyncClient, places: Places
) -> None:
    ends = asyncio.Event()
    first, second = Sender(ends), Sender(ends)
    running = upload(client, "one", first)
    await first.began.wait()
    refused = await upload(client, "two", second, **{"Idempotency-Key": "k"})
    body = problem_of(refused, 429, "too-many-at-once")
    assert refused.headers["retry-after"] == "2"
    assert "1 uploads" in body["detail"]
    assert second.asked == 0

    _, token = await api.tenant_with_key()
    ends.set()
    async with api.client(token) as other:
        assert (await other.post(UPLOAD, params={"name": "one"}, content=b"a\n1\n")).status_code == 201
    assert (await running).status_code == 201
    again = await upload(client, "two", b"a,b\n1,2\n", **{"Idempotency-Key": "k"})
    assert again.status_code == 201
    assert places.is_empty


async def test_another_tenant_does_not_wait(api: Api, client: httpx.AsyncClient, places: Places) -> None:
    ends = asyncio.Event()
    first = Sender(ends)
    running = upload(client, "one", first)
    await first.began.wait()
    _, token = await api.tenant_with_key()
    async with api.client(token) as other:
        assert (await other.post(UPLOAD, params={"name": "one"}, content=b"a\n1\n")).status_code == 201
    assert not running.done()
    ends.set()
    await running


@pytest.mark.parametrize("how", ["fault", "broken"])
async def test_a_place_is_given_back_however_the_request_ends(
    client: httpx.AsyncClient, places: Places, how: str
) -> None:
    if how == "fault":
        response = await client.post(UPLOAD, params={"name": "bad"}, content=b"a,b\n1\n")
        problem_of(response, 422, "invalid-input")
    else:
        ends = asyncio.Event()
        ends.set()
        assert (await upload(client, "bad", Sender(ends, breaks=True))).is_error
    assert places.is_empty
    assert (await client.post(UPLOAD, params={"name": "good"}, content=b"a\n1\n")).status_code == 201


async def test_a_direct_answer_waits_for_its_place_and_uploads_do_not_take_it(
    api: Api, client: httpx.AsyncClient, places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends, began = asyncio.Event(), asyncio.Event()
    create = api.services.hierarchies.create

    async def slow(*args: Any) -> Any:
        began.set()
        await ends.wait()
        return await create(*args)

    def hierarchy(name: str) -> asyncio.Task[httpx.Response]:
        body = {"name": name, "definition": {"kind": "rows", "rows": [["a", "x"]]}}
        return asyncio.create_task(client.post("/v1/hierarchies", json=body))

    monkeypatch.setattr(api.services.hierarchies, "create", slow)
    running = hierarchy("one")
    await began.wait()
    problem_of(await hierarchy("two"), 429, "too-many-at-once")
    assert (await client.post(UPLOAD, params={"name": "t"}, content=b"a\n1\n")).status_code == 201
    assert (await client.get("/v1/hierarchies")).status_code == 200  # what is stored is read without a place

    api.app.state.places._wait_seconds = 60.0  # long enough for the first to end, which is what counts
    waiting = hierarchy("three")
    for _ in range(20):
        await asyncio.sleep(0)
    assert not waiting.done()
    ends.set()
    assert [(await running).status_code, (await waiting).status_code] == [201, 201]
    assert places.is_empty


async def test_places_are_taken_in_the_order_of_asking_and_cost_nothing_when_empty() -> None:
    places = Places(direct_at_once=2, wait_seconds=60.0)
    order: list[int] = []
    go = asyncio.Event()

    async def guest(number: int) -> None:
        async with places.taken(PlaceKind.DIRECT, "t"):
            order.append(number)
            await go.wait()

    guests = [asyncio.create_task(guest(number)) for number in range(5)]
    for _ in range(10):
        await asyncio.sleep(0)
    assert order == [0, 1]
    guests[2].cancel()  # one that waits and goes away takes no place with it
    go.set()
    await asyncio.gather(*guests, return_exceptions=True)
    assert order == [0, 1, 3, 4]
    assert places.is_empty


async def test_nobody_waits_longer_than_the_places_say() -> None:
    places = Places(uploads_at_once=1, wait_seconds=0.0)
    async with places.taken(PlaceKind.UPLOAD, "t"):
        with pytest.raises(TooManyAtOnce) as caught:
            async with places.taken(PlaceKind.UPLOAD, "t"):
                pytest.fail("there was no place")
    assert caught.value.retry_after == 2
    assert places.is_empty


def test_every_operation_that_takes_a_place_documents_the_refusal() -> None:
    for path in DOCUMENT["paths"].values():
        for method, operation in path.items():
            takes_one = kind_of_place(method, operation["operationId"]) is not None
            answer = answers_of(operation).get("429", {})
            said = answer.get("description", "").count("/problems/too-many-at-once")
            assert said == int(takes_one), operation["operationId"]
            assert not takes_one or "Retry-After" in answer["headers"]
    assert kind_of_place("post", "cancel_run") is None
    assert kind_of_place("post", "some_new_computation") is PlaceKind.DIRECT
