"""No row crosses from one tenant to another, whatever the table."""

from __future__ import annotations

from dataclasses import dataclass

import psycopg
import pytest
from psycopg import sql

from app.domain.errors import NotFound
from app.persistence.addresses import create_engine
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from app.persistence.tables import metadata
from app.services.ports import Fenced
from app.services.resources import Claim, Kind, RunState
from tests.conftest import FixedClock
from tests.integration.population import Population, populate, resource

pytestmark = pytest.mark.anyio

TABLES = [table.name for table in metadata.sorted_tables]


def count(connection, table):
    return connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()[0]


@dataclass(frozen=True)
class TwoTenants:
    """Two tenants with rows in every table, and what was made for the first one."""

    first: str
    second: str
    population: Population


@pytest.fixture(scope="module")
async def two_tenants(anyio_backend, database_urls, master_key):
    """Made once: every test is refused what it tries, so that the next one finds the same rows."""
    engine = create_engine(database_urls.runtime)
    store, registry = (kind(engine, master_key, FixedClock()) for kind in (PostgresStore, PostgresRegistry))
    first, second = [(await registry.add_tenant(name))[0].id for name in ("tenant", "other tenant")]
    await populate(store, registry, second)
    yield TwoTenants(first, second, await populate(store, registry, first))
    await engine.dispose()


@pytest.fixture
def populated(two_tenants):
    return two_tenants.population


@pytest.fixture
def tenant(two_tenants):
    return two_tenants.first


@pytest.fixture
def second_tenant(two_tenants):
    return two_tenants.second


@pytest.mark.usefixtures("populated")
@pytest.mark.parametrize("table", TABLES)
async def test_the_runtime_role_without_a_tenant_reads_zero_rows(table, database_urls):
    with psycopg.connect(database_urls.admin) as superuser:
        assert count(superuser, table) > 0, "the population must fill the table, or this test proves nothing"
    with psycopg.connect(database_urls.runtime) as connection:
        assert count(connection, table) == 0
        connection.execute("SELECT set_config('app.tenant', '', true)")
        assert count(connection, table) == 0


@pytest.mark.usefixtures("populated")
@pytest.mark.parametrize("table", TABLES)
async def test_the_owner_too_reads_zero_rows_without_a_tenant(table, database_urls):
    with psycopg.connect(database_urls.owner) as connection:
        assert count(connection, table) == 0


@pytest.mark.usefixtures("populated")
@pytest.mark.parametrize("table", TABLES)
async def test_a_tenant_sees_its_rows_and_can_neither_change_nor_add_others(
    table, database_urls, tenant, second_tenant
):
    column_name = "id" if table == "tenants" else "tenant_id"
    column = sql.Identifier(column_name)
    name = sql.Identifier(table)
    with psycopg.connect(database_urls.runtime) as connection:
        connection.execute("SELECT set_config('app.tenant', %s, false)", [tenant])
        query = sql.SQL("SELECT DISTINCT {}::text FROM {}").format(column, name)
        assert connection.execute(query).fetchall() == [(tenant,)]
        connection.commit()
        where = sql.SQL(" WHERE {} = %s").format(column)
        for statement in ("UPDATE {} SET {} = {}", "DELETE FROM {}"):
            try:
                done = connection.execute(
                    sql.SQL(statement).format(name, column, column) + where, [second_tenant]
                )
            except psycopg.errors.InsufficientPrivilege:
                connection.rollback()
            else:
                assert done.rowcount == 0
        columns = [field.name for field in metadata.tables[table].columns if field.identity is None]
        theirs = [
            sql.Literal(second_tenant) + sql.SQL("::uuid") if field == column_name else sql.Identifier(field)
            for field in columns
        ]
        copy = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {}").format(
            name, sql.SQL(", ").join(map(sql.Identifier, columns)), sql.SQL(", ").join(theirs), name
        )
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(copy)


@pytest.mark.parametrize("kind", Kind)
async def test_another_tenants_resource_is_not_found_by_its_id(kind, store, populated, second_tenant):
    theirs = populated.resources[kind]
    async with store.work(second_tenant) as work:
        with pytest.raises(NotFound):
            await work.resources.get(kind, theirs)
        with pytest.raises(NotFound):
            await work.resources.delete(kind, theirs)


