"""What was configured can be read by who may read the data, and makes the same when it is sent again."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.problem_documents import problem_of

ROWS = "id,city\n1,Gary\n2,Rome\n3,Gary\n"
PARENTS = {"kind": "parents", "parents": {"Indiana": [None], "Gary": ["Indiana"], "Rome": [None]}}
LEAVES = {"leaves": {"Gary": 0.25, "Rome": "inf"}, "inner": "harmonic"}
COLUMNS = [
    {"name": "id", "type": "number", "role": "identifier"},
    {"name": "city", "type": "categorical", "role": "quasi_identifier", "hierarchy": "city"},
]
LINKS = [
    {"attribute": "city", "column": "city",
     "transform": {"kind": "lookup", "table": {"Gary": "Gary", "Rome": "Rome"}}},
]  # fmt: skip
BY_RECORD = {"kind": "record_level", "records": [{"row": 2, "steps": {"city": 1}}]}
BY_LEVEL = {"kind": "table_level", "levels": {"city": 1}, "suppress_classes_below": 2}


async def begin_with(client: httpx.AsyncClient) -> None:
    made = [
        ("hierarchies", {"name": "city", "definition": PARENTS}),
        ("datasets", {"name": "people", "upload": "people", "attributes": COLUMNS}),
        ("dictionaries", {"name": "looked-up", "upload": "people", "links": LINKS}),
        ("sensitivity-profiles",
         {"name": "harm", "dataset": "people", "family": "linear", "attributes": {"city": LEAVES}}),
        ("rules", {"name": "by-record", "dataset": "people", "rule": BY_RECORD}),
        ("rules", {"name": "by-level", "dataset": "people", "rule": BY_LEVEL}),
    ]  # fmt: skip
    assert (await client.post("/v1/uploads?name=people", content=ROWS)).status_code == 201
    for address, body in made:
        answer = await client.post(f"/v1/{address}", json=body)
        assert answer.status_code == 201, answer.text


@pytest.fixture
def configured(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def definition(client: httpx.AsyncClient, address: str) -> dict[str, Any]:
    answer = await client.get(f"/v1/{address}/definition")
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    assert (await client.get(f"/v1/{address}")).json()["id"] == told["id"]
    found: dict[str, Any] = told["definition"]
    return found


async def test_what_was_configured_is_read_back(configured: httpx.AsyncClient):
    again = await definition(configured, "hierarchies/city")
    assert again["kind"] == "parents"
    sent = {"name": "city", "definition": again}
    assert (await configured.post("/v1/hierarchies", json=sent)).status_code == 200
    weights = await definition(configured, "sensitivity-profiles/harm")
    assert weights["attributes"] == {"city": LEAVES}
    (link,) = (await definition(configured, "dictionaries/looked-up"))["links"]
    assert link["transform"]["table"] == {"Gary": "Gary", "Rome": "Rome"}
    for name, rule in (("by-record", BY_RECORD), ("by-level", BY_LEVEL)):
        again = await definition(configured, f"rules/{name}")
        assert again.items() >= rule.items()
        body = {"name": name, "dataset": "people", "rule": again}
        assert (await configured.post("/v1/rules", json=body)).status_code == 200, name


async def test_a_reference_date_is_read_back(journey: httpx.AsyncClient):
    links = (await definition(journey, "dictionaries/census"))["links"]
    assert {"age", "lookup"} <= {own["transform"]["kind"] for own in links}
    assert all(own["transform"]["reference_date"] for own in links if own["transform"]["kind"] == "age")


async def test_only_who_may_read_the_data_reads_what_was_configured(api, configured: httpx.AsyncClient):
    made = await configured.post("/v1/api-keys", json={"name": "scores", "scopes": ["assess"]})
    async with api.client(made.json()["token"]) as client:
        for address in ("hierarchies/city", "sensitivity-profiles/harm", "rules/by-level"):
            answer = await client.get(f"/v1/{address}/definition")
            assert problem_of(answer, 403, "forbidden")["scope"] == "data:read"
