"""How an address leads to operations that are loaded when they are first asked for."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.routing import Match

from app.api import interface
from app.api.interface import Interface
from app.api.routers import PARTS, routers
from app.api.routes import PREFIX
from tests.processes import HANG_SECONDS


def asked(path: str, method: str = "GET") -> dict[str, Any]:
    return {
        "type": "http", "method": method, "path": path, "root_path": "", "headers": [], "query_string": b"",
        "app": None,
    }  # fmt: skip


@pytest.mark.parametrize("part", PARTS, ids=[part.place for part in PARTS])
def test_every_operation_is_found_by_the_first_word_of_its_address(part):
    paths = [route.path.split("/") for route in part.router().routes]
    assert {path[1] for path in paths} == {PREFIX.strip("/")}
    assert {path[2] for path in paths} == set(part.words)


def test_an_address_leads_to_all_of_its_operations():
    there = {(route.path, *route.methods) for router in routers() for route in router.routes}
    found = {
        (route.path, *route.methods)
        for word in {word for part in PARTS for word in part.words}
        for route in interface._router(word).routes
    }
    assert found == there
    assert len(there) > 100


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("/v1/rules", True), ("/v1/rules/", True), ("/v1/rules/a/b/c", True), ("/v1/rule", False),
        ("/v1/", False), ("/v1", False), ("/x/v1/rules", False), ("/rules", False), ("/v1//rules", False),
    ],
)  # fmt: skip
def test_what_the_interface_answers_begins_with_its_prefix_and_a_known_word(path, known):
    match, _ = Interface(State(), lambda: None).matches(asked(path))
    assert match is (Match.FULL if known else Match.NONE)


@pytest.mark.anyio
async def test_two_first_requests_at_once_load_once_and_hold_nobody_up(monkeypatch: pytest.MonkeyPatch):
    made, loaded, ticks = [], [], 0
    router, others_went_on = interface._router, threading.Event()

    def make() -> object:
        made.append(object())
        # Until others have had several turns: a loop that is held up has none however long this takes.
        assert others_went_on.wait(HANG_SECONDS)
        return made[-1]

    def load(word: str):
        loaded.append(word)
        return router(word)

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += bool(made) and not loaded
            if ticks > 5:
                others_went_on.set()
            await asyncio.sleep(0)

    monkeypatch.setattr(interface, "_loaded", {})
    monkeypatch.setattr(interface, "_router", load)
    state = State()
    answering = Interface(state, make)
    ticking = asyncio.create_task(tick())
    requests = [answering.handle(asked("/v1/catalogue/none"), None, None) for _ in range(2)]
    answers = await asyncio.gather(*requests, return_exceptions=True)
    ticking.cancel()
    assert [type(answer) for answer in answers] == [HTTPException] * 2
    assert [answer.status_code for answer in answers] == [404] * 2
    assert [state.services] == made
    assert loaded == ["catalogue"]
    assert ticks > 5


@pytest.mark.anyio
async def test_what_could_not_be_made_is_made_by_the_next_request():
    ways = iter([OSError("the disk is full")])

    def make() -> str:
        for error in ways:
            raise error
        return "services"

    state = State()
    answering = Interface(state, make)
    with pytest.raises(OSError, match="full"):
        await answering.handle(asked("/v1/catalogue"), None, None)
    with pytest.raises(HTTPException):
        await answering.handle(asked("/v1/catalogue", "DELETE"), None, None)
    assert state.services == "services"
