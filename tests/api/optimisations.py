"""Questions to searches, and what is found when they are worked off."""

from __future__ import annotations

import itertools
import json
from typing import Any

import httpx

from app.api.examples.searches import OPTIMISATIONS
from tests.api.fixture_f import ATTRIBUTES, ROWS, dataset, post, profile, upload

EXAMPLES = {name: example["value"] for name, example in OPTIMISATIONS.items()}


QUESTION = EXAMPLES["members-optimum"]
IN_BACKGROUND = {"Prefer": "respond-async"}
"""Has a search wait for a worker, however small it is."""


async def found(api, client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    """The result of an optimisation that is asked now."""
    run = await client.post("/v1/optimisations", json=body)
    assert run.status_code in (201, 202), run.text
    await api.work_off(run.json()["id"])
    shown = (await client.get(f"/v1/optimisations/{body['name']}")).json()
    assert shown["result"] is not None, (await client.get(f"/v1/runs/{body['name']}")).text
    result: dict[str, Any] = shown["result"]
    return result


async def result_of(client: httpx.AsyncClient, name: str) -> dict[str, Any]:
    """The result of an example of the journey."""
    result: dict[str, Any] = (await client.get(f"/v1/optimisations/{name}")).json()["result"]
    return result


def asking(name, privacy, **more):
    return {"name": name, "dataset": "members", "objective": {"kind": "min_loss", "privacy": privacy, **more}}


async def few_records(client, name: str, n: int) -> dict[str, str]:
    """A dataset of the first records of T with their weights; what a question has to say of it."""
    await upload(client, name, ("id", *ATTRIBUTES), ROWS["T"][:n])
    await dataset(client, name, name)
    family = "linear_personal" if n >= 4 else "linear"
    if family == "linear_personal":
        await profile(client, f"{name}-harm", family, of=name)
    else:
        rows = [("3", a, w) for a, w in (("city", 0.5), ("race", 0.2), ("income", 1.0))] if n == 3 else []
        body = {
            "name": f"{name}-harm",
            "dataset": name,
            "family": "linear_personal",
            "attributes": {"city": {"leaves": 0.3}, "race": {"leaves": 0.4}, "income": {"leaves": 0.75}},
        }
        if rows:
            await upload(client, f"{name}-weights", ("entity", "attribute", "weight"), rows)
            body["overrides"] = {
                "upload": f"{name}-weights", "by": "entity", "key_column": "entity",
                "attribute_column": "attribute", "weight_column": "weight",
            }  # fmt: skip
        await post(client, "sensitivity-profiles", body)
    return {"dataset": name, "sensitivity": f"{name}-harm", "scope": "record_level"}


def frontier_question(dictionary: str = "D1", **more: Any) -> dict[str, Any]:
    """What is asked of a frontier of fixture F."""
    asked = {"name": "all", "dataset": "T", "dictionary": dictionary, "sensitivity": "personal"}
    return asked | more


async def frontier(api, client, *arguments, **more) -> dict[str, Any]:
    """The result of a frontier of fixture F that is asked now."""
    body = frontier_question(*arguments, **more)
    run = await post(client, "frontiers", body)
    await api.work_off(run["id"])
    shown = (await client.get(f"/v1/frontiers/{body['name']}")).json()
    assert shown["result"] is not None, (await client.get(f"/v1/runs/{run['id']}")).json()
    assert (await client.get(f"/v1/runs/{run['id']}/result")).json() == shown["result"]
    return shown["result"]


def not_dominated(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """(utility, risk) of those that no other beats in one without losing in the other, by utility."""
    kept = {
        (u, r)
        for u, r in points
        if not any(v >= u - 1e-9 and s <= r + 1e-12 and (v > u + 1e-9 or s < r - 1e-12) for v, s in points)
    }
    return sorted(kept)


_scores: dict[str, dict[tuple[int, ...], dict[str, Any]]] = {}
"""Options → what was assessed with them: every database has the same fixture F."""


async def all_scores(client, **options: Any) -> dict[tuple[int, ...], dict[str, Any]]:
    """Levels → result of every table-level rule, each assessed by itself under D1."""
    key = json.dumps(options, sort_keys=True)
    if key in _scores:
        return _scores[key]
    found = {}
    for levels in itertools.product(range(6), range(3), range(3)):
        rule = {"kind": "table_level", "levels": dict(zip(ATTRIBUTES, levels, strict=True))}
        body = {"dataset": "T", "dictionary": "D1", "sensitivity": "personal", "rule": rule} | options
        found[levels] = (await post(client, "assessments", body))["result"]
    _scores[key] = found
    return found
