"""Templates of regulators judge the example data, and their reports follow the questions that were asked."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from app.api.examples.release_contexts import CONTEXTS
from app.services.gates.policies import OF_REGULATORS, template
from app.services.gates.policy_documents import document_of_policy
from tests.api.problem_documents import problem_of
from tests.api.tables import made

pytestmark = pytest.mark.anyio

ROLES = {
    "member_id": "identifier", "city": "quasi_identifier", "race": "quasi_identifier",
    "birth_date": "quasi_identifier", "income": "sensitive",
}  # fmt: skip
COARSE = {"city": 4, "race": 2, "birth_date": 3, "income": 3}
"""Levels that show of everybody no more than a range of incomes."""


async def begin_with(client: httpx.AsyncClient) -> None:
    """A client whose tenant has the example data, its proposed rule and a coarse one."""
    await made(client, "example-data", {"prefix": "try", "members": 120})
    rule = {"kind": "table_level", "levels": COARSE}
    await made(client, "rules", {"name": "try-coarse", "dataset": "try-members", "rule": rule})


@pytest.fixture
def example(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def judged(client: httpx.AsyncClient, document: dict[str, Any], rule: str) -> dict[str, Any]:
    """The verdict of a policy, filled with the roles of the example's columns, on a rule of the example."""
    # Seven of 120 incomes are in the highest range: fewer than the 11 or 20 persons of the larger k.
    excused = [{"columns": ["income"], "reason": "A range of incomes says nothing of who somebody is."}]
    filled = {**document, "schema": {**document["schema"], "attributes": ROLES}, "not_covered": excused}
    answer = await client.post("/v1/policies", json=filled)
    assert answer.status_code in (200, 201), answer.text
    named = document["name"]
    policy = f"{named}@{document['version']}"
    name = f"{named}-{document['version']}-{rule}"
    body: dict[str, Any] = {"dataset": "try-members", "rule": f"try-{rule}", "name": name}
    if document["dictionaries"]:
        body["dictionaries"] = {"register": "try-census"}
    answer = await client.post(f"/v1/gates/{policy}/evaluations", json=body)
    assert answer.status_code == 201, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result


def without(document: dict[str, Any], *ids: str) -> dict[str, Any]:
    """The policy without some requirements, as its user removes what there is no column for."""
    requirements = [own for own in document["requirements"] if own["id"] not in ids]
    outline = [
        {**own, "requirements": [id_ for id_ in own["requirements"] if id_ not in ids]}
        for own in document["outline"]
    ]
    return {**document, "version": document["version"] + 1, "requirements": requirements, "outline": outline}


def outcomes(result: dict[str, Any]) -> dict[str, str]:
    return {own["id"]: own["outcome"] for own in result["criteria"]}


@pytest.mark.deep
async def test_each_template_tells_the_proposed_rule_from_a_coarse_one(example: httpx.AsyncClient):
    for name in OF_REGULATORS:
        document = document_of_policy(template(name).policy)
        if name == "hipaa-safe-harbor":
            as_it_stands = await judged(example, document, "coarse")
            assert as_it_stands["verdict"] == "error"
            unknown = {id_ for id_, own in outcomes(as_it_stands).items() if own == "not_computable"}
            assert unknown == {"ages", "zip-codes"}
            document = without(document, *unknown)
        fine, coarse = [await judged(example, document, rule) for rule in ("proposal", "coarse")]
        assert (fine["verdict"], coarse["verdict"]) == ("fail", "pass"), (name, coarse)
        if name == "hipaa-safe-harbor":
            told = outcomes(fine)
            assert (told["dates"], told["years-of-birth"]) == ("failed", "failed")
        if name == "article-29":
            page = (
                await example.get(f"/v1/evaluations/article-29-{document['version']}-proposal/report")
            ).text
            check_questions(page, document, fine)
    await check_context(example)


def check_questions(page: str, document: dict[str, Any], result: dict[str, Any]) -> None:
    """The report of Article 29 has the three questions in their order, each with its own figures."""
    headings = re.findall(r"<h([234])[^>]*>([^<]+)</h", page)
    asked = [own["title"] for own in document["outline"]]
    assert [text for level, text in headings if level == "3" and text in asked] == asked
    found = {own["id"]: own["value"] for own in result["criteria"]}
    linked = page[page.index(asked[1]) : page.index(asked[2])]
    assert f"{found['nobody-found']}" in linked
    assert "Every record fits at least two people of the register" in linked
    assert "No record is alone in its equivalence class" not in linked
    assert "text read" in linked


async def check_context(example: httpx.AsyncClient) -> None:
    """The policy of a context judges the example, too, and its report has the steps of the guideline."""
    found = (await example.post("/v1/release-contexts", json=CONTEXTS["partner"]["value"])).json()
    fine, coarse = [await judged(example, found["policy"], rule) for rule in ("proposal", "coarse")]
    assert (fine["verdict"], coarse["verdict"]) == ("fail", "pass")
    assert outcomes(fine)["mean-risk"] == outcomes(fine)["data-risk"] == "failed"
    page = (await example.get("/v1/evaluations/members-for-a-partner-1-coarse/report")).text
    assert "Step 5: Measure the context risk" in page
    assert "Breaches reported by organisations of this kind, 2025." in page


@pytest.mark.parametrize("name", CONTEXTS)
async def test_a_context_is_answered_with_a_policy_that_can_be_stored(client: httpx.AsyncClient, name: str):
    asked = CONTEXTS[name]["value"]
    answer = await client.post("/v1/release-contexts", json=asked)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["policy"]["name"] == asked.get("name", "ontario-release")
    checked = (await client.post("/v1/policies/lint", json=found["policy"])).json()
    assert (checked["usable"], checked["errors"]) == (True, [])
    await made(client, "policies", found["policy"])
    assert found["data_risk"] * found["probability"] <= found["threshold"] + 1e-12
    numbers = {"threshold", "attempt", "recognition", "breach", "probability", "data_risk"}
    assert {own["number"] for own in found["sources"]} >= {own for own in numbers if found[own] is not None}


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({"release_model": "public"}, "/threshold", "exactly-one"),
        ({"release_model": "public", "invasion_of_privacy": "low", "controls": "high"},
         "/controls", "not-applicable"),
        ({**CONTEXTS["partner"]["value"], "breach": None}, "/breach", "missing"),
        ({**CONTEXTS["partner"]["value"], "breach": {"value": 0.1}}, "/breach/reason", "missing"),
        ({**CONTEXTS["partner"]["value"], "prevalence": {"value": 1.5, "reason": "x"}},
         "/prevalence/value", "less-than-equal"),
        ({"release_model": "public", "threshold": {"value": 0, "reason": "x"}},
         "/threshold/value", "greater-than-equal"),
    ],
)  # fmt: skip
async def test_a_context_with_a_mistake_names_the_field(
    client: httpx.AsyncClient, body: dict[str, Any], pointer: str, code: str
):
    problem = problem_of(await client.post("/v1/release-contexts", json=body), 422, "invalid-input")
    assert [(own["pointer"], own["code"]) for own in problem["errors"]] == [(pointer, code)]
