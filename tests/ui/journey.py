"""A tenant with something on every page: the example data, scored, searched and judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import httpx

from app.services.resources import Scope
from tests.api.service import Api

QUESTION = {"dataset": "example-members", "dictionary": "example-census", "sensitivity": "example-harm"}


@dataclass(frozen=True)
class Journey:
    """The tenant's keys, and the run that nobody has begun."""

    token: str
    assessor_token: str
    waiting_run: str


async def make_journey(api: Api) -> Journey:
    """Everything by the interface, as anybody would."""
    actor, token = await api.tenant_with_key()
    async with api.client(token) as client:
        made = await _made(client, "/v1/example-data", {"members": 400})
        score, best = (request["body"] for request in made["next"])
        await _made(client, "/v1/assessments", score)
        as_is = {"name": "as-is-score", **QUESTION, "rule": {"kind": "identity"}}
        await _made(client, "/v1/assessments", as_is)
        await _done(api, client, "/v1/optimisations", best)
        await _done(api, client, "/v1/frontiers", {"name": "example-frontier", **QUESTION})
        await _made(client, "/v1/rules", CAREFUL)
        waiting = await _made(
            client, "/v1/optimisations", best | {"name": "waiting", "solver": "branch_and_bound"}
        )
    return Journey(token, await api.key_with(actor, Scope.ASSESS), waiting["id"])


CAREFUL = {
    "name": "careful",
    "dataset": "example-members",
    "rule": {
        "kind": "conditional",
        "statements": [
            {"kind": "hide", "attribute": "income", "unless": "race = 'White'"},
            {
                "kind": "generalise",
                "attribute": "city",
                "unless": "race = 'White' or race = 'Black'",
                "to": {"kind": "level", "level": 2},
            },
        ],
    },
}


async def _made(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> Any:
    response = await client.post(path, json=body)
    assert response.is_success, response.text
    return response.json()


async def _done(api: Api, client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> None:
    run = await _made(client, path, body)
    await api.work_off(run["id"])
