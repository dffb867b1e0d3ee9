"""``Prefer: wait`` where a run is asked for: small work at once, larger work by a worker."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from app.api.examples.assessments import ASSESSMENT_RUNS
from app.api.examples.gates import POLICY
from app.api.examples.gates import RUNS as EVALUATION_RUNS
from app.api.examples.measurements import RUNS as MEASUREMENT_RUNS
from app.api.examples.searches import FRONTIERS, OPTIMISATIONS
from app.domain.search.table_rules.table_level import TableEnumeration
from app.services.questions import DirectBudget
from tests.api.optimisations import IN_BACKGROUND
from tests.api.problem_documents import problem_of
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio

WAIT = {"Prefer": "wait=30"}


def asked(name: str, floor: float = 5.5) -> dict[str, Any]:
    question = OPTIMISATIONS["members-optimum"]["value"]
    return question | {"name": name, "objective": {"kind": "min_risk", "utility_floor": floor}}


async def state_of(client: httpx.AsyncClient, name: str) -> str | None:
    found = await client.get(f"/v1/runs/{name}")
    return found.json()["state"] if found.status_code == 200 else None


async def until(client: httpx.AsyncClient, name: str, state: str) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while await state_of(client, name) != state:  # noqa: ASYNC110 - the state is the database's
            await asyncio.sleep(0.01)


def allow_nothing_at_once(api) -> None:
    direct = api.services.direct_runs
    direct.claimant = replace(direct.claimant, budget=DirectBudget(seconds=0.0))


class Search:
    """The search that computes: it counts its calls, and lasts until it is let go or halted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, goes: bool, heeds_halts: bool = True) -> None:
        self.calls = 0
        self.go = threading.Event()
        if goes:
            self.go.set()
        run_block: Callable[..., bytes] = TableEnumeration.run_block

        def counted(search, index, tick, halted) -> bytes:
            self.calls += 1
            while not self.go.wait(0.01) and not (heeds_halts and halted()):
                pass
            return run_block(search, index, tick, halted)

        monkeypatch.setattr(TableEnumeration, "run_block", counted)


@pytest.mark.parametrize("preference", [{}, WAIT], ids=["plain", "waiting"])
async def test_small_work_is_answered_at_once_with_what_a_worker_would_have_found(api, journey, preference):
    queued = await journey.post("/v1/optimisations", json=asked("best"), headers=IN_BACKGROUND)
    assert queued.status_code == 202
    assert "result" not in queued.json()
    await api.work_off(queued.json()["id"])
    by_worker = (await journey.get("/v1/optimisations/best")).json()
    rule = (await journey.get("/v1/rules/best")).json()
    for kind in ("rules", "optimisations"):
        assert (await journey.delete(f"/v1/{kind}/best")).status_code == 204

    response = await journey.post("/v1/optimisations", json=asked("best"), headers=preference)
    assert response.status_code == 201, response.text
    assert response.headers.get("preference-applied") == preference.get("Prefer")
    run = response.json()
    assert response.headers["location"] == f"/v1/runs/{run['id']}"
    assert (run["state"], run["attempt"]) == ("succeeded", 1)
    assert run["id"] != queued.json()["id"]
    assert run["input_sha256"] == queued.json()["input_sha256"]
    assert run["result"] == by_worker["result"]
    assert (await journey.get("/v1/runs/best/result")).json() == run["result"]
    shown = (await journey.get("/v1/optimisations/best")).json()
    of_moment = dict.fromkeys(("id", "created_at", "addresses"))
    assert {**shown, **of_moment} == {**by_worker, **of_moment}
    assert (await journey.get("/v1/rules/best")).json()["sha256"] == rule["sha256"]
    without = {key: value for key, value in run.items() if key != "result"}
    assert (await journey.get("/v1/runs/best")).json() == without
    lines = (await journey.get("/v1/runs/best/events")).text.splitlines()
    told = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert [own["state"] for own in told if "state" in own] == ["queued", "running", "succeeded"]


@pytest.mark.parametrize(
    ("path", "examples"),
    [
        ("/v1/assessments/runs", ASSESSMENT_RUNS),
        ("/v1/measurements/runs", MEASUREMENT_RUNS),
        ("/v1/frontiers", FRONTIERS),
    ],
)
async def test_every_route_that_starts_a_run_takes_the_preference(journey, path, examples):
    body = next(iter(examples.values()))["value"] | {"name": "waited-for"}
    response = await journey.post(path, json=body, headers=WAIT)
    assert response.status_code == 201, response.text
    found = await journey.get("/v1/runs/waited-for/result")
    assert response.json()["result"] == found.json()


