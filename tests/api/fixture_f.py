"""Fixture F of the specification, made through the interface."""

from __future__ import annotations

from typing import Any

import httpx

from tests.unit.domain import fixture_f

PARENTS = {
    "city": {
        "Midwest": [None], "West": [None], "Indiana": ["Midwest"], "Illinois": ["Midwest"],
        "California": ["West"], "Tippecanoe": ["Indiana"], "Marion": ["Indiana"], "Cook": ["Illinois"],
        "LA County": ["California"], "Greater Lafayette": ["Tippecanoe"], "Dayton": ["Tippecanoe"],
        "Indianapolis": ["Marion"], "Chicago": ["Cook"], "Evanston": ["Cook"],
        "Los Angeles": ["LA County"], "Lafayette": ["Greater Lafayette"],
        "West Lafayette": ["Greater Lafayette"],
    },
    "race": {
        "Asian": [None], "European": [None], "African": [None], "Chinese": ["Asian"],
        "Japanese": ["Asian"], "Indian": ["Asian"], "White": ["European"], "Black": ["African"],
    },
    "income": {
        "Low": [None], "High": [None], "20-39": ["Low"], "40-59": ["Low"], "60-79": ["High"],
        "80-99": ["High"],
    },
}  # fmt: skip
ATTRIBUTES = tuple(PARENTS)
DICTIONARIES = {"D1": ATTRIBUTES, "D2": ("city",), "D3": ("race",)}
ROWS = {
    "T": fixture_f.T_ROWS,
    "D1": fixture_f.D1_ROWS,
    "D2": fixture_f.D2_ROWS,
    "D3": fixture_f.D3_ROWS,
}
WEIGHTS = {"city": 0.3, "race": 0.4, "income": 0.75}
PERSONAL = {"3": {"city": 0.5, "race": 0.2, "income": 1.0}, "4": {"city": 0.1, "race": 0.9, "income": 0.6}}
PRIOR = {"T": 0.2, "D1": 0.5, "D2": 0.3}
CUTS = {name: fixture_f.levels_of(cut) for name, cut in fixture_f.CUTS.items()}
"""Levels (city, race, income) of the rules identity, G1, G2, G3 and suppress."""


def rule(name: str) -> dict[str, Any]:
    """A table-level rule of the fixture as a body."""
    return {"kind": "table_level", "levels": dict(zip(ATTRIBUTES, CUTS[name], strict=True))}


async def post(client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    """Create something that must work."""
    response = await client.post(f"/v1/{path}", json=body)
    assert response.status_code in (200, 201, 202), response.text
    answer: dict[str, Any] = response.json()
    return answer


async def make_fixture_f(client: httpx.AsyncClient) -> None:
    """Make the dataset T, the dictionaries, the weights and the sets of fixture F.

    Profiles: ``personal`` is Φ2, ``multiplicative`` Φ4. Sets: ``theta`` {T, D1, D2} with the prior and
    ``theta-without-prior``.
    """
    for name, parents in PARENTS.items():
        definition = {"kind": "parents", "parents": parents}
        await post(client, "hierarchies", {"name": name, "definition": definition})
    for name, rows in ROWS.items():
        await upload(client, name, ("id", *(DICTIONARIES.get(name) or ATTRIBUTES)), rows)
    await dataset(client, "T", "T")
    for name, attributes in DICTIONARIES.items():
        await dictionary(client, name, attributes)
    await post(client, "dictionaries", {"name": "T", "from_dataset": "T"})
    for name, family in (("personal", "linear_personal"), ("multiplicative", "multiplicative")):
        await profile(client, name, family)
    members = [{"dictionary": name, "prior": q} for name, q in PRIOR.items()]
    await post(client, "dictionary-sets", {"name": "theta", "dictionaries": members})
    members = [{"dictionary": name} for name in PRIOR]
    await post(client, "dictionary-sets", {"name": "theta-without-prior", "dictionaries": members})


async def upload(client: httpx.AsyncClient, name: str, header: tuple[str, ...], rows: list[tuple]) -> None:
    """Upload rows; None is an empty cell."""
    lines = [",".join("" if cell is None else str(cell) for cell in row) for row in [header, *rows]]
    content = "\n".join(lines) + "\n"
    response = await client.post(
        "/v1/uploads", params={"name": name, "format": "csv"}, content=content.encode()
    )
    assert response.status_code == 201, response.text


async def dataset(client: httpx.AsyncClient, name: str, source: str, *more: dict[str, Any]) -> None:
    """A dataset of the fixture's attributes, and of further columns."""
    attributes = [
        {"name": "id", "type": "text", "role": "identifier"},
        *({"name": a, "type": "categorical", "role": "quasi_identifier", "hierarchy": a} for a in ATTRIBUTES),
        *more,
    ]
    await post(client, "datasets", {"name": name, "upload": source, "attributes": attributes})


async def dictionary(client: httpx.AsyncClient, name: str, attributes: tuple[str, ...]) -> None:
    """A dictionary of an upload of the same name."""
    links = [{"attribute": a, "column": a, "hierarchy": a} for a in attributes]
    await post(client, "dictionaries", {"name": name, "upload": name, "identifier": "id", "links": links})


async def profile(
    client: httpx.AsyncClient, name: str, family: str, scale: float = 1.0, of: str = "T"
) -> None:
    """The leaf weights of the fixture, all times ``scale``: for all families but linear the personal ones."""
    body: dict[str, Any] = {
        "name": name,
        "dataset": of,
        "family": family,
        "attributes": {a: {"leaves": scale * weight} for a, weight in WEIGHTS.items()},
    }
    if family != "linear":
        rows = [(e, a, scale * w) for e, weights in PERSONAL.items() for a, w in weights.items()]
        await upload(client, f"weights-{name}", ("entity", "attribute", "weight"), rows)
        body["overrides"] = {
            "upload": f"weights-{name}", "by": "entity", "key_column": "entity",
            "attribute_column": "attribute", "weight_column": "weight",
        }  # fmt: skip
    await post(client, "sensitivity-profiles", body)
