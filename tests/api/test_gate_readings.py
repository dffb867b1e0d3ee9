"""Gates over HTTP read missing values and suppressed records as the search did whose rule they judge."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.optimisations import found
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

CSV = {"Content-Type": "text/csv"}
READINGS = [
    (missing, suppressed)
    for missing in ("own_category", "matches_everything", "excluded")
    for suppressed in ("excluded", "own_block")
]


def policy(name: str, missing: str, suppressed: str) -> dict[str, Any]:
    demand = {
        "kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2},
        "missing": missing, "suppressed": suppressed,
    }  # fmt: skip
    return {
        "format": "privacy-risk/policy/1", "name": name, "version": 1, "title": "Read as searched",
        "assumes": {"attacker": "A neighbour."}, "suppression_limit": 1.0,
        "not_covered": [{"columns": ["ill", "id"], "reason": "These tests are about classes."}],
        "criteria": [{"id": "k", "title": "Nobody alone", "reason": "For the test.", "demand": demand}],
    }  # fmt: skip


async def begin_with(client: httpx.AsyncClient) -> None:
    """A dataset of one in x, two without a town and two in y, and a policy per reading."""
    for number, reading in enumerate(READINGS):
        stored = await client.post("/v1/policies", json=policy(f"p{number}", *reading))
        assert stored.status_code == 201, stored.text
    rows = "town,ill\nx,flu\n,flu\n,cold\ny,flu\ny,cold\n"
    assert (await client.post("/v1/uploads?name=rows", content=rows, headers=CSV)).status_code == 201
    declared = [
        {"name": "town", "type": "categorical", "role": "quasi_identifier"},
        {"name": "ill", "type": "categorical", "role": "sensitive"},
    ]
    body = {"name": "towns", "upload": "rows", "attributes": declared}
    made = await client.post("/v1/datasets", json=body)
    assert made.status_code == 201, made.text


@pytest.fixture
def gated(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def judged(client: httpx.AsyncClient, name: str, number: int, rule: object) -> dict[str, Any]:
    body = {"name": name, "dataset": "towns", "rule": rule}
    answer = await client.post(f"/v1/gates/p{number}/evaluations", json=body)
    assert answer.status_code == 201, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result


async def test_a_found_rule_passes_the_gate_that_asks_the_same(api, gated: httpx.AsyncClient):
    for number, (missing, suppressed) in enumerate(READINGS):
        objective = {
            "kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "suppression_limit": 1.0,
            "missing": missing, "suppressed": suppressed,
        }  # fmt: skip
        asked = {"name": f"least{number}", "dataset": "towns", "objective": objective}
        assert (await found(api, gated, asked))["status"] == "optimal"
        assert (await judged(gated, f"found{number}", number, asked["name"]))["verdict"] == "pass"


async def test_what_is_left_out_is_said(gated: httpx.AsyncClient):
    number = READINGS.index(("excluded", "excluded"))
    identity = {"kind": "identity"}
    lenient = READINGS.index(("matches_everything", "excluded"))
    assert (await judged(gated, "alike", lenient, identity))["verdict"] == "pass"
    result = await judged(gated, "plain", number, identity)
    (criterion,) = result["criteria"]
    assert (result["verdict"], criterion["worst"]) == ("fail", {"rows": [1, 2, 3], "records": 3})
    assert (
        "Released with a missing quasi-identifier, and hence failing: 2 records." in criterion["explanation"]
    )
    changes = {own["for"]: own for own in result["changes"]}
    assert (changes["k"]["suppressed_records"], changes["k"]["rule"]["missing"]) == (3, "excluded")
    after = await judged(gated, "changed", number, changes["k"]["rule"])
    assert after["verdict"] == "pass"
    # The block of the records that it suppresses has one member at whom somebody looks.
    block = READINGS.index(("excluded", "own_block"))
    assert (await judged(gated, "block", block, changes["k"]["rule"]))["verdict"] == "fail"
    said = after["criteria"][0]["explanation"]
    assert "Not looked at, for a missing quasi-identifier: 2 suppressed records." in said
    assert any("suppressed for a missing quasi-identifier are not judged by 'k'" in own
               for own in after["not_covered"])  # fmt: skip


async def test_no_change_is_ruled_out_where_readings_differ(gated: httpx.AsyncClient):
    """One rule that suppresses records would have to do so in two ways: none is looked for."""
    differing = policy("differing", "excluded", "excluded")
    (criterion,) = differing["criteria"]
    other = {**criterion, "id": "other", "demand": {**criterion["demand"], "missing": "own_category"}}
    made = await gated.post("/v1/policies", json=differing | {"criteria": [criterion, other]})
    assert made.status_code == 201, made.text
    body = {"name": "differing", "dataset": "towns", "rule": {"kind": "identity"}}
    answer = await gated.post("/v1/gates/differing/evaluations", json=body)
    changes = {own["for"]: own for own in answer.json()["result"]["changes"]}
    assert {id_: (own["status"], own["proven"]) for id_, own in changes.items()} == {
        "k": ("found", True), "other": ("found", True), "all": ("not_found", False),
    }  # fmt: skip


async def test_a_file_of_which_the_original_is_unknown_has_no_missing_values(gated: httpx.AsyncClient):
    rows = "town,ill\nx,flu\n,cold\n"
    assert (await gated.post("/v1/uploads?name=sent", content=rows, headers=CSV)).status_code == 201
    for number, (missing, _) in enumerate(READINGS):
        body = {"name": f"file{number}", "dataset": "towns", "release": {"upload": "sent"}}
        result = (await gated.post(f"/v1/gates/p{number}/evaluations", json=body)).json()["result"]
        assert result["verdict"] == ("fail" if missing == "own_category" else "error"), missing


async def test_records_that_a_file_does_not_have_are_not_counted_as_suppressed(gated: httpx.AsyncClient):
    rows = "id,town\n1,x\n2,\n3,\n4,y\n5,y\n"
    assert (await gated.post("/v1/uploads?name=keyed", content=rows, headers=CSV)).status_code == 201
    declared = [
        {"name": "id", "type": "categorical", "role": "identifier"},
        {"name": "town", "type": "categorical", "role": "quasi_identifier"},
    ]
    body = {"name": "keyed", "upload": "keyed", "attributes": declared}
    assert (await gated.post("/v1/datasets", json=body)).status_code == 201
    assert (
        await gated.post("/v1/uploads?name=part", content="id,town\n2,\n4,y\n5,y\n", headers=CSV)
    ).status_code == 201
    body = {"name": "part", "dataset": "keyed", "release": {"upload": "part", "key": "id"}}
    number = READINGS.index(("excluded", "excluded"))
    result = (await gated.post(f"/v1/gates/p{number}/evaluations", json=body)).json()["result"]
    (criterion,) = result["criteria"]
    assert "for a missing quasi-identifier: 1 suppressed records." in criterion["explanation"]
    assert result["verdict"] == "pass"


async def test_readings_that_there_are_not_are_refused(gated: httpx.AsyncClient):
    refused = await gated.post("/v1/policies", json=policy("other", "none", "excluded"))
    problem_of(refused, 422, "invalid-input")
