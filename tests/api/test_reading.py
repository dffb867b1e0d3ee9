"""Lists, ETags, names and ids; two clients at once."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio


def flat(name: str, *values: str) -> dict[str, object]:
    return {"name": name, "definition": {"kind": "flat", "values": list(values)}}


async def test_a_resource_keeps_its_strong_etag_and_is_not_sent_twice(client: httpx.AsyncClient):
    await client.post("/v1/hierarchies", json=flat("a", "x", "y"))
    first = await client.get("/v1/hierarchies/a")
    tag = first.headers["etag"]
    assert tag.startswith('"')
    assert (await client.get("/v1/hierarchies/a")).headers["etag"] == tag
    for known in (tag, f'"other", {tag}', f"W/{tag}", "*"):
        again = await client.get("/v1/hierarchies/a", headers={"If-None-Match": known})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
    changed = await client.get("/v1/hierarchies/a", headers={"If-None-Match": '"other"'})
    assert changed.json() == first.json()
    assert (await client.get("/v1/hierarchies")).headers["etag"] != tag


async def test_a_list_comes_page_by_page_newest_first_and_whole(client: httpx.AsyncClient):
    for number in range(5):
        await client.post("/v1/hierarchies", json=flat(f"h-{number}", "x"))
    seen, cursor = [], None
    while True:
        params = {"limit": 2} | ({"cursor": cursor} if cursor else {})
        page = (await client.get("/v1/hierarchies", params=params)).json()
        seen += [item["name"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == ["h-4", "h-3", "h-2", "h-1", "h-0"]
    found = (await client.get("/v1/hierarchies", params={"name": "-3"})).json()["items"]
    assert [item["name"] for item in found] == ["h-3"]


@pytest.mark.parametrize("cursor", ["nonsense", "AAAA", "x" * 900])
async def test_a_forged_cursor_is_refused(client: httpx.AsyncClient, cursor: str):
    problem_of(await client.get("/v1/hierarchies", params={"cursor": cursor}), 422, "invalid-input")


async def test_a_resource_is_found_by_id_and_by_name_and_says_where_it_is(client: httpx.AsyncClient):
    created = await client.post("/v1/hierarchies", json=flat("a", "x"))
    assert created.headers["location"] == f"/v1/hierarchies/{created.json()['id']}"
    by_id = await client.get(created.headers["location"])
    by_name = await client.get("/v1/hierarchies/a")
    assert by_id.json() == by_name.json() == created.json()
    problem_of(await client.get("/v1/hierarchies/b"), 404, "not-found")


async def test_two_clients_that_create_the_same_get_one_resource(client: httpx.AsyncClient):
    answers = await asyncio.gather(*(client.post("/v1/hierarchies", json=flat("a", "x")) for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert len({answer.json()["id"] for answer in answers}) == 1


async def test_of_two_clients_that_want_one_name_for_different_things_one_gets_it(client: httpx.AsyncClient):
    bodies = (flat("a", "x"), flat("a", "y"))
    answers = await asyncio.gather(*(client.post("/v1/hierarchies", json=body) for body in bodies))
    assert sorted(answer.status_code for answer in answers) == [201, 409]


async def test_two_uploads_of_one_name_at_once_leave_one(client: httpx.AsyncClient):
    async def upload(rows: int) -> httpx.Response:
        content = b"a,b\n" + b"1,2\n" * rows
        return await client.post("/v1/uploads", params={"name": "t"}, content=content)

    same = await asyncio.gather(upload(50), upload(50))
    assert sorted(answer.status_code for answer in same) == [200, 201]
    problem_of(await upload(51), 409, "conflict")
    assert len((await client.get("/v1/uploads")).json()["items"]) == 1