async def test_another_tenants_runs_pieces_and_keys_are_not_found(store, populated, second_tenant):
    claim = populated.running
    stolen = Claim(claim.run_id, second_tenant, claim.attempt)
    async with store.work(second_tenant) as work:
        for refused in (
            work.runs.get(claim.run_id),
            work.runs.request_cancel(claim.run_id),
            work.runs.request_stop(claim.run_id),
            work.runs.result(populated.finished_run),
            work.api_keys.revoke(populated.api_key),
            work.evidence.get(populated.evidence),
            anext(work.pieces.read(populated.resources[Kind.UPLOAD])),
            anext(work.draws.read(populated.drawn)),
            work.draws.secret(populated.begun),
            work.draws.store(populated.begun, resource(Kind.RELEASE, "thief"), b""),
            work.budgets.get(populated.budget),
        ):
            with pytest.raises(NotFound):
                await refused
        for refused in (
            work.runs.heartbeat(stolen, None),
            work.runs.save_block(stolen, 1, b""),
            work.runs.release(stolen, spend_attempt=True),
            work.runs.finish(stolen, RunState.FAILED, result=None, error=None),
        ):
            with pytest.raises(Fenced):
                await refused
        assert await work.runs.events_after(claim.run_id, 0, 10) == []
        assert await work.runs.blocks(claim.run_id) == {}
        assert await work.draws.states([populated.drawn, populated.begun]) == {}
        assert populated.drawn not in {own.id for own in await work.draws.of_subject("5" * 64)}
        assert await work.draws.withdraw(populated.drawn) is None
        own = (await work.budgets.list(name=None, limit=9, cursor=None)).items
        assert populated.budget not in {found.id for found in own}
        assert populated.budget not in {found.id for found in await work.budgets.of_table(["5" * 64])}
        noted = await work.same_tables.noted()
        assert populated.resources[Kind.UPLOAD] not in {content for content, _ in noted}
        assert await work.evidence.of_resource(populated.resources[Kind.EVALUATION]) is None


async def test_using_another_tenants_resource_is_not_found(store, populated, second_tenant):
    async with store.work(second_tenant) as work:
        with pytest.raises(NotFound):
            await work.resources.add(resource(Kind.RULE, "thief", uses=[populated.resources[Kind.DATASET]]))


async def test_the_runtime_role_has_no_rights_beyond_its_tables(database_urls):
    with psycopg.connect(database_urls.runtime) as connection:
        role = connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcreatedb, rolcreaterole"
            " FROM pg_roles WHERE rolname = current_user"
        ).fetchone()
        assert role == (False, False, False, False)
        owned = "SELECT count(*) FROM pg_class WHERE relowner = current_user::regrole"
        assert connection.execute(owned).fetchone() == (0,)
        for statement in (
            "CREATE TABLE mine (x int)",
            "CREATE TEMPORARY TABLE mine (x int)",
            "ALTER TABLE resources DISABLE ROW LEVEL SECURITY",
            "TRUNCATE resources",
            "UPDATE resources SET name = 'other'",
            "UPDATE audit_events SET action = 'other'",
            "DELETE FROM audit_events",
            "UPDATE evidence SET sha256 = 'other'",
            "DELETE FROM evidence",
            "DELETE FROM draws",
            "UPDATE draws SET subject_sha256 = ''",
            "UPDATE draws SET epsilon = 0",
            "DELETE FROM budgets",
            "UPDATE budgets SET subject_sha256 = ''",
            "DELETE FROM read_contents",
            "UPDATE signing_keys SET wrapped_key = ''",
            "DELETE FROM signing_keys",
            "UPDATE results SET input_sha256 = ''",
            "DELETE FROM audit_heads",
            "UPDATE audit_heads SET tenant_id = gen_random_uuid()",
            "CREATE SCHEMA mine",
            "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE TRIGGER mine AFTER INSERT ON audit_events EXECUTE FUNCTION lookup_tenants()",
            "ALTER TABLE audit_events ADD COLUMN mine int",
            "DROP TABLE audit_events",
            "CREATE INDEX mine ON audit_events (number)",
            "DROP POLICY tenant ON resources",
            "ALTER ROLE app_runtime BYPASSRLS",
            "SET session_replication_role = replica",
            "SET ROLE app_owner",
            "COPY resources TO PROGRAM 'true'",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)
            connection.rollback()


async def test_look_ups_answer_the_runtime_role_and_nobody_else(database_urls):
    query = """
        SELECT p.proname, p.prosecdef, coalesce(array_to_string(p.proconfig, ';'), ''),
               has_function_privilege('app_runtime', p.oid, 'EXECUTE'),
               EXISTS (SELECT FROM aclexplode(p.proacl) a WHERE a.grantee = 0)
        FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace AND p.proname LIKE 'lookup\\_%'
    """
    with psycopg.connect(database_urls.admin) as connection:
        functions = connection.execute(query).fetchall()
    assert len(functions) >= 7
    for name, definer, settings, runtime_may, public_may in functions:
        assert (definer, runtime_may, public_may) == (True, True, False), name
        path, *others = settings.split(";")
        assert path == "search_path=pg_catalog, pg_temp", name
        assert set(others) <= {"enable_seqscan=off", "enable_nestloop=off"}, name