async def test_an_evaluation_that_looks_for_many_changes_waits_for_a_worker(api, journey):
    (body,) = (example["value"] for example in EVALUATION_RUNS.values())
    path = f"/v1/gates/{next(iter(POLICY))}/evaluations/runs"
    asking = journey.post(path, json=body | {"name": "judged"}, headers=WAIT)
    posting = asyncio.create_task(asking)
    await until(journey, "judged", "queued")
    await api.work_off((await journey.get("/v1/runs/judged")).json()["id"])
    response = await posting
    assert response.status_code == 201, response.text
    assert response.json()["result"] == (await journey.get("/v1/runs/judged/result")).json()


async def test_larger_work_waits_for_a_worker_and_takes_no_place_meanwhile(api, journey):
    allow_nothing_at_once(api)
    posting = asyncio.create_task(journey.post("/v1/optimisations", json=asked("large"), headers=WAIT))
    await until(journey, "large", "queued")
    async with asyncio.timeout(HANG_SECONDS):
        while not api.app.state.places.is_empty:  # noqa: ASYNC110 - a request's doing
            await asyncio.sleep(0.01)
    assert not posting.done()
    await api.work_off((await journey.get("/v1/runs/large")).json()["id"])
    response = await posting
    assert response.status_code == 201
    assert response.json()["result"] == (await journey.get("/v1/runs/large/result")).json()


async def test_work_that_does_not_end_in_time_is_accepted(api, journey):
    allow_nothing_at_once(api)
    response = await journey.post("/v1/optimisations", json=asked("slow"), headers={"Prefer": "wait=1"})
    assert (response.status_code, response.json()["state"]) == (202, "queued")
    assert "result" not in response.json()
    assert response.headers["preference-applied"] == "wait=1"


async def test_no_time_to_wait_is_none(journey):
    response = await journey.post("/v1/optimisations", json=asked("none"), headers={"Prefer": "wait=0"})
    assert (response.status_code, response.json()["state"]) == (202, "queued")
    assert response.headers["preference-applied"] == "wait=0"


async def test_preferences_of_any_length_and_kind_are_no_fault(journey):
    headers = [("Prefer", 201 * "x"), ("Prefer", "Wait = 0")]
    posted = await journey.post("/v1/optimisations", json=asked("any"), headers=headers)
    assert (posted.status_code, posted.headers["preference-applied"]) == (202, "wait=0")
    found = await journey.get("/v1/runs/any", headers=headers)
    assert (found.status_code, found.headers["preference-applied"]) == (200, "wait=0")
    plain = await journey.get("/v1/runs/any", headers={"Prefer": "wait=soon"})
    assert (plain.status_code, plain.headers.get("preference-applied")) == (200, None)


async def test_a_question_that_was_answered_before_is_answered_with_its_result(api, journey):
    first = (await journey.post("/v1/optimisations", json=asked("asked"), headers=WAIT)).json()
    again = await journey.post("/v1/optimisations", json=asked("asked"), headers=WAIT)
    assert (again.status_code, again.json()) == (200, first)
    other = await journey.post("/v1/optimisations", json=asked("under-another-name"), headers=WAIT)
    assert (other.status_code, other.json()["result"]) == (201, first["result"])
    plain = await journey.post("/v1/optimisations", json=asked("asked"))
    assert (plain.status_code, plain.json()) == (200, first)


async def test_the_same_again_is_202_while_it_is_not_finished(api, journey):
    first = await journey.post("/v1/optimisations", json=asked("open"), headers=IN_BACKGROUND)
    again = await journey.post("/v1/optimisations", json=asked("open"), headers=IN_BACKGROUND)
    assert (first.status_code, again.status_code) == (202, 202)
    assert again.json() == first.json()


async def test_a_repeated_key_is_answered_with_the_same_and_computed_once(journey, monkeypatch):
    search = Search(monkeypatch, goes=True)
    headers = WAIT | {"Idempotency-Key": "4711"}
    first = await journey.post("/v1/optimisations", json=asked("once"), headers=headers)
    again = await journey.post("/v1/optimisations", json=asked("once"), headers=headers)
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["preference-applied"] == first.headers["preference-applied"] == "wait=30"
    assert search.calls == 1


