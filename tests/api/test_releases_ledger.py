"""What was released of a dataset, in order, and the next delivery of the same table."""

from __future__ import annotations

import csv
import io
from typing import Any

import httpx
import pandas as pd
import pytest

from app.api.examples.files import MEMBERS_CSV
from app.api.examples.inputs import DATASETS, SENSITIVITY_PROFILES
from app.api.examples.measurements import BY_MEASURE
from app.api.examples.searches import OPTIMISATIONS
from privacy_risk import AsyncClient, ProblemError
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

MEMBERS: list[dict[str, str]] = list(csv.DictReader(io.StringIO(MEMBERS_CSV)))


async def test_the_releases_of_a_dataset_are_remembered_in_order(python_journey: AsyncClient):
    client = python_journey
    for number, rule in enumerate(("proposal", "exceptions")):
        await client.releases.create({"name": f"later-{number}", "dataset": "members", "rule": rule})
    await client.datasets.create({**DATASETS["members"]["value"], "name": "others"})
    await client.rules.create({"name": "others-as-is", "dataset": "others", "rule": {"kind": "identity"}})
    await client.releases.create({"name": "of-others", "dataset": "others", "rule": "others-as-is"})
    whole = await client.datasets.releases("members")
    assert [entry.name for entry in whole.items] == ["later-1", "later-0", "members-release"]
    assert [entry.document["rule"]["name"] for entry in whole.items] == [
        "exceptions", "proposal", "members-optimum",
    ]  # fmt: skip
    assert [entry.name for entry in (await client.datasets.releases("others")).items] == ["of-others"]
    first = await client.datasets.releases("members", limit=2)
    rest = await client.datasets.releases("members", limit=2, cursor=first.next_cursor)
    assert first.items + rest.items == whole.items
    by_id = (await client.datasets.get("members")).id
    assert await client.datasets.releases(by_id) == whole
    with pytest.raises(ProblemError) as caught:
        await client.datasets.releases("others", limit=2, cursor=first.next_cursor)
    assert (caught.value.status, caught.value.code) == (422, "invalid-input")


