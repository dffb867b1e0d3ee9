"""Which values a release may show must not come from its records: at every door that plans or draws."""

from __future__ import annotations

from typing import Any

import httpx
import psycopg
import pytest
from psycopg.types.json import Jsonb

from privacy_risk import AsyncClient, ProblemError
from tests.api.drawn_people import (
    ILLNESSES,
    PERTURBED,
    SAMPLED,
    UNIFORM,
    asked,
    declared,
    made,
    people,
)
from tests.api.problem_documents import problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio

CSV = {"Content-Type": "text/csv"}
KNOWN = PERTURBED | {"reference": {"flu": 20, "asthma": 20, "gout": 20}}
COARSE = SAMPLED | {"epsilon": 1.0}
DRAWN = [pytest.param(own, id=own["kind"]) for own in (KNOWN, UNIFORM, COARSE)]


async def planned(client: httpx.AsyncClient, **more: Any) -> dict[str, Any]:
    answer = await client.post("/v1/releases/plans", json=asked(**more))
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def domains(told: dict[str, Any]) -> list[dict[str, Any]]:
    """The hypothesis in each of the guarantees."""
    return [own for one in told["guarantees"] for own in one["hypotheses"] if own["id"] == "domain_is_public"]


async def of_illnesses(client: httpx.AsyncClient, name: str, **illness: Any) -> None:
    """A dataset of the same upload in which illnesses are declared otherwise."""
    attributes = [
        {"name": "town", "type": "categorical", "role": "quasi_identifier"},
        {"name": "illness", "type": "categorical", "role": "sensitive", **illness},
    ]
    await made(client.post("/v1/datasets", json={"name": name, "upload": "people", "attributes": attributes}))


@pytest.mark.parametrize("mechanism", DRAWN)
async def test_values_that_nobody_declared_are_neither_planned_nor_drawn(
    client: httpx.AsyncClient, mechanism: dict[str, Any]
):
    await people(client)
    await of_illnesses(client, "undeclared")
    few = await declared(client, ["flu", "asthma"])
    await of_illnesses(client, "attached", hierarchy=few, on_unknown="attach")
    for dataset in ("undeclared", "attached"):
        (fault,) = (await planned(client, dataset=dataset, mechanism=mechanism))["missing"]
        assert fault["code"] == "not-supported"
        assert "Which values 'illness' can have is not declared" in fault["message"]
        for path in ("/v1/releases", "/v1/releases/runs"):
            body = asked(dataset=dataset, mechanism=mechanism)
            problem = problem_of(await client.post(path, json=body), 422, "not-supported")
            assert "Declare a hierarchy" in problem["remedy"]
    assert (await planned(client, mechanism=mechanism))["missing"] == []


@pytest.mark.parametrize("mechanism", DRAWN)
async def test_plan_and_manifest_say_where_the_values_come_from(
    client: httpx.AsyncClient, mechanism: dict[str, Any]
):
    await people(client)
    plan = await planned(client, mechanism=mechanism)
    told = (await made(client.post("/v1/releases", json=asked(mechanism=mechanism))))["mechanism"]
    for own in (plan, told):
        assert [one["holds"] for one in domains(own)] == ["yes"] * len(own["guarantees"])
    definition = {"kind": "flat", "upload": {"upload": "people", "column": "illness"}}
    await made(client.post("/v1/hierarchies", json={"name": "seen", "definition": definition}))
    await of_illnesses(client, "seen", hierarchy="seen")
    further = {"dataset": "seen", "independent_of_earlier": True, "mechanism": mechanism}
    plan = await planned(client, **further)
    told = (await made(client.post("/v1/releases", json=asked("more", **further))))["mechanism"]
    for own in (plan, told):
        assert domains(own)
        for one, guarantee in zip(domains(own), own["guarantees"], strict=True):
            assert one["holds"] == "no"
            assert "The hierarchy 'seen' of 'illness' was made from an upload's column" in one["reason"]
            assert guarantee["standing"] == "none"
    # What all draws promise together rests on the weakest of them.
    hypotheses = {own["id"]: own["holds"] for own in told["together"]["hypotheses"]}
    assert hypotheses.get("domain_is_public", "no") == "no"


async def test_of_perturbation_it_is_assumed_that_it_is_known_which_values_occur(client: httpx.AsyncClient):
    await people(client)
    (found,) = domains(await planned(client))
    assert found["holds"] == "assumed"
    assert "With a reference it is the reference that is published" in found["reason"]


async def test_releases_drawn_before_read_that_their_domain_is_assumed(
    client: httpx.AsyncClient, database_urls: Any
):
    await people(client)
    release = await made(client.post("/v1/releases", json=asked(mechanism=UNIFORM)))
    with psycopg.connect(database_urls.admin) as connection:
        row = connection.execute("SELECT summary FROM resources WHERE id = %s", [release["id"]]).fetchone()
        assert row is not None
        summary = row[0]
        for guarantee in summary["mechanism"]["guarantees"]:
            guarantee["hypotheses"] = [
                own for own in guarantee["hypotheses"] if own["id"] != "domain_is_public"
            ]
        connection.execute("UPDATE resources SET summary = %s WHERE id = %s", [Jsonb(summary), release["id"]])
    told = (await client.get("/v1/releases/drawn")).json()["mechanism"]
    assert [own["holds"] for own in domains(told)] == ["assumed", "assumed"]
    assert all("drawn before" in own["reason"] for own in domains(told))
    assert {own["standing"] for own in told["guarantees"]} == {"certified"}


