"""Policies over HTTP: kept in versions, checked, compared, and seen by whom they may be seen."""

from __future__ import annotations

import copy
import json
from typing import Any

import httpx
import pytest

from app.api.examples.policies import RELEASE, STRICTER
from app.domain.analyses.catalogue import MEASURES
from app.domain.catalogue.result_values import value_at, values_of
from app.services.gates.policies import NAMES, NEWEST, template
from app.services.resources import Scope
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio


@pytest.fixture
async def actor(api, client: httpx.AsyncClient):
    """Who the client is."""
    token = client.headers["authorization"].removeprefix("Bearer ")
    return await api.services.tenants.authenticate(token)


YAML = {"Content-Type": "application/yaml"}


def named(name: str, **changes: Any) -> dict[str, Any]:
    return {**copy.deepcopy(RELEASE), "name": name, **changes}


async def stored(client: httpx.AsyncClient, document: dict[str, Any]) -> dict[str, Any]:
    response = await client.post("/v1/policies", json=document)
    assert response.status_code == 201, response.text
    answer: dict[str, Any] = response.json()
    return answer


async def test_json_and_yaml_store_the_same_policy(client: httpx.AsyncClient):
    document = named("twins")
    first = await stored(client, document)
    again = await client.post("/v1/policies/yaml", content=json.dumps(document, indent=1), headers=YAML)
    assert (again.status_code, again.json()) == (200, first)
    assert first["name"] == "twins@1"
    assert (first["criteria"], first["blocking"], first["dictionaries"]) == (4, 3, ["register"])
    got = await client.get(f"/v1/policies/{first['id']}")
    assert got.json() == first == (await client.get("/v1/policies/twins@1")).json()


async def test_an_equal_policy_of_another_spelling_is_the_same(client: httpx.AsyncClient):
    first = await stored(client, named("spelt"))
    spelt = named("spelt", description="")
    spelt["assumes"]["options"] = {"utility": "depth_sum", "risk_model": "I", "absent_policy": "zero"}
    spelt["requirements"][0]["severity"] = "block"
    again = await client.post("/v1/policies", json=spelt)
    assert (again.status_code, again.json()["sha256"]) == (200, first["sha256"])


async def test_a_version_never_changes(client: httpx.AsyncClient):
    await stored(client, named("fixed"))
    other = named("fixed", title="Something else")
    problem = problem_of(await client.post("/v1/policies", json=other), 409, "conflict")
    assert "Raise the version" in problem["remedy"]
    assert (await client.get("/v1/policies/fixed")).json()["title"] == RELEASE["title"]


async def test_a_name_is_its_highest_version(client: httpx.AsyncClient):
    for version in (2, 11, 1):
        await stored(client, named("many", version=version))
    # Another policy whose name contains this one.
    await stored(client, named("too-many", version=99))
    assert (await client.get("/v1/policies/many")).json()["name"] == "many@11"
    assert (await client.get("/v1/policies/many@2")).json()["version"] == 2
    versions = (await client.get("/v1/policies/many/versions")).json()["items"]
    assert [own["name"] for own in versions] == ["many@11", "many@2", "many@1"]
    for ref in ("many@3", "man", "any", "nothing"):
        problem_of(await client.get(f"/v1/policies/{ref}"), 404, "not-found")


async def test_measures_are_pinned_when_a_policy_is_stored(client: httpx.AsyncClient):
    document = named("pinned")
    demand = {
        "kind": "measure",
        "measure": {"kind": "equivalence_classes", "k": 2, "missing": "own_category"},
        "value": "k",
        "comparison": "at_least",
        "threshold": 2.0,
    }
    document["requirements"][3]["requirement"] = demand
    kept = (await stored(client, document))["document"]["requirements"][3]["requirement"]
    assert kept["version"] == 1
    assert kept["threshold"] == 2
    assert "missing" not in kept["measure"]
    demand["version"] = 2
    problem = problem_of(await client.post("/v1/policies", json=document), 422, "invalid-input")
    assert [own["code"] for own in problem["errors"]] == ["wrong-version"]


