"""What was released of a dataset, in order, and the next delivery of the same table."""

from __future__ import annotations

import csv
import io
from typing import Any

import httpx
import pytest

from app.api import example_files, examples
from app.api.measurement_examples import BY_MEASURE
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

MEMBERS: list[dict[str, str]] = list(csv.DictReader(io.StringIO(example_files.MEMBERS_CSV)))


async def ledger(client: httpx.AsyncClient, dataset: str, **params: Any) -> dict[str, Any]:
    response = await client.get(f"/v1/datasets/{dataset}/releases", params=params)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


async def test_the_releases_of_a_dataset_are_remembered_in_order(journey: httpx.AsyncClient):
    for number, rule in enumerate(("proposal", "exceptions")):
        body = {"name": f"later-{number}", "dataset": "members", "rule": rule}
        assert (await journey.post("/v1/releases", json=body)).status_code == 201
    dataset = examples.DATASETS["members"]["value"]
    other = await journey.post("/v1/datasets", json={**dataset, "name": "others"})
    assert other.status_code == 201
    await journey.post(
        "/v1/rules", json={"name": "others-as-is", "dataset": "others", "rule": {"kind": "identity"}}
    )
    body = {"name": "of-others", "dataset": "others", "rule": "others-as-is"}
    assert (await journey.post("/v1/releases", json=body)).status_code == 201
    whole = await ledger(journey, "members")
    assert [entry["name"] for entry in whole["items"]] == ["later-1", "later-0", "members-release"]
    assert [entry["rule"]["name"] for entry in whole["items"]] == [
        "exceptions", "proposal", "members-optimum",
    ]  # fmt: skip
    assert [entry["name"] for entry in (await ledger(journey, "others"))["items"]] == ["of-others"]
    first = await ledger(journey, "members", limit=2)
    rest = await ledger(journey, "members", limit=2, cursor=first["next_cursor"])
    assert first["items"] + rest["items"] == whole["items"]
    by_id = (await journey.get("/v1/datasets/members")).json()["id"]
    assert await ledger(journey, by_id) == whole
    elsewhere = await journey.get(
        "/v1/datasets/others/releases", params={"limit": 2, "cursor": first["next_cursor"]}
    )
    problem_of(elsewhere, 422, "invalid-input")


async def test_the_ledger_of_a_dataset_that_is_not_there_is_not_found(client: httpx.AsyncClient):
    problem_of(await client.get("/v1/datasets/nothing/releases"), 404, "not-found")


async def next_delivery(client: httpx.AsyncClient) -> None:
    """m-01 has moved to a town that the hierarchy lacks, m-12 has left, m-13 is new."""
    rows = [dict(row) for row in MEMBERS[:-1]] + [MEMBERS[0] | {"member_id": "m-13"}]
    rows[0]["city"] = "Springfield"
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0])
    writer.writeheader()
    writer.writerows(rows)
    content = text.getvalue().encode()
    upload = await client.post(
        "/v1/uploads", params={"name": "next"}, content=content, headers={"Content-Type": "text/csv"}
    )
    assert upload.status_code == 201, upload.text
    dataset = examples.DATASETS["members"]["value"]
    attributes = [
        a | ({"on_unknown": "attach"} if a["name"] == "city" else {}) for a in dataset["attributes"]
    ]
    made = await client.post(
        "/v1/datasets", json={"name": "next", "upload": "next", "attributes": attributes}
    )
    assert made.status_code == 201, made.text


async def reuse(client: httpx.AsyncClient, name: str, rule: str, **parameters: str) -> dict[str, Any]:
    body = BY_MEASURE["rule_reuse"]["value"] | {
        "name": name, "rule": rule, "measure": {"kind": "rule_reuse", "next_dataset": "next", **parameters},
    }  # fmt: skip
    response = await client.post("/v1/measurements", json=body)
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()["result"]
    return found


