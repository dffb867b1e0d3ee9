"""Sensitive values that a person reads as one, and missing ones, at gates, searches and measures."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
CSV = {"Content-Type": "text/csv"}
SPELT = "region,ill\n" + "".join(
    f"{place},{ill}\n"
    for place, several in (("N", ("flu", "FLU ", "fl\u200bu", "flυ")), ("S", ("hiv", "flu", "", "1000")))
    for ill in several
)
"""All of N are ill with what everybody reads as flu; one of S has no value."""

COLUMNS = [
    {"name": "region", "type": "categorical", "role": "quasi_identifier"},
    {"name": "ill", "type": "categorical", "role": "sensitive"},
]


async def people(client: httpx.AsyncClient, text: str = SPELT) -> None:
    made = await client.post("/v1/uploads?name=people", content=text.encode(), headers=CSV)
    assert made.status_code == 201, made.text
    body = {"name": "people", "upload": "people", "attributes": COLUMNS, "rows_are": "persons"}
    made = await client.post("/v1/datasets", json=body)
    assert made.status_code == 201, made.text


def policy(*requirements: Json, version: int = 1) -> Json:
    return {
        "format": "privacy-risk/policy/2", "name": "spelt", "version": version, "title": "Two in each class",
        "assumes": {"attacker": "Who knows the region and can read."},
        "not_covered": [{"columns": ["region"], "reason": "The tests are of the illness."}],
        "requirements": [
            {"id": f"r{place}", "title": "Diverse", "reason": "For the test.", "requirement": own}
            for place, own in enumerate(requirements)
        ],
    }  # fmt: skip


def model(kind: str = "distinct_l_diversity", **own: Any) -> Json:
    return {"kind": "privacy_model", "model": {"kind": kind, **own}}


def measure(version: int | None = None, **own: Any) -> Json:
    asked = {"kind": "measure", "measure": {"kind": "l_diversity", **own}, "value": "distinct_l",
             "comparison": "at_least", "threshold": 2}  # fmt: skip
    return asked if version is None else asked | {"version": version}


async def judged(client: httpx.AsyncClient, document: Json) -> Json:
    stored = await client.post("/v1/policies", json=document)
    assert stored.status_code in (200, 201), stored.text
    ref = f"{document['name']}@{document['version']}"
    body = {"name": f"e{document['version']}", "dataset": "people", "rule": {"kind": "identity"}}
    answer = await client.post(f"/v1/gates/{ref}/evaluations", json=body)
    assert answer.status_code == 201, answer.text
    result: Json = answer.json()["result"]
    return result


async def test_a_gate_reads_values_as_a_person_does_and_a_pinned_policy_keeps_its_spellings(
    client: httpx.AsyncClient,
):
    await people(client)
    found = await judged(client, policy(model(l=2), measure()))
    assert [own["outcome"] == "passed" for own in found["criteria"]] == [False, False]
    assert not any("keeps version 1" in own for own in found["warnings"])
    kept = await judged(client, policy(model(l=2, version=1), measure(version=1), version=2))
    assert [own["outcome"] == "passed" for own in kept["criteria"]] == [True, True]
    (said,) = [own for own in kept["warnings"] if "keeps version 1" in own]
    assert said.endswith(": r0, r1.")


async def test_a_missing_value_is_none_for_l_unless_the_requirement_says_so(client: httpx.AsyncClient):
    await people(client, SPELT.replace("N,", "S,"))
    three, four = (model(l=own) for own in (3, 4))
    own_category = {"missing_sensitive": "own_category"}
    found = await judged(client, policy(three, four, model(l=4, **own_category)))
    assert [own["outcome"] == "passed" for own in found["criteria"]] == [True, False, True]
    found = await judged(client, policy(
        *(measure(**own) | {"threshold": 4} for own in ({}, own_category)), version=2
    ))  # fmt: skip
    assert [own["value"] for own in found["criteria"]] == [3, 4]


async def test_a_stored_policy_has_its_versions_and_is_the_same_when_it_is_sent_again(
    client: httpx.AsyncClient,
):
    document = policy(model(l=2), measure(), model("t_closeness", t=0.5))
    first = await client.post("/v1/policies", json=document)
    requirements = [own["requirement"] for own in first.json()["document"]["requirements"]]
    assert [own.get("version", own.get("model", {}).get("version")) for own in requirements] == [2, 2, 2]
    again = await client.post("/v1/policies", json=document)
    assert (again.status_code, again.json()["sha256"]) == (200, first.json()["sha256"])


@pytest.mark.parametrize(("version", "level"), [(1, 0), (2, 1)])
async def test_a_search_and_the_gate_of_its_rule_ask_for_the_same(
    client: httpx.AsyncClient, version: int, level: int
):
    await people(client)
    criterion = {"kind": "distinct_l_diversity", "l": 2, "version": version}
    body = {
        "name": "least", "dataset": "people", "scope": "table_level",
        "objective": {"kind": "min_loss", "loss": "height", "privacy": [criterion]},
    }  # fmt: skip
    made = await client.post("/v1/optimisations", json=body, headers={"Prefer": "wait=20"})
    assert made.status_code in (200, 201, 202), made.text
    found = made.json()["result"]
    assert found["rule"]["levels"]["region"] == level


async def profile(client: httpx.AsyncClient, **asked: Any) -> Json:
    body = {"name": "p", "dataset": "people", "measure": {"kind": "privacy_profile", **asked}}
    answer = await client.post("/v1/measurements", json=body)
    assert answer.status_code == 201, answer.text
    result: Json = answer.json()["result"]
    return result


@pytest.mark.parametrize("colours", [("zinc", "ash", "moss"), ("aaa", "zzz", "zzzz")])
async def test_there_is_no_ordered_distance_of_values_without_an_order(client: httpx.AsyncClient, colours):
    a, b, c = colours
    rows = [(a, "A"), (a, "A"), (b, "B"), (b, "B"), (c, "A"), (c, "B")]
    await people(client, "ill,region\n" + "".join(f"{colour},{g}\n" for colour, g in rows))
    found = await profile(client)
    figures = {own["name"]: own["value"] for own in found["figures"]}
    assert figures["t.equal"] == pytest.approx(1 / 3)
    assert "t.ordered" not in figures
    (left_out,) = found["left_out"]
    assert (left_out["measure"], left_out["attribute"]) == ("t_closeness", "ill")
    assert left_out["reason"].startswith("ordered: ")


async def test_where_nothing_was_judged_there_is_no_number(client: httpx.AsyncClient):
    await people(client, "region,ill\n,flu\n,hiv\n,flu\n")
    found = await profile(client, missing="excluded")
    assert found["judged"]["records_judged"] == 0
    assert {own["value"] for own in found["figures"]} == {None}
