"""Pieces of uploads: invisible until published, whole or gone, encrypted, erased with their key."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from app.domain.errors import Conflict, NotFound, Unavailable
from app.persistence.store import PostgresStore
from app.services.leases import UPLOAD_LEASE
from app.services.resources import Kind
from tests.integration.population import resource

pytestmark = pytest.mark.anyio

UPLOAD = "e" * 32
NEW = resource(Kind.UPLOAD, "members", "a" * 64)


async def stage(store, tenant, upload_id=UPLOAD, pieces=3):
    async with store.work(tenant) as work:
        for number in range(pieces):
            await work.pieces.stage(upload_id, number, 10, f"piece {number}".encode() * 100)


async def publish(store, tenant, upload_id=UPLOAD, new=NEW):
    async with store.work(tenant) as work:
        answer = await work.pieces.publish(upload_id, new)
        await work.commit()
    return answer


async def read(store, tenant, upload_id=UPLOAD):
    async with store.work(tenant) as work:
        return [piece async for piece in work.pieces.read(upload_id)]


def stored_pieces(urls, upload_id=UPLOAD):
    with psycopg.connect(urls.admin) as connection:
        query = "SELECT count(*) FROM upload_pieces WHERE upload_id = %s"
        return connection.execute(query, [upload_id]).fetchone()[0]


def keys(urls, upload_id=UPLOAD):
    with psycopg.connect(urls.admin) as connection:
        query = "SELECT count(*) FROM data_keys WHERE id = %s"
        return connection.execute(query, [upload_id]).fetchone()[0]


@pytest.fixture(autouse=True)
def _fresh(database_urls):
    yield
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("DELETE FROM resource_uses")
        connection.execute("DELETE FROM resources")
        connection.execute("DELETE FROM data_keys WHERE purpose = 'upload'")


async def test_a_secret_is_of_its_upload_and_purpose_and_ends_with_the_key(
    store, tenant, engine, master_key, clock
):
    for upload_id, name, digest in ((UPLOAD, "members", "a"), ("d" * 32, "others", "b")):
        await stage(store, tenant, upload_id, pieces=1)
        await publish(store, tenant, upload_id, resource(Kind.UPLOAD, name, digest * 64))

    async def secret(store, upload_id, purpose):
        async with store.work(tenant) as work:
            return await work.pieces.secret(upload_id, purpose)

    asked = [(UPLOAD, "one"), (UPLOAD, "two"), ("d" * 32, "one")]
    found = [await secret(store, *own) for own in asked]
    assert [len(own) for own in found] == [32] * 3
    assert len(set(found)) == 3
    # Another process has read no key yet.
    assert [await secret(PostgresStore(engine, master_key, clock), *own) for own in asked] == found
    async with store.work(tenant) as work:
        await work.resources.delete(Kind.UPLOAD, UPLOAD)
        await work.commit()
    with pytest.raises(NotFound):
        await secret(store, UPLOAD, "one")


async def test_published_pieces_are_read_in_order(store, tenant):
    await stage(store, tenant, pieces=12)
    stored, created = await publish(store, tenant)
    assert created
    assert stored.id == UPLOAD
    assert await read(store, tenant) == [f"piece {number}".encode() * 100 for number in range(12)]


async def test_a_half_written_upload_is_invisible(store, tenant, database_urls):
    await stage(store, tenant)
    assert stored_pieces(database_urls) == 3
    with pytest.raises(NotFound):
        await read(store, tenant)
    async with store.work(tenant) as work:
        assert (await work.resources.list(Kind.UPLOAD, name=None, limit=9, cursor=None)).items == ()


async def test_a_discarded_upload_leaves_neither_pieces_nor_key(store, tenant, database_urls):
    await stage(store, tenant)
    async with store.work(tenant) as work:
        await work.pieces.discard(UPLOAD)
    assert (stored_pieces(database_urls), keys(database_urls)) == (0, 0)
    with pytest.raises(Unavailable, match="interrupted"):
        await publish(store, tenant)


async def test_an_upload_that_was_swept_in_the_middle_does_not_go_on_without_its_first_pieces(
    store, registry, tenant, database_urls
):
    await stage(store, tenant)
    assert await registry.discard_stale_uploads(0) == 1
    async with store.work(tenant) as work:
        with pytest.raises(Unavailable, match="interrupted"):
            await work.pieces.stage(UPLOAD, 3, 10, b"piece 3")
    assert (stored_pieces(database_urls), keys(database_urls)) == (0, 0)


async def test_a_sign_of_life_keeps_a_slow_upload_from_being_swept(store, registry, tenant, database_urls):
    await stage(store, tenant)
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("UPDATE data_keys SET touched_at = touched_at - interval '50 seconds'")
    async with store.work(tenant) as work:
        await work.pieces.keep(UPLOAD)
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("UPDATE data_keys SET touched_at = touched_at - interval '50 seconds'")
    assert await registry.discard_stale_uploads(UPLOAD_LEASE.seconds) == 0
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("UPDATE data_keys SET touched_at = touched_at - interval '10 seconds'")
    assert await registry.discard_stale_uploads(UPLOAD_LEASE.seconds) == 1
    assert (stored_pieces(database_urls), keys(database_urls)) == (0, 0)


async def test_a_published_upload_is_not_discarded(store, tenant):
    await stage(store, tenant)
    await publish(store, tenant)
    async with store.work(tenant) as work:
        await work.pieces.discard(UPLOAD)
    assert len(await read(store, tenant)) == 3


async def test_abandoned_uploads_are_swept_and_others_are_left(store, registry, tenant, database_urls):
    await stage(store, tenant)
    await publish(store, tenant)
    await stage(store, tenant, "f" * 32)
    assert await registry.discard_stale_uploads(3600) == 0
    assert await registry.discard_stale_uploads(0) == 1
    assert stored_pieces(database_urls, "f" * 32) == 0
    assert len(await read(store, tenant)) == 3


async def test_the_same_upload_again_answers_the_first_and_drops_its_own_pieces(store, tenant, database_urls):
    await stage(store, tenant)
    first, _ = await publish(store, tenant)
    await stage(store, tenant, "f" * 32)
    assert await publish(store, tenant, "f" * 32) == (first, False)
    assert stored_pieces(database_urls, "f" * 32) == 0


async def test_the_same_upload_by_two_clients_at_once_is_stored_once(store, tenant, database_urls):
    ids = ["1" * 32, "2" * 32]
    await asyncio.gather(*(stage(store, tenant, upload_id) for upload_id in ids))
    answers = await asyncio.gather(*(publish(store, tenant, upload_id) for upload_id in ids))
    assert sorted(created for _, created in answers) == [False, True]
    assert sorted(stored_pieces(database_urls, upload_id) for upload_id in ids) == [0, 3]


async def test_a_name_taken_by_another_upload_is_a_conflict(store, tenant):
    await stage(store, tenant)
    await publish(store, tenant)
    await stage(store, tenant, "f" * 32)
    with pytest.raises(Conflict):
        await publish(store, tenant, "f" * 32, resource(Kind.UPLOAD, "members", "b" * 64))


async def test_deleting_an_upload_removes_its_pieces_and_destroys_its_key(store, tenant, database_urls):
    await stage(store, tenant)
    await publish(store, tenant)
    async with store.work(tenant) as work:
        await work.resources.delete(Kind.UPLOAD, "members")
        await work.commit()
    assert (stored_pieces(database_urls), keys(database_urls)) == (0, 0)


async def test_a_piece_that_was_altered_or_moved_is_not_read(store, tenant, database_urls):
    await stage(store, tenant)
    await publish(store, tenant)
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute(
            "UPDATE upload_pieces SET number = 7 WHERE upload_id = %s AND number = 0", [UPLOAD]
        )
    with pytest.raises(Unavailable, match="altered"):
        await read(store, tenant)
