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
        released = {"name": "example-optimum", "dataset": "example-members", "rule": "example-optimum"}
        await _made(client, "/v1/releases", released)
        await _made(client, "/v1/rules", CAREFUL)
        await _made(client, "/v1/policies", POLICY)
        await _made(client, "/v1/waivers", WAIVER)
        for name, rule in (("example-verdict", "example-proposal"), ("strict-verdict", STRICT)):
            await _made(
                client, "/v1/gates/example-policy/evaluations", {**JUDGED, "name": name, "rule": rule}
            )
        await _made(client, "/v1/measurements", MEASURED)
        released = {"name": "example-release", "dataset": "example-members", "rule": "example-proposal"}
        await _made(client, "/v1/releases", released)
        await _drawn(client)
        await _made(client, "/v1/view-checks", VIEW_CHECK)
        await _made(client, "/v1/relational-schemas", SCHEMA)
        await _made(client, "/v1/mechanism-audits", AUDIT)
        waiting = await _made(
            client,
            "/v1/optimisations",
            best | {"name": "waiting", "solver": "branch_and_bound"},
            "respond-async",
        )
    return Journey(token, await api.key_with(actor, Scope.ASSESS), waiting["id"])


async def _drawn(client: httpx.AsyncClient) -> None:
    """Releases in which a mechanism drew an attribute of five values, and one of thirty."""
    headers = {"Content-Type": "text/csv"}
    await client.post("/v1/uploads?name=example-patients", content=PATIENTS, headers=headers)
    roles = {"town": "quasi_identifier", "illness": "sensitive", "ward": "sensitive"}
    attributes = [{"name": own, "type": "categorical", "role": role} for own, role in roles.items()]
    wards = [f"ward {number}" for number in range(1, 31)]
    for own, values in (("illness", sorted(set(ILLNESSES))), ("ward", wards)):
        hierarchy = {"name": f"example-{own}s", "definition": {"kind": "flat", "values": values}}
        await _made(client, "/v1/hierarchies", hierarchy)
        next(one for one in attributes if one["name"] == own)["hierarchy"] = f"example-{own}s"
    body = {"name": "example-patients", "upload": "example-patients", "attributes": attributes}
    await _made(client, "/v1/datasets", body)
    for attribute in ("illness", "ward"):
        mechanism = {"kind": "perturbation", "beta": 2, "attribute": attribute}
        drawn = {"name": f"example-{attribute}", "dataset": "example-patients", "mechanism": mechanism}
        await _made(client, "/v1/releases", drawn)
    limits = {"name": "example-budget", "dataset": "example-patients", "epsilon": "2", "delta": "0.00001"}
    await _made(client, "/v1/budgets", limits)
    for name, epsilon in (("example-counts", 0.5), ("example-second-counts", 0.7)):
        mechanism = {"kind": "stability_histogram", "epsilon": epsilon, "delta": 1e-6, "least_records": 400}
        counted = {"name": name, "dataset": "example-patients", "mechanism": mechanism}
        await _made(client, "/v1/releases", {**counted, "independent_of_earlier": True})


ILLNESSES = ["flu"] * 8 + ["asthma"] * 4 + ["gout"] * 2 + ["a rare illness with a long name", "measles"]
PATIENTS = "town,illness,ward\n" + "".join(
    f"{'Rome' if i % 3 else 'Bari'},{ILLNESSES[i % 16]},ward {7 * i % 30 + 1}\n" for i in range(480)
)

POLICY = {
    "format": "privacy-risk/policy/1",
    "name": "example-policy",
    "version": 1,
    "title": "Release to members of the club",
    "description": "What every list has to satisfy that is handed to members.",
    "assumes": {"attacker": "A member who has the census and is curious about a neighbour."},
    "dictionaries": [{"name": "register", "description": "A census of the region.", "required": True}],
    "criteria": [
        {
            "id": "mean-risk",
            "title": "Little harm on average",
            "reason": "Half of the harm that the full record of one person would do.",
            "demand": {"kind": "score", "value": "risk_average", "comparison": "at_most", "threshold": 0.5},
        },
        {
            "id": "still-useful",
            "title": "Of use to the club",
            "reason": "Half of the levels are kept.",
            "severity": "warn",
            "demand": {
                "kind": "score", "value": "utility_average", "comparison": "at_least", "threshold": 6.5,
            },
        },
        {
            "id": "small-classes",
            "title": "Nobody stands alone",
            "reason": "Two alike leave a doubt.",
            "demand": {
                "kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}, "failing_share": 0.1,
            },
        },
    ],
}  # fmt: skip

WAIVER = {
    "name": "example-waiver",
    "policy": "example-policy",
    "criterion": "small-classes",
    "datasets": ["example-members"],
    "reason": "The club publishes its list of members itself.",
    "approved_by": "A. Officer, data protection",
    "until": "2027-06-30",
}

MEASURED = {
    "name": "example-measurement",
    "dataset": "example-members",
    "rule": "example-proposal",
    "measure": {"kind": "equivalence_classes"},
}

AUDIT = {
    "name": "example-audit",
    "mechanism": {
        "kind": "stability_histogram",
        "epsilon": 1,
        "delta": 0.01,
        "least_records": 1,
        "dictionary": {"leaf": ["a", "a", "b"]},
        "trade_off": 0.05,
    },
}

VIEW_CHECK = {
    "name": "example-views",
    "language": "sql",
    "relational_schema": {
        "sql": "CREATE TABLE patient (pid int PRIMARY KEY, name text NOT NULL);"
        "CREATE TABLE diagnosis (pid int, diagnosis text, ward int, PRIMARY KEY (pid, diagnosis, ward))"
    },
    "secrets": [
        {
            "id": "cancer-patients",
            "query": "SELECT DISTINCT name\nFROM patient JOIN diagnosis USING (pid)\n"
            "WHERE diagnosis = 'cancer'",
        },
        {"id": "ward-7", "query": "SELECT pid FROM diagnosis WHERE ward = 7"},
    ],
    "views": [
        {"id": "wards", "query": "SELECT ward, COUNT(*)\nFROM diagnosis\nGROUP BY ward"},
        {"id": "flu-patients", "query": "SELECT pid FROM diagnosis WHERE diagnosis = 'flu' AND ward = 8"},
        {"id": "not-c", "query": "SELECT pid FROM diagnosis WHERE diagnosis NOT LIKE 'c%' AND ward > 8"},
    ],
}

SCHEMA = {
    "name": "example-schema",
    "sql": "CREATE TABLE patient (pid int PRIMARY KEY, name text NOT NULL, zip text, city text);"
    "CREATE TABLE diagnosis_of_a_patient_in_a_ward (pid int NOT NULL REFERENCES patient, ward int, "
    "diagnosis text NOT NULL, insured boolean NOT NULL, PRIMARY KEY (pid, diagnosis), CHECK (ward < 100))",
}

STRICT = {"kind": "table_level", "levels": {"city": 4, "race": 0, "birth_date": 3, "income": 1}}

JUDGED = {
    "dataset": "example-members",
    "dictionaries": {"register": "example-census"},
    "sensitivity": "example-harm",
}

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


async def _made(client: httpx.AsyncClient, path: str, body: dict[str, Any], prefer: str = "") -> Any:
    response = await client.post(path, json=body, headers={"Prefer": prefer} if prefer else {})
    assert response.is_success, response.text
    return response.json()


async def _done(api: Api, client: httpx.AsyncClient, path: str, body: dict[str, Any]) -> None:
    run = await _made(client, path, body)
    await api.work_off(run["id"])
