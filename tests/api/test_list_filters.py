"""Lists by name, state and date: what is asked for and no more, page by page."""

from __future__ import annotations

import hashlib

import httpx
import pytest

from app.services.resources import Kind, NewResource, RunState
from tests.api.operations import DOCUMENT
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

NOON = "2026-11-20T12:00:00Z"


async def make(client, *names):
    for name in names:
        body = {"name": name, "definition": {"kind": "rows", "rows": [[name, "all"]]}}
        assert (await client.post("/v1/hierarchies", json=body)).status_code == 201


async def listed(client, path="/v1/hierarchies", **asked):
    """Names of all pages, asked for two at a time."""
    names, cursor = [], None
    while True:
        answer = await client.get(path, params={"limit": 2, "cursor": cursor} | asked if cursor else asked)
        assert answer.status_code == 200, answer.text
        names += [item.get("name") or item["resource"]["name"] for item in answer.json()["items"]]
        cursor = answer.json()["next_cursor"]
        if cursor is None:
            return names


def test_every_list_that_has_pages_is_filtered_by_date():
    paged = {}
    for path, methods in DOCUMENT["paths"].items():
        named = {parameter["name"] for parameter in methods.get("get", {}).get("parameters", ())}
        if "cursor" in named:
            paged[path] = {"created_after", "created_before"} <= named
    assert len(paged) >= 20
    assert all(paged.values()), paged


async def test_a_period_begins_with_its_first_moment_and_ends_before_its_last(client, clock):
    for name in ("noon-a", "one", "two-a", "three"):
        await make(client, name)
        clock.advance(3600)
    after = await listed(client, created_after="2026-11-20T13:00:00Z", limit=2)
    assert after == ["three", "two-a", "one"]
    # The same moment, told by another clock on the wall.
    assert await listed(client, created_before="2026-11-20T18:30:00+05:30", limit=2) == ["noon-a"]
    middle = {"created_after": "2026-11-20T13:00:00Z", "created_before": "2026-11-20T15:00:00Z"}
    assert await listed(client, **middle) == ["two-a", "one"]
    assert await listed(client, name="-A", **middle) == ["two-a"]
    assert await listed(client, created_after=NOON, created_before=NOON) == []


async def test_pages_of_a_period_are_complete_while_others_are_made(client, clock):
    await make(client, *(f"h{number}" for number in range(5)))
    clock.advance(60)
    period = {"created_before": "2026-11-20T12:00:30Z", "limit": 2}
    first = (await client.get("/v1/hierarchies", params=period)).json()
    await make(client, "later")
    second = await client.get("/v1/hierarchies", params=period | {"cursor": first["next_cursor"]})
    names = [item["name"] for item in first["items"] + second.json()["items"]]
    assert names == ["h4", "h3", "h2", "h1"]


async def test_a_cursor_is_good_for_its_own_period_only(client):
    await make(client, "a", "b")
    asked = {"limit": 1, "created_after": NOON}
    cursor = (await client.get("/v1/hierarchies", params=asked)).json()["next_cursor"]
    assert (await client.get("/v1/hierarchies", params=asked | {"cursor": cursor})).status_code == 200
    for other in ({"limit": 1}, asked | {"created_before": "2030-01-01T00:00:00Z"}):
        answer = await client.get("/v1/hierarchies", params=other | {"cursor": cursor})
        assert problem_of(answer, 422, "invalid-input")["errors"][0]["code"] == "invalid-cursor"


@pytest.mark.parametrize("bad", ["yesterday", "2026-11-20", "2026-11-20T12:00:00", "2026-13-01T00:00:00Z"])
async def test_a_date_that_is_no_moment_is_refused_by_name(client, bad):
    answer = await client.get("/v1/hierarchies", params={"created_before": bad})
    assert problem_of(answer, 422, "invalid-input")["errors"][0]["pointer"] == "query/created_before"


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
@pytest.mark.parametrize("bound", ["created_after", "created_before"])
async def test_the_ends_of_the_calendar_are_dates_too(client, moment, bound):
    await make(client, "a", "b")
    expected = ["b", "a"] if (bound == "created_after") == moment.startswith("0001") else []
    assert await listed(client, **{bound: moment, "limit": 1}) == expected


async def test_runs_are_listed_by_state_name_and_date(api, client: httpx.AsyncClient, clock):
    token = client.headers["Authorization"].removeprefix("Bearer ")
    tenant = (await api.services.tenants.authenticate(token)).tenant
    for name in ("spring-a", "spring-b", "autumn"):
        async with api.store.work(tenant) as work:
            new = NewResource(Kind.OPTIMISATION, name, hashlib.sha256(name.encode()).hexdigest(), {}, {})
            stored, _ = await work.resources.add(new)
            run = await work.runs.create(stored, stored.sha256, {})
            await work.commit()
        if name != "spring-a":
            claim = await api.registry.claim(run.id, "test", 60.0)
            async with api.store.work(tenant) as work:
                await work.runs.finish(claim, RunState.FAILED, result=None, error={"code": "x"})
                await work.commit()
        clock.advance(3600)
    assert await listed(client, "/v1/runs", name="Spring", limit=1) == ["spring-b", "spring-a"]
    assert await listed(client, "/v1/runs", name="spring", state="failed") == ["spring-b"]
    assert await listed(client, "/v1/runs", state="failed", created_after="2026-11-20T14:00:00Z") == [
        "autumn"
    ]
    assert await listed(client, "/v1/runs", created_before="2026-11-20T13:00:00Z") == ["spring-a"]


async def test_no_filter_shows_what_is_anothers(client, other_client):
    await make(client, "mine")
    assert await listed(other_client, created_after="2000-01-01T00:00:00Z") == []


async def test_programs_filter_by_date_through_the_client(api, clock):
    _, token = await api.tenant_with_key()
    async with api.client(token) as client, api.python_client(token) as program:
        await make(client, "noon")
        clock.advance(3600)
        await make(client, "one")
        one = clock.now
        assert [own.name async for own in program.hierarchies.list(created_after=one)] == ["one"]
        page = await program.hierarchies.page(created_before=one, name="o")
        assert [own.name for own in page.items] == ["noon"]
        assert [own async for own in program.runs.list(created_after=one, name="x")] == []
        assert [own async for own in program.evidence.list(created_before=one)] == []
        assert len([own async for own in program.audit_events.list("hierarchy", created_after=one)]) == 1
        assert (await program.tenants.own())["retention"]["results_days"] == 365
        with pytest.raises(ValueError, match="time zone"):
            await program.hierarchies.page(created_after=one.replace(tzinfo=None))


@pytest.mark.parametrize(
    "written",
    ["1700000000", "1700000000000", "2026-11-20", "2026-11-20T12:00:00", "2026-11-20T12:00:00 01:00"],
)
async def test_a_time_is_written_with_its_offset_and_never_guessed(client, written):
    answer = await client.get("/v1/hierarchies", params={"created_after": written})
    (error,) = problem_of(answer, 422, "invalid-input")["errors"]
    assert (error["pointer"], error["code"]) == ("query/created_after", "moment")
    assert "2026-11-20T12:00:00Z" in error["remedy"]
    assert "%2B" in error["remedy"]
