"""Networks over HTTP: datasets of people, edges, trust, plans, and what is asked of them."""

from __future__ import annotations

from typing import Any

import httpx

PEOPLE = "person,town,team\n0,Ulm,red\n1,Ulm,red\n2,Ulm,blue\n3,Bonn,red\n"
PATH = "a,b\n0,1\n1,2\n2,3\n"
TRUST = "a,b,trust\n0,0,1\n0,1,0.5\n0,2,-0.2\n0,3,-1\n"


async def dataset(client: httpx.AsyncClient, name: str, text: str, **roles: str) -> None:
    """A dataset of a table as it is, every column of which is categorical; a role for some."""
    sent = {"content": text, "headers": {"Content-Type": "text/csv"}}
    answer = await client.post(f"/v1/uploads?name={name}", **sent)
    assert answer.status_code == 201, answer.text
    attributes = [
        {"name": own, "type": "categorical", "role": roles.get(own, "quasi_identifier")}
        for own in text.splitlines()[0].split(",")
    ]
    body = {"name": name, "upload": name, "attributes": attributes}
    answer = await client.post("/v1/datasets", json=body)
    assert answer.status_code == 201, answer.text


async def measured(
    client: httpx.AsyncClient, kind: str, people: str = "people", **asked: Any
) -> httpx.Response:
    """The answer to a question about people of which the further datasets have columns a and b."""
    profile = {"sensitivity": asked.pop("sensitivity")} if "sensitivity" in asked else {}
    question = {"kind": kind, "source": "a", "target": "b", **asked}
    body = {"dataset": people, "measure": question, **profile}
    return await client.post("/v1/measurements", json=body)


def fault_of(answer: httpx.Response) -> tuple[str, str, str]:
    """Place, code and message of the only fault."""
    assert answer.status_code == 422, answer.text
    assert len(answer.json()["errors"]) == 1, answer.text
    (fault,) = answer.json()["errors"]
    return fault["pointer"], fault["code"], fault["message"]


async def people(
    client: httpx.AsyncClient,
    rows: str,
    ladders: dict[str, list[list[str]]],
    weights: dict[str, dict[str, Any]],
    utility: dict[str, Any] | None = None,
) -> None:
    """Profiles of people with hierarchies and a linear sensitivity profile."""
    sent = {"content": rows, "headers": {"Content-Type": "text/csv"}}
    assert (await client.post("/v1/uploads?name=people", **sent)).status_code == 201
    attributes = [{"name": "person", "type": "text", "role": "identifier"}]
    for name, ladder in ladders.items():
        body = {"name": name, "definition": {"kind": "rows", "rows": ladder}}
        assert (await client.post("/v1/hierarchies", json=body)).status_code == 201
        attributes.append(
            {"name": name, "type": "categorical", "role": "quasi_identifier", "hierarchy": name}
        )
    body = {"name": "people", "upload": "people", "attributes": attributes}
    assert (await client.post("/v1/datasets", json=body)).status_code == 201
    body = {
        "name": "harm",
        "dataset": "people",
        "family": "linear",
        "attributes": weights,
        "allow_positive_top": True,
    }
    answer = await client.post("/v1/sensitivity-profiles", json=body)
    assert answer.status_code == 201, answer.text


async def asked_with_harm(client: httpx.AsyncClient, kind: str, **question: Any) -> httpx.Response:
    return await measured(client, kind, **{"sensitivity": "harm", **question})


def result_of(answer: httpx.Response) -> dict[str, Any]:
    assert answer.is_success, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result
