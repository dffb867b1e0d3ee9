"""Views checked against secrets over HTTP."""

from __future__ import annotations

import copy
import json

import pytest

from app.api.examples.view_checks import VIEW_CHECKS
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio


@pytest.fixture
def left_standing(standing: dict[str, str]) -> dict[str, str]:
    """One tenant asks all: an answer rests on nothing but its question."""
    return standing


def example(name):
    """The example without its name, so that what is made of it is another check."""
    return {key: own for key, own in VIEW_CHECKS[name]["value"].items() if key != "name"}


HOSPITAL = example("hospital-views")


async def check(client, body):
    answer = await client.post("/v1/view-checks", json=body)
    assert answer.status_code in (200, 201), answer.text
    return answer.json()["result"]


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


async def test_advice_has_changes_that_pass_patterns_and_a_change_of_belief(client):
    wards, hepatitis = (await check(client, HOSPITAL))["pairs"]
    assert hepatitis["advice"] is None
    (change,) = wards["advice"]["changes"]["found"]
    assert change["query"] == "wards(w) :- diagnosis(p, d, m, w), d != 'cancer'."
    changed = HOSPITAL | {"views": [{"id": "wards", "query": change["query"]}]}
    assert (await check(client, changed))["gate"] == "ALLOW"
    (pattern,) = wards["advice"]["patterns"]["found"]
    assert pattern["secret"]["subgoals"][0]["text"] == "diagnosis(p, 'cancer', m, w)"
    belief = wards["advice"]["leakage"]
    assert (belief["prior"], belief["posterior"], belief["change"]) == ("3/4", "1", "1/4")
    assert belief["possible_rows"] == 3
    plain = {name: own for name, own in HOSPITAL.items() if name != "advice"}
    assert (await check(client, plain))["pairs"][0]["advice"] is None
    sent = await client.post("/v1/view-checks", json=HOSPITAL | {"advice": ["everything"]})
    problem_of(sent, 422, "invalid-input")


async def test_a_key_makes_everybody_elses_rows_tell(client):
    body = copy.deepcopy(example("other-doctors"))
    (pair,) = (await check(client, body))["pairs"]
    assert pair["reason_code"] == "SHARED_BLOCK"
    assert "tie the two rows" in pair["explanation"]
    body["relational_schema"]["relations"]["treated"]["keys"] = []
    found = await check(client, body)
    assert (found["verdict"], found["gate"]) == ("PRIVATE", "ALLOW")


async def test_a_count_of_other_rows_is_allowed_and_one_of_all_is_not(client):
    body = copy.deepcopy(example("flu-counts")) | {"relational_schema": HOSPITAL["relational_schema"]}
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


def asking(view, ward="integer"):
    """The hospital's secret beside one view, with the domain of wards written as JSON."""
    body = copy.deepcopy(HOSPITAL)
    body["views"] = [{"id": "view", "query": view}]
    body["relational_schema"]["relations"]["diagnosis"]["domains"]["ward"] = "DOMAIN"
    return json.dumps(body).replace('"DOMAIN"', ward if ward.startswith("[") else f'"{ward}"')


IDS = "ids(p) :- diagnosis(p, 'hepatitis', m, w)."
WARDS = "/relational_schema/relations/diagnosis/domains/ward"


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        (asking(f"v({', '.join(['p'] * 201)}) :- patient(p, n)."), "/views/0/query", "query-too-large"),
        (asking(IDS, f"[1, {'9' * 61}]"), f"{WARDS}/1", "number-too-long"),
        (asking(IDS, f"[1, {'9' * 400}]"), f"{WARDS}/1", "number-too-long"),
        (asking(IDS, "[1e300, 1]"), f"{WARDS}/0", "number-too-long"),
        (asking(IDS, f"[{'9' * 5000}]"), "", "json-invalid"),
        (asking("v(p) :- diagnosis(p, d, m, '1212')."), "/views/0/query", "outside-domain"),
        (asking("v(p) :- diagnosis(p, d, m, w), w != 3.", "[1, 2]"), "/views/0/query", "outside-domain"),
        (asking(f"v(p) :- diagnosis(p, d, m, {'9' * 1000})."), "/views/0/query", "number-too-long"),
        (asking(f"v(p) :- {'(' * 1000}patient(p, n){')' * 1000}."), "/views/0/query", "datalog-syntax"),
        (asking("v(p) :- patient(p, n). " * 65), "/views/0/query", "query-too-large"),
        (asking("v(p) :- patient(p, n). " * 10_000), "/views/0/query", "string-too-long"),
        (f'{{"relational_schema": {"[" * 400}{"]" * 400}}}', "/relational_schema", "model-attributes-type"),
    ],
    ids=[
        "head",
        "61",
        "400",
        "exponent",
        "5000",
        "text",
        "listed",
        "in query",
        "nested",
        "rules",
        "long",
        "deep",
    ],
)
async def test_what_is_too_large_or_outside_a_domain_is_refused_at_its_place(client, body, pointer, code):
    sent = await client.post("/v1/view-checks", content=body, headers={"Content-Type": "application/json"})
    problem = problem_of(sent, 422, "invalid-input")
    assert (pointer, code) in {(own["pointer"], own["code"]) for own in problem["errors"]}
    assert all(own["remedy"] for own in problem["errors"])


