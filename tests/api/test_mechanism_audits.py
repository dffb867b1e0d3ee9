"""Audits of mechanisms over HTTP: at once and by runs, kept, interrupted, cancelled, and refused."""

from __future__ import annotations

from typing import Any

import pytest

from app.services.releases.audit_work import AuditWork
from tests.api.problem_documents import problem_of
from tests.api.service import build_api

pytestmark = pytest.mark.anyio

STABLE = {"kind": "stability_histogram", "epsilon": 1, "delta": 0.01, "least_records": 1}
SAMPLED = {
    "kind": "sampled_generalisation",
    "epsilon": 1,
    "delta": 1e-6,
    "sampling_rate": 0.1,
    "least_records": 100_000,
    "trade_off": 0.00002,
}
PUBLISHED = SAMPLED | {"kind": "sampled_generalisation_published", "least_share": 0.2}
LAPLACE = {"kind": "laplace_histogram", "epsilon": 3}
REFUSED: tuple[tuple[dict[str, Any], dict[str, Any], int, str], ...] = (
    ({"kind": "guess"}, {}, 422, "invalid-input"),
    ({"kind": "perturbation", "beta": 2}, {}, 422, "not-supported"),
    (PUBLISHED, {}, 422, "not-supported"),
    (SAMPLED, {}, 413, "too-large"),
    (SAMPLED, {"method": "draws", "runs": 200_000}, 413, "too-large"),
    (LAPLACE, {"method": "draws", "runs": 400}, 422, "invalid-input"),
    (SAMPLED | {"least_records": 1000}, {}, 422, "invalid-input"),
    (STABLE, {"runs": 1000}, 422, "invalid-input"),
    (LAPLACE | {"epsilon": 13}, {"method": "draws"}, 413, "too-large"),
)
COUNTED = {
    "kind": "sampled_generalisation",
    "epsilon": 4,
    "delta": 0.006,
    "sampling_rate": 0.5,
    "least_records": 152,
    "trade_off": 1,
    "sensitivity": {"leaf": [0, 0]},
}
"""Of a threshold of 131 records: its exact audit takes seconds."""
DRAWN = {"mechanism": LAPLACE | {"epsilon": 1}, "method": "draws", "runs": 1000}


@pytest.fixture
def api(store, registry, clock):
    return build_api(store, registry, clock)


@pytest.fixture
async def client(api):
    _, token = await api.tenant_with_key()
    async with api.client(token) as made:
        yield made


async def test_audits_are_made_of_what_is_certified_and_refused_of_all_else(client):
    async def asked(mechanism: dict[str, Any], **more: Any) -> dict[str, Any]:
        response = await client.post("/v1/mechanism-audits", json={"mechanism": mechanism, **more})
        assert response.status_code == 201, response.text
        return response.json()

    made = await asked(STABLE, name="exactly")
    found = made["result"]
    assert (made["mechanism"], made["method"], made["runs"]) == ("stability_histogram", "exact", None)
    assert (found["verdict"], found["tests"]) == ("not refuted", [])
    (need,) = found["needs"]
    assert (need["part"], need["promised"]) == ("delta", 0.01)
    assert 0.004 < need["least"] < 0.01

    found = (await asked(STABLE, method="draws", runs=1000))["result"]
    assert (found["verdict"], found["needs"]) == ("not refuted", [])
    assert {own["pair"] for own in found["tests"]} == {"alone", "alike", "threshold"}
    assert all(own["least_epsilon"] <= 1 < own["attainable"] for own in found["tests"])

    for mechanism, more, status, code in REFUSED:
        for path in ("", "/runs"):
            response = await client.post(f"/v1/mechanism-audits{path}", json={"mechanism": mechanism, **more})
            problem = problem_of(response, status, code)
            if mechanism is LAPLACE:
                assert "3,200 or more" in problem["errors"][0]["remedy"]
            if more == {"runs": 1000}:
                assert problem["errors"][0]["pointer"] == "/runs"
    assert len((await client.get("/v1/mechanism-audits")).json()["items"]) == 2


async def test_an_audit_that_is_asked_for_again_is_not_drawn_again(client):
    first = (await client.post("/v1/mechanism-audits", json=DRAWN | {"name": "drawn"})).json()
    again = await client.post("/v1/mechanism-audits", json=DRAWN | {"name": "drawn"})
    assert (again.status_code, again.json()) == (200, first)
    other = await client.post("/v1/mechanism-audits", json=DRAWN | {"name": "other"})
    assert (other.status_code, other.json()["result"]) == (201, first["result"])
    problem_of(
        await client.post("/v1/mechanism-audits", json={"mechanism": STABLE, "name": "drawn"}),
        409,
        "conflict",
    )


async def test_a_long_audit_is_a_run(client):
    """Of a threshold above 60, or of more than ten million records: both were refused over HTTP once."""
    for body, units in (
        ({"mechanism": COUNTED}, 5),
        (DRAWN | {"mechanism": STABLE, "runs": 1_000_000}, 3),
    ):
        asked = await client.post("/v1/mechanism-audits", json=body)
        assert (asked.status_code, asked.json()["result"]) == (202, None)
        plan = (await client.post("/v1/mechanism-audits/plans", json=body)).json()
        assert (plan["route"], plan["units"], plan["missing"]) == ("run", units, [])


async def test_a_run_that_is_interrupted_keeps_the_pairs_that_are_done(api, client, monkeypatch):
    queued = (await client.post("/v1/mechanism-audits/runs", json=DRAWN | {"name": "drawn"})).json()
    block, done = AuditWork.run_block, []

    def killed(self, index, tick, halted):
        if index == 2:
            raise RuntimeError("the worker is gone")
        done.append(block(self, index, tick, halted))
        return done[-1]

    monkeypatch.setattr(AuditWork, "run_block", killed)
    with pytest.raises(RuntimeError):
        await api.execute(await api.registry.claim(queued["id"], "first", 60.0))
    assert len(done) == 2
    half = (await client.get("/v1/mechanism-audits/drawn")).json()
    assert half["result"] is None
    later = []

    def noted(self, index, tick, halted):
        later.append(index)
        return block(self, index, tick, halted)

    monkeypatch.setattr(AuditWork, "run_block", noted)
    await api.execute(await api.registry.claim(queued["id"], "second", 0.0))
    assert later == [2]
    run = (await client.get("/v1/runs/drawn")).json()
    assert (run["state"], run["resource"]["kind"]) == ("succeeded", "mechanism_audit")
    assert (run["progress"]["done"], run["progress"]["total"]) == (3, 3)
    result = (await client.get("/v1/runs/drawn/result")).json()
    assert (await client.get("/v1/mechanism-audits/drawn")).json()["result"] == result
    assert [own["pair"] for own in result["tests"]] == [*["alone"] * 2, *["alike"] * 2, *["threshold"] * 2]


async def test_a_cancelled_audit_leaves_nothing(api, client):
    queued = await client.post("/v1/mechanism-audits/runs", json={"mechanism": COUNTED, "name": "long"})
    assert queued.status_code == 202
    problem_of(await client.delete("/v1/mechanism-audits/long"), 409, "conflict")
    assert (await client.post("/v1/runs/long/cancel")).json()["state"] == "cancelled"
    assert await api.registry.claim(queued.json()["id"], "late", 0.0) is None
    assert (await client.get("/v1/mechanism-audits/long")).json()["result"] is None
    assert (await client.delete("/v1/mechanism-audits/long")).status_code == 204
