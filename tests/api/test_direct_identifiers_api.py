"""Direct identifiers over HTTP: what is said of an upload and of a dataset, and that no cell leaves."""

from __future__ import annotations

import httpx
import pytest

pytestmark = pytest.mark.anyio

CSV = {"Content-Type": "text/csv"}
ROWS = "\n".join(
    ["phone,note,ward", *(f"+49 30 23125{n:03d},n{n % 3}@example.org,W{n % 2}" for n in range(100, 140))]
)


async def test_disclosed_identifiers_are_found_and_never_shown(client: httpx.AsyncClient):
    assert (await client.post("/v1/uploads?name=calls", content=ROWS, headers=CSV)).status_code == 201
    proposed = await client.get("/v1/uploads/calls/proposal")
    roles = {own["name"]: (own["role"], own["reason"]) for own in proposed.json()["attributes"]}
    assert roles["phone"] == (
        "identifier",
        "A direct identifier: its cells look like telephone numbers (100 %).",
    )
    assert roles["note"] == ("other", "A direct identifier: its cells look like e-mail addresses (100 %).")
    assert roles["ward"][0] == "quasi_identifier"
    declared = [
        {"name": name, "type": "categorical", "role": role}
        for name, role in (("phone", "quasi_identifier"), ("note", "sensitive"), ("ward", "quasi_identifier"))
    ]
    body = {"name": "calls", "upload": "calls", "attributes": declared}
    assert (await client.post("/v1/datasets", json=body)).status_code == 201
    asked = {"name": "raw", "dataset": "calls", "measure": {"kind": "direct_identifiers"}}
    raw = await client.post("/v1/measurements", json=asked)
    assert raw.status_code == 201, raw.text
    result = raw.json()["result"]
    assert result["direct_identifiers"] == 2
    kinds = {own["attribute"]: own["kinds"] for own in result["attributes"]}
    found = {name: [(own["kind"], own["share"]) for own in listed] for name, listed in kinds.items()}
    assert found == {"phone": [("telephone", 1.0)], "note": [("email", 1.0)], "ward": []}
    rule = {"kind": "table_level", "levels": {"phone": 1, "note": 1, "ward": 0}}
    suppressed = await client.post("/v1/measurements", json={**asked, "name": "suppressed", "rule": rule})
    assert suppressed.json()["result"]["direct_identifiers"] == 0
    for answer in (proposed, raw, suppressed):
        assert "+49" not in answer.text
        assert "example.org" not in answer.text
