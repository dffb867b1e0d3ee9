"""β-likeness of groups of sensitive values, and bounds of losses, at every door."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.problem_documents import problem_of
from tests.api.tables import made

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
COUNTS = {"north": (8, 8, 2, 2), "south": (0, 0, 10, 10)}
ILLNESSES = ("ulcer", "gastritis", "flu", "cold")
TREE = {"ulcer": ["stomach"], "gastritis": ["stomach"], "flu": ["lungs"], "cold": ["lungs"]} | {
    "stomach": [None],
    "lungs": [None],
}
GROUPS = {"groups": ["stomach", "lungs"]}


async def begin_with(client: httpx.AsyncClient) -> None:
    """Two places whose values are 1-like, and whose groups of values are for no β."""
    rows = [
        f"{place},{illness}"
        for place, counts in COUNTS.items()
        for illness, n in zip(ILLNESSES, counts, strict=True)
        for _ in range(n)
    ]
    text = "place,illness\n" + "\n".join(rows) + "\n"
    answer = await client.post(
        "/v1/uploads?name=patients", content=text, headers={"Content-Type": "text/csv"}
    )
    assert answer.status_code == 201, answer.text
    definition = {"kind": "parents", "parents": TREE}
    await made(client, "hierarchies", {"name": "illnesses", "definition": definition})
    attributes = [
        {"name": "place", "type": "categorical", "role": "quasi_identifier"},
        {"name": "illness", "type": "categorical", "role": "sensitive", "hierarchy": "illnesses"},
    ]
    await made(client, "datasets", {"name": "patients", "upload": "patients", "attributes": attributes})


@pytest.fixture
def patients(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def likeness(client: httpx.AsyncClient, **own: Any) -> Json:
    body = {"dataset": "patients", "measure": {"kind": "beta_likeness", "beta": 1, **own}}
    answer = await client.post("/v1/measurements", json=body)
    assert answer.status_code in (200, 201), answer.text
    found: Json = answer.json()["result"]
    return found


@pytest.mark.spec("BL-T20", "BL-L8")
async def test_the_measure_takes_groups_beside_values_and_in_their_place(patients: httpx.AsyncClient):
    assert (await likeness(patients))["is_met"]
    for values in ("bounded", "free"):
        found = await likeness(patients, **GROUPS, values_in_groups=values)
        assert (found["is_met"], found["beta_basic"], found["beta_enhanced"]) == (False, 1, "inf")
        assert [own["value"] for own in found["caps"]] == ["stomach", "lungs"]
    assert not (await likeness(patients, beta_negative=0.9))["is_met"]
    body = {"dataset": "patients", "measure": {"kind": "beta_likeness", "groups": ["heart"]}}
    refused = problem_of(await patients.post("/v1/measurements", json=body), 422, "invalid-input")
    assert [(own["pointer"], own["code"]) for own in refused["errors"]] == [
        ("/measure/groups/0", "unknown-group")
    ]


@pytest.mark.parametrize(
    ("own", "classes"),
    [({}, 2), (GROUPS, 1), ({**GROUPS, "values_in_groups": "free"}, 1), ({"beta_negative": 0.5}, 1)],
)
async def test_searches_and_rules_take_the_criterion(patients: httpx.AsyncClient, own: Json, classes: int):
    criterion = {"kind": "beta_likeness", "beta": 1, **own}
    objective = {"kind": "min_loss", "privacy": [criterion], "loss": "discernibility"}
    body = {"name": "best", "dataset": "patients", "objective": objective}
    answer = await patients.post("/v1/optimisations", json=body)
    assert answer.status_code == 201, answer.text
    result = answer.json()["result"]
    assert (result["status"], result["classes"]) == ("optimal", classes)
    rule = {"kind": "table_level", "levels": {}, "suppress_classes_failing": [criterion]}
    made_of = await patients.post(
        "/v1/measurements",
        json={"dataset": "patients", "rule": rule, "measure": {"kind": "equivalence_classes"}},
    )
    assert made_of.status_code in (200, 201), made_of.text
    judged = made_of.json()["result"]["judged"]
    assert judged["records_suppressed"] == (0 if classes == 2 else 40)


async def test_a_gate_takes_the_criterion(patients: httpx.AsyncClient):
    await made(
        patients,
        "rules",
        {"name": "as-is", "dataset": "patients", "rule": {"kind": "table_level", "levels": {}}},
    )
    await made(patients, "releases", {"name": "as-is", "dataset": "patients", "rule": "as-is"})
    demands = {"values": {}, "groups": GROUPS, "losses": {"beta_negative": 0.5}}
    policy = {
        "format": "privacy-risk/policy/2", "name": "p", "version": 1, "title": "Of groups",
        "assumes": {"attacker": "Who finds a person's record."},
        "schema": {"attributes": {"place": "quasi_identifier", "illness": "sensitive"}},
        "requirements": [
            {
                "id": name, "title": "It holds", "reason": "For the test.",
                "requirement": {
                    "kind": "privacy_model", "model": {"kind": "beta_likeness", "beta": 1, **own}
                },
            }
            for name, own in demands.items()
        ],
    }  # fmt: skip
    await made(patients, "policies", policy)
    answer = await patients.post("/v1/gates/p/evaluations", json={"release": {"name": "as-is"}})
    assert answer.status_code in (200, 201), answer.text
    outcomes = {own["id"]: own["outcome"] for own in answer.json()["result"]["criteria"]}
    assert outcomes == {"values": "passed", "groups": "failed", "losses": "failed"}