async def test_two_who_ask_the_same_at_once_are_answered_by_one_run(journey, monkeypatch):
    search = Search(monkeypatch, goes=False)
    posts = [
        asyncio.create_task(journey.post("/v1/optimisations", json=asked("same"), headers=WAIT))
        for _ in range(2)
    ]
    await until(journey, "same", "running")
    await asyncio.sleep(0.3)
    search.go.set()
    first, second = [(await post).json() for post in posts]
    assert first == second
    assert search.calls == 1


async def test_two_names_for_the_same_question_at_once_are_answered_alike(journey, monkeypatch):
    search = Search(monkeypatch, goes=False)
    posts = [
        asyncio.create_task(journey.post("/v1/optimisations", json=asked(name), headers=WAIT))
        for name in ("one", "other")
    ]
    for name in ("one", "other"):
        await until(journey, name, "running")
    search.go.set()
    answers = [await post for post in posts]
    assert [answer.status_code for answer in answers] == [201, 201]
    first, second = (answer.json() for answer in answers)
    assert (first["state"], first["result"]) == (second["state"], second["result"])
    assert first["id"] != second["id"]


async def test_who_repeats_a_key_meanwhile_is_told_to_come_back_and_then_answered(journey, monkeypatch):
    search = Search(monkeypatch, goes=False)
    headers = WAIT | {"Idempotency-Key": "repeated"}
    posting = asyncio.create_task(journey.post("/v1/optimisations", json=asked("repeated"), headers=headers))
    await until(journey, "repeated", "running")
    early = await journey.post("/v1/optimisations", json=asked("repeated"), headers=headers)
    problem_of(early, 409, "conflict")
    assert int(early.headers["retry-after"]) > 0
    search.go.set()
    response = await posting
    late = await journey.post("/v1/optimisations", json=asked("repeated"), headers=headers)
    assert (late.status_code, late.content) == (201, response.content)
    assert search.calls == 1


async def test_nothing_that_a_run_needs_is_deleted_while_it_is_waited_for(journey, monkeypatch):
    search = Search(monkeypatch, goes=False)
    posting = asyncio.create_task(journey.post("/v1/optimisations", json=asked("kept"), headers=WAIT))
    await until(journey, "kept", "running")
    dataset = OPTIMISATIONS["members-optimum"]["value"]["dataset"]
    for address in ("/v1/optimisations/kept", f"/v1/datasets/{dataset}"):
        problem_of(await journey.delete(address), 409, "conflict")
    search.go.set()
    response = await posting
    assert (response.status_code, response.json()["state"]) == (201, "succeeded")
    assert (await journey.delete("/v1/rules/kept")).status_code == 204
    assert (await journey.delete("/v1/optimisations/kept")).status_code == 204


async def test_webhooks_hear_of_a_run_that_was_done_at_once(api, journey):
    hook = {"name": "waiting", "url": "https://hooks.example.org/x", "events": ["run.succeeded"]}
    assert (await journey.post("/v1/webhooks", json=hook)).status_code == 201
    run = (await journey.post("/v1/optimisations", json=asked("told"), headers=WAIT)).json()
    messages = (await journey.get("/v1/webhooks/waiting/deliveries")).json()["items"]
    assert [(own["event"], own["state"]) for own in messages] == [("run.succeeded", "pending")]
    assert run["state"] == "succeeded"


async def test_who_waits_is_told_how_the_run_stands_when_the_process_is_about_to_end(
    api, journey, monkeypatch
):
    monkeypatch.setattr("app.services.runs.runs.SIGNAL_SECONDS", 0.05)
    allow_nothing_at_once(api)
    posting = asyncio.create_task(journey.post("/v1/optimisations", json=asked("left-off"), headers=WAIT))
    await until(journey, "left-off", "queued")
    api.services.runs.end_waits()
    async with asyncio.timeout(HANG_SECONDS):
        response = await posting
    assert (response.status_code, response.json()["state"]) == (202, "queued")
    assert response.headers["location"] == f"/v1/runs/{response.json()['id']}"


async def test_who_waits_is_answered_by_the_next_worker_where_one_dies(api, journey):
    allow_nothing_at_once(api)
    posting = asyncio.create_task(journey.post("/v1/optimisations", json=asked("passed-on"), headers=WAIT))
    await until(journey, "passed-on", "queued")
    run_id = (await journey.get("/v1/runs/passed-on")).json()["id"]
    assert (await api.registry.claim(run_id, "dead", 0.0)).attempt == 1
    await until(journey, "passed-on", "running")
    assert not posting.done()
    await api.execute(await api.registry.claim(run_id, "next", 0.0))
    response = await posting
    run = response.json()
    assert (response.status_code, run["state"], run["attempt"]) == (201, "succeeded", 2)
    assert run["result"] == (await journey.get("/v1/runs/passed-on/result")).json()


