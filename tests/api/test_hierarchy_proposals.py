"""Hierarchies that are proposed with a schema are created as they stand, and make a dataset."""

from __future__ import annotations

import pytest

from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

STATES = ("CA", "IN", "NY", "TX", "WA")
TABLE = "id,zip,age,born,state,diagnosis,city\n" + "".join(
    f"P{i},{10000 + i % 9},{20 + i % 50},{1950 + i % 40}-03-0{1 + i % 9},{STATES[i % 5]},"
    f"{['I21.4', 'E11.9', 'C50'][i % 3]},{'Gary' if i % 2 else f'village {i % 80}'}\n"
    for i in range(200)
)


async def test_proposed_hierarchies_are_created_as_they_stand(client):
    uploaded = await client.post("/v1/uploads", params={"name": "patients"}, content=TABLE.encode())
    assert uploaded.status_code == 201, uploaded.text
    attributes = (await client.get("/v1/uploads/patients/proposal")).json()["attributes"]
    kinds = {own["name"]: (own["hierarchy"] or {"kind": None})["kind"] for own in attributes}
    assert kinds == {
        "id": None,
        "zip": "postcodes",
        "age": "intervals",
        "born": "dates",
        "state": "us_states",
        "diagnosis": "diagnoses",
        "city": "rare_values",
    }
    schema = []
    for own in attributes:
        assert own["hierarchy_reason"]
        if own["hierarchy"]:
            body = {"name": f"patients-{own['name']}", "definition": own["hierarchy"]}
            created = await client.post("/v1/hierarchies", json=body)
            assert created.status_code == 201, created.text
            schema.append(
                {"name": own["name"], "type": own["type"], "role": own["role"], "hierarchy": body["name"]}
            )
    body = {"name": "patients", "upload": "patients", "attributes": schema}
    dataset = await client.post("/v1/datasets", json=body)
    assert (dataset.status_code, dataset.json()["status"]) == (201, "ready"), dataset.text
    cities = (await client.get("/v1/hierarchies/patients-city/tree", params={"depth": 1})).json()
    assert {child["label"] for child in cities["children"]} == {"Gary", "other"}


async def test_cells_that_are_no_such_codes_are_not_repeated(client):
    table = b"who,zip\na,Zebediah\nb,10115\n"
    await client.post("/v1/uploads", params={"name": "wrong"}, content=table)
    definition = {"kind": "postcodes", "upload": {"upload": "wrong", "column": "zip"}, "country": "DE"}
    response = await client.post("/v1/hierarchies", json={"name": "wrong", "definition": definition})
    problem = problem_of(response, 422, "invalid-input")
    assert pointers(problem) == ["/definition/leaves/column"]
    assert "Zebediah" not in response.text
    assert "others" in problem["errors"][0]["remedy"]
    collected = {"name": "right", "definition": definition | {"others": "no postcode"}}
    assert (await client.post("/v1/hierarchies", json=collected)).status_code == 201
