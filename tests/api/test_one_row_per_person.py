"""Uploads with one row per person over HTTP: what they hold, what they say, and what is refused."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

VISITS = """\
pid,day,age,dx,cost,zip
1000,2026-01-03,40,flu,10.10,02139
ann,2026-01-01,30,,0.1,01002
1000.0,2026-01-01,41,cold,20.20,02139
ANN,2026-01-02,31,flu,0.2,01003
bob,2026-01-01,50,,,
"""


async def uploaded(client: httpx.AsyncClient, text: str = VISITS, name: str = "visits") -> dict[str, Any]:
    answer = await client.post("/v1/uploads", params={"name": name}, content=text.encode())
    assert answer.status_code == 201, answer.text
    return answer.json()


async def reduced(client: httpx.AsyncClient, ref: str = "visits", **body: Any) -> httpx.Response:
    sent = {"name": "people", "person": "pid", **body}
    return await client.post(f"/v1/uploads/{ref}/one-row-per-person", json=sent)


async def rows_of(client: httpx.AsyncClient, ref: str = "people") -> list[list[str | None]]:
    return (await client.get(f"/v1/uploads/{ref}/preview")).json()["rows"]


async def test_each_person_has_one_row_and_the_upload_says_how(client):
    visits = await uploaded(client)
    columns = {"age": "mean", "cost": "sum", "dx": "first"}
    answer = await reduced(client, columns=columns, order_by="day")
    made = answer.json()
    assert (answer.status_code, answer.headers["location"]) == (201, f"/v1/uploads/{made['id']}")
    assert await rows_of(client) == [
        ["1000", "2026-01-03", "40.5", "cold", "30.3", "02139"],
        ["ann", "2026-01-01", "30.5", "flu", "0.3", "01002"],
        ["bob", "2026-01-01", "50", None, None, None],
    ]
    assert (made["one_row_per"], made["rows"], made["columns"]) == ("pid", 3, visits["columns"])
    assert made["made_from"] == {
        "upload": "visits",
        "sha256": visits["sha256"],
        "rows": 5,
        "person": "pid",
        "columns": {"day": "most_frequent", **columns, "zip": "most_frequent"},
        "order_by": "day",
        "on_missing": "refuse",
    }
    assert made["notes"] == [
        "One row per person by column pid: 5 rows became 3 persons.",
        "First: dx. Most frequent: day, zip. Mean: age. Sum: cost.",
        "Rows are ordered by day, then their place.",
        "Of equally frequent values the first is kept, in persons: day (2), zip (1).",
        "5 spellings in 'pid' are taken for 3 persons: texts that differ in letter case, blanks or how a "
        "number is written only name one person.",
    ]
    assert (await client.get("/v1/uploads/people")).json() == made
    assert (visits["one_row_per"], visits["made_from"]) == (None, None)


async def test_persons_of_the_new_upload_can_be_the_identifier_of_a_dataset(client):
    await uploaded(client)
    await reduced(client)
    attributes = [
        {"name": "pid", "type": "text", "role": "identifier"},
        {"name": "zip", "type": "categorical", "role": "quasi_identifier"},
    ]
    body = {"name": "people", "upload": "people", "attributes": attributes}
    dataset = await client.post("/v1/datasets", json=body)
    assert (dataset.status_code, dataset.json()["rows"]) == (201, 3)


async def test_the_same_question_is_the_same_upload_and_another_needs_another_name(client):
    await uploaded(client)
    made = await reduced(client)
    again = await reduced(client, columns={"age": "most_frequent"})
    assert (again.status_code, again.json()) == (200, made.json())
    problem_of(await reduced(client, columns={"age": "last"}), 409, "conflict")
    other = await reduced(client, name="others", columns={"age": "last"})
    assert other.json()["content_sha256"] != made.json()["content_sha256"]


async def test_the_first_upload_can_go_and_what_was_made_of_it_stays(client):
    await uploaded(client)
    await reduced(client)
    assert (await client.delete("/v1/uploads/visits")).status_code == 204
    assert len(await rows_of(client)) == 3


@pytest.mark.parametrize(
    ("body", "pointer", "says"),
    [
        ({"person": "nobody"}, "/person", "nobody"),
        ({"order_by": "then"}, "/order_by", "then"),
        ({"columns": {"a/b": "sum"}}, "/columns/a~1b", "a/b"),
        ({"columns": {"pid": "first"}}, "/columns/pid", "stays"),
        ({"columns": {"dx": "sum"}}, "/columns/dx", "in rows 1, 3, 4"),
        ({"columns": {"zip": "mean", "day": "mean"}}, "/columns/day", "in rows 1, 2, 3, 4, 5"),
        ({"order_by": "dx"}, "/order_by", "in rows 1, 2, 3, 4, 5"),
        ({"order_by": "cost"}, "/order_by", "in row 5"),
        ({"person": "dx"}, "/person", "in rows 2, 5"),
    ],
)
async def test_what_cannot_be_made_is_refused_with_place_rows_and_remedy(client, body, pointer, says):
    await uploaded(client)
    problem = problem_of(await reduced(client, **body), 422, "invalid-input")
    (fault,) = problem["errors"]
    assert fault["pointer"] == pointer
    assert says in fault["message"]
    assert fault["remedy"]
    assert "flu" not in str(problem)
    assert (await client.get("/v1/uploads/people")).status_code == 404


@pytest.mark.parametrize("columns", [{"age": "median"}, {"age": None}, ["age"]])
async def test_ways_that_there_are_not_are_refused(client, columns):
    await uploaded(client)
    assert (await reduced(client, columns=columns)).status_code == 422


async def test_rows_that_name_nobody_are_persons_if_that_is_said(client):
    await uploaded(client, "pid,city\na,x\n,y\n  ,y\na,z\n")
    answer = await reduced(client, on_missing="own_person")
    assert "2 rows name nobody in 'pid'; each counts as another person." in answer.json()["notes"]
    assert await rows_of(client) == [["a", "x"], [None, "y"], [None, "y"]]


async def test_an_upload_without_rows_has_no_persons(client):
    await uploaded(client, "pid,city\n")
    problem_of(await reduced(client), 422, "invalid-input")


async def test_nobody_makes_anything_of_the_uploads_of_others(client, other_client):
    visits = await uploaded(client)
    for ref in ("visits", visits["id"]):
        problem_of(await reduced(other_client, ref), 404, "not-found")


async def test_more_pieces_than_one_and_several_blocks_keep_their_order(client, monkeypatch):
    monkeypatch.setattr("app.services.datasets.ingest.pieces.ROWS_PER_PIECE", 70)
    monkeypatch.setattr("app.services.datasets.table_streams.BLOCK_ROWS", 32)
    await uploaded(client, "pid,n\n" + "".join(f"p{row % 150},{row}\n" for row in range(300)))
    made = (await reduced(client, columns={"n": "sum"})).json()
    assert made["pieces"] == 3
    rows = (await client.get("/v1/uploads/people/preview", params={"limit": 200})).json()["rows"]
    assert rows == [[f"p{row}", str(2 * row + 150)] for row in range(70)]
