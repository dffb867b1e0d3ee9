"""Rules whose criteria compare classes with a population: they name it, and keep their levels."""

from __future__ import annotations

import httpx
import pytest

from tests.api.optimisations import asking, found
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

CRITERIA = [
    {"kind": "k_map", "k": 4},
    {"kind": "highest_journalist_risk", "threshold": 0.25},
    {"kind": "marketer_risk", "threshold": 0.2},
    {"kind": "average_journalist_risk", "threshold": 0.2},
]
TABLE_WIDE = {"marketer_risk", "average_journalist_risk"}


async def create(client: httpx.AsyncClient, name: str, rule: dict) -> dict:
    response = await client.post("/v1/rules", json={"name": name, "dataset": "members", "rule": rule})
    assert response.status_code == 201, response.text
    return response.json()


@pytest.mark.deep
@pytest.mark.parametrize("criterion", CRITERIA, ids=lambda own: own["kind"])
async def test_what_is_found_with_a_population_keeps_its_levels_and_is_stated_by_hand(
    api, journey: httpx.AsyncClient, criterion
):
    objective = asking("mapped", [criterion], suppression_limit=0.34)
    result = await found(api, journey, objective | {"dictionary": "census"})
    rule = result["rule"]
    assert (result["status"], rule["kind"]) == ("optimal", "table_level")
    assert rule["records"] == result["suppressed_records"] > 0
    stored = (await journey.get("/v1/rules/mapped")).json()
    assert stored["dictionary"] == "census"
    assert stored["levels"] == rule["levels"]
    stated = {
        "kind": "table_level",
        "levels": rule["levels"],
        "suppress_classes_failing": [criterion],
        "dictionary": "census",
    }
    if criterion["kind"] in TABLE_WIDE:
        stated["suppression_order"] = "class_by_class"
    assert stored["suppression_order"] == stated.get("suppression_order")
    by_hand = await create(journey, "by-hand", stated)
    of_moment = dict.fromkeys(("id", "name", "created_at", "addresses"))
    assert {**by_hand, **of_moment} == {**stored, **of_moment}
    for name in ("mapped", "by-hand"):
        release = {"name": f"{name}-release", "dataset": "members", "rule": name}
        made = (await journey.post("/v1/releases", json=release)).json()
        assert made["suppressed_records"] == result["suppressed_records"]
        assert made["rule"]["levels"] == rule["levels"]
    question = {"dataset": "members", "dictionary": "census", "sensitivity": "members-harm"}
    scores = []
    for number, own in enumerate(("mapped", stated)):
        body = {"name": f"score-{number}", **question, "rule": own}
        response = await journey.post("/v1/assessments", json=body)
        assert response.status_code == 201, response.text
        scores.append(response.json())
    assert scores[0]["result"] == scores[1]["result"]
    assert scores[0]["sha256"] == scores[1]["sha256"]
    assert scores[1]["rule"]["dictionary"] == "census"
    in_use = await journey.delete("/v1/dictionaries/census")
    assert "mapped" in problem_of(in_use, 409, "conflict")["detail"] + in_use.text


async def test_a_population_is_named_where_it_is_needed_and_ignored_where_not(
    api, journey: httpx.AsyncClient
):
    levels = {"city": 3, "birth_date": 2}
    mapped = {"kind": "table_level", "levels": levels, "suppress_classes_failing": [CRITERIA[0]]}
    body = {"name": "own", "dataset": "members", "rule": mapped}
    refused = problem_of(await journey.post("/v1/rules", json=body), 422, "invalid-input")
    assert pointers(refused) == ["/rule/dictionary"]
    body["rule"] = mapped | {"dictionary": "nowhere"}
    problem_of(await journey.post("/v1/rules", json=body), 422, "invalid-input")

    small = {"kind": "table_level", "levels": levels, "suppress_classes_below": 2}
    plain = await create(journey, "plain", small)
    noted = await create(journey, "noted", small | {"dictionary": "census"})
    assert plain["notes"] == []
    assert "'census' is ignored" in noted["notes"][0]
    assert (noted["sha256"], noted["dictionary"]) == (plain["sha256"], None)

    inner = {"kind": "at_least", "rule": small | {"dictionary": "census"}, "levels": {}}
    assert (await create(journey, "inner", inner))["notes"] == noted["notes"]

    raised = {"kind": "at_least", "rule": "plain", "levels": levels, "dictionary": "census"}
    at_least = {"kind": "at_least", "rule": {"kind": "identity"}, "levels": levels, "dictionary": "census"}
    again = await create(journey, "raised", at_least | {"suppress_classes_failing": [CRITERIA[0]]})
    by_levels = await create(journey, "by-levels", mapped | {"dictionary": "census"})
    assert again["sha256"] == by_levels["sha256"]
    body["rule"] = raised | {"suppress_classes_failing": [CRITERIA[0]]}
    problem_of(await journey.post("/v1/rules", json=body), 422, "not-supported")

    asked = asking("unneeded", [{"kind": "k_anonymity", "k": 2}], suppression_limit=0.2)
    named = (await journey.post("/v1/optimisations", json=asked | {"dictionary": "census"})).json()
    await api.work_off(named["id"])
    shown = (await journey.get("/v1/optimisations/unneeded")).json()
    assert "ignored" in shown["notes"][0]
    assert (shown["result"]["status"], shown["dictionary"]) == ("optimal", None)
