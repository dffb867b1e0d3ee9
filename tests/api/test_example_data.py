"""The example data set: one call, the demonstration's journey, as often as anybody likes."""

from __future__ import annotations

import httpx
import pytest

from app.services.resources import Scope
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

SMALL = {"prefix": "try", "members": 60}


async def test_one_call_makes_what_a_question_needs_and_says_how_to_ask_it(api, client: httpx.AsyncClient):
    made = await client.post("/v1/example-data", json=SMALL)
    assert made.status_code == 201, made.text
    names = made.json()["names"]
    assert names["upload"] == ["try-members", "try-census", "try-zip-city"]
    dataset = (await client.get("/v1/datasets/try-members")).json()
    assert (dataset["status"], dataset["rows"]) == ("ready", 60)
    score, best = made.json()["next"]
    answer = await client.request(score["method"], score["path"], json=score["body"])
    assert answer.status_code == 201, answer.text
    assert answer.json()["result"]["absent"] == 0
    run = await client.request(best["method"], best["path"], json=best["body"])
    assert run.status_code == 201
    await api.work_off(run.json()["id"])
    assert (await client.get("/v1/runs/try-optimum/result")).json()["status"] == "optimal"


async def test_the_same_call_again_changes_nothing_and_another_by_its_names_is_a_conflict(
    client: httpx.AsyncClient,
):
    first = await client.post("/v1/example-data", json=SMALL)
    before = [(await client.get(f"/v1/{kind}")).json() for kind in ("uploads", "datasets", "rules")]
    again = await client.post("/v1/example-data", json=SMALL)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert before == [(await client.get(f"/v1/{kind}")).json() for kind in ("uploads", "datasets", "rules")]
    other = await client.post("/v1/example-data", json=SMALL | {"members": 70})
    assert "try-members" in problem_of(other, 409, "conflict")["detail"]


@pytest.mark.deep
async def test_what_an_interrupted_call_left_is_found_by_the_next(client: httpx.AsyncClient):
    await client.post("/v1/example-data", json=SMALL)
    await client.delete("/v1/rules/try-proposal")
    await client.delete("/v1/sensitivity-profiles/try-harm")
    assert (await client.post("/v1/example-data", json=SMALL)).status_code == 201
    assert (await client.get("/v1/rules/try-proposal")).status_code == 200


async def test_only_who_writes_data_makes_it(api, client: httpx.AsyncClient):
    actor = await api.services.tenants.authenticate(client.headers["authorization"].split()[1])
    async with api.client(await api.key_with(actor, Scope.ASSESS, Scope.DATA_READ)) as reader:
        problem_of(await reader.post("/v1/example-data", json=SMALL), 403, "forbidden")
    for body in ({"members": 0}, {"members": 10**9}, {"prefix": "a b"}, {"rows": 5}):
        problem_of(await client.post("/v1/example-data", json=body), 422, "invalid-input")


PAPERS = {"prefix": "paper", "tables": ["inpatients", "likeness", "teachers", "hospital"]}


async def followed(api, client: httpx.AsyncClient, table: str) -> list[dict]:
    """What the examples of a published table find, each answer with its result."""
    made = await client.post("/v1/example-data", json=PAPERS | {"tables": [table]})
    assert made.status_code == 201, made.text
    answers = []
    for question in made.json()["next"]:
        assert question["finds"]
        answer = await client.request(question["method"], question["path"], json=question["body"])
        assert answer.status_code == 201, answer.text
        found = answer.json()
        if question["operation"] == "create_optimisation":
            await api.work_off(found["id"])
            found["result"] = (await client.get(f"/v1/runs/{found['id']}/result")).json()
        answers.append(found["result"])
    return answers


