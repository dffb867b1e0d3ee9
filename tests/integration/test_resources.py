"""The store keeps named resources: found by id and name, equal ones once, used ones protected."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from app.domain.errors import Conflict, InvalidInput, NotFound
from app.persistence.signals import Erased, PostgresRunSignals
from app.services.resources import Kind, NewResource
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio


def rule(name="proposal", sha256="a" * 64, uses=(), **document):
    return NewResource(
        Kind.RULE, name, sha256, {"height": 3}, document or {"levels": {"city": 1}}, tuple(uses)
    )


async def add(store, tenant, new):
    async with store.work(tenant) as work:
        answer = await work.resources.add(new)
        await work.commit()
    return answer


async def test_a_resource_is_found_by_id_and_by_name_with_its_document(store, tenant, clock):
    stored, created = await add(store, tenant, rule(levels=[1, 2, 3], text="Zürich"))
    assert created
    assert stored.created_at == clock.now
    async with store.work(tenant) as work:
        assert await work.resources.get(Kind.RULE, stored.id) == stored
        assert await work.resources.get(Kind.RULE, "proposal") == stored
        with pytest.raises(NotFound):
            await work.resources.get(Kind.DATASET, stored.id)


async def test_an_identical_create_answers_the_existing_resource(store, tenant):
    first, _ = await add(store, tenant, rule())
    assert await add(store, tenant, rule()) == (first, False)


async def test_a_name_taken_by_other_content_is_a_conflict(store, tenant):
    await add(store, tenant, rule())
    with pytest.raises(Conflict, match="proposal"):
        await add(store, tenant, rule(sha256="b" * 64))


async def test_uncommitted_work_leaves_nothing(store, tenant):
    async with store.work(tenant) as work:
        await work.resources.add(rule())
    async with store.work(tenant) as work:
        with pytest.raises(NotFound):
            await work.resources.get(Kind.RULE, "proposal")


async def test_of_many_clients_creating_the_same_at_once_one_creates(store, tenant):
    answers = await asyncio.gather(*(add(store, tenant, rule()) for _ in range(8)))
    assert sum(created for _, created in answers) == 1
    assert len({stored.id for stored, _ in answers}) == 1


async def test_of_two_clients_taking_one_name_at_once_one_gets_a_conflict(store, tenant):
    answers = await asyncio.gather(
        add(store, tenant, rule(sha256="a" * 64)),
        add(store, tenant, rule(sha256="b" * 64)),
        return_exceptions=True,
    )
    assert sorted(type(answer).__name__ for answer in answers) == ["Conflict", "tuple"]


async def test_pages_are_complete_newest_first_and_stable_under_inserts(store, tenant):
    names = [f"rule-{number}" for number in range(7)]
    for name in names:
        await add(store, tenant, rule(name))
    seen, cursor = [], None
    while True:
        async with store.work(tenant) as work:
            page = await work.resources.list(Kind.RULE, name=None, limit=3, cursor=cursor)
        seen += [item.name for item in page.items]
        assert all(item.document is None and item.summary == {"height": 3} for item in page.items)
        cursor = page.next_cursor
        if cursor is None:
            break
        await add(store, tenant, rule(f"later-{len(seen)}"))
    assert seen == names[::-1]


async def test_a_list_is_filtered_by_part_of_the_name_taken_literally(store, tenant):
    for name in ("Members 100%", "members 100x", "census"):
        await add(store, tenant, rule(name))
    async with store.work(tenant) as work:
        page = await work.resources.list(Kind.RULE, name="members 100%", limit=10, cursor=None)
    assert [item.name for item in page.items] == ["Members 100%"]


async def test_a_list_is_filtered_by_what_its_resources_are_built_on(store, tenant):
    used, other = [(await add(store, tenant, rule(name)))[0] for name in ("used", "other")]
    for number in range(3):
        await add(store, tenant, rule(f"user-{number}", uses=[other.id, used.id] if number else [other.id]))
    async with store.work(tenant) as work:
        asked = {"name": None, "limit": 1, "built_on": used.id}
        first = await work.resources.list(Kind.RULE, cursor=None, **asked)
        second = await work.resources.list(Kind.RULE, cursor=first.next_cursor, **asked)
        assert [page.items[0].name for page in (first, second)] == ["user-2", "user-1"]
        assert second.next_cursor is None
        with pytest.raises(InvalidInput):
            await work.resources.list(Kind.RULE, name=None, limit=1, cursor=first.next_cursor)


async def test_a_cursor_is_opaque_and_good_for_its_own_list_only(store, tenant, second_tenant):
    for number in range(3):
        await add(store, tenant, rule(f"rule-{number}"))
    async with store.work(tenant) as work:
        cursor = (await work.resources.list(Kind.RULE, name=None, limit=1, cursor=None)).next_cursor
        for bad in (cursor[:-4] + "AAAA", "nonsense!", "", "é", "QUJD"):
            if bad:
                with pytest.raises(InvalidInput):
                    await work.resources.list(Kind.RULE, name=None, limit=1, cursor=bad)
        with pytest.raises(InvalidInput):
            await work.resources.list(Kind.RULE, name="rule", limit=1, cursor=cursor)
        with pytest.raises(InvalidInput):
            await work.resources.list(Kind.DATASET, name=None, limit=1, cursor=cursor)
    async with store.work(second_tenant) as work:
        with pytest.raises(InvalidInput):
            await work.resources.list(Kind.RULE, name=None, limit=1, cursor=cursor)


async def test_what_is_in_use_cannot_be_deleted_and_its_users_are_named(store, tenant):
    used, _ = await add(store, tenant, rule("used"))
    user, _ = await add(store, tenant, rule("user", uses=[used.id, used.id]))
    assert user.uses == (used.id, used.id)
    async with store.work(tenant) as work:
        with pytest.raises(Conflict) as caught:
            await work.resources.delete(Kind.RULE, "used")
        assert caught.value.details == {"users": [{"kind": "rule", "name": "user"}]}
        await work.resources.delete(Kind.RULE, "user")
        await work.resources.delete(Kind.RULE, used.id)
        await work.commit()
    async with store.work(tenant) as work:
        assert (await work.resources.list(Kind.RULE, name=None, limit=10, cursor=None)).items == ()


async def test_using_what_is_gone_is_not_found(store, tenant):
    with pytest.raises(NotFound):
        await add(store, tenant, rule(uses=["0" * 32]))
    async with store.work(tenant) as work:
        with pytest.raises(NotFound):
            await work.resources.get(Kind.RULE, "proposal")


async def blocked(database_urls):
    """Return once a statement waits for another transaction."""
    query = """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'
    """
    async with await psycopg.AsyncConnection.connect(database_urls.admin, autocommit=True) as connection:
        async with asyncio.timeout(HANG_SECONDS):
            while (await (await connection.execute(query)).fetchone())[0] == 0:  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def remove(store, tenant, ref):
    async with store.work(tenant) as work:
        await work.resources.delete(Kind.RULE, ref)
        await work.commit()


async def test_a_deletion_that_a_new_user_overtakes_is_a_conflict(store, tenant, database_urls):
    used, _ = await add(store, tenant, rule("used"))
    async with store.work(tenant) as work:
        await work.resources.add(rule("user", uses=[used.id]))
        deleting = asyncio.create_task(remove(store, tenant, used.id))
        await blocked(database_urls)
        await work.commit()
    with pytest.raises(Conflict) as caught:
        await deleting
    assert caught.value.details == {"users": [{"kind": "rule", "name": "user"}]}


async def test_a_new_user_that_a_deletion_overtakes_is_told_that_it_is_gone(store, tenant, database_urls):
    used, _ = await add(store, tenant, rule("used"))
    async with store.work(tenant) as work:
        await work.resources.delete(Kind.RULE, used.id)
        adding = asyncio.create_task(add(store, tenant, rule("user", uses=[used.id])))
        await blocked(database_urls)
        await work.commit()
    with pytest.raises(NotFound):
        await adding


@pytest.mark.deep
async def test_every_process_is_told_what_was_erased_once_that_is_true(store, tenant, database_urls):
    stored, _ = await add(store, tenant, NewResource(Kind.HIERARCHY, "places", "a" * 64, {}, {}, ()))
    erased: asyncio.Queue[Erased | None] = asyncio.Queue()
    async with PostgresRunSignals(database_urls.runtime, erased.put_nowait), asyncio.timeout(HANG_SECONDS):
        assert await erased.get() is None
        async with store.work(tenant) as work:
            await work.resources.delete(Kind.HIERARCHY, stored.id)
        async with store.work(tenant) as work:
            await work.resources.delete(Kind.HIERARCHY, stored.id)
            await asyncio.sleep(0.2)
            assert erased.empty()
            await work.commit()
        assert await erased.get() == Erased(tenant, stored.id, stored.sha256)
        with psycopg.connect(database_urls.admin, autocommit=True) as superuser:
            superuser.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND query LIKE 'LISTEN%'"
            )
        assert await erased.get() is None, "what was erased meanwhile is not known"
        assert erased.empty()
