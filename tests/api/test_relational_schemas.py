"""Relational schemas over HTTP: kept, named by checks, and never narrower than what they were made of."""

from __future__ import annotations

import pytest

from app.api.examples.view_checks import RELATIONAL_SCHEMAS
from app.services.resources import Scope
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

HOSPITAL = RELATIONAL_SCHEMAS["hospital"]["value"]
CSV = "pid,city,ward,seen\n1,Rome,7,2020-01-31\n2,Pisa,,2020-02-01\n3,Rome,9,2020-02-01\n"
COLUMNS = {
    "pid": {"type": "number", "role": "identifier"},
    "city": {"type": "categorical", "role": "quasi_identifier", "hierarchy": "city"},
    "ward": {"type": "number", "role": "quasi_identifier"},
    "seen": {"type": "date", "role": "other"},
}


async def made(client, path, body, status=201):
    answer = await client.post(f"/v1/{path}", json=body)
    assert answer.status_code == status, answer.text
    return answer.json()


async def dataset(client, name="clinic", csv=CSV, labels=("Rome", "Pisa"), **changed):
    """A dataset of the columns above, each changed as said; the hierarchy has one level."""
    await client.post(
        "/v1/hierarchies",
        json={
            "name": f"{name}-city",
            "definition": {"kind": "parents", "parents": {v: [None] for v in labels}},
        },
    )
    sent = await client.post(
        "/v1/uploads", params={"name": name}, content=csv.encode(), headers={"Content-Type": "text/csv"}
    )
    assert sent.status_code == 201, sent.text
    columns = {own: said | changed.get(own, {}) for own, said in COLUMNS.items()}
    attributes = [
        {"name": own, **said, **({"hierarchy": f"{name}-city"} if "hierarchy" in said else {})}
        for own, said in columns.items()
    ]
    return await made(client, "datasets", {"name": name, "upload": name, "attributes": attributes})


async def of_dataset(client, name="clinic"):
    return await made(client, "relational-schemas", {"name": f"of-{name}", "datasets": [name]})


async def test_a_schema_is_kept_read_listed_and_deleted(client):
    first = await made(client, "relational-schemas", HOSPITAL)
    assert await made(client, "relational-schemas", HOSPITAL, 200) == first
    assert first["relations"]["diagnosis"]["domains"] == {"ward": "integer"}
    for ref in (first["id"], "hospital"):
        assert (await client.get(f"/v1/relational-schemas/{ref}")).json() == first
    (listed,) = (await client.get("/v1/relational-schemas", params={"name": "hosp"})).json()["items"]
    assert (listed["source"], listed["n_relations"]) == ("relations", 2)
    assert "relations" not in listed
    changed = HOSPITAL | {"relations": {"patient": {"attributes": ["pid"]}}}
    problem_of(await client.post("/v1/relational-schemas", json=changed), 409, "conflict")
    assert (await client.delete("/v1/relational-schemas/hospital")).status_code == 204
    problem_of(await client.get("/v1/relational-schemas/hospital"), 404, "not-found")
    actions = [own["action"] for own in (await client.get("/v1/audit-events")).json()["items"]]
    assert {"relational_schema.create", "relational_schema.delete"} <= set(actions)


async def test_a_schema_in_sql_says_what_of_it_is_not_read(client):
    tables = "CREATE TABLE stay (pid int NOT NULL, ward int CHECK (ward > 0), kind boolean)"
    found = await made(client, "relational-schemas", {"name": "stay", "sql": tables})
    stay = found["relations"]["stay"]
    assert stay["nullable"] == ["ward", "kind"]
    assert stay["domains"]["kind"] == ["false", "true"]
    assert any("CHECK" in own for own in found["warnings"])
    assert any("no key" in own for own in found["warnings"])


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        (
            {"relations": {"r": {"attributes": ["a"], "keys": [["b"]]}}},
            "/relations/r/keys/0/0",
            "unknown-attribute",
        ),
        ({"sql": "SELECT 1"}, "/sql", "not-a-table"),
        ({}, "", "exactly-one"),
        ({"sql": "CREATE TABLE r (a int)", "datasets": ["x"]}, "", "exactly-one"),
        ({"datasets": []}, "/datasets", "too-short"),
        ({"datasets": ["x"], "relations": {"r": {"attributes": ["a"]}}}, "", "exactly-one"),
    ],
)
async def test_a_schema_that_makes_no_sense_is_refused_at_its_place(client, body, pointer, code):
    answer = await client.post("/v1/relational-schemas", json={"name": "wrong", **body})
    errors = problem_of(answer, 422, "invalid-input")["errors"]
    assert (pointer, code) in {(own["pointer"], own["code"]) for own in errors}


