"""Gates on four people: changes of all attributes, and files that are nobody's rows."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from app.services.gates import evaluation

pytestmark = pytest.mark.anyio

PEOPLE = "place,illness\nRome,flu\nRome,flu\nParis,cold\nParis,cold\n"
PLACES = {"Italy": [None], "France": [None], "Rome": ["Italy"], "Paris": ["France"]}
EVERYTHING = {"kind": "table_level", "levels": {}}
PLACES_SUPPRESSED = {
    "kind": "record_level",
    "records": [{"row": row, "levels": {"place": 2}} for row in (1, 2, 3, 4)],
}


async def begin_with(client: httpx.AsyncClient) -> None:
    """A client whose tenant has four people, who are ill of what their place tells."""
    attributes = [
        {"name": "place", "type": "categorical", "role": "quasi_identifier", "hierarchy": "places"},
        {"name": "illness", "type": "categorical", "role": "sensitive"},
    ]
    await made(client.post("/v1/uploads?name=people", content=PEOPLE, headers={"Content-Type": "text/csv"}))
    for path, body in (
        ("hierarchies", {"name": "places", "definition": {"kind": "parents", "parents": PLACES}}),
        ("datasets", {"name": "people", "upload": "people", "attributes": attributes}),
        ("rules", {"name": "withheld", "dataset": "people", "rule": PLACES_SUPPRESSED}),
    ):
        await made(client.post(f"/v1/{path}", json=body))


@pytest.fixture
def people(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def made(request: Any) -> dict[str, Any]:
    response = await request
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


async def result_of(client: httpx.AsyncClient, rule: Any) -> dict[str, Any]:
    answer = await made(client.post("/v1/gates/people/evaluations", json={"dataset": "people", "rule": rule}))
    found: dict[str, Any] = answer["result"]
    return found


async def policies(client: httpx.AsyncClient, demands: list[tuple[str, Any]], **scope: Any) -> None:
    criteria = [
        {"id": id_, "title": "It holds", "reason": "For the test.", "demand": demand, **scope}
        for id_, demand in demands
    ]
    head = {"format": "privacy-risk/policy/1", "name": "people", "version": 1, "title": "People"}
    # Of four people every value is of fewer than five.
    excused = [{"columns": ["place", "illness"], "reason": "These tests are about requirements."}]
    body = {**head, "assumes": {"attacker": "All"}, "criteria": criteria, "not_covered": excused}
    await made(client.post("/v1/policies", json=body))


async def policy(client: httpx.AsyncClient, model: dict[str, Any], **scope: Any) -> None:
    await policies(client, [("model", {"kind": "privacy_model", "model": model})], **scope)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("model", "scope", "rule", "levels"),
    [
        # One level of illnesses keeps more than two of places.
        ({"kind": "t_closeness", "t": 0.2, "distance": "equal"}, {}, EVERYTHING, {"illness": 1}),
        # Four people are no five, but nobody is in a class of whom nothing is shown.
        ({"kind": "k_anonymity", "k": 5}, {}, "withheld", {"illness": 1}),
        # Who tells people apart by their illness is stopped by nothing else.
        ({"kind": "k_anonymity", "k": 4}, {"scope": {"attributes": ["illness"]}}, EVERYTHING, {"illness": 1}),
        # Fewer illnesses make no class more diverse.
        ({"kind": "distinct_l_diversity", "l": 2}, {}, EVERYTHING, {"place": 2}),
    ],
)
async def test_the_nearest_change_is_that_of_all_attributes(people, model, scope, rule, levels):
    await policy(people, model, **scope)
    result = await result_of(people, rule)
    assert result["verdict"] == "fail"
    for change in result["changes"]:
        assert (change["status"], change["proven"], change["levels"]) == ("found", True, levels)
    assert (await result_of(people, result["changes"][-1]["rule"]))["verdict"] == "pass"


async def test_a_change_that_is_not_of_everything_is_not_said_to_be_proven(people, monkeypatch):
    for bound in (evaluation.FEWEST_RULES, evaluation.MOST_RULES):
        monkeypatch.setitem(bound, "direct", 3)
    await policy(people, {"kind": "t_closeness", "t": 0.2, "distance": "equal"})
    (change, *_) = (await result_of(people, EVERYTHING))["changes"]
    assert (change["status"], change["proven"]) == ("found", False)


def measured(kind: str, value: str, threshold: float, **parameters: Any) -> dict[str, Any]:
    return {
        "kind": "measure",
        "measure": {"kind": kind, **parameters},
        "value": value,
        "comparison": "at_most",
        "threshold": threshold,
    }


async def test_a_model_that_the_other_sensitive_attribute_fails_names_the_way_out(client):
    illnesses = "sex,place,illness\nf,Rome,flu\nf,Rome,flu\nf,Paris,cold\nf,Paris,cold\n"
    roles = {"sex": "quasi_identifier", "place": "sensitive", "illness": "sensitive"}
    attributes = [{"name": name, "type": "categorical", "role": role} for name, role in roles.items()]
    await made(
        client.post("/v1/uploads?name=people", content=illnesses, headers={"Content-Type": "text/csv"})
    )
    body = {"name": "people", "upload": "people", "attributes": attributes}
    await made(client.post("/v1/datasets", json=body))
    model = {"kind": "distinct_l_diversity", "l": 2, "attribute": "illness"}
    beside = {"kind": "privacy_model", "model": model | {"others": "apart"}}
    await policies(client, [("in", {"kind": "privacy_model", "model": model}), ("apart", beside)])
    split, alone = (await result_of(client, {"kind": "identity"}))["criteria"]
    # In one place all have one illness; all four together have two.
    assert split["outcome"] == "failed"
    assert "`others: apart`" in split["explanation"]
    assert alone["outcome"] == "passed"
    assert "apart" not in alone["explanation"]


async def test_a_file_alone_has_classes_and_no_originals(people):
    """Without its originals a file would have lost nothing, however little it shows."""
    demands = {
        "classes": {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}},
        "small": measured("equivalence_classes", "records_below_k", 0, k=2),
        "loss": measured("information_loss", "precision_loss", 0.1),
        "queries": measured("query_accuracy", "median_error", 0.1, attribute="illness", predicates=1),
    }
    await policies(people, list(demands.items()))
    text = "place,illness\n*,*\nItaly,flu\nItaly,flu\n"
    headers = {"Content-Type": "text/csv"}
    await made(people.post("/v1/uploads?name=file", content=text, headers=headers))
    body = {"dataset": "people", "release": {"upload": "file"}}
    result = (await made(people.post("/v1/gates/people/evaluations", json=body)))["result"]
    assert (result["verdict"], result["subject"]["release"]["aligned_by"]) == ("error", None)
    assert {own["id"]: own["outcome"] for own in result["criteria"]} == {
        "classes": "passed",
        "small": "passed",
        "loss": "not_computable",
        "queries": "not_computable",
    }
