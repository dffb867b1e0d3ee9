"""Draws of different people at one moment: each is made, and none in vain."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from app.services.releases import begun_draws
from tests.api.deliveries import delivery, drawn, drawn_once
from tests.api.drawn_people import asked, made
from tests.api.problem_documents import problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio

HISTOGRAM = {"kind": "stability_histogram", "epsilon": 0.5, "delta": 1e-4, "least_records": 20}


@pytest.mark.parametrize("path", ["/v1/releases", pytest.param("/v1/releases/runs", marks=pytest.mark.deep)])
async def test_eight_draws_of_disjoint_tables_at_once_are_all_made(
    api: Api, client: httpx.AsyncClient, path: str
):
    names = [f"table-{number}" for number in range(8)]
    for number, name in enumerate(names):
        await delivery(client, name, range(60 * number, 60 * (number + 1)))
    bodies = [
        asked(f"of-{name}", name, mechanism=HISTOGRAM) if number % 2 else drawn(f"of-{name}", name)
        for number, name in enumerate(names)
    ]
    answers = await asyncio.gather(*(client.post(path, json=body) for body in bodies))
    assert {own.status_code for own in answers} == {201 if path == "/v1/releases" else 202}
    if path != "/v1/releases":
        await asyncio.gather(*(api.work_off(own.json()["id"]) for own in answers))
    for name in names:
        told = (await client.get(f"/v1/releases/of-{name}")).json()["mechanism"]
        assert told["draws"] == 1
        assert {own["holds"] for own in drawn_once(told)} == {"yes"}


async def test_who_is_overtaken_each_time_is_told_when_to_come_back(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    await delivery(client, "spring", range(60))
    attempts = 0

    async def overtaken(*_: object) -> None:
        nonlocal attempts
        attempts += 1
        raise begun_draws.Overtaken("Others were first.", "Send the request again.", retry_after=1)

    monkeypatch.setattr(begun_draws, "_require_compared", overtaken)
    answer = await client.post("/v1/releases", json=drawn("of-spring", "spring"))
    problem_of(answer, 409, "conflict")
    assert answer.headers["Retry-After"] == "1"
    assert attempts == 10
    monkeypatch.undo()
    await made(client.post("/v1/releases", json=drawn("of-spring", "spring")))
