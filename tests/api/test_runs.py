"""Runs over HTTP: long polls, event streams that resume, cancellation."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest

from app.api import examples
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

QUESTION = examples.OPTIMISATIONS["members-optimum"]["value"]


async def queued(client: httpx.AsyncClient, name: str = "another", floor: float = 7) -> dict[str, Any]:
    """A run that nobody has begun yet."""
    body = QUESTION | {"name": name, "objective": {"kind": "min_risk", "utility_floor": floor}}
    started = await client.post("/v1/optimisations", json=body)
    assert started.status_code == 202, started.text
    assert started.headers["location"] == f"/v1/runs/{started.json()['id']}"
    found: dict[str, Any] = started.json()
    return found


def parsed(text: str) -> list[tuple[int, str, dict[str, Any]]]:
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            events.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return events


async def test_a_long_poll_ends_when_the_run_does(api, journey: httpx.AsyncClient):
    run = await queued(journey)

    async def finish() -> None:
        await asyncio.sleep(0.2)
        await api.work_off(run["id"])

    working = asyncio.create_task(finish())
    answer = await journey.get(f"/v1/runs/{run['id']}", headers={"Prefer": "respond-async, wait=30"})
    await working
    assert answer.json()["state"] == "succeeded"
    assert answer.headers["preference-applied"] == "wait=30"


async def test_a_long_poll_answers_in_time_even_if_nothing_happens(journey: httpx.AsyncClient):
    run = await queued(journey)
    began = time.perf_counter()
    answer = await journey.get(f"/v1/runs/{run['id']}", headers={"Prefer": "wait=1"})
    assert answer.json()["state"] == "queued"
    assert 0.9 <= time.perf_counter() - began <= 10


async def test_an_event_stream_resumes_after_the_last_event_seen(api, journey: httpx.AsyncClient):
    run = await queued(journey)
    await api.work_off(run["id"])
    response = await journey.get(f"/v1/runs/{run['id']}/events")
    assert response.headers["content-type"].startswith("text/event-stream")
    events = parsed(response.text)
    assert [number for number, _, _ in events] == list(range(1, len(events) + 1))
    assert len(events) >= 2
    rest = await journey.get(f"/v1/runs/{run['id']}/events", headers={"Last-Event-ID": str(events[0][0])})
    assert parsed(rest.text) == events[1:]
    problem_of(await journey.get("/v1/runs/nobody/events"), 404, "not-found")
    refused = await journey.get(f"/v1/runs/{run['id']}/events", headers={"Last-Event-ID": "x"})
    problem_of(refused, 422, "invalid-input")


async def test_a_cancelled_run_has_no_result_and_leaves_no_rule(api, journey: httpx.AsyncClient):
    run = await queued(journey)
    cancelled = await journey.post(f"/v1/runs/{run['id']}/cancel")
    assert cancelled.json()["state"] == "cancelled"
    await api.work_off(run["id"])
    assert (await journey.get(f"/v1/runs/{run['id']}")).json()["state"] == "cancelled"
    problem_of(await journey.get(f"/v1/runs/{run['id']}/result"), 409, "conflict")
    problem_of(await journey.post(f"/v1/runs/{run['id']}/cancel"), 409, "conflict")
    problem_of(await journey.get("/v1/rules/another"), 404, "not-found")


async def test_a_run_is_found_by_id_and_by_the_name_of_its_work(journey: httpx.AsyncClient):
    run = await queued(journey)
    by_name = await journey.get("/v1/runs/another")
    assert by_name.json() == (await journey.get(f"/v1/runs/{run['id']}")).json()
    found = await journey.get("/v1/runs", params={"state": "queued"})
    states = {item["state"] for item in found.json()["items"]}
    assert states == {"queued"}


async def test_a_question_that_was_answered_before_is_answered_at_once(journey: httpx.AsyncClient):
    """The same inputs under another name: the run is born succeeded."""
    body = QUESTION | {"name": "again"}
    started = await journey.post("/v1/optimisations", json=body)
    assert started.json()["state"] == "succeeded"
    first = (await journey.get("/v1/runs/members-optimum/result")).content
    assert (await journey.get("/v1/runs/again/result")).content == first


async def test_the_result_of_an_optimisation_is_the_result_of_its_run(journey: httpx.AsyncClient):
    by_run = (await journey.get("/v1/runs/members-optimum/result")).json()
    by_name = (await journey.get("/v1/optimisations/members-optimum")).json()["result"]
    assert by_run == by_name
    rule = (await journey.get("/v1/rules/members-optimum")).json()
    assert rule["levels"] == by_name["rule"]["levels"]
