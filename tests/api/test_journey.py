"""A newcomer's journey: the document's examples as they stand, from the top of the page to its end."""

from __future__ import annotations

import csv
import io
from typing import Any

import httpx
import pytest

from app.api.examples.files import CENSUS_CSV, CITY_CSV, MEMBERS_CSV
from app.api.examples.inputs import DICTIONARIES
from tests.api.journey import Answers, steps, walk
from tests.api.operations import DOCUMENT

pytestmark = pytest.mark.anyio

RESOURCES = (
    "hierarchies",
    "uploads",
    "datasets",
    "dictionaries",
    "dictionary-sets",
    "sensitivity-profiles",
    "rules",
    "assessments",
    "measurements",
    "optimisations",
    "frontiers",
    "releases",
    "policies",
)


async def test_every_example_works_in_the_order_of_the_page(
    api, journey: httpx.AsyncClient, answered: Answers
):
    answers: dict[str, list[httpx.Response]] = {}
    rest = [own async for own in walk(api, journey, since="access")]
    assert [step for step, _ in answered + rest] == steps()
    for step, response in answered + rest:
        answers.setdefault(step.operation_id, []).append(response)
        # By the time a newcomer comes to it the run has ended, and its cancellation is refused.
        expected = {409} if step.operation_id == "cancel_run" else {200, 201, 202, 204}
        assert response.status_code in expected, (step.operation_id, step.key, response.text)
        assert str(response.status_code) in step.operation["responses"], step.operation_id
    assert set(answers) == {
        operation["operationId"] for methods in DOCUMENT["paths"].values() for operation in methods.values()
    }
    _check_what_was_found(answers)
    for resource in RESOURCES:
        assert (await journey.get(f"/v1/{resource}")).json()["items"] == [], resource


def _check_what_was_found(answers: dict[str, list[httpx.Response]]) -> None:
    heights = {h["name"]: h["height"] for h in (a.json() for a in answers["create_hierarchy"])}
    assert heights == {
        "city": 4, "race": 2, "birth-date": 3, "income": 4, "age": 3, "diagnosis": 4, "education": 1,
    }  # fmt: skip
    trial, dataset, *_ = (answer.json() for answer in answers["create_dataset"])
    for own in (trial, dataset):
        assert (own["status"], own["rows"], own["identifier"]) == ("ready", 12, "member_id")
    _, proposal, as_is, *_ = (answer.json()["result"] for answer in answers["create_assessment"])
    assert proposal["risk_average"] < as_is["risk_average"]
    assert as_is["utility_average"] > proposal["utility_average"]
    assert proposal["absent"] == 0
    run = answers["get_run"][1].json()
    assert run["state"] == "succeeded"
    result = answers["get_run_result"][1].json()
    assert result["status"] == "optimal"
    assert result["utility"] >= 6
    risk_map = answers["get_run_map"][1].json()
    assert risk_map["rules"] == len(risk_map["points"]) == 5 * 3 * 4 * 5
    assert "event: " in answers["follow_run"][0].text
    released = list(csv.DictReader(io.StringIO(answers["get_release_data"][0].text)))
    assert answers["create_release"][0].json()["order"] == "shuffled"
    drawn = answers["withdraw_release"][0].json()
    assert (drawn["mechanism"]["draws"], drawn["withdrawn_at"] is None) == (1, False)
    assert [set(row) for row in released] == [{"city", "race", "birth_date", "income"}] * 12


@pytest.mark.usefixtures("journeys_end")
async def test_the_examples_say_what_a_reader_of_the_code_would_compute(answered: Answers):
    """The assessment of the proposal's example against a loop over members and census."""
    first = next(response for step, response in answered if step.operation_id == "get_assessment_records")
    records: list[dict[str, Any]] = first.json()
    assert [record["count"] for record in records] == _consistent_entities()


def _consistent_entities() -> list[int]:
    """Members and census entities that agree on county, race and (roughly: half a year) on the year."""
    county = {line.split(";")[0]: line.split(";")[1] for line in CITY_CSV.splitlines()}
    links = DICTIONARIES["census"]["value"]["links"]
    city_of = next(link for link in links if link["attribute"] == "city")["transform"]["table"]
    members = list(csv.DictReader(io.StringIO(MEMBERS_CSV)))
    people = list(csv.DictReader(io.StringIO(CENSUS_CSV)))
    return [
        sum(
            county[city_of[person["zip"]]] == county[member["city"]]
            and person["race"] == member["race"]
            # On 2020-04-01 a person of age a was born from 2019-a, 2 April on, to 2020-a, 1 April.
            and 2020 - int(person["age"]) - int(member["birth_date"][:4]) in (0, 1)
            for person in people
        )
        for member in members
    ]
