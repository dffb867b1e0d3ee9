"""Runs over HTTP: long polls, event streams that resume, cancellation."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest

from app.api.examples.searches import OPTIMISATIONS
from app.services.resources import Kind, NewResource
from tests.api.optimisations import IN_BACKGROUND
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

QUESTION = OPTIMISATIONS["members-optimum"]["value"]


async def queued(client: httpx.AsyncClient, name: str = "another", floor: float = 7) -> dict[str, Any]:
    """A run that nobody has begun yet."""
    body = QUESTION | {"name": name, "objective": {"kind": "min_risk", "utility_floor": floor}}
    started = await client.post("/v1/optimisations", json=body, headers=IN_BACKGROUND)
    assert started.status_code == 202, started.text
    assert started.headers["preference-applied"] == "respond-async"
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


@pytest.mark.deep
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


async def test_a_stopped_search_succeeds_with_a_bound_and_answers_no_other_question(
    api, journey: httpx.AsyncClient
):
    run = await queued(journey)
    stopped = await journey.post("/v1/runs/another/stop")
    assert (stopped.json()["state"], stopped.json()["stop_requested"]) == ("queued", True)
    assert (await journey.post("/v1/runs/another/stop")).json() == stopped.json()
    await api.work_off(run["id"])
    assert (await journey.get("/v1/runs/another")).json()["state"] == "succeeded"
    result = (await journey.get("/v1/optimisations/another")).json()["result"]
    assert (result["status"], result["reproducible"]) == ("heuristic", False)
    assert result["lower_bound"] <= result["risk"]
    assert result["gap"] == pytest.approx(result["risk"] - result["lower_bound"])
    assert result["utility"] >= 7
    rule = (await journey.get("/v1/rules/another")).json()
    assert rule["levels"] == result["rule"]["levels"]
    score = QUESTION | {"name": "stopped", "rule": "another"}
    for key in ("objective", "scope", "solver"):
        del score[key]
    assessed = (await journey.post("/v1/assessments", json=score)).json()["result"]
    assert assessed["risk_average"] == result["risk"]

    whole = await queued(journey, "whole")
    assert whole["state"] == "queued"
    await api.work_off(whole["id"])
    found = (await journey.get("/v1/runs/whole/result")).json()
    assert (found["status"], found["reproducible"]) == ("optimal", True)
    assert result["lower_bound"] <= found["risk"] <= result["risk"]
    after = await journey.post("/v1/runs/whole/stop")
    assert (after.status_code, after.json()["stop_requested"]) == (200, False)


async def test_a_stopped_search_that_is_asked_for_again_is_the_one_that_was_stopped(
    api, journey: httpx.AsyncClient
):
    body = QUESTION | {"name": "repeated", "objective": {"kind": "min_risk", "utility_floor": 3}}
    run = (await journey.post("/v1/optimisations", json=body, headers=IN_BACKGROUND)).json()
    await journey.post("/v1/runs/repeated/stop")
    await api.work_off(run["id"])
    stopped = (await journey.get("/v1/optimisations/repeated")).json()
    again = await journey.post("/v1/optimisations", json=body)
    assert (again.json()["id"], again.json()["state"]) == (run["id"], "succeeded"), again.text
    whole = (await journey.post("/v1/optimisations", json=body | {"name": "undisturbed"})).json()
    await api.work_off(whole["id"])
    assert (await journey.get("/v1/runs/undisturbed/result")).json()["status"] == "optimal"
    again = await journey.post("/v1/optimisations", json=body)
    assert (again.json()["id"], again.json()["state"]) == (run["id"], "succeeded"), again.text
    assert (await journey.get("/v1/optimisations/repeated")).json() == stopped
    other = body | {"objective": {"kind": "min_risk", "utility_floor": 4}}
    problem_of(await journey.post("/v1/optimisations", json=other), 409, "conflict")


async def test_a_search_beyond_its_time_is_not_reproducible_and_says_where_it_stopped(
    api, journey: httpx.AsyncClient
):
    body = QUESTION | {"name": "hurried", "budget": {"time_limit_seconds": 1e-9}}
    run = (await journey.post("/v1/optimisations", json=body)).json()
    await api.work_off(run["id"])
    shown = (await journey.get("/v1/optimisations/hurried")).json()
    assert shown["budget"] == {"max_nodes": None, "relative_gap": None, "time_limit_seconds": 1e-9}
    assert shown["result"]["reproducible"] is False
    assert shown["result"]["budget"] == shown["budget"]
    assert shown["result"]["visited_nodes"] < shown["result"]["rules"]


@pytest.mark.parametrize("scope", ["table_level", "record_level"])
async def test_a_stopped_frontier_shows_what_it_found_and_answers_no_other_question(
    api, journey: httpx.AsyncClient, scope
):
    body = {key: QUESTION[key] for key in ("dataset", "dictionary", "sensitivity")} | {"scope": scope}

    async def asked(name: str, most: int) -> dict[str, Any]:
        question = body | {"name": name, "max_points": most}
        run: dict[str, Any] = (
            await journey.post("/v1/frontiers", json=question, headers=IN_BACKGROUND)
        ).json()
        return run

    whole, stopped = await asked("whole", 150), await asked("part", 151)
    looks = iter([False])
    await api.work_off(whole["id"])
    await api.work_off(stopped["id"], lambda: next(looks, True))
    all_of_it = (await journey.get("/v1/runs/whole/result")).json()
    found = (await journey.get("/v1/runs/part/result")).json()
    assert found["complete"] is False
    assert found["n_points"] < all_of_it["n_points"] or not all_of_it["complete"]
    for point in found["points"]:
        dominating = [p for p in all_of_it["points"] if p["utility"] >= point["utility"]]
        assert min(p["risk"] for p in dominating) >= point["risk"] - point["gap"] - 1e-12
    assert (await asked("again", 151))["state"] == "queued"


async def test_what_has_no_best_so_far_says_so(api, journey: httpx.AsyncClient):
    token = journey.headers["Authorization"].removeprefix("Bearer ")
    tenant = (await api.services.tenants.authenticate(token)).tenant
    async with api.store.work(tenant) as work:
        ids = []
        kinds = (Kind.MEASUREMENT, Kind.ASSESSMENT, Kind.DRAW, Kind.MECHANISM_AUDIT)
        for number, kind in enumerate(kinds):
            sha256 = f"{number:0>64}"
            stored, _ = await work.resources.add(NewResource(kind, f"whole-{number}", sha256, {}, {}))
            ids.append((await work.runs.create(stored, sha256, {})).id)
        await work.commit()
    for run_id in ids:
        refused = problem_of(await journey.post(f"/v1/runs/{run_id}/stop"), 422, "not-supported")
        assert "has no best so far" in refused["detail"]


async def test_only_what_has_not_ended_can_be_stopped(journey: httpx.AsyncClient):
    cancelled = await queued(journey, "given-up")
    await journey.post(f"/v1/runs/{cancelled['id']}/cancel")
    problem_of(await journey.post("/v1/runs/given-up/stop"), 409, "conflict")
    problem_of(await journey.post("/v1/runs/nobody/stop"), 404, "not-found")


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


async def test_a_run_and_what_it_works_on_say_where_they_and_its_result_are(api, journey: httpx.AsyncClient):
    run = await queued(journey)
    own = run["addresses"]
    assert own == {"self": f"/v1/runs/{run['id']}", "resource": f"/v1/optimisations/{run['resource']['id']}"}
    await api.work_off(run["id"])
    for _ in range(3):
        seen = await journey.get(own["self"])
        assert seen.status_code == 200
        own = seen.json()["addresses"]
    assert own["result"] == f"/v1/runs/{run['id']}/result"
    assert (await journey.get(own["result"])).status_code == 200
    question = (await journey.get(own["resource"])).json()
    assert question["addresses"] == {"self": own["resource"]}
    body = {"name": "large", "dataset": QUESTION["dataset"], "measure": {"kind": "anonymity"}}
    body["rule"] = {"kind": "identity"}
    asked = await journey.post("/v1/measurements", json=body, headers=IN_BACKGROUND)
    assert asked.status_code == 202, asked.text
    address = f"/v1/measurements/{asked.json()['id']}"
    assert asked.json()["addresses"] == {"self": address, "run": asked.headers["location"]}
    assert (await journey.get(address)).json()["addresses"] == {"self": address}


async def test_every_kind_of_resource_says_its_own_address(journey: httpx.AsyncClient):
    document = (await journey.get("/openapi.json")).json()
    listed = 0
    for path, operations in document["paths"].items():
        shown = operations.get("get", {}).get("responses", {}).get("200", {}).get("content", {})
        reference = shown.get("application/json", {}).get("schema", {}).get("$ref", "")
        items = (
            document["components"]["schemas"]
            .get(reference.split("/")[-1], {})
            .get("properties", {})
            .get("items")
        )
        if items is None or "{" in path:
            continue
        for item in (await journey.get(path)).json()["items"]:
            if "addresses" in item:
                found = (await journey.get(item["addresses"]["self"])).json()
                assert (found["id"], found["addresses"]["self"]) == (item["id"], item["addresses"]["self"])
                listed += 1
    assert listed >= 8


async def test_the_name_of_a_rule_that_a_run_is_to_find_is_taken(api, journey: httpx.AsyncClient):
    run = await queued(journey, "promised")
    rule = {"name": "promised", "dataset": QUESTION["dataset"], "rule": {"kind": "identity"}}
    refused = problem_of(await journey.post("/v1/rules", json=rule), 409, "conflict")
    assert refused["details"]["existing"] == {"kind": "run", "name": "promised", "id": run["id"]}
    await api.work_off(run["id"])
    assert (await journey.get("/v1/runs/promised")).json()["state"] == "succeeded"


async def test_the_names_of_the_rules_of_alternatives_are_taken_while_their_run_is_at_work(
    journey: httpx.AsyncClient,
):
    objective = {
        "kind": "alternatives",
        "privacy": [{"kind": "k_anonymity", "k": 2}],
        "suppression_limit": 0.1,
    }
    body = {"name": "several", "dataset": QUESTION["dataset"], "objective": objective}
    started = await journey.post("/v1/optimisations", json=body, headers=IN_BACKGROUND)
    assert started.status_code == 202, started.text
    await queued(journey, "single")
    rule = {"dataset": QUESTION["dataset"], "rule": {"kind": "identity"}}
    named = await journey.post("/v1/rules", json={"name": "several-one-level-per-column", **rule})
    refused = problem_of(named, 409, "conflict")
    assert refused["details"]["existing"] == {"kind": "run", "name": "several", "id": started.json()["id"]}
    for free in ("several-others", "single-one-level-per-column"):
        assert (await journey.post("/v1/rules", json={"name": free, **rule})).status_code == 201
