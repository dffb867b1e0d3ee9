"""Deleting something with all that is built on it: listed first, all or nothing, and of one tenant alone."""

from __future__ import annotations

from typing import Any

import httpx

from tests.api.problem_documents import problem_of

LEAST = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "suppression_limit": 1}


async def dependents(client: httpx.AsyncClient, address: str) -> list[dict[str, Any]]:
    answer = await client.delete(f"/v1/{address}?with_dependents=true&dry_run=true")
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


async def test_an_upload_goes_with_all_that_is_built_on_it_in_one_call(journey: httpx.AsyncClient):
    listed = await dependents(journey, "uploads/members")
    assert {"dataset", "rule", "assessment", "optimisation", "release", "upload"} <= {
        own["kind"] for own in listed
    }
    assert (listed[-1]["kind"], listed[-1]["name"]) == ("upload", "members")
    for own in listed:
        assert (await journey.get(own["href"])).json()["id"] == own["id"], own
    # What is built on another stands before it.
    users = problem_of(await journey.delete("/v1/datasets/members"), 409, "conflict")["details"]["users"]
    names = [(own["kind"], own["name"]) for own in listed]
    assert all(names.index((own["kind"], own["name"])) < names.index(("dataset", "members")) for own in users)
    for own in users:
        assert (await journey.get(own["href"])).json()["name"] == own["name"]
    evidence = (await journey.get("/v1/assessments/proposal-score/evidence")).headers["content-location"]
    gone = await journey.delete("/v1/uploads/members?with_dependents=true")
    assert gone.status_code == 204, gone.text
    for own in listed:
        assert (await journey.get(own["href"])).status_code == 404, own
    # What verdicts and scores were proven by outlives what it is about, as it does single deletions.
    assert (await journey.get(evidence)).status_code == 200
    events = (await journey.get("/v1/audit-events?limit=200")).json()["items"]
    deleted = {own["subject"] for own in events if own["action"].endswith(".delete")}
    assert {own["id"] for own in listed} <= deleted
    assert (await journey.get("/v1/hierarchies/city")).status_code == 200
    problem_of(await journey.delete("/v1/uploads/members?with_dependents=true"), 404, "not-found")


async def test_a_dry_run_deletes_nothing_and_refuses_what_would_be(journey: httpx.AsyncClient, unchanged):
    refused = problem_of(await journey.delete("/v1/datasets/members?dry_run=true"), 409, "conflict")
    assert refused["details"]["users"]
    (own,) = (await journey.delete("/v1/assessments/proposal-score?dry_run=true")).json()["items"]
    assert (own["kind"], own["name"]) == ("assessment", "proposal-score")
    await dependents(journey, "uploads/members")


async def test_a_run_at_work_keeps_all_of_it(fixture: httpx.AsyncClient):
    asked = {"name": "at-work", "dataset": "T", "objective": LEAST}
    later = {"Prefer": "respond-async"}
    run = (await fixture.post("/v1/optimisations", json=asked, headers=later)).json()
    for dry_run in ("true", "false"):
        answer = await fixture.delete(f"/v1/datasets/T?with_dependents=true&dry_run={dry_run}")
        users = problem_of(answer, 409, "conflict")["details"]["users"]
        assert [(own["kind"], own["href"]) for own in users] == [("run", f"/v1/runs/{run['id']}")]
    assert (await fixture.get("/v1/datasets/T")).status_code == 200
    await fixture.post(f"/v1/runs/{run['id']}/cancel")
    assert (await fixture.delete("/v1/datasets/T?with_dependents=true")).status_code == 204
    assert (await fixture.get("/v1/optimisations/at-work")).status_code == 404


async def test_nobody_deletes_another_tenant_s_nor_without_the_scopes_of_its_users(
    api, journey: httpx.AsyncClient, other_client: httpx.AsyncClient, unchanged
):
    ref = (await journey.get("/v1/uploads/members")).json()["id"]
    for name in (ref, "members"):
        for dry_run in ("true", "false"):
            address = f"/v1/uploads/{name}?with_dependents=true&dry_run={dry_run}"
            problem_of(await other_client.delete(address), 404, "not-found")


async def test_deleting_with_dependents_needs_the_scopes_of_each(api, journey: httpx.AsyncClient):
    made = await journey.post("/v1/api-keys", json={"name": "data", "scopes": ["data:write", "data:read"]})
    async with api.client(made.json()["token"]) as client:
        refused = await client.delete("/v1/uploads/members?with_dependents=true")
        assert problem_of(refused, 403, "forbidden")["scope"] in ("assess", "govern")
    assert (await journey.get("/v1/uploads/members")).status_code == 200
