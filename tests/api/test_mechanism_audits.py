"""Audits of mechanisms over HTTP: what is found, and what is refused."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

from app.api.routers import mechanism_audits
from app.api.schemas.mechanism_audits import NewMechanismAudit
from app.domain.mechanisms.mechanism_audit import Audit
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
)


async def test_audits_are_made_of_what_is_certified_and_refused_of_all_else(store, registry, clock):
    api = build_api(store, registry, clock)
    _, token = await api.tenant_with_key()
    async with api.client(token) as client:

        async def asked(mechanism: dict[str, Any], **more: Any) -> tuple[int, dict[str, Any]]:
            response = await client.post("/v1/mechanism-audits", json={"mechanism": mechanism, **more})
            return response.status_code, response.json()

        status, found = await asked(STABLE)
        assert (status, found["verdict"], found["tests"]) == (200, "not refuted", [])
        (need,) = found["needs"]
        assert (need["part"], need["promised"]) == ("delta", 0.01)
        assert 0.004 < need["least"] < 0.01

        status, found = await asked(STABLE, method="draws", runs=1000)
        assert (status, found["verdict"], found["needs"]) == (200, "not refuted", [])
        assert {own["pair"] for own in found["tests"]} == {"alone", "alike", "threshold"}
        assert all(own["least_epsilon"] <= 1 < own["attainable"] for own in found["tests"])

        for mechanism, more, status, code in REFUSED:
            response = await client.post("/v1/mechanism-audits", json={"mechanism": mechanism, **more})
            problem = problem_of(response, status, code)
            if mechanism is LAPLACE:
                assert "3,200 or more" in problem["errors"][0]["remedy"]


async def test_audits_wait_for_each_other_in_a_thread_of_their_own(monkeypatch):
    """Each may take seconds: several at once would take all threads by which others are answered."""
    at_work, seen, threads = [], [], set()

    def slow(asked: Any) -> Audit:
        at_work.append(asked)
        seen.append(len(at_work))
        threads.add(threading.current_thread().name)
        time.sleep(0.01)
        at_work.pop()
        return Audit(asked.mechanism, 1, 0.01, (), ())

    monkeypatch.setattr(mechanism_audits, "mechanism_audit", slow)
    body = NewMechanismAudit.model_validate({"mechanism": STABLE})
    await asyncio.gather(*(mechanism_audits.audit_mechanism(None, body) for _ in range(4)))
    assert (seen, len(threads)) == ([1] * 4, 1)
    assert threads.pop().startswith("audits")