async def test_domains_that_lack_a_value_of_the_data_are_refused_with_the_count(client: httpx.AsyncClient):
    await people(client)
    lacking = await declared(client, ["flu", "asthma"])
    await of_illnesses(client, "refusing", hierarchy=lacking)
    await of_illnesses(client, "missing", hierarchy=lacking, on_unknown="missing")
    for dataset in ("refusing", "missing"):
        for mechanism in (PERTURBED, UNIFORM, COARSE):
            plan = await planned(client, dataset=dataset, mechanism=mechanism)
            told = " ".join(own["message"] for own in plan["missing"])
            assert "lacks 1 of the column's values" in told or "20 records have no value" in told
            answer = await client.post("/v1/releases", json=asked(dataset=dataset, mechanism=mechanism))
            assert answer.status_code in (409, 422)
            assert "gout" not in answer.text
    short = PERTURBED | {"reference": {"flu": 30, "asthma": 30}}
    (fault,) = (await planned(client, mechanism=short))["missing"]
    assert (fault["code"], "20 records" in fault["message"]) == ("reference-lacks-values", True)


async def test_a_quasi_identifier_is_not_drawn_while_what_is_sensitive_leaves_as_it_is(
    client: httpx.AsyncClient,
):
    await people(client)
    attributes = [
        {
            "name": "town",
            "type": "categorical",
            "role": "quasi_identifier",
            "hierarchy": await declared(client, ["Bari", "Rome"]),
        },
        {
            "name": "illness",
            "type": "categorical",
            "role": "sensitive",
            "hierarchy": await declared(client, ILLNESSES),
        },
    ]
    body = {"name": "both", "upload": "people", "attributes": attributes}
    await made(client.post("/v1/datasets", json=body))
    for mechanism in (PERTURBED, UNIFORM, COARSE):
        own = mechanism | {"attribute": "town"}
        (fault,) = (await planned(client, dataset="both", mechanism=own))["missing"]
        assert "'illness' would be released as it is" in fault["message"]
        answer = await client.post("/v1/releases", json=asked(dataset="both", mechanism=own))
        assert "Draw what is sensitive" in problem_of(answer, 422, "not-supported")["remedy"]
    rule = {"kind": "suppression", "attributes": ["illness"]}
    await made(client.post("/v1/rules", json={"name": "hidden", "dataset": "both", "rule": rule}))
    hidden = {"dataset": "both", "rule": "hidden", "mechanism": PERTURBED | {"attribute": "town"}}
    assert (await planned(client, **hidden))["missing"] == []


async def test_spellings_of_a_number_are_one_group_to_plans_and_draws(client: httpx.AsyncClient):
    rows = "".join(f"{('1', '1.0')[i % 2]},{('flu', 'gout')[i // 2 % 2]}\n" for i in range(60))
    await made(client.post("/v1/uploads?name=aged", content=f"age,illness\n{rows}", headers=CSV))
    illnesses = await declared(client, ["flu", "gout", "hiv"])
    for type_, groups in (("number", 1), ("categorical", 2)):
        attributes = [
            {"name": "age", "type": type_, "role": "quasi_identifier"},
            {"name": "illness", "type": "categorical", "role": "sensitive", "hierarchy": illnesses},
        ]
        body = {"name": type_, "upload": "aged", "attributes": attributes}
        await made(client.post("/v1/datasets", json=body))
        mechanism = {"kind": "uniform_perturbation", "p": 0.3, "p_cap": 0.4, "epsilon": 0.5}
        plan = await planned(client, dataset=type_, mechanism=mechanism)
        assert plan["constants"]["groups"] == groups
        standing = {own["model"]: own["standing"] for own in plan["guarantees"]}
        assert standing["reconstruction_privacy"] == ("none" if groups == 1 else "certified")


async def test_the_catalogue_lists_no_promise_of_what_is_always_worth_nothing(client: httpx.AsyncClient):
    listed = {own["name"]: own for own in (await client.get("/v1/catalogue")).json()["mechanisms"]}
    assert listed["sampled_generalisation_published"]["guarantees"] == []
    assert all(own["guarantees"] for name, own in listed.items() if name not in (
        "rule", "sampled_generalisation_published"))  # fmt: skip


async def test_the_python_package_is_told_the_same(api: Api):
    _, token = await api.tenant_with_key()
    transport = httpx.ASGITransport(app=api.app)
    async with AsyncClient("http://service", token, transport=transport) as client:
        await client.uploads.create_from("people", b"town,illness\nRome,flu\n")
        columns = [
            {"name": "town", "type": "categorical", "role": "quasi_identifier"},
            {"name": "illness", "type": "categorical", "role": "sensitive"},
        ]
        await client.datasets.create({"name": "people", "upload": "people", "attributes": columns})
        plan = await client.releases.plan(asked(mechanism=UNIFORM))
        assert "is not declared" in plan["missing"][0]["message"]
        with pytest.raises(ProblemError, match="is not declared"):
            await client.releases.create(asked(mechanism=UNIFORM))