async def test_a_number_of_thousands_of_digits_is_refused_at_its_character(client):
    body = asking(IDS, f"[{'9' * 5000}]")
    sent = await client.post("/v1/view-checks", content=body, headers={"Content-Type": "application/json"})
    problem = problem_of(sent, 422, "invalid-input")
    assert f"more than 4,300 digits, at character {body.index('9' * 5000)}" in problem["detail"]


async def test_ten_megabytes_are_refused_before_they_are_read(client):
    sent = await client.post("/v1/view-checks", json=HOSPITAL | {"views": ["x" * 10_000_000]})
    problem_of(sent, 413, "too-large")


async def test_twelve_joins_of_a_relation_with_itself_are_answered_with_the_steps_that_they_took(client):
    chain = ", ".join(f"R(x{i}, x{i + 1})" for i in range(12))
    body = {
        "relational_schema": {
            "relations": {"R": {"attributes": ["a", "b"], "domains": {"a": [0, 1], "b": [0, 1]}}}
        },
        "secrets": [{"id": "s", "query": f"S(x0, x12) :- {chain}."}],
        "views": [{"id": "v", "query": f"V(x0) :- {chain}, R(x12, x0)."}],
    }
    (pair,) = (await check(client, body))["pairs"]
    assert (pair["verdict"], pair["reason_code"]) == ("UNKNOWN", "BUDGET_EXCEEDED")
    assert pair["work"]["nodes"] > 1000


async def test_heads_of_two_hundred_terms_and_numbers_of_sixty_digits_are_answered(client):
    number = "8" * 58 + "1"
    view = f"v({', '.join(['p'] * 199 + ['w'])}) :- diagnosis(p, 'cancer', m, w), w > {number}."
    (pair,) = (await check(client, json.loads(asking(view))))["pairs"]
    assert pair["verdict"] == "DISCLOSES"
    assert pair["witness"]["view"]["answer"][-1] == "8" * 58 + "2"
    assert pair["witness"]["view"]["deciding_row"]["values"]["ward"] == "8" * 58 + "2"


async def test_too_many_pairs_are_refused(client):
    secrets = [HOSPITAL["secrets"][0] | {"id": f"s{i}"} for i in range(50)]
    views = [HOSPITAL["views"][0] | {"id": f"v{i}"} for i in range(100)]
    body = HOSPITAL | {"secrets": secrets, "views": views}
    problem = problem_of(await client.post("/v1/view-checks", json=body), 422, "invalid-input")
    assert problem["errors"][0]["code"] == "too-many-pairs"


async def test_a_thousand_relations_are_refused(client):
    body = HOSPITAL | {
        "relational_schema": {"relations": {f"r{i}": {"attributes": ["a"]} for i in range(1_000)}}
    }
    (error,) = problem_of(await client.post("/v1/view-checks", json=body), 422, "invalid-input")["errors"]
    assert error["pointer"] == "/relational_schema/relations"
    assert "500" in error["message"]


@pytest.mark.parametrize(
    ("fds", "verdict", "constant"),
    [
        ([], "DISCLOSES", []),
        # It says nothing.
        ([[["city"], ["city"]]], "DISCLOSES", []),
        # No instance has what the secret asks for: there is nothing to disclose, and the answer says so.
        ([[["zip"], ["city"]]], "PRIVATE", ["secret"]),
        # Each determines the other, and what both are is open.
        ([[["zip"], ["city"]], [["city"], ["zip"]]], "PRIVATE", ["secret"]),
    ],
)
async def test_a_dependency_that_contradicts_the_secret_leaves_nothing_to_disclose(
    client, fds, verdict, constant
):
    found = await check(
        client,
        {
            "relational_schema": {"relations": {"lives": {"attributes": ["zip", "city"], "fds": fds}}},
            "secrets": [{"id": "secret", "query": "s() :- lives(14850, 'Ithaca'), lives(14850, 'Utica')."}],
            "views": [{"id": "view", "query": "v(c) :- lives(14850, c)."}],
        },
    )
    assert (found["verdict"], found["constant_secrets"]) == (verdict, constant)


@pytest.mark.parametrize("query", ["v() :- patient(1, 'x\0').", "v() :- patient(1, \0)."])
async def test_the_character_nul_is_refused_at_its_place(client, query):
    body = HOSPITAL | {"views": [{"id": "view", "query": query}]}
    (error,) = problem_of(await client.post("/v1/view-checks", json=body), 422, "invalid-input")["errors"]
    assert (error["pointer"], error["code"]) == ("/views/0/query", "datalog-syntax")
    assert error["message"].startswith("Line 1, column 19: ")
