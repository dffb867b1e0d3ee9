"""Sessions of the pages: one truth for all processes, and no trace of them once they are over."""

from __future__ import annotations

from datetime import timedelta

import psycopg
import pytest

from app.persistence.registry import PostgresPageSessions

pytestmark = pytest.mark.anyio

HOURS = timedelta(hours=8)


@pytest.fixture
async def prefix(store, tenant):
    async with store.work(tenant) as work:
        await work.api_keys.add("a key", f"prefix-{tenant}", b"h" * 32, frozenset(), None)
        await work.commit()
    return f"prefix-{tenant}"


def rows(database_urls):
    with psycopg.connect(database_urls.admin) as connection:
        return connection.execute("SELECT id FROM page_sessions").fetchall()


async def test_what_one_process_ends_is_over_for_all(engine, clock, prefix, database_urls):
    here, there = PostgresPageSessions(engine, clock), PostgresPageSessions(engine, clock)
    await here.begin(prefix, "first", clock.now + HOURS)
    await here.begin(prefix, "second", clock.now + HOURS)
    assert await there.is_live("first")
    await there.end("first")
    await there.end("first")
    assert [await here.is_live(one) for one in ("first", "second", "never")] == [False, True, False]
    ((kept,),) = rows(database_urls)
    assert b"second" not in kept
    await there.end("second")
    assert rows(database_urls) == []


async def test_a_session_ends_by_itself_and_is_forgotten(engine, clock, prefix, database_urls):
    sessions = PostgresPageSessions(engine, clock)
    await sessions.begin(prefix, "first", clock.now + HOURS)
    clock.advance(8 * 3600 - 1)
    assert await sessions.is_live("first")
    clock.advance(1)
    assert not await sessions.is_live("first")
    await sessions.begin(prefix, "second", clock.now + HOURS)
    assert len(rows(database_urls)) == 1


async def test_a_key_that_there_is_not_begins_no_session(engine, clock, tenant, database_urls):
    sessions = PostgresPageSessions(engine, clock)
    await sessions.begin("nobody", "first", clock.now + HOURS)
    assert not await sessions.is_live("first")
