"""Policies of secrets, and views that are judged by them."""

from __future__ import annotations

from typing import Any

import httpx

SCHEMA = {
    "sql": "CREATE TABLE patient (pid integer PRIMARY KEY, name text NOT NULL); "
    "CREATE TABLE diagnosis (pid integer NOT NULL, diagnosis text NOT NULL, ward integer NOT NULL);"
}
CANCER = "SELECT DISTINCT name FROM patient JOIN diagnosis USING (pid) WHERE diagnosis = 'cancer'"


def secret(query: str = CANCER, id_: str = "cancer") -> dict[str, str]:
    return {"id": id_, "query": query, "reason": "Nobody outside may learn it."}


def policy(name: str, *secrets: dict[str, str], **more: Any) -> dict[str, Any]:
    condition = {
        "kind": "perfect_privacy", "language": "sql", "secrets": list(secrets) or [secret()], **more
    }  # fmt: skip
    return {
        "format": "privacy-risk/policy/2",
        "name": name,
        "version": 1,
        "title": "Views",
        "assumes": {"attacker": "Any reader of the views."},
        "requirements": [
            {"id": "secrets", "title": "Nothing secret is disclosed", "reason": "As agreed.",
             "requirement": condition},
        ],
    }  # fmt: skip


async def gate(client: httpx.AsyncClient, name: str, *secrets: dict[str, str], **more: Any) -> str:
    made = await client.post("/v1/policies", json=policy(name, *secrets, **more))
    assert made.status_code == 201, made.text
    return f"/v1/gates/{name}/evaluations"


def asked(*views: dict[str, str], schema: dict[str, Any] | str = SCHEMA) -> dict[str, Any]:
    return {"relational_schema": schema, "views": list(views)}


async def judged(client: httpx.AsyncClient, at: str, *views: dict[str, str], **more: Any) -> dict[str, Any]:
    answer = await client.post(at, json=asked(*views, **more))
    assert answer.status_code in (200, 201), answer.text
    return answer.json()