async def test_all_errors_are_told_at_once_and_nothing_is_stored(client: httpx.AsyncClient):
    document = named("wrong")
    document["requirements"][0]["requirement"]["value"] = "min_consistant"
    document["requirements"][1]["requirement"]["threshold"] = -1
    document["requirements"][2]["id"] = "harm"
    problem = problem_of(await client.post("/v1/policies", json=document), 422, "invalid-input")
    assert {own["pointer"]: own["code"] for own in problem["errors"]} == {
        "/requirements/0/requirement/value": "unknown-value",
        "/requirements/1/requirement/threshold": "out-of-range",
        "/requirements/2/id": "duplicate",
    }
    problem_of(await client.get("/v1/policies/wrong"), 404, "not-found")


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2",
        "a: &x 1\nb: *x",
        "a: !!python/name:os.system x",
        "a: [",
        "- 1",
        "",
        "a: .nan",
        "[" * 9_000,
    ],
)
async def test_yaml_that_is_no_policy_is_refused(client: httpx.AsyncClient, text: str):
    response = await client.post("/v1/policies/yaml", content=text, headers=YAML)
    problem_of(response, 422, "invalid-input")


async def test_a_body_that_is_no_text_or_too_long_is_refused(client: httpx.AsyncClient):
    response = await client.post("/v1/policies/yaml", content=b"\xff\xfe", headers=YAML)
    problem_of(response, 422, "invalid-input")
    response = await client.post("/v1/policies/yaml", content="#" * 300_000, headers=YAML)
    problem_of(response, 413, "too-large")


async def test_lint_answers_instead_of_refusing(client: httpx.AsyncClient):
    for body in ({}, {"criteria": 1}, {"format": "other"}):
        answer = (await client.post("/v1/policies/lint", json=body)).json()
        assert (answer["usable"], answer["document"]) == (False, None)
        assert answer["errors"]
    answer = (await client.post("/v1/policies/lint", json=STRICTER)).json()
    assert (answer["usable"], answer["errors"]) == (True, [])
    assert (await client.get("/v1/policies?name=members-release")).json()["items"] == []


async def test_a_comparison_says_what_is_stricter(client: httpx.AsyncClient):
    await stored(client, named("grown"))
    problem = problem_of(await client.get("/v1/policies/grown/diff"), 422, "invalid-input")
    assert problem["errors"][0]["code"] == "no-earlier-version"
    await stored(client, {**copy.deepcopy(STRICTER), "name": "grown"})
    found = (await client.get("/v1/policies/grown/diff")).json()
    assert (found["old"], found["new"], found["effect"]) == ("grown@1", "grown@2", "stricter")
    assert found == (await client.get("/v1/policies/grown/diff?against=grown@1")).json()
    changed = next(own for own in found["changes"] if own["part"] == "criterion")
    assert {own["field"]: own["after"] for own in changed["fields"]}["threshold"] == 0.5
    back = (await client.get("/v1/policies/grown@1/diff?against=grown")).json()
    assert back["effect"] == "looser"
    problem_of(await client.get("/v1/policies/grown/diff?against=none"), 404, "not-found")


@pytest.mark.parametrize(
    "query",
    ["", "?version=1", *(pytest.param(f"?version={n}", marks=pytest.mark.deep) for n in (2, 3, 4))],
)
async def test_templates_can_be_stored_as_they_stand(client: httpx.AsyncClient, query):
    version = int(query[-1:] or NEWEST)
    items = (await client.get(f"/v1/policy-templates{query}")).json()["items"]
    assert [own["name"] for own in items] == list(NAMES[version])
    for own in items:
        first = await stored(client, own["document"])
        response = await client.post("/v1/policies/yaml", content=own["yaml"], headers=YAML)
        assert (response.status_code, response.json()["sha256"]) == (200, first["sha256"])
        assert own["yaml"] == template(f"{own['name']}@{version}").text


@pytest.mark.parametrize("version", ["5", "0", "x", "", "1.0", "²"])
async def test_templates_of_no_version_are_refused(client: httpx.AsyncClient, version):
    fault = problem_of(
        await client.get("/v1/policy-templates", params={"version": version}), 422, "invalid-input"
    )
    assert [own["pointer"] for own in fault["errors"]] == ["query/version"]


async def test_one_version_is_deleted_by_its_own_name_only(client: httpx.AsyncClient):
    for version in (1, 2):
        await stored(client, named("gone", version=version))
    problem_of(await client.delete("/v1/policies/gone"), 409, "conflict")
    assert (await client.delete("/v1/policies/gone@2")).status_code == 204
    assert (await client.get("/v1/policies/gone")).json()["version"] == 1


