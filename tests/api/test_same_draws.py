"""What counts as the same data and as the same question where a mechanism draws."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import psycopg
import pytest

from app.domain.errors import QuotaExceeded
from app.persistence.draws import PostgresDraws
from tests.api.drawn_people import PERTURBED, asked, made, people
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

NAMED = asked(mechanism=PERTURBED | {"attribute": "illness"})


async def standing(client: httpx.AsyncClient, name: str) -> str:
    (guarantee,) = (await client.get(f"/v1/releases/{name}")).json()["mechanism"]["guarantees"]
    found: str = guarantee["standing"]
    return found


async def test_a_release_of_the_same_content_uploaded_anew_refutes_what_was_promised(
    client: httpx.AsyncClient,
):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    await people(client, "uploaded-anew")
    rule = {"name": "as-is", "dataset": "uploaded-anew", "rule": {"kind": "identity"}}
    await made(client.post("/v1/rules", json=rule))
    other = "town,illness\nRome,flu\nBari,gout\n"
    headers = {"Content-Type": "text/csv"}
    await made(client.post("/v1/uploads?name=other", content=other, headers=headers))
    await people(client, "others", "other")
    await made(client.post("/v1/rules", json=rule | {"name": "others", "dataset": "others"}))
    await made(client.post("/v1/releases", json={"name": "others", "dataset": "others", "rule": "others"}))
    assert await standing(client, "drawn") == "certified"
    body = {"name": "shown", "dataset": "uploaded-anew", "rule": "as-is"}
    await made(client.post("/v1/releases", json=body))
    assert await standing(client, "drawn") == "none"
    (planned,) = (await client.post("/v1/releases/plans", json=asked("x"))).json()["guarantees"]
    (reason,) = [own["reason"] for own in planned["hypotheses"] if own["id"] == "not_shown_otherwise"]
    assert "'shown'" in reason
    # Who has it has it still.
    assert (await client.delete("/v1/releases/shown")).status_code == 204
    assert await standing(client, "drawn") == "none"
    told = (await client.get("/v1/releases/drawn")).json()["mechanism"]
    assert told["draws"] == 2
    planned = (await client.post("/v1/releases/plans", json=asked("x", neutralise_formulas=True))).json()
    assert [own["release"] for own in planned["earlier"]] == ["drawn", None]


@pytest.mark.parametrize(("first", "second"), [(asked(), NAMED), (NAMED, asked())], ids=["named", "left out"])
async def test_an_only_sensitive_attribute_may_be_named_or_left_out(
    client: httpx.AsyncClient, first: dict[str, Any], second: dict[str, Any]
):
    await people(client)
    manifest = await made(client.post("/v1/releases", json=first))
    again = await client.post("/v1/releases", json=second | {"name": "again"})
    assert (again.status_code, again.json()) == (200, manifest)
    plan = (await client.post("/v1/releases/plans", json=second | {"name": "again"})).json()
    assert plan["missing"] == []


async def test_both_wordings_at_once_are_one_draw(client: httpx.AsyncClient):
    await people(client)
    bodies = [asked("a"), NAMED | {"name": "b"}, asked("c"), NAMED | {"name": "d"}]
    answers = await asyncio.gather(*(client.post("/v1/releases", json=body) for body in bodies))
    assert sorted(own.status_code for own in answers) == [200, 200, 200, 201]
    assert len({own.content for own in answers}) == 1


async def test_a_draw_that_was_begun_is_gone_on_with_in_either_wording(
    client: httpx.AsyncClient, database_urls: Any, monkeypatch: pytest.MonkeyPatch
):
    await people(client)
    real = PostgresDraws.store

    async def full(*_: object) -> Any:
        raise QuotaExceeded("It is full.", "Delete something.", {"name": "stored_bytes"})

    monkeypatch.setattr(PostgresDraws, "store", full)
    assert (await client.post("/v1/releases", json=asked())).status_code == 413
    monkeypatch.setattr(PostgresDraws, "store", real)
    manifest = await made(client.post("/v1/releases", json=NAMED))
    assert (manifest["mechanism"]["draws"], manifest["mechanism"]["parameters"]["attribute"]) == (1, None)
    with psycopg.connect(database_urls.admin) as connection:
        query = "SELECT question_sha256 FROM draws WHERE id = %s"
        assert connection.execute(query, [manifest["id"]]).fetchone() == (manifest["sha256"],)


async def test_a_run_asked_for_in_the_other_wording_is_the_same_run(client: httpx.AsyncClient):
    await people(client)
    first, second = [await client.post("/v1/releases/runs", json=own) for own in (asked(), NAMED)]
    assert (first.status_code, second.status_code) == (202, 202)
    assert second.json()["id"] == first.json()["id"]


async def test_with_two_sensitive_attributes_leaving_it_out_says_nothing(client: httpx.AsyncClient):
    await people(client, town="sensitive")
    problem_of(await client.post("/v1/releases", json=asked()), 422, "invalid-input")
    await made(client.post("/v1/releases", json=NAMED))


async def test_a_further_draw_is_never_answered_by_the_release_of_another_name(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked("first")))
    further = asked("second", independent_of_earlier=True)
    second = await made(client.post("/v1/releases", json=further))
    again = await client.post("/v1/releases", json=further)
    assert (again.status_code, again.json()["id"]) == (200, second["id"])
    third = further | {"name": "third"}
    for address in ("/v1/releases", "/v1/releases/runs"):
        assert "'second'" in problem_of(await client.post(address, json=third), 409, "conflict")["detail"]
    (missing,) = (await client.post("/v1/releases/plans", json=third)).json()["missing"]
    assert missing["code"] == "conflict"
    problem_of(await client.get("/v1/releases/third"), 404, "not-found")
    # With other parameters it is another draw.
    other = third | {"mechanism": PERTURBED | {"beta": 1}}
    assert (await made(client.post("/v1/releases", json=other)))["name"] == "third"