async def test_columns_of_one_table_that_are_released_apart_are_named_as_earlier_releases(
    python_journey: AsyncClient,
):
    client = python_journey
    rows = pd.DataFrame({name: [f"{name}{n % 2}" for n in range(6)] for name in "abcd"})
    content = rows.to_csv(index=False).encode()
    await client.uploads.create_from("whole", content)
    # The same cells in another dialect are the same table.
    odd = b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n")
    await client.uploads.create_from("whole-again", odd)
    await client.uploads.create_from("a-and-b", rows[["b", "a"]].to_csv(index=False).encode())
    await client.uploads.create_from("c-and-d", rows[["c", "d"]].to_csv(index=False).encode())
    await client.uploads.create_from("others", rows[["a", "b"]].head(5).to_csv(index=False).encode())
    for name, upload, columns in (
        ("first", "whole", "ab"),
        ("part", "a-and-b", "ab"),
        ("others", "others", "ab"),
        ("second", "whole-again", "cd"),
        ("other-part", "c-and-d", "cd"),
    ):
        attributes = [{"name": own, "type": "categorical", "role": "quasi_identifier"} for own in columns]
        body = {"name": name, "upload": upload, "attributes": attributes, "rows_are": "persons"}
        await client.datasets.create(body)
        await client.rules.create({"name": f"{name}-as-is", "dataset": name, "rule": {"kind": "identity"}})
    for name in ("first", "part", "others"):
        asked = {"name": f"released-{name}", "dataset": name, "rule": f"{name}-as-is"}
        await client.releases.create(asked)
    policy = {
        "format": "privacy-risk/policy/1", "name": "k-two", "version": 1, "title": "k of two",
        "assumes": {"attacker": "Who knows all columns."},
        "criteria": [{"id": "k", "title": "k", "reason": "r", "severity": "block", "demand": {
            "kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}}}],
    }  # fmt: skip
    await client.policies.create(policy)
    for name in ("second", "other-part"):
        asked = {"name": f"{name}-judged", "dataset": name, "rule": f"{name}-as-is"}
        found = (await client.evaluations.create("k-two", asked)).document["result"]["earlier_releases"]
        assert [own["name"] for own in found["releases"]] == ["released-part", "released-first"]
        assert "2 earlier releases of the same data are known here" in found["explanation"]


async def test_the_ledger_of_a_dataset_that_is_not_there_is_not_found(client: httpx.AsyncClient):
    problem_of(await client.get("/v1/datasets/nothing/releases"), 404, "not-found")


async def next_delivery(client: AsyncClient) -> None:
    """m-01 has moved to a town that the hierarchy lacks, m-12 has left, m-13 is new."""
    rows = [dict(row) for row in MEMBERS[:-1]] + [MEMBERS[0] | {"member_id": "m-13"}]
    rows[0]["city"] = "Springfield"
    await client.uploads.create_from_frame("next", pd.DataFrame(rows))
    dataset = DATASETS["members"]["value"]
    attributes = [
        a | ({"on_unknown": "attach"} if a["name"] == "city" else {}) for a in dataset["attributes"]
    ]
    await client.datasets.create({"name": "next", "upload": "next", "attributes": attributes})


async def reuse(client: AsyncClient, name: str, rule: str, **parameters: str) -> dict[str, Any]:
    body = BY_MEASURE["rule_reuse"]["value"] | {
        "name": name, "rule": rule, "measure": {"kind": "rule_reuse", "next_dataset": "next", **parameters},
    }  # fmt: skip
    found: dict[str, Any] = (await client.measurements.create(body)).document["result"]
    return found


async def test_a_rule_is_tried_on_the_next_delivery_in_one_call(python_journey: AsyncClient):
    client = python_journey
    await next_delivery(client)
    found = await reuse(client, "next-proposal", "proposal")
    city = next(entry for entry in found["attributes"] if entry["attribute"] == "city")
    # Albany has gone; West Lafayette lost one and won one; Springfield is new.
    assert (city["new_values"], city["outside_values"], city["outside_records"]) == (1, 1, 1)
    assert city["vanished_values"] == 1
    assert city["total_variation"] == pytest.approx(1 / 12)
    assert (city["level_before"], city["level_now"], city["nodes_gone"]) == (1, 1, 0)
    assert "Springfield" not in str(found)
    assert "Albany" not in {shift["value"] for shift in city["shifts"]}
    score = (await client.assessments.get("proposal-score")).document["result"]
    assert found["before"]["risk"] == score["risk_average"]
    assert found["before"]["utility"] == score["utility_average"]
    assert found["now"]["records"] == 12
    # Nobody of the census is consistent with the town that only the members know.
    assert found["now"]["absent"] == 1
    levels = {"city": 1, "birth_date": 2, "income": 1}
    profile = SENSITIVITY_PROFILES["members-harm"]["value"]
    await client.sensitivity_profiles.create({**profile, "name": "next-harm", "dataset": "next"})
    body = {
        "name": "next-score", "dataset": "next", "dictionary": "census", "sensitivity": "next-harm",
        "rule": {"kind": "table_level", "levels": levels},
    }  # fmt: skip
    by_hand = (await client.assessments.create(body)).document["result"]
    assert found["now"]["risk"] == by_hand["risk_average"]
    assert found["now"]["utility"] == by_hand["utility_average"]


async def test_rules_per_record_follow_the_entities(python_journey: AsyncClient):
    await next_delivery(python_journey)
    suppressed = await reuse(python_journey, "next-exceptions", "exceptions")
    assert (suppressed["matched_records"], suppressed["records_without_rule"]) == (11, 1)
    modal = await reuse(python_journey, "next-modal", "exceptions", unmatched="modal_rule")
    # Most records have no levels of their own: the new one is shown as it is.
    assert modal["now"]["utility"] == pytest.approx(suppressed["now"]["utility"] + 13 / 12)


async def test_what_earlier_releases_showed_adds_to_the_risk(python_journey: AsyncClient):
    client = python_journey
    await client.releases.create({"name": "exact", "dataset": "members", "rule": "exceptions"})
    asked = BY_MEASURE["risk_given_releases"]["value"] | {"name": "after-exact"}
    answer = (await client.measurements.create(asked)).document
    assert answer["parameters"]["earlier"] == ["members-optimum", "exceptions"]
    result = answer["result"]
    assert result["increase"] > 0
    assert result["given"]["risk"] == pytest.approx(result["alone"]["risk"] + result["increase"])
    assert result["given"]["utility"] > result["alone"]["utility"]
    assert result["given"]["min_consistent"] <= result["alone"]["min_consistent"]


async def test_the_optimum_that_was_found_is_explained_as_optimal(api, python_journey: AsyncClient):
    question = OPTIMISATIONS["members-optimum"]["value"]
    body = {
        "name": "why", "dataset": "members", "rule": "members-optimum", "dictionary": "census",
        "sensitivity": "members-harm",
        "measure": {"kind": "optimum_explanation", "objective": "min_risk",
                    "threshold": question["objective"]["utility_floor"]},
    }  # fmt: skip
    found = (await python_journey.measurements.create(body)).document["result"]
    assert (found["is_optimal"], found["proven"], found["binding"]) == (True, True, "utility_floor")
    assert found["more_utility"]["utility"] > found["utility"] > found["less_risk"]["utility"]
    dearer = {**question, "name": "dearer"}
    dearer["objective"] = {"kind": "min_risk", "utility_floor": found["utility"] + 1}
    run = await python_journey.optimisations.start_run(dearer)
    await api.work_off(run.id)
    best = await python_journey.runs.result((await python_journey.runs.wait(run.id)).id)
    assert found["one_more_unit"] == pytest.approx(best["risk"] - found["risk"])
