"""Reconstruction privacy of the groups that a stored release was drawn for, with the release's own p."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.drawn_people import ILLNESSES, PERTURBED, SAMPLED, UNIFORM, asked, declared, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio

KIND = "reconstruction_privacy"


async def found(client: httpx.AsyncClient, release: str | None = "drawn", **more: Any) -> dict[str, Any]:
    subject = {"dataset": "people"} if release is None else {"release": release}
    answer = await made(client.post("/v1/measurements", json=subject | {"measure": {"kind": KIND, **more}}))
    result: dict[str, Any] = answer["result"]
    return result


async def faults(client: httpx.AsyncClient, **more: Any) -> list[tuple[str, str]]:
    body = {"release": "drawn", "measure": {"kind": KIND, **more}}
    problem = problem_of(await client.post("/v1/measurements", json=body), 422, "invalid-input")
    return [(own["pointer"], own["code"]) for own in problem["errors"]]


@pytest.mark.parametrize("level", [None, 1])
async def test_the_groups_of_a_release_are_tested_with_its_own_p(
    client: httpx.AsyncClient, level: int | None
):
    await people(client)
    more = {}
    if level is not None:
        definition = {"kind": "table_level", "levels": {"town": level, "illness": 0}}
        rule = {"name": "coarse", "dataset": "people", "rule": definition}
        await made(client.post("/v1/rules", json=rule))
        more = {"rule": "coarse"}
    body = asked(mechanism=UNIFORM, **more)
    plan = (await client.post("/v1/releases/plans", json=body)).json()["constants"]
    await made(client.post("/v1/releases", json=body))
    result = await found(client, epsilon=0.2, criterion="exact_total")
    assert result["judged"]["classes"] == plan["groups"] == (2 if level is None else 1)
    by_criterion = {own["criterion"]: own for own in result["by_criterion"]}
    for test, own in by_criterion.items():
        assert own["groups_failing"] == plan[f"groups_failing_{test}"]
        assert own["delta"] == pytest.approx(plan[f"delta_{test}"])
    assert "p = 0.25" in result["verdict"]
    assert await found(client, epsilon=0.2, criterion="exact_total", p=0.25) == result
    assert await faults(client, p=0.5) == [("/measure/p", "other-p")]
    assert await faults(client, attribute="town") == [("/measure/attribute", "other-attribute")]
    if level is None:
        assert await found(client, None, epsilon=0.2, criterion="exact_total", p=0.25) == result


async def test_of_a_dataset_p_is_one_half_unless_it_is_said(client: httpx.AsyncClient):
    await people(client)
    assert await found(client, None) == await found(client, None, p=0.5)


async def test_values_that_nothing_tells_apart_are_merged_by_what_the_measure_gives(
    client: httpx.AsyncClient,
):
    """Rome and Bari have the same illnesses: one group is left, drawn as one, and the hierarchy tells why."""
    await people(client)
    asked_for = {"dataset": "people", "measure": {"kind": "mergeable_values"}}
    (town,) = (await made(client.post("/v1/measurements", json=asked_for)))["result"]["attributes"]
    assert {tuple(row) for row in town["rows"]} == {("Rome", "Bari or Rome"), ("Bari", "Bari or Rome")}
    definition = {"kind": "rows", "rows": town["rows"]}
    hierarchy = {"name": "merged", "definition": definition, "from_data": True}
    assert (await made(client.post("/v1/hierarchies", json=hierarchy)))["from_data"] is True
    attributes = [
        {"name": "town", "type": "categorical", "role": "quasi_identifier", "hierarchy": "merged"},
        {
            "name": "illness",
            "type": "categorical",
            "role": "sensitive",
            "hierarchy": await declared(client, ILLNESSES),
        },
    ]
    body = {"name": "joined", "upload": "people", "attributes": attributes}
    await made(client.post("/v1/datasets", json=body))
    levels = {"kind": "table_level", "levels": {"town": 1, "illness": 0}}
    await made(client.post("/v1/rules", json={"name": "joined", "dataset": "joined", "rule": levels}))
    measure = {"dataset": "joined", "rule": "joined", "measure": {"kind": KIND}}
    result = (await made(client.post("/v1/measurements", json=measure)))["result"]
    assert [(own["groups"], own["records"]) for own in result["by_size"]] == [(1, 60)]
    drawn = {"name": "d", "dataset": "joined", "rule": "joined", "mechanism": UNIFORM}
    assert (await client.post("/v1/releases/plans", json=drawn)).json()["constants"]["groups"] == 1


async def test_samples_of_a_release_are_as_large_as_it_says(api: Api, client: httpx.AsyncClient):
    await people(client)
    mechanism = SAMPLED | {"epsilon": 1.0}
    manifest = await made(client.post("/v1/releases", json=asked(mechanism=mechanism)))
    size = manifest["mechanism"]["published"]["sample_size"]
    result = await found(client, epsilon=0.2, by_mode=1)
    by_mode = {own["mode"]: own for own in result["groups"][0]["by_mode"]}
    assert by_mode["balanced_fixed"]["sample_size"] == size == 6
    assert any("in the mode balanced_fixed" in own for own in result["warnings"])
    # What counts as a bad estimate is what is asked, not what the sizes follow from.
    other = await found(client, epsilon=1.5, by_mode=1)
    (fixed,) = [own for own in other["groups"][0]["by_mode"] if own["mode"] == "balanced_fixed"]
    assert fixed["sample_size"] == size
    assert fixed["confidence"] > 0.2 + by_mode["balanced_fixed"]["confidence"]
    key = {"name": "assessor", "scopes": ["assess"]}
    token = (await made(client.post("/v1/api-keys", json=key)))["token"]
    async with api.client(token) as assessor:
        assert (await found(assessor, epsilon=0.2))["groups_failing"] == result["groups_failing"]
    key = {"name": "reader", "scopes": ["data:read"]}
    token = (await made(client.post("/v1/api-keys", json=key)))["token"]
    async with api.client(token) as reader:
        for subject in ({"release": "drawn"}, {"dataset": "people"}):
            body = subject | {"measure": {"kind": KIND, "epsilon": 0.3}}
            problem_of(await reader.post("/v1/measurements", json=body), 403, "forbidden")


async def test_sizes_of_samples_that_are_never_told_are_not_told_here(client: httpx.AsyncClient):
    await people(client)
    mechanism = SAMPLED | {"epsilon": 1.0, "mode": "balanced"}
    await made(client.post("/v1/releases", json=asked(mechanism=mechanism)))
    assert await faults(client, by_mode=1) == [("/measure/by_mode", "sizes-not-told")]
    assert all(not own["by_mode"] for own in (await found(client))["groups"])


async def test_a_matrix_that_is_not_uniform_is_refused_with_its_reason(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked(mechanism=PERTURBED)))
    body = {"release": "drawn", "measure": {"kind": KIND}}
    problem = problem_of(await client.post("/v1/measurements", json=body), 422, "not-supported")
    assert "keeps each value with one of its own" in problem["detail"]
    assert "uniform_perturbation" in problem["remedy"]


@pytest.mark.parametrize(
    "demand",
    [
        {"kind": "privacy_model", "model": {"kind": KIND, "p": 0.1, "epsilon": 0.2, "delta": 0.1}},
        {
            "kind": "measure",
            "measure": {"kind": KIND, "p": 0.1},
            "value": "is_met",
            "comparison": "equals",
            "threshold": True,
        },
    ],
)
async def test_a_verdict_says_that_the_table_itself_is_unperturbed(
    client: httpx.AsyncClient, demand: dict[str, Any]
):
    await people(client)
    rule = {"name": "as-it-is", "dataset": "people", "rule": {"kind": "identity"}}
    await made(client.post("/v1/rules", json=rule))
    policy = {"format": "privacy-risk/policy/1", "name": "later", "version": 1, "title": "Later"}
    criterion = {"id": "later", "title": "Later", "reason": "For the test.", "demand": demand}
    body = policy | {"assumes": {"attacker": "A"}, "criteria": [criterion]}
    await made(client.post("/v1/policies", json=body))
    judged = {"dataset": "people", "rule": "as-it-is"}
    result = (await made(client.post("/v1/gates/later/evaluations", json=judged)))["result"]
    assert result["verdict"] == "pass"
    assert any("shows the sensitive values unperturbed" in own for own in result["not_covered"])
