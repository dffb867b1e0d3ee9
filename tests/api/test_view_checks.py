"""Views checked against secrets over HTTP."""

from __future__ import annotations

import copy

import pytest

from app.api.examples.view_checks import VIEW_CHECKS
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

HOSPITAL = VIEW_CHECKS["hospital"]["value"]


async def check(client, body):
    answer = await client.post("/v1/view-checks", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_list_of_wards_tells_about_the_cancer_patients(client):
    found = await check(client, HOSPITAL)
    assert (found["verdict"], found["gate"]) == ("DISCLOSES", "DENY")
    wards, hepatitis = found["pairs"]
    assert (wards["view"], wards["verdict"], wards["severity"]) == ("wards", "DISCLOSES", "statistical")
    row = wards["witness"]["secret"]["deciding_row"]
    assert row == wards["witness"]["view"]["deciding_row"]
    assert row["relation"] == "diagnosis"
    assert row["values"]["diagnosis"] == "cancer"
    assert "diagnosis = 'cancer'" in wards["explanation"]
    assert (hepatitis["verdict"], hepatitis["reason_code"]) == ("PRIVATE", "NO_UNIFIABLE_SUBGOALS")
    assert hepatitis["witness"] is None
    assert any("1212 and '1212' differ" in own for own in found["assumptions"])
    assert "no_self_join" in wards["classes"]["secret"]


async def test_a_key_makes_everybody_elses_rows_tell(client):
    body = copy.deepcopy(VIEW_CHECKS["key"]["value"])
    (pair,) = (await check(client, body))["pairs"]
    assert pair["reason_code"] == "SHARED_BLOCK"
    assert "tie the two rows" in pair["explanation"]
    body["relational_schema"]["relations"]["treated"]["keys"] = []
    found = await check(client, body)
    assert (found["verdict"], found["gate"]) == ("PRIVATE", "ALLOW")


async def test_a_count_of_other_rows_is_allowed_and_one_of_all_is_not(client):
    body = copy.deepcopy(VIEW_CHECKS["counts"]["value"])
    assert (await check(client, body))["gate"] == "ALLOW"
    body["views"][0]["query"] = "count(w) :- diagnosis(p, d, m, w)."
    found = await check(client, body)
    assert found["gate"] == "DENY"
    assert "more often" in found["pairs"][0]["explanation"]


async def test_foreign_keys_leave_a_pair_open_unless_they_are_ignored(client):
    body = {
        "relational_schema": {
            "relations": {"person": {"attributes": ["id"]}, "visit": {"attributes": ["id"]}},
            "foreign_keys": [{"from": "visit", "to": "person"}],
        },
        "secrets": [{"id": "one", "query": "s() :- person(1)."}],
        "views": [{"id": "visit", "query": "v() :- visit(1)."}],
    }
    found = await check(client, body)
    assert (found["verdict"], found["gate"]) == ("UNKNOWN", "DENY")
    assert found["pairs"][0]["reason_code"] == "FOREIGN_KEY_LINK"
    ignored = await check(client, body | {"ignore_foreign_keys": True})
    assert ignored["gate"] == "ALLOW"
    assert any("Foreign keys were ignored" in own for own in ignored["assumptions"])
    assert not any("Foreign keys were ignored" in own for own in found["assumptions"])


async def test_all_faults_of_all_queries_are_told_with_line_and_column(client):
    body = copy.deepcopy(HOSPITAL)
    body["secrets"][0]["query"] = "names(n) :-\n  patient(p)."
    body["views"][1]["query"] = "ids(p) :- nosuch(p)."
    body["views"][1]["id"] = "wards"
    problem = problem_of(await client.post("/v1/view-checks", json=body), 422, "invalid-input")
    told = {(own["pointer"], own["code"]): own["message"] for own in problem["errors"]}
    assert told["/secrets/0/query", "wrong-arity"].startswith("Line 2, column 3: ")
    assert told["/views/1/query", "unknown-relation"].startswith("Line 1, column 11: ")
    assert ("/views/1/id", "duplicate-id") in told


@pytest.mark.parametrize(
    ("relation", "pointer"),
    [
        ({"attributes": []}, "/relational_schema/relations/patient/attributes"),
        ({"attributes": ["pid", "name"], "keys": [["no"]]}, "/relational_schema/relations/patient/keys/0/0"),
        (
            {"attributes": ["pid", "name"], "domains": {"pid": [True]}},
            "/relational_schema/relations/patient/",
        ),
        ({"attributes": ["pid", "name"], "unknown": 1}, "/relational_schema/relations/patient/unknown"),
    ],
)
async def test_a_schema_that_makes_no_sense_is_refused_at_its_place(client, relation, pointer):
    body = copy.deepcopy(HOSPITAL)
    body["relational_schema"]["relations"]["patient"] = relation
    problem = problem_of(await client.post("/v1/view-checks", json=body), 422, "invalid-input")
    assert any(own["pointer"].startswith(pointer) for own in problem["errors"]), problem


async def test_too_many_pairs_are_refused(client):
    secrets = [HOSPITAL["secrets"][0] | {"id": f"s{i}"} for i in range(50)]
    views = [HOSPITAL["views"][0] | {"id": f"v{i}"} for i in range(100)]
    body = HOSPITAL | {"secrets": secrets, "views": views}
    problem = problem_of(await client.post("/v1/view-checks", json=body), 422, "invalid-input")
    assert problem["errors"][0]["code"] == "too-many-pairs"
