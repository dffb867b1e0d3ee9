"""A hierarchy that is built beside the service is stored and read like any other."""

from __future__ import annotations

import httpx
import pytest

from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio


@pytest.mark.deep
async def test_a_large_hierarchy_is_stored_and_read_like_any_other(client: httpx.AsyncClient) -> None:
    text = "\n".join(f"{i:05d};{i // 100:03d}" for i in range(15_000))
    created = await client.post("/v1/hierarchies/csv", params={"name": "large"}, content=text)
    assert created.status_code == 201, created.text
    assert (created.json()["leaves"], created.json()["height"]) == (15_000, 2)
    tree = (await client.get("/v1/hierarchies/large/tree", params={"depth": 1, "limit": 3})).json()
    assert [child["label"] for child in tree["children"]] == ["000", "001", "002"]
    again = await client.post("/v1/hierarchies/csv", params={"name": "large"}, content=text)
    assert (again.status_code, again.json()) == (200, created.json())
    refused = await client.post("/v1/hierarchies/csv", params={"name": "other"}, content=text + "\nx")
    assert "Row 15001" in problem_of(refused, 422, "invalid-input")["errors"][0]["message"]


async def test_a_few_bytes_do_not_ask_for_a_million_labels(client: httpx.AsyncClient) -> None:
    definition = {"kind": "intervals", "range": {"first": "0", "last": "1000000"}, "widths": ["10", "100"]}
    refused = await client.post("/v1/hierarchies", json={"name": "bomb", "definition": definition})
    (fault,) = problem_of(refused, 422, "invalid-input")["errors"]
    assert (fault["pointer"], fault["code"]) == ("/definition/range/step", "too-many-leaves")
    assert "greater step" in fault["remedy"]
