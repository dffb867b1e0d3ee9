"""Uploads with one row per person over HTTP: what they hold, what they say, and what is refused."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import anyio
import httpx
import pandas as pd
import pytest

import privacy_risk as pr
from privacy_risk import anonymisation, profiles
from tests.api.blocking import Blocking
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
    assert made["notes"] == [
        "One row per person by column pid: 5 rows became 3 persons.",
        "Made of visits: age by mean, cost by sum, dx by first, every other column by most_frequent, rows "
        "ordered by day, then place.",
        "5 spellings in 'pid' are taken for 3 persons: texts that differ in letter case, blanks or how a "
        "number is written only name one person.",
    ]
    assert (await client.get("/v1/uploads/people")).json() == made
    assert (made["format"], made["dialect"]["missing"], visits["one_row_per"]) == ("arrow", [], None)


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


# Forty households, each of three people with two visits, and facts that it fixes: a sign of its several rows.
HOMES = "pid,household,region,heating,dx\n" + "".join(
    f"p{own},h{own % 40},r{own % 40 % 9},w{own % 40 % 7},d{own * 7 % 11}\n" for own in [*range(120)] * 2
)


def attributes_of(**roles: str) -> list[dict[str, str]]:
    return [{"name": name, "type": "categorical", "role": role} for name, role in roles.items()]


async def test_rows_of_a_dataset_are_persons_where_the_builder_says_so(client):
    await uploaded(client, HOMES, "homes")
    await reduced(client, "homes")
    attributes = attributes_of(region="quasi_identifier", dx="sensitive")
    sent = {"name": "unsaid", "upload": "people", "attributes": attributes}
    unsaid = (await client.post("/v1/datasets", json=sent)).json()
    said = await client.post("/v1/datasets", json={**sent, "name": "said", "rows_are": "persons"})
    assert unsaid["rows_are"] == "persons"
    assert unsaid["sha256"] == said.json()["sha256"]
    assert not any("Nobody said" in own for own in unsaid["warnings"])
    signs = (await client.get("/v1/datasets/unsaid/profile")).json()["person_signs"]
    assert signs == {"signs": [], "person": None, "persons": None}
    # The same table as a file, of which nobody knows how it was made:
    rows = (await client.get("/v1/uploads/people/preview", params={"limit": 200})).json()["rows"]
    text = "\n".join(",".join(row) for row in [HOMES.partition("\n")[0].split(","), *rows])
    await uploaded(client, text, "file")
    file = (await client.post("/v1/datasets", json={**sent, "name": "file", "upload": "file"})).json()
    assert file["rows_are"] is None
    assert "'household'" in file["warnings"][0]


async def test_another_column_of_persons_may_be_named(client):
    await uploaded(client, HOMES, "homes")
    await reduced(client, "homes")
    attributes = attributes_of(household="person", region="quasi_identifier")
    sent = {"name": "by-household", "upload": "people", "attributes": attributes}
    made = (await client.post("/v1/datasets", json=sent)).json()
    assert (made["rows_are"], made["person"], made["persons"]) == (None, "household", 40)


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


PERSONS = "Each row counts as one person, as was said."

# 30 patients with four visits each: by rows the classes are four times as large as by patients.
PATIENTS = "visit,patient,day,zip,sex,dx,cost\n" + "".join(
    f"v{30 * day + own},{own:03},2026-01-0{day + 1},{47000 + own % 6},{'fm'[own % 2]},"
    f"d{(own + day) % 3},{day}.5\n"
    for day in range(4)
    for own in range(30)
)


@pytest.fixture
def visits(tmp_path):
    path = tmp_path / "visits.csv"
    path.write_text(PATIENTS)
    return path


async def test_a_profile_counts_patients_once_their_rows_are_one(command, visits, capsys):
    asked = (str(visits), "--quasi-identifiers", "zip", "sex", "--sensitive", "dx", "--json")
    assert await command("profile", *asked) == 0
    assert k_of(json.loads(capsys.readouterr().out)) == 20
    one_row = ("--one-row-per-person", "patient", "cost=mean", "dx=last", "--person-order", "day")
    renamed = visits.rename(visits.with_name("again.csv"))
    assert await command("profile", str(renamed), *asked[1:], *one_row) == 0
    found = json.loads(capsys.readouterr().out)
    assert k_of(found) == 5
    told = re.sub("again-[0-9a-f]{16}", "again", found["notes"][2])
    assert [*found["notes"][:2], told] == [
        PERSONS,
        "One row per person by column patient: 120 rows became 30 persons.",
        "Made of again: cost by mean, dx by last, every other column by most_frequent, rows ordered by day, "
        "then place.",
    ]


def k_of(profile: dict[str, Any]) -> float:
    return next(own["value"] for own in profile["result"]["figures"] if own["name"] == "k")


async def test_commands_say_first_what_was_made_of_the_rows(command, visits, tmp_path, capsys):
    one_row = ("--quasi-identifiers", "zip", "sex", "--one-row-per-person", "patient")
    first = "One row per person by column patient: 120 rows became 30 persons."
    release = tmp_path / "release.csv"
    assert await command("anonymise", str(visits), *one_row, "--k", "5", "-o", str(release)) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{PERSONS}\n{first}\n")
    assert "30 records in 6 classes, the smallest of 5" in out
    lines = release.read_text().splitlines()
    assert (lines[0], len(lines)) == ("zip,sex", 31)
    assert await command("profile", str(visits), *one_row) == 0
    assert capsys.readouterr().out.startswith(f"{PERSONS}\n{first}\n")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--person-order", "day"], "--person-order: It orders the rows of a person."),
        (["--one-row-per-person", "patient", "dx"], "--one-row-per-person: 'dx' names no column."),
        (["--one-row-per-person", "pid"], "no column 'pid'"),
        (["--one-row-per-person", "patient", "dx=median"], "/columns/dx"),
        (["--one-row-per-person", "patient", "dx=mean"], "'dx' is no number in rows 1, 2, 3"),
        (["--one-row-per-person", "patient", "--tables"], "A described table is taken as it is."),
    ],
)
@pytest.mark.parametrize("name", ["profile", "anonymise"])
async def test_what_cannot_be_meant_is_refused(command, visits, tmp_path, capsys, options, says, name):
    rest = ["--k", "2", "-o", str(tmp_path / "r.csv")] if name == "anonymise" else []
    asked = [] if "--tables" in options else ["--quasi-identifiers", "zip"]
    if "--tables" in options:
        tables = str(tmp_path / "t.toml")
        assert await command("describe", str(visits), "-o", tables) == 0
        options = [*options, tables]
    assert await command(name, str(visits), *asked, *rest, *options) == 1
    assert says in capsys.readouterr().err
    assert not (tmp_path / "r.csv").exists()


async def test_functions_make_one_row_per_person_of_a_frame(api, client, monkeypatch):
    token = client.headers["Authorization"].removeprefix("Bearer ")
    python = pr.Client("http://service", token, transport=Blocking(api))
    for module in (profiles, anonymisation):
        monkeypatch.setattr(module, "client_of", lambda server, key: python)
    frame = pd.read_csv(io.StringIO(PATIENTS), dtype={"zip": str, "patient": str})
    asked = {"quasi_identifiers": ["zip", "sex"], "sensitive": ["dx"]}

    def call(function, **named):
        return anyio.to_thread.run_sync(lambda: function(frame, **asked, **named))

    assert (await call(pr.profile))["k"] == 20
    details = {"person": "patient", "columns": {"dx": "last", "cost": "sum"}, "order_by": "day"}
    profile = await call(pr.profile, one_row_per_person=details)
    assert (profile.records, profile["k"]) == (30, 5)
    assert profile.notes[:2] == (PERSONS, "One row per person by column patient: 120 rows became 30 persons.")
    release = await call(pr.anonymise, k=5, one_row_per_person=details)
    assert (release.report.records, len(release.frame)) == (30, 30)
    assert "patient" not in release.frame
    last = frame.sort_values("day", kind="stable").groupby("patient")["dx"].last()
    assert sorted(release.frame["dx"]) == sorted(last)
    with pytest.raises(pr.InvalidArgument, match="no column 'pid'"):
        await call(pr.profile, one_row_per_person="pid")
    asked["quasi_identifiers"] = ["zip", "patient"]
    with pytest.raises(pr.InvalidArgument, match="'patient' is identifier here and quasi_identifier"):
        await call(pr.profile, one_row_per_person="patient")