@pytest.mark.deep
async def test_a_run_that_is_cancelled_meanwhile_ends_without_a_result(journey, monkeypatch):
    search = Search(monkeypatch, goes=False, heeds_halts=False)
    posting = asyncio.create_task(journey.post("/v1/optimisations", json=asked("cancelled"), headers=WAIT))
    await until(journey, "cancelled", "running")
    assert (await journey.post("/v1/runs/cancelled/cancel")).json()["cancel_requested"]
    response = await posting
    search.go.set()
    assert (response.status_code, response.json()["state"]) == (201, "cancelled")
    assert "result" not in response.json()
    await asyncio.sleep(0.2)
    assert await state_of(journey, "cancelled") == "cancelled"
    problem_of(await journey.get("/v1/rules/cancelled"), 404, "not-found")
    assert (await journey.get("/v1/optimisations/cancelled")).json()["result"] is None


@pytest.mark.deep
async def test_a_run_that_is_stopped_meanwhile_ends_with_the_best_so_far(journey, monkeypatch):
    Search(monkeypatch, goes=False)
    posting = asyncio.create_task(journey.post("/v1/optimisations", json=asked("stopped"), headers=WAIT))
    await until(journey, "stopped", "running")
    await journey.post("/v1/runs/stopped/stop")
    response = await posting
    assert response.status_code == 201
    assert (response.json()["state"], response.json()["result"]["reproducible"]) == ("succeeded", False)


async def test_work_that_takes_longer_than_was_waited_goes_to_a_worker(api, journey, monkeypatch):
    search = Search(monkeypatch, goes=False, heeds_halts=False)
    posted = await journey.post("/v1/optimisations", json=asked("long"), headers={"Prefer": "wait=1"})
    assert (posted.status_code, posted.json()["state"], posted.json()["attempt"]) == (202, "queued", 0)
    search.go.set()
    await asyncio.sleep(0.2)
    assert await state_of(journey, "long") == "queued"
    assert await api.registry.lost_runs(0.0) == []  # a job of the queue carries it
    await api.work_off(posted.json()["id"])
    assert await state_of(journey, "long") == "succeeded"
    assert search.calls == 2


@pytest.mark.deep
async def test_what_breaks_down_here_is_a_workers_to_judge(api, journey, monkeypatch):
    def broken(*_: Any) -> bytes:
        raise ValueError("cell 'Alice' is not a number")

    with monkeypatch.context() as patched:
        patched.setattr(TableEnumeration, "run_block", broken)
        headers = {"Prefer": "wait=1"}
        posted = await journey.post("/v1/optimisations", json=asked("broken"), headers=headers)
    assert (posted.status_code, posted.json()["state"]) == (202, "queued")
    await api.work_off(posted.json()["id"])
    run = (await journey.get("/v1/runs/broken")).json()
    assert (run["state"], run["attempt"]) == ("succeeded", 1)


async def test_a_client_that_goes_away_leaves_a_run_that_ends(journey, monkeypatch):
    search = Search(monkeypatch, goes=False)
    posting = asyncio.create_task(journey.post("/v1/optimisations", json=asked("left"), headers=WAIT))
    await until(journey, "left", "running")
    posting.cancel()
    await asyncio.gather(posting, return_exceptions=True)
    search.go.set()
    await until(journey, "left", "succeeded")


async def test_a_process_that_dies_in_the_middle_leaves_a_run_that_a_worker_takes_over(
    api, journey, monkeypatch
):
    claims = []

    async def die(claim, seconds) -> None:
        claims.append(claim)
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(api.services.direct_runs, "finish", die)
        with pytest.raises(SystemExit):
            await journey.post("/v1/optimisations", json=asked("orphan"), headers=WAIT)
    run = (await journey.get("/v1/runs/orphan")).json()
    assert (run["state"], run["attempt"]) == ("running", 1)
    assert await api.registry.lost_runs(60.0) == []
    (lost,) = await api.registry.lost_runs(0.0)
    assert (lost.run_id, lost.attempt) == (run["id"], 1)
    claim = await api.registry.claim(run["id"], "worker", 0.0)
    assert claim.attempt == 2
    await api.services.direct_runs.finish(claims[0], 1.0)  # it was only slow: nothing comes of it
    assert await state_of(journey, "orphan") == "running"
    await api.execute(claim)
    assert await state_of(journey, "orphan") == "succeeded"