async def test_a_dataset_becomes_a_relation_with_its_key_its_types_and_what_may_be_null(client):
    await dataset(client)
    found = await of_dataset(client)
    relation = found["relations"]["clinic"]
    assert relation["attributes"] == ["pid", "city", "ward", "seen"]
    assert relation["keys"] == [["pid"]]
    assert relation["nullable"] == ["ward"]
    # All labels, the top included: a cell could be one of them. Identifiers are never read as numbers.
    assert sorted(relation["domains"]["city"]) == ["*", "Pisa", "Rome"]
    assert (relation["domains"]["pid"], relation["domains"]["ward"]) == ("any", "number")
    told = " ".join(found["warnings"])
    for said in ("clinic.city is taken to hold nothing but the 3 labels", "clinic.pid is taken for a key"):
        assert said in told
    assert "never NULL in clinic, as no stored record lacks a value there: city, seen." in told
    assert (found["source"], found["datasets"]) == ("datasets", ["clinic"])
    problem_of(await client.delete("/v1/datasets/clinic"), 409, "conflict")
    assert all(value not in str(found) for value in ("2020-01-31", "'7'"))


@pytest.mark.parametrize(
    ("changed", "csv", "labels"),
    [
        ({"on_unknown": "attach"}, CSV.replace("Pisa", "Bari"), ("Rome", "Pisa")),
        ({"on_unknown": "missing"}, CSV.replace("Pisa", "Bari"), ("Rome", "Pisa")),
        ({"map": {"Bari": "Pisa"}}, CSV.replace("Pisa", "Bari"), ("Rome", "Pisa")),
        # 17100.0 is taken for the label 17100: the list of labels lacks what the column holds.
        ({}, CSV.replace("Rome", "17100.0"), ("17100", "Pisa")),
    ],
)
async def test_a_domain_is_never_smaller_than_what_the_column_may_hold(client, changed, csv, labels):
    name = f"clinic-{len(str(changed))}-{labels[0]}"
    await dataset(client, name, csv, labels, city=changed)
    found = await of_dataset(client, name)
    (relation,) = found["relations"].values()
    assert relation["domains"]["city"] == "any"
    assert any("may hold any text" in own for own in found["warnings"])
    assert any("is the relation" in own for own in found["warnings"])
    assert ("city" in relation["nullable"]) == (changed.get("on_unknown") == "missing")


async def test_without_an_identifier_there_is_no_key(client):
    await dataset(client, "visits", CSV.replace("\n2,", "\n1,"), pid={"role": "other"})
    found = await of_dataset(client, "visits")
    assert found["relations"]["visits"]["keys"] == []
    assert any("visits has no key" in own for own in found["warnings"])


async def test_two_datasets_of_one_relation_are_refused(client):
    for name in ("a.b", "a-b"):
        await dataset(client, name)
    answer = await client.post("/v1/relational-schemas", json={"name": "both", "datasets": ["a.b", "a-b"]})
    (error,) = problem_of(answer, 422, "invalid-input")["errors"]
    assert (error["pointer"], error["code"]) == ("/datasets/1", "duplicate-relation")


async def test_a_check_by_a_schema_of_datasets_says_what_it_rests_on(client):
    await dataset(client, "ward_a")
    await of_dataset(client, "ward_a")
    body = {
        "relational_schema": "of-ward_a",
        "language": "sql",
        "secrets": [{"id": "s", "query": "SELECT pid FROM ward_a WHERE city = 'Rome'"}],
        "views": [
            {"id": "same-row", "query": "SELECT pid FROM ward_a WHERE city = 'Pisa' AND seen > '2020-01-01'"},
            {
                "id": "no-city",
                "query": "SELECT COUNT(*) FROM ward_a WHERE city NOT IN ('Rome', 'Pisa', '*')",
            },
        ],
    }
    result = (await made(client, "view-checks", body))["result"]
    key, empty = result["pairs"]
    assert (key["verdict"], key["reason_code"]) == ("DISCLOSES", "SHARED_BLOCK")
    assert key["witness"]["view"]["deciding_row"]["values"]["seen"].startswith("20")
    assert (empty["verdict"], empty["reason_code"]) == ("PRIVATE", "EMPTY_QUERY")
    assert any("labels of its hierarchy" in own for own in result["warnings"])
    assert any("Columns whose values are listed hold no others" in own for own in result["assumptions"])


async def test_another_tenant_knows_neither_schemas_nor_datasets(client, other_client):
    await dataset(client, "mine")
    found = await made(client, "relational-schemas", HOSPITAL | {"name": "ours"})
    for ref in (found["id"], "ours"):
        problem_of(await other_client.get(f"/v1/relational-schemas/{ref}"), 404, "not-found")
        problem_of(await other_client.delete(f"/v1/relational-schemas/{ref}"), 404, "not-found")
        check = {"relational_schema": ref, "secrets": [{"id": "s", "query": "s(p) :- patient(p, n)."}]}
        sent = await other_client.post("/v1/view-checks", json=check | {"views": check["secrets"]})
        problem_of(sent, 422, "invalid-input")
    sent = await other_client.post("/v1/relational-schemas", json={"name": "x", "datasets": ["mine"]})
    problem_of(sent, 422, "invalid-input")


async def test_a_key_without_the_scope_makes_no_schema(api):
    actor, _ = await api.tenant_with_key()
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as client:
        problem_of(await client.post("/v1/relational-schemas", json=HOSPITAL), 403, "forbidden")
