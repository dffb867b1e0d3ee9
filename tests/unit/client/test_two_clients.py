"""Every call is written once: one client blocks in it, the other one awaits it."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator

import httpx
import pytest

from privacy_risk import AsyncClient, Client, Retries
from privacy_risk.calls import outcome
from privacy_risk.resources import Rules

RULE = {"id": "i", "name": "r", "sha256": "0"}
LIST = {"items": [RULE, RULE], "next_cursor": None}


def answer(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json=LIST if request.url.path.endswith("/rules") else RULE)


def blocking() -> Client:
    return Client("http://service", "a.b", transport=httpx.MockTransport(answer))


@pytest.mark.anyio
async def test_one_blocks_and_the_other_is_awaited():
    with blocking() as client:
        # Within a running event loop too, as in a notebook.
        assert client.rules.get("r").name == "r"
        assert [rule.name for rule in client.rules.list()] == ["r", "r"]
        assert next(client.rules.list()).name == "r"
    async with AsyncClient("http://service", "a.b", transport=httpx.MockTransport(answer)) as other:
        assert (await other.rules.get("r")).name == "r"
        assert [rule.name async for rule in other.rules.list()] == ["r", "r"]


def test_a_call_shows_its_parameters_and_what_it_does():
    with blocking() as client:
        for call in (client.rules.page, client.rules.list):
            assert list(inspect.signature(call).parameters)[-2:] == ["created_after", "created_before"]
            assert (call.__doc__ or "").strip()
            assert call.__self__ is client.rules
        assert inspect.signature(client.rules.list).return_annotation == "Iterator[Resource]"
    assert inspect.iscoroutinefunction(Rules.get)
    assert inspect.isasyncgenfunction(Rules.list)


def test_a_stream_that_is_left_early_gives_its_connection_back():
    closed = []

    class Endless(httpx.SyncByteStream):
        def __iter__(self):
            while True:
                yield b"a\n"

        def close(self) -> None:
            closed.append(True)

    transport = httpx.MockTransport(lambda request: httpx.Response(200, stream=Endless()))
    with Client("http://service", "a.b", transport=transport) as client:
        pieces = client.releases.data("r")
        assert next(pieces) == b"a\n"
        assert closed == []
        pieces.close()
        assert closed == [True]


def test_the_pause_before_another_attempt_takes_its_time():
    answers = iter([httpx.Response(503), httpx.Response(200, json=RULE)])
    retries = Retries(attempts=2, first_delay=0.05, jitter=lambda: 1.0)
    transport = httpx.MockTransport(lambda request: next(answers))
    with Client("http://service", "a.b", transport=transport, retries=retries) as client:
        begun = time.monotonic()
        client.rules.get("r")
    assert time.monotonic() - begun >= 0.05


def test_what_would_wait_for_an_event_loop_is_told():
    async def waiting() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="event loop"):
        outcome(waiting())


def test_errors_in_the_midst_of_a_list_are_those_of_the_service():
    pages = iter([httpx.Response(200, json=LIST | {"next_cursor": "c"}), httpx.Response(404, json={})])
    transport = httpx.MockTransport(lambda request: next(pages))
    with Client("http://service", "a.b", transport=transport) as client:
        items = client.rules.list()
        assert [next(items).name, next(items).name] == ["r", "r"]
        with pytest.raises(Exception, match="404"):
            next(items)
        assert list(items) == []


def test_the_types_are_those_of_iterators():
    with blocking() as client:
        assert not isinstance(client.rules.list(), AsyncIterator)
