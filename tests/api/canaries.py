"""Texts that stand nowhere else, put where personal data come to, and looked for where they must not be."""

from __future__ import annotations

import secrets
from typing import Any

import httpx

from tests.api.service import Api

CITIES = ("gary", "lake", "zion", "york")


class Canaries:
    """Of cells, of the name of a column, and of a label above cells."""

    def __init__(self) -> None:
        mark = secrets.token_hex(6)
        self.cells = [f"cell{mark}{city}" for city in CITIES]
        self.column, self.label = f"column{mark}", f"label{mark}"

    @property
    def all(self) -> list[str]:
        return [*self.cells, self.column, self.label]


async def answered(client: httpx.AsyncClient, method: str, path: str, **what: Any) -> Any:
    """The body of what must be no refusal."""
    response = await client.request(method, path, **what)
    assert response.status_code < 300, response.text
    return response.json() if response.content else None


async def fill(api: Api, client: httpx.AsyncClient, canaries: Canaries) -> None:
    """What shows cells, columns and labels: a dataset, and answers about it, at once and by a run."""
    rows = [f"p{number},{canaries.cells[number % 4]},{number % 7}" for number in range(40)]
    text = f"id,{canaries.column},grade\n" + "\n".join(rows) + "\n"
    once = {"Idempotency-Key": secrets.token_hex(8)}
    await answered(
        client, "POST", "/v1/uploads", params={"name": "people"}, content=text.encode(), headers=once
    )
    labels = {"kind": "rows", "rows": [[cell, canaries.label, "all"] for cell in canaries.cells]}
    await answered(client, "POST", "/v1/hierarchies", json={"name": "places", "definition": labels})
    grades = {"kind": "flat", "values": [str(number) for number in range(7)]}
    await answered(client, "POST", "/v1/hierarchies", json={"name": "grades", "definition": grades})
    attributes = [
        {"name": "id", "type": "text", "role": "identifier"},
        {"name": canaries.column, "type": "categorical", "role": "quasi_identifier", "hierarchy": "places"},
        {"name": "grade", "type": "categorical", "role": "sensitive", "hierarchy": "grades"},
    ]
    dataset = {"name": "people", "upload": "people", "attributes": attributes}
    await answered(client, "POST", "/v1/datasets", json=dataset)
    await answered(client, "GET", "/v1/datasets/people/profile")
    rule = {"kind": "generalisation", "values": {canaries.column: {canaries.cells[0]: canaries.label}}}
    await answered(client, "POST", "/v1/rules", json={"name": "hiding", "dataset": "people", "rule": rule})
    question = {"dataset": "people", "rule": "hiding", "measure": {"kind": "beta_likeness"}}
    await answered(client, "POST", "/v1/measurements", json={"name": "at-once", **question}, headers=once)
    asked = await answered(client, "POST", "/v1/measurements/runs", json={"name": "by-run", **question})
    await api.work_off(asked["id"])
    release = {"name": "shown", "dataset": "people", "rule": "hiding"}
    await answered(client, "POST", "/v1/releases", json=release)