async def test_the_inpatients_are_four_anonymous_homogeneous_and_then_diverse(api, client):
    """Machanavajjhala (2008), tables 3.1, 3.2 and 3.4."""
    linked, homogeneous, american, japanese, diverse, again = await followed(api, client, "inpatients")
    assert (linked["persons"], linked["fewest_candidates"], linked["greatest_probability"]) == (2, 4, 1 / 4)
    assert (homogeneous["judged"]["classes"], homogeneous["distinct_l"]) == (3, 1)
    beliefs = [
        {own["value"]: own["belief"] for own in answer["target"]["beliefs"]}
        for answer in (american, japanese, again)
    ]
    assert beliefs[:2] == [{"cancer": 1}, {"viral infection": 1, "heart disease": 0}]
    assert beliefs[2] == {"cancer": 1 / 2, "heart disease": 1 / 4, "viral infection": 1 / 4}
    assert (diverse["distinct_l"], diverse["entropy_l"]) == (3, pytest.approx(2**1.5))


async def test_the_releases_of_the_inpatients_are_those_printed(client):
    await client.post("/v1/example-data", json=PAPERS | {"tables": ["inpatients"]})
    shown = {}
    for table in ("3.2", "3.4"):
        body = {"name": table, "dataset": "paper-inpatients", "rule": f"paper-inpatients-table-{table}"}
        assert (await client.post("/v1/releases", json=body)).status_code == 201
        lines = (await client.get(f"/v1/releases/{table}/data")).text.splitlines()[1:]
        shown[table] = {tuple(line.split(",")[:2]) for line in lines}
    assert shown["3.2"] == {("130**", "<30"), ("1485*", "≥40"), ("130**", "30-39")}
    assert shown["3.4"] == {("1305*", "≤40"), ("1306*", "≤40"), ("1485*", ">40")}


async def test_nineteen_records_are_in_three_classes_of_three_buckets(api, client):
    """Cao and Karras (2012), example 2, at the places of the specification's vector."""
    (found,) = await followed(api, client, "likeness")
    assert found["partition"] == {"parts": 3, "silent_records": 10, "buckets": 3, "slack_margin": 0}
    assert (found["classes"], found["smallest_class"], found["privacy"][0]["attained"]) == (3, 4, 11 / 8)


async def test_a_male_teacher_is_known_by_his_group_though_one_record_says_little(api, client):
    """Wang et al. (2012), examples 1 and 3."""
    group, persons = await followed(api, client, "teachers")
    (value,) = group["worst"][0]["values"]
    assert (group["worst"][0]["shows"], value["value"]) == (["male", "teacher"], "breast cancer")
    assert value["believed_without_group"] == pytest.approx(0.5)
    assert (value["believed"], value["standard_error"]) == (1, pytest.approx(1.125 / 5))
    sought = persons["sought"]
    assert (sought["persons"], sought["of_own_group"], sought["of_aggregates"]) == (4, 1, 3)


async def test_of_the_views_of_the_hospital_one_is_private(api, client):
    """Machanavajjhala (2008), example 2.1."""
    (found,) = await followed(api, client, "hospital")
    verdicts = [pair["verdict"] for pair in found["pairs"]]
    assert verdicts == ["DISCLOSES", "DISCLOSES", "PRIVATE", "DISCLOSES", "DISCLOSES", "DISCLOSES"]


async def test_published_tables_are_made_once_by_name_and_without_the_demonstration(client):
    made = [await client.post("/v1/example-data", json=PAPERS) for _ in range(2)]
    assert [answer.status_code for answer in made] == [201, 200]
    assert made[0].json() == made[1].json()
    names = made[0].json()["names"]
    assert names["dataset"] == ["paper-inpatients", "paper-likeness", "paper-teachers"]
    assert names["dictionary"] == ["paper-inpatients-persons", "paper-teachers-persons"]
    assert names["relational_schema"] == ["paper-hospital"]
    asked = await client.post("/v1/example-data", json={"tables": ["outpatients"]})
    (fault,) = problem_of(asked, 422, "invalid-input")["errors"]
    assert fault["pointer"] == "/tables/0"
    for known in PAPERS["tables"]:
        assert known in fault["message"]
