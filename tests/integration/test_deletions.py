"""Deletions of data as other processes hear of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import psycopg
import pytest

from app.domain.errors import Unavailable
from app.persistence import purge
from app.persistence.signals import PostgresDeletions
from app.services.resources import Kind, NewResource
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio


@pytest.fixture
async def heard(anyio_backend, database_urls) -> AsyncIterator[asyncio.Queue]:
    """What is told from now on."""
    told: asyncio.Queue = asyncio.Queue()
    following = asyncio.create_task(PostgresDeletions(database_urls.runtime).follow(told.put))
    async with asyncio.timeout(HANG_SECONDS):
        assert await told.get() is None  # what was deleted before went unnoticed
    yield told
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def add_and_delete(store, tenant, kind: Kind, *, commit: bool = True) -> None:
    async with store.work(tenant) as work:
        await work.resources.add(NewResource(kind, "short-lived", "a" * 64, {}, {}))
        await work.commit()
    async with store.work(tenant) as work:
        await work.resources.delete(kind, "short-lived")
        if commit:
            await work.commit()


@pytest.mark.parametrize(
    "kind", [Kind.UPLOAD, Kind.HIERARCHY, Kind.DATASET, Kind.DICTIONARY, Kind.SENSITIVITY_PROFILE]
)
async def test_data_that_are_deleted_are_told_with_their_tenant(heard, store, tenant, kind):
    await add_and_delete(store, tenant, kind)
    async with asyncio.timeout(HANG_SECONDS):
        assert await heard.get() == tenant


async def test_what_holds_no_data_and_what_is_not_deleted_after_all_are_not_told(heard, store, tenant):
    await add_and_delete(store, tenant, Kind.OPTIMISATION)
    await add_and_delete(store, tenant, Kind.HIERARCHY, commit=False)
    async with store.work(tenant) as work:
        await work.resources.delete(Kind.HIERARCHY, "short-lived")
        await work.commit()
    async with asyncio.timeout(HANG_SECONDS):
        assert await heard.get() == tenant
    assert heard.empty()


def test_a_purge_does_not_hold_up_a_service_whose_table_stays_in_use(database_urls, monkeypatch):
    monkeypatch.setattr(purge, "LOCK_MILLISECONDS", 50)
    with psycopg.connect(database_urls.runtime) as reading:
        reading.execute("SELECT 1 FROM tenants").fetchall()
        with pytest.raises(Unavailable, match="The table tenants stayed in use"):
            purge.rewrite_tables(database_urls.owner)
    purge.rewrite_tables(database_urls.owner)


def test_a_purge_takes_along_the_replies_that_are_kept_no_longer_though_no_worker_runs(database_urls):
    """They are answers about data that may be erased, under the key of the tenant."""
    kept = """
        INSERT INTO idempotency_keys (tenant_id, route, key, fingerprint, reply, created_at, lease_until)
        SELECT id, '/', h::text, '', '', now() - make_interval(hours => h), now() FROM tenants, unnest(%s) h
    """
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute(
            "INSERT INTO tenants (id, name, created_at) VALUES (gen_random_uuid(), 'purged', now())"
        )
        connection.execute(f"{kept} WHERE name = 'purged'", [[23, 25]])
    purge.rewrite_tables(database_urls.owner)
    with psycopg.connect(database_urls.admin) as connection:
        left = connection.execute("SELECT key FROM idempotency_keys WHERE route = '/'").fetchall()
        connection.execute("DELETE FROM idempotency_keys WHERE route = '/'")
        connection.execute("DELETE FROM tenants WHERE name = 'purged'")
    assert left == [("23",)]
