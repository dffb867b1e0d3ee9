"""A small table whose sensitive values a mechanism draws, and how its release is asked for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import httpx

TOWNS = ["Rome"] * 30 + ["Bari"] * 30
ILLNESSES = ["flu", "asthma", "gout"] * 20
ROWS = [",".join(row) for row in zip(TOWNS, ILLNESSES, strict=True)]
ROLES = {"town": "quasi_identifier", "illness": "sensitive"}
PERTURBED = {"kind": "perturbation", "beta": 2}
UNIFORM = {"kind": "uniform_perturbation", "p": 0.25, "rho_1": 0.1, "rho_2": 0.4, "epsilon": 0.2}
SAMPLED = {"kind": "sample_perturb_scale", "p": 0.5, "p_cap": 0.5}


async def made(request: Any) -> dict[str, Any]:
    response = await request
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


async def declared(client: httpx.AsyncClient, values: Iterable[str]) -> str:
    """The name of a hierarchy that says which values there can be, apart from any data."""
    values = sorted(set(values))
    name = f"declared-{hashlib.sha256(repr(values).encode()).hexdigest()[:12]}"
    body = {"name": name, "definition": {"kind": "flat", "values": values}}
    answer = await client.post("/v1/hierarchies", json=body)
    assert answer.status_code in (200, 201, 409), answer.text
    return name


async def people(
    client: httpx.AsyncClient,
    name: str = "people",
    upload: str | None = None,
    illnesses: Iterable[str] = ILLNESSES,
    **roles: str,
) -> None:
    """A dataset of these rows, or of an upload, in which these illnesses are declared."""
    if upload is None:
        text = "town,illness\n" + "\n".join(ROWS) + "\n"
        headers = {"Content-Type": "text/csv"}
        await made(client.post(f"/v1/uploads?name={name}", content=text, headers=headers))
    attributes: list[dict[str, Any]] = [
        {"name": own, "type": "categorical", "role": role} for own, role in {**ROLES, **roles}.items()
    ]
    for own in attributes:
        if own["name"] == "illness" and own["role"] in ("quasi_identifier", "sensitive"):
            own["hierarchy"] = await declared(client, illnesses)
        elif own["role"] == "sensitive":
            own["hierarchy"] = await declared(client, TOWNS)
    body = {"name": name, "upload": upload or name, "attributes": attributes}
    await made(client.post("/v1/datasets", json=body))


def asked(name: str = "drawn", dataset: str = "people", **more: Any) -> dict[str, Any]:
    return {"name": name, "dataset": dataset, "mechanism": PERTURBED, **more}


async def data(client: httpx.AsyncClient, name: str = "drawn", format_: str = "csv") -> bytes:
    answer = await client.get(f"/v1/releases/{name}/data?format={format_}")
    assert answer.status_code == 200, answer.text
    return answer.content