async def test_only_who_governs_writes_and_every_key_reads(api, actor, client: httpx.AsyncClient):
    await stored(client, named("rules"))
    async with api.client(await api.key_with(actor, Scope.ASSESS, Scope.DATA_READ)) as pipeline:
        for response in (
            await pipeline.post("/v1/policies", json=named("mine")),
            await pipeline.post("/v1/policies/yaml", content="a: 1", headers=YAML),
            await pipeline.delete("/v1/policies/rules@1"),
        ):
            assert problem_of(response, 403, "forbidden")
        assert (await pipeline.get("/v1/policies/rules")).status_code == 200
        assert (await pipeline.post("/v1/policies/lint", json=named("mine"))).status_code == 200


async def test_values_of_cells_are_named_and_seen_by_readers_of_the_data_only(api, actor, client):
    document = named("values")
    document["requirements"][3]["requirement"] = {
        "kind": "measure",
        "measure": {"kind": "alpha_k_anonymity", "attribute": "income", "values": ["[0, 100000["]},
        "value": "is_met",
        "comparison": "equals",
        "threshold": True,
    }
    document["requirements"].append(
        {
            "id": "limited",
            "title": "T",
            "reason": "R",
            "requirement": {
                "kind": "privacy_model",
                "model": {"kind": "alpha_k_anonymity", "k": 2, "alpha": 0.9, "values": ["[0, 100000["]},
            },
        }
    )
    async with api.client(await api.key_with(actor, Scope.GOVERN)) as blind:
        problem_of(await blind.post("/v1/policies", json=document), 403, "forbidden")
        await stored(client, document)
        changed = copy.deepcopy(document)
        changed["version"] = 2
        changed["requirements"][3]["requirement"]["measure"]["values"] = ["secret"]
        await stored(client, changed)
        for path in ("/v1/policies/values", "/v1/policies/values@1", "/v1/policies/values/diff"):
            assert "100000[" in (seen := (await client.get(path)).text) or "secret" in seen
            hidden = await blind.get(path)
            assert hidden.status_code == 200
            assert "100000[" not in hidden.text
            assert "secret" not in hidden.text
        found = (await blind.get("/v1/policies/values/diff")).json()
        assert [own["id"] for own in found["changes"] if own["part"] == "criterion"] == ["small-classes"]


async def test_a_requirement_that_tells_counts_is_made_by_readers_of_the_data_only(api, actor, client):
    document = named("counting")
    document["requirements"][3]["requirement"] = {
        "kind": "measure",
        "measure": {"kind": "expected_count_errors", "p_cap": 0.5},
        "value": "best_plain",
        "comparison": "at_least",
        "threshold": 0.1,
    }
    async with api.client(await api.key_with(actor, Scope.GOVERN)) as blind:
        problem_of(await blind.post("/v1/policies", json=document), 403, "forbidden")
    await stored(client, document)


async def test_another_tenant_sees_and_compares_nothing(client, other_client):
    mine = await stored(client, named("secret"))
    await stored(other_client, named("own"))
    for ref in ("secret", "secret@1", mine["id"]):
        for path in (f"/v1/policies/{ref}", f"/v1/policies/{ref}/versions", f"/v1/policies/{ref}/diff"):
            problem_of(await other_client.get(path), 404, "not-found")
        problem_of(await other_client.get(f"/v1/policies/own/diff?against={ref}"), 404, "not-found")
        problem_of(await other_client.delete(f"/v1/policies/{ref}"), 404, "not-found")
    assert [own["name"] for own in (await other_client.get("/v1/policies")).json()["items"]] == ["own@1"]


async def test_the_results_of_all_measures_are_in_the_ranges_that_lint_knows(journey: httpx.AsyncClient):
    """A range that is too narrow would refuse policies that make sense."""
    seen, results = set(), {measure.name: measure.result for measure in MEASURES}
    for listed in (await journey.get("/v1/measurements?limit=200")).json()["items"]:
        result = (await journey.get(f"/v1/measurements/{listed['name']}")).json()["result"]
        if result is None:
            continue
        name = result["kind"]
        for value in values_of(results[name]):
            found = value_at(result, value.path)
            if found is None or isinstance(found, bool):
                continue
            possible = value.range({})
            seen.add((name, value.path))
            assert possible.least - 1e-9 <= found <= possible.greatest + 1e-9, (name, value.path, found)
    assert len({name for name, _ in seen}) > 20
