"""Deliveries of people with identifiers, what is drawn of them, and what is said of further draws."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpx

from tests.api.drawn_people import ILLNESSES, ROWS, UNIFORM, asked, declared, made

Line = list[str]
HISTOGRAM = {"kind": "stability_histogram", "epsilon": 0.5, "delta": 1e-4, "least_records": 20}
NAMES = ["number", "town", "illness"]
PEOPLE: list[Line] = [[f"{1000 + n}", *ROWS[n % len(ROWS)].split(",")] for n in range(60)]


def table(names: Iterable[str], lines: Iterable[Iterable[str]]) -> str:
    return "\n".join(",".join(own) for own in (names, *lines)) + "\n"


def role_of(name: str) -> str:
    known = {"number": "identifier", "id": "identifier", "illness": "sensitive", "diagnosis": "sensitive"}
    return known.get(name, "quasi_identifier" if name in ("town", "place") else "other")


async def delivered(client: httpx.AsyncClient, name: str, text: str) -> None:
    await made(client.post(f"/v1/uploads?name={name}", content=text, headers={"Content-Type": "text/csv"}))
    columns = text.splitlines()[0].split(",")
    hierarchy = {"hierarchy": await declared(client, ILLNESSES)}
    attributes = [
        {"name": own, "type": "categorical", "role": role_of(own)}
        | (hierarchy if role_of(own) == "sensitive" else {})
        for own in columns
    ]
    await made(client.post("/v1/datasets", json={"name": name, "upload": name, "attributes": attributes}))


def body(name: str, mechanism: dict[str, Any], **more: Any) -> dict[str, Any]:
    return asked(f"of-{name}", name, mechanism=mechanism, **more)


async def delivery(
    client: httpx.AsyncClient, name: str, numbers: range, identifier: str = "identifier"
) -> None:
    """People with these numbers, each with the same illness in every delivery."""
    text = "number,town,illness\n" + "".join(f"{n},{ROWS[n % len(ROWS)]}\n" for n in numbers)
    await made(client.post(f"/v1/uploads?name={name}", content=text, headers={"Content-Type": "text/csv"}))
    roles = {"number": identifier, "town": "quasi_identifier", "illness": "sensitive"}
    attributes = [{"name": own, "type": "categorical", "role": role} for own, role in roles.items()]
    attributes[-1]["hierarchy"] = await declared(client, ILLNESSES)
    await made(client.post("/v1/datasets", json={"name": name, "upload": name, "attributes": attributes}))


def drawn(name: str, dataset: str, **more: Any) -> dict[str, Any]:
    return asked(name, dataset, mechanism=UNIFORM, **more)


def drawn_once(told: dict[str, Any]) -> list[dict[str, Any]]:
    """The hypothesis in each of the guarantees."""
    return [own for one in told["guarantees"] for own in one["hypotheses"] if own["id"] == "drawn_once"]
