"""How the store uses its connections: whose rows a statement sees, and what becomes of ended connections."""

from __future__ import annotations

import psycopg
import pytest
from sqlalchemy import select, text

from app.domain.errors import NotFound
from app.persistence.addresses import create_engine
from app.persistence.store import PostgresStore
from app.persistence.tables import resources
from app.persistence.transactions import alone, single_statements, tenant_transaction
from app.services.resources import Kind, NewResource

pytestmark = pytest.mark.anyio

NAMES = alone(select(resources.c.name))


def rule(name):
    return NewResource(Kind.RULE, name, "a" * 64, {}, {"of": name})


async def add(store, tenant, *names):
    async with store.work(tenant) as work:
        for name in names:
            await work.resources.add(rule(name))
        await work.commit()


async def test_a_statement_alone_sees_its_tenants_rows_and_no_others(store, engine, tenant, second_tenant):
    await add(store, tenant, "ours", "ours-too")
    await add(store, second_tenant, "theirs")
    for own, names in ((tenant, {"ours", "ours-too"}), (second_tenant, {"theirs"})):
        async with tenant_transaction(engine, own) as transaction:
            for _ in range(2):  # by itself, then in the transaction
                assert {row.name for row in await transaction.read(NAMES, {})} == names


async def test_a_statement_alone_leaves_no_tenant_behind(store, engine, tenant):
    await add(store, tenant, "ours")
    async with tenant_transaction(engine, tenant) as transaction:
        assert await transaction.read(NAMES, {})
    async with single_statements(engine) as connection:
        for statement in (
            "SELECT name FROM resources",
            "SELECT nullif(current_setting('app.tenant', true), '')",
        ):
            left = (await connection.execute(text(statement))).scalar()
            assert left is None


async def test_an_added_resource_is_the_tenants_that_adds_it(store, engine, tenant, second_tenant):
    await add(store, tenant, "ours")
    async with store.work(second_tenant) as work:
        with pytest.raises(NotFound):
            await work.resources.get(Kind.RULE, "ours")
        await work.resources.add(rule("ours"))  # the name is free there
        await work.commit()


async def test_connections_that_the_server_has_ended_are_not_used(database_urls, master_key, clock, tenant):
    engine = create_engine(database_urls.runtime)
    store = PostgresStore(engine, master_key, clock)
    try:
        await add(store, tenant, "kept")
        with psycopg.connect(database_urls.admin, autocommit=True) as admin:
            ended = admin.execute(
                "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity"
                " WHERE usename = 'app_runtime' AND datname = current_database()"
            ).fetchone()
        assert ended is not None
        assert ended[0] >= 1
        async with store.work(tenant) as work:
            assert (await work.resources.get(Kind.RULE, "kept")).name == "kept"
    finally:
        await engine.dispose()


async def test_what_is_built_on_something_gone_names_it(store, tenant):
    async with store.work(tenant) as work:
        there, _ = await work.resources.add(rule("there"))
        await work.commit()
    gone = "0" * 32
    async with store.work(tenant) as work:
        with pytest.raises(NotFound, match=gone):
            await work.resources.add(NewResource(Kind.RULE, "built", "b" * 64, {}, {}, (there.id, gone)))
    async with store.work(tenant) as work:
        with pytest.raises(NotFound):
            await work.resources.get(Kind.RULE, "built")
