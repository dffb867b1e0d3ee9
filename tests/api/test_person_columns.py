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
        "status": "ready", "rows": 1, "upload": "u", "identifier": None, "attributes": [], "warnings": [],
    }  # fmt: skip
    read = Dataset.model_validate(old)
    assert (read.rows_are, read.person, read.persons) == (None, None, None)


async def test_a_profile_looks_for_signs_in_the_whole_upload_where_nobody_said(client: httpx.AsyncClient):
    text = "pid,born,zip,dx\n" + "".join(
        f"p{person},19{person:02},0{person % 7},d{visit}\n" for person in range(20) for visit in range(4)
    )
    await upload(client, "signs", text)
    columns = [
        {"name": "zip", "type": "categorical", "role": "quasi_identifier"},
        {"name": "dx", "type": "categorical", "role": "sensitive"},
    ]
    made = {"name": "signs", "upload": "signs", "attributes": columns}
    assert (await client.post("/v1/datasets", json=made)).status_code == 201
    signs = (await client.get("/v1/datasets/signs/profile")).json()["person_signs"]
    assert (signs["person"], signs["persons"], len(signs["sentences"])) == ("pid", 20, 1)
    assert "'born', 'zip'" in signs["sentences"][0]
    assert "p1" not in str(signs)
    for said in ({"rows_are": "persons"}, {"attributes": [PID, *columns]}):
        named = {**made, "name": f"said-{len(said.get('attributes', ()))}", **said}
        assert (await client.post("/v1/datasets", json=named)).status_code == 201
        profile = (await client.get(f"/v1/datasets/{named['name']}/profile")).json()
        assert profile["person_signs"] is None
