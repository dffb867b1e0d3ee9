"""Datasets as they are proposed: one call from an upload to a schema with its hierarchies."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from app.services.resources import Scope
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

CSV = {"Content-Type": "text/csv"}
PATIENTS = "patient_id,zip,birth_date,disease\n" + "".join(
    f"p{row:03},{47900 + row % 4},{1950 + row % 5}-0{1 + row % 9}-11,{('flu', 'cold', 'gout')[row % 3]}\n"
    for row in range(60)
)


async def uploaded(client: httpx.AsyncClient, content: str = PATIENTS) -> None:
    sent = await client.post("/v1/uploads?name=patients", content=content.encode(), headers=CSV)
    assert sent.status_code == 201, sent.text


async def proposed(client: httpx.AsyncClient, **more: Any) -> httpx.Response:
    body = {"name": "patients", "upload": "patients", "propose": True, **more}
    return await client.post("/v1/datasets", json=body)


def roles(dataset: dict[str, Any]) -> dict[str, str]:
    return {own["name"]: own["role"] for own in dataset["attributes"]}


async def test_a_dataset_follows_the_proposal_which_is_shown(client: httpx.AsyncClient) -> None:
    await uploaded(client)
    answer = await proposed(client)
    assert answer.status_code == 201, answer.text
    dataset = answer.json()
    told = (await client.get("/v1/uploads/patients/proposal")).json()
    assert dataset["proposal"] == told
    assert roles(dataset) == {own["name"]: own["role"] for own in told["attributes"]}
    made = {own["name"]: own["hierarchy"] for own in dataset["attributes"]}
    for own in told["attributes"]:
        assert (made[own["name"]] is None) == (own["hierarchy"] is None)
        if own["hierarchy"] is not None:
            asked = {"name": f"by-hand-{own['name']}", "definition": own["hierarchy"]}
            by_hand = (await client.post("/v1/hierarchies", json=asked)).json()
            created = (await client.get(f"/v1/hierarchies/{made[own['name']]}")).json()
            assert created["sha256"] == by_hand["sha256"]
    assert made["birth_date"] == "patients-birth_date"
    stored = (await client.get("/v1/datasets/patients")).json()
    assert "proposal" not in stored
    assert (stored["id"], stored["status"]) == (dataset["id"], "ready")
    again = await proposed(client)
    assert (again.status_code, again.json()) == (200, dataset)


async def test_what_is_declared_holds_and_gets_the_hierarchy_that_suits_it(client: httpx.AsyncClient) -> None:
    await uploaded(client)
    declared = [
        {"name": "disease", "type": "categorical", "role": "quasi_identifier"},
        {"name": "zip", "type": "categorical", "role": "identifier"},
    ]
    unknown = await proposed(client, attributes=[declared[0], {**declared[1], "name": "zap"}])
    refused = problem_of(unknown, 422, "invalid-input")
    assert pointers(refused) == ["/attributes/1/name"]
    (only, _) = declared
    dataset = (await proposed(client, attributes=[only])).json()
    assert roles(dataset)["disease"] == "quasi_identifier"
    disease = next(own for own in dataset["proposal"]["attributes"] if own["name"] == "disease")
    assert (disease["reason"], disease["role"]) == ("It is declared so.", "quasi_identifier")
    assert dataset["attributes"][0]["hierarchy"] == "patients-disease"


@pytest.mark.parametrize(
    ("content", "declared", "choices"),
    [
        (
            "id,born,town\n"
            + "".join(f"{row},0{1 + row % 9}/0{1 + row % 7}/1980,t{row % 3}\n" for row in range(40)),
            [{"name": "born", "type": "date", "role": "quasi_identifier", "format": "dd/mm/yyyy"}],
            "dd/mm/yyyy or mm/dd/yyyy",
        ),
        (
            "patient_id,sex,town,illness\n"
            + "".join(f"{row // 3},{'mf'[row // 3 % 2]},t{row // 3 % 7},{row % 5}\n" for row in range(90)),
            [{"name": "patient_id", "type": "text", "role": "person"}],
            "rows_are persons",
        ),
    ],
    ids=["day or month", "persons"],
)
async def test_a_doubt_is_refused_with_what_settles_it_and_leaves_nothing(
    client: httpx.AsyncClient, content: str, declared: list[dict[str, Any]], choices: str
) -> None:
    await uploaded(client, content)
    refused = problem_of(await proposed(client), 422, "invalid-input")
    (fault,) = refused["errors"]
    assert (fault["pointer"], fault["code"]) == ("/attributes", "in-doubt")
    assert choices in fault["remedy"]
    assert (await client.get("/v1/hierarchies")).json()["items"] == []
    settled = await proposed(client, attributes=declared)
    assert settled.status_code == 201, settled.text
    assert roles(settled.json())[declared[0]["name"]] == declared[0]["role"]


async def test_nothing_is_left_of_a_dataset_whose_name_is_taken(client: httpx.AsyncClient) -> None:
    await uploaded(client)
    town = [{"name": "zip", "type": "categorical", "role": "quasi_identifier"}]
    body = {"name": "patients", "upload": "patients", "attributes": town}
    assert (await client.post("/v1/datasets", json=body)).status_code == 201
    problem_of(await proposed(client), 409, "conflict")
    assert (await client.get("/v1/hierarchies")).json()["items"] == []


async def test_only_who_reads_the_data_may_have_it_proposed(api: Any, client: httpx.AsyncClient) -> None:
    await uploaded(client)
    actor = await api.services.tenants.authenticate(client.headers["Authorization"][7:])
    async with api.client(await api.key_with(actor, Scope.DATA_WRITE)) as blind:
        assert problem_of(await proposed(blind), 403, "forbidden")["scope"] == "data:read"


async def test_from_a_csv_to_a_verdict_it_is_five_calls(client: httpx.AsyncClient) -> None:
    calls = 0

    async def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
        nonlocal calls
        calls += 1
        answer = await client.post(path, json=body, headers={"Prefer": "wait=30"})
        assert answer.status_code == 201, answer.text
        found: dict[str, Any] = answer.json()
        return found

    await uploaded(client)
    calls += 1
    dataset = await post("/v1/datasets", {"name": "patients", "upload": "patients", "propose": True})
    asked = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 5}]}
    search = await post(
        "/v1/optimisations", {"name": "patients-k5", "dataset": "patients", "objective": asked}
    )
    assert search["result"]["status"] == "optimal"
    policy = {
        "format": "privacy-risk/policy/2", "name": "five", "version": 1,
        "title": "Five of a kind",
        "assumes": {"attacker": "A neighbour."}, "schema": {"attributes": roles(dataset)},
        "requirements": [
            {
                "id": "five", "title": "Five of a kind", "reason": "Nobody is to stand alone.",
                "requirement": {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 5}},
            }
        ],
        "not_covered": [{"columns": ["disease"], "reason": "Nobody outside knows it."}],
    }  # fmt: skip
    await post("/v1/policies", policy)
    body = {"name": "verdict", "dataset": "patients", "rule": "patients-k5"}
    verdict = await post("/v1/gates/five/evaluations", body)
    assert (calls, verdict["result"]["verdict"]) == (5, "pass")