async def test_a_rule_is_tried_on_the_next_delivery_in_one_call(journey: httpx.AsyncClient):
    await next_delivery(journey)
    found = await reuse(journey, "next-proposal", "proposal")
    city = next(entry for entry in found["attributes"] if entry["attribute"] == "city")
    # Albany has gone; West Lafayette lost one and won one; Springfield is new.
    assert (city["new_values"], city["outside_values"], city["outside_records"]) == (1, 1, 1)
    assert city["vanished_values"] == 1
    assert city["total_variation"] == pytest.approx(1 / 12)
    assert (city["level_before"], city["level_now"], city["nodes_gone"]) == (1, 1, 0)
    assert "Springfield" not in str(found)
    assert "Albany" not in {shift["value"] for shift in city["shifts"]}
    score = (await journey.get("/v1/assessments/proposal-score")).json()["result"]
    assert found["before"]["risk"] == score["risk_average"]
    assert found["before"]["utility"] == score["utility_average"]
    assert found["now"]["records"] == 12
    # Nobody of the census is consistent with the town that only the members know.
    assert found["now"]["absent"] == 1
    levels = {"city": 1, "birth_date": 2, "income": 1}
    profile = examples.SENSITIVITY_PROFILES["members-harm"]["value"] | {
        "name": "next-harm", "dataset": "next",
    }  # fmt: skip
    assert (await journey.post("/v1/sensitivity-profiles", json=profile)).status_code == 201
    body = {
        "name": "next-score", "dataset": "next", "dictionary": "census", "sensitivity": "next-harm",
        "rule": {"kind": "table_level", "levels": levels},
    }  # fmt: skip
    by_hand = (await journey.post("/v1/assessments", json=body)).json()["result"]
    assert found["now"]["risk"] == by_hand["risk_average"]
    assert found["now"]["utility"] == by_hand["utility_average"]


async def test_rules_per_record_follow_the_entities(journey: httpx.AsyncClient):
    await next_delivery(journey)
    withheld = await reuse(journey, "next-exceptions", "exceptions")
    assert (withheld["matched_records"], withheld["records_without_rule"]) == (11, 1)
    modal = await reuse(journey, "next-modal", "exceptions", unmatched="modal_rule")
    # Most records have no levels of their own: the new one is shown as it is.
    assert modal["now"]["utility"] == pytest.approx(withheld["now"]["utility"] + 13 / 12)


async def test_what_earlier_releases_showed_adds_to_the_risk(journey: httpx.AsyncClient):
    body = {"name": "exact", "dataset": "members", "rule": "exceptions"}
    assert (await journey.post("/v1/releases", json=body)).status_code == 201
    asked = BY_MEASURE["risk_given_releases"]["value"] | {"name": "after-exact"}
    answer = (await journey.post("/v1/measurements", json=asked)).json()
    assert answer["parameters"]["earlier"] == ["members-optimum", "exceptions"]
    result = answer["result"]
    assert result["increase"] > 0
    assert result["given"]["risk"] == pytest.approx(result["alone"]["risk"] + result["increase"])
    assert result["given"]["utility"] > result["alone"]["utility"]
    assert result["given"]["min_consistent"] <= result["alone"]["min_consistent"]


async def test_the_optimum_that_was_found_is_explained_as_optimal(api, journey: httpx.AsyncClient):
    question = examples.OPTIMISATIONS["members-optimum"]["value"]
    body = {
        "name": "why", "dataset": "members", "rule": "members-optimum", "dictionary": "census",
        "sensitivity": "members-harm",
        "measure": {"kind": "optimum_explanation", "objective": "min_risk",
                    "threshold": question["objective"]["utility_floor"]},
    }  # fmt: skip
    found = (await journey.post("/v1/measurements", json=body)).json()["result"]
    assert (found["is_optimal"], found["proven"], found["binding"]) == (True, True, "utility_floor")
    assert found["more_utility"]["utility"] > found["utility"] > found["less_risk"]["utility"]
    dearer = {**question, "name": "dearer"}
    dearer["objective"] = {"kind": "min_risk", "utility_floor": found["utility"] + 1}
    run = (await journey.post("/v1/optimisations", json=dearer)).json()
    await api.work_off(run["id"])
    best = (await journey.get(f"/v1/runs/{run['id']}/result")).json()
    assert found["one_more_unit"] == pytest.approx(best["risk"] - found["risk"])
