"""Over HTTP: a schema says whom a row is about, and a person column never leaves."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from app.api.schemas.datasets import Dataset
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

CSV = {"Content-Type": "text/csv"}
VISITS = "pid,region,sex,dx\n" + "".join(
    f"{pid},{place},{dx}\n"
    for pid, place, several in (
        ("Secret1", "N,m", "d0 d1 d2 d0"), (" secret1", "N,m", "d1"), ("p2", "S,f", "d0 d1 d2"),
        ("p3", "S,f", "d0 d1"), ("p4", "E,m", "d0"), ("p5", "E,m", "d0"), ("p6", "E,m", "d0"),
    )
    for dx in several.split()
)  # fmt: skip
PID = {"name": "pid", "type": "text", "role": "person"}
REST = [
    {"name": "region", "type": "categorical", "role": "quasi_identifier"},
    {"name": "sex", "type": "categorical", "role": "quasi_identifier"},
    {"name": "dx", "type": "categorical", "role": "sensitive"},
]


async def upload(client: httpx.AsyncClient, name: str, text: str = VISITS) -> None:
    answer = await client.post(f"/v1/uploads?name={name}", content=text, headers=CSV)
    assert answer.status_code == 201, answer.text


def body(name: str, *attributes: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"name": name, "upload": name, "attributes": [*attributes, *REST], **rest}


async def test_a_dataset_says_whom_its_rows_are_about(client: httpx.AsyncClient):
    await upload(client, "visits-of-people")
    made = await client.post("/v1/datasets", json=body("visits-of-people", PID))
    assert made.status_code == 201, made.text
    dataset = made.json()
    assert {key: dataset[key] for key in ("rows", "rows_are", "person", "persons", "identifier")} == {
        "rows": 13, "rows_are": None, "person": "pid", "persons": 6, "identifier": None,
    }  # fmt: skip
    assert dataset["warnings"][0].startswith("7 spellings in 'pid' are taken for 6 persons")
    assert "ecret" not in made.text
    assert (await client.get("/v1/datasets/visits-of-people")).json() == dataset


async def test_a_person_column_is_not_in_a_release(client: httpx.AsyncClient):
    await upload(client, "released-visits")
    assert (await client.post("/v1/datasets", json=body("released-visits", PID))).status_code == 201
    rule = {"name": "visits-as-they-are", "dataset": "released-visits", "rule": {"kind": "identity"}}
    assert (await client.post("/v1/rules", json=rule)).status_code == 201
    asked = {"name": "visits-out", "dataset": "released-visits", "rule": "visits-as-they-are"}
    released = await client.post("/v1/releases", json=asked)
    assert released.status_code == 201, released.text
    assert released.json()["columns"] == ["region", "sex", "dx"]
    table = await client.get("/v1/releases/visits-out/data?format=csv")
    assert table.status_code == 200, table.text
    assert table.text.splitlines()[0] == "region,sex,dx"
    assert "ecret" not in table.text + released.text


async def test_rows_may_be_said_to_be_persons(client: httpx.AsyncClient):
    await upload(client, "one-each")
    made = await client.post("/v1/datasets", json=body("one-each", rows_are="persons"))
    assert made.status_code == 201, made.text
    assert (made.json()["rows_are"], made.json()["person"], made.json()["persons"]) == ("persons", None, None)
    other = await client.post("/v1/datasets", json=body("one-each", rows_are="households"))
    assert other.status_code == 422
    both = await client.post("/v1/datasets", json=body("one-each", PID, rows_are="persons"))
    problem = problem_of(both, 422, "invalid-input")
    assert [(own["pointer"], own["code"]) for own in problem["errors"]] == [("/rows_are", "contradiction")]


async def test_a_second_person_column_is_refused_like_a_second_identifier(client: httpx.AsyncClient):
    await upload(client, "two-persons")
    two = body("two-persons", PID)
    two["attributes"][1] = {**two["attributes"][1], "role": "person"}
    problem = problem_of(await client.post("/v1/datasets", json=two), 422, "invalid-input")
    assert [(own["pointer"], own["code"]) for own in problem["errors"]] == [
        ("/attributes/1/role", "second-person")
    ]


async def test_an_identifier_that_repeats_is_told_of_persons_and_of_one_row_each(client: httpx.AsyncClient):
    text = "pid,sex\np1,f\np1,f\np2,m\n"
    sent = await client.post("/v1/uploads?name=twice", content=text, headers={"Content-Type": "text/csv"})
    assert sent.status_code == 201
    attributes = [{"name": "pid", "type": "text", "role": "identifier"},
                  {"name": "sex", "type": "categorical", "role": "quasi_identifier"}]  # fmt: skip
    links = [{"attribute": "sex", "column": "sex", "transform": {"kind": "identity"}}]
    for path, more, ways in [
        ("datasets", {"attributes": attributes}, ("role person", "one-row-per-person")),
        ("dictionaries", {"links": links, "identifier": "pid"}, ("one-row-per-person",)),
    ]:
        answer = await client.post(f"/v1/{path}", json={"name": "twice", "upload": "twice", **more})
        (fault,) = problem_of(answer, 422, "invalid-input")["errors"]
        assert fault["code"] == "duplicate-identifier"
        assert [way for way in ways if way not in fault["remedy"]] == []


async def test_empty_cells_of_a_person_column_are_refused_or_other_persons_by_choice(
    client: httpx.AsyncClient,
):
    await upload(client, "some-empty", VISITS + ",E,m,d9\n,E,m,d9\n")
    problem = problem_of(
        await client.post("/v1/datasets", json=body("some-empty", PID)), 422, "invalid-input"
    )
    (error,) = problem["errors"]
    assert (error["pointer"], error["code"]) == ("/attributes/0", "missing-person")
    assert "2 of 15 rows, in rows 14, 15" in error["message"]
    chosen = await client.post("/v1/datasets", json=body("some-empty", {**PID, "on_missing": "own_person"}))
    assert chosen.status_code == 201, chosen.text
    assert chosen.json()["persons"] == 8


def test_datasets_from_before_did_not_say_what_a_row_is():
    old = {
        "id": "ds_1", "name": "old", "sha256": "0" * 64, "created_at": "2026-01-01T00:00:00Z",
        "addresses": {"self": "/v1/datasets/ds_1"},
        "status": "ready", "rows": 1, "upload": "u", "identifier": None, "attributes": [], "warnings": [],
    }  # fmt: skip
    read = Dataset.model_validate(old)
    assert (read.rows_are, read.person, read.persons) == (None, None, None)


CLINIC = "visit,pid,region,sex,dx\n" + "".join(
    f"v{n},{7 + n % 40},r{n % 40 % 9},{'mf'[n % 40 % 7 % 2]},d{n * 7 % 11}\n" for n in range(160)
)


async def test_signs_of_several_rows_per_person_are_warned_of_and_in_the_profile(
    client: httpx.AsyncClient,
):
    await upload(client, "clinic", CLINIC)
    made = await client.post("/v1/datasets", json=body("clinic"))  # neither visit nor pid is declared
    assert made.status_code == 201, made.text
    first, *others = made.json()["warnings"]
    assert first.startswith("Nobody said what a row is")
    assert "Give 'pid' the role person (40 persons in 160 rows)" in first
    assert "rows_are persons" in first
    assert not any("Nobody said" in own for own in others)
    found = (await client.get("/v1/datasets/clinic/profile")).json()["person_signs"]
    assert (found["person"], found["persons"]) == ("pid", 40)
    assert [(own["kind"], own["columns"]) for own in found["signs"]] == [("fixes_others", ["pid"])]


@pytest.mark.parametrize("how", ["person", "persons"])
async def test_where_somebody_said_what_a_row_is_there_are_no_signs(client: httpx.AsyncClient, how: str):
    name = f"said-by-{how}"
    await upload(client, name, CLINIC)
    said = body(name, PID) if how == "person" else body(name, {**PID, "role": "other"}, rows_are="persons")
    made = await client.post("/v1/datasets", json=said)
    assert made.status_code == 201, made.text
    assert not any("Nobody said" in own for own in made.json()["warnings"])
    found = (await client.get(f"/v1/datasets/{name}/profile")).json()["person_signs"]
    assert found == {"signs": [], "person": None, "persons": None}


async def test_the_column_that_seems_to_name_persons_is_proposed_so_and_can_be_declared(
    client: httpx.AsyncClient,
):
    await upload(client, "proposed-clinic", CLINIC)
    proposal = (await client.get("/v1/uploads/proposed-clinic/proposal")).json()
    found = {own["name"]: own for own in proposal["attributes"]}
    assert {name: own["role"] for name, own in found.items()} == {
        "visit": "identifier", "pid": "person", "region": "quasi_identifier", "sex": "quasi_identifier",
        "dx": "quasi_identifier",
    }  # fmt: skip
    assert found["pid"]["type"] == "text"
    assert "seems to say whom a row is about" in found["pid"]["reason"]
    attributes = [{key: own[key] for key in ("name", "type", "role")} for own in found.values()]
    made = await client.post(
        "/v1/datasets",
        json={"name": "proposed-clinic", "upload": "proposed-clinic", "attributes": attributes},
    )
    assert made.status_code == 201, made.text
    assert (made.json()["person"], made.json()["persons"]) == ("pid", 40)


async def test_a_person_with_many_rows_is_singled_out_once(client: httpx.AsyncClient):
    await upload(client, "singled-out")
    assert (await client.post("/v1/datasets", json=body("singled-out", PID))).status_code == 201
    for dataset, asked, place in (
        ("singled-out", {"kind": "singling_out"}, None),
        ("singled-out", {"kind": "privacy_profile", "singled_out": True}, "singled_out"),
    ):
        answer = await client.post("/v1/measurements", json={"dataset": dataset, "measure": asked})
        assert answer.status_code == 201, answer.text
        found = answer.json()["result"] if place is None else answer.json()["result"][place]
        assert (found["persons"], found["singled_out"], found["judged"]["persons"]) == (6, 1, 6)
        assert found["smallest_sets"] == [{"columns": ["region"], "persons": 1, "persons_in_all": 1}]
        assert [(own["column"], own["part"]) for own in found["columns"]] == [("region", 1.0), ("sex", 0.0)]
    everything = {"kind": "singling_out", "missing": "matches_everything"}
    refused = await client.post("/v1/measurements", json={"dataset": "singled-out", "measure": everything})
    assert refused.status_code == 422
    assert "several records" in refused.text
