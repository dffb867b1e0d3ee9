"""Fixtures of every tier that needs a database.

One PostgreSQL per session: the server at ``TEST_DATABASE_URL`` (a superuser's address) or an embedded
one. The schema is migrated once into a template. What a test file has written is taken back before the
next begins. Asynchronous tests and fixtures run by anyio's plugin: mark the module with
``pytestmark = pytest.mark.anyio``.
"""

from __future__ import annotations

import atexit
import gc
import hashlib
import os
import secrets
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Generator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql
from sqlalchemy.ext.asyncio import AsyncEngine

from app.persistence.addresses import create_engine, libpq_url, sqlalchemy_url
from app.persistence.embedded import start_embedded
from app.persistence.encryption import MasterKey
from app.persistence.migration import migrate
from app.persistence.provisioning import OWNER_ROLE, RUNTIME_ROLE, close_to_public, provision
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from app.services.resources import TenantId
from tests import tiers
from tests.spec_coverage import SpecCoverage

ENGINES_KEPT = 4
RESTORED_PER_VACUUM = 50
REFILL_IF_CHANGED = """
IF EXISTS (SELECT FROM {0} WHERE xmin::text::bigint > (SELECT id FROM kept."as of"))
  OR (SELECT count(*) FROM {0}) <> (SELECT count(*) FROM {1})
THEN DELETE FROM {0}; INSERT INTO {0} OVERRIDING SYSTEM VALUE TABLE {1};
END IF"""
"""Rows that were written since are of a later transaction, and without any only some can be missing."""
BESIDE_ROWS = """
SELECT
  (SELECT array_agg((oid, relname, relacl, relrowsecurity)::text ORDER BY oid)
    FROM pg_class WHERE relnamespace = 'public'::regnamespace),
  (SELECT array_agg((oid, proname)::text ORDER BY oid)
    FROM pg_proc WHERE pronamespace = 'public'::regnamespace),
  (SELECT array_agg((oid, tgenabled)::text ORDER BY oid) FROM pg_trigger),
  (SELECT array_agg(oid ORDER BY oid) FROM pg_policy),
  (SELECT array_agg(setconfig::text ORDER BY setrole) FROM pg_db_role_setting d
    WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())),
  (SELECT count(*) FROM pg_largeobject_metadata)
"""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--spec-coverage", action="store_true", help="say which tests prove which items of the specification"
    )
    parser.addoption("--all-tiers", action="store_true", help="leave no tier of slow tests out")
    parser.addoption("--shots", type=Path, help="folder for pictures of the pages and what was found on them")


def pytest_configure(config: pytest.Config) -> None:
    # The same instances on every machine, others with another seed: whoever breaks a property sees it, and
    # nobody else does. How long a busy machine takes to draw them says nothing.
    settings.register_profile(
        "suite", derandomize=config.getoption("--hypothesis-seed") is None, database=None,
        deadline=None, suppress_health_check=[HealthCheck.too_slow],
    )  # fmt: skip
    settings.load_profile("suite")
    tiers.install(config)
    if config.getoption("--spec-coverage"):
        config.pluginmanager.register(SpecCoverage(), "spec coverage")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Let the collector leave alone what is imported: it stays, and is most of what there is to look at.

    For what tests make it is called less often than for a service: they end soon.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()
        # Extensions find at the end what they have made, lest they report it as leaked; pytest, which looks
        # several times for what was left behind, looks before.
        atexit.register(gc.unfreeze)
        gc.set_threshold(20_000, 20, 50)


def _goes_backwards(config: pytest.Config) -> bool:
    """Whether this is every other worker: two that compile the files from either end meet in the middle.

    Of several files or folders that were named, none would know the order of the others.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "gw0")
    return int(worker.removeprefix("gw")) % 2 == 1 and len(config.args) == 1


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport]:
    report = yield
    if isinstance(collector, pytest.Directory) and _goes_backwards(collector.config):
        report.result.reverse()
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the files, which such a worker has in another order, in that of all others: by name."""
    if _goes_backwards(config):
        items.sort(key=lambda test: test.path.parts)


class FixedClock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@dataclass(frozen=True)
class DatabaseUrls:
    """One database by its two roles, and by the superuser."""

    owner: str
    runtime: str
    admin: str


@dataclass(frozen=True)
class PostgresServer:
    """A server with a migrated template database, from which others are cloned.

    ``data`` is its data folder if it is embedded.
    """

    admin_url: str
    owner_password: str
    runtime_password: str
    template: str
    data: Path | None
    _connections: dict[str, psycopg.Connection] = field(default_factory=dict)
    """Address → the superuser's connection that goes on: to make one takes longer than most statements."""

    def connection(self, url: str) -> psycopg.Connection:
        """The superuser's connection to a database that no other is made from."""
        known = self._connections.get(url)
        if known is None or known.closed:
            known = self._connections[url] = psycopg.connect(url, autocommit=True)
        return known

    _restored: Counter[str] = field(default_factory=Counter)
    """Database → how often its rows were restored."""

    def close(self) -> None:
        """End the connections."""
        for own in self._connections.values():
            own.close()

    def urls(self, database: str) -> DatabaseUrls:
        admin = sqlalchemy_url(self.admin_url).set(database=database)
        owner = admin.set(username=OWNER_ROLE, password=self.owner_password)
        runtime = admin.set(username=RUNTIME_ROLE, password=self.runtime_password)
        return DatabaseUrls(
            *(libpq_url(url.render_as_string(hide_password=False)) for url in (owner, runtime, admin))
        )

    def execute(self, statement: str, **names: str) -> None:
        composed = sql.SQL(statement).format(**{key: sql.Identifier(name) for key, name in names.items()})
        self.connection(libpq_url(self.admin_url)).execute(composed)

    def clone(self, template: str | None = None) -> str:
        """A new database as the template, or another that nobody is connected to."""
        name = f"test_{secrets.token_hex(6)}"
        # Copying files is quickest where nothing waits for the disk, and slowest where everything does.
        how = "" if self.data is None else "STRATEGY FILE_COPY"
        self.execute(
            f"CREATE DATABASE {{name}} TEMPLATE {{template}} OWNER {{owner}} {how}",
            name=name, template=template or self.template, owner=OWNER_ROLE,
        )  # fmt: skip
        close_to_public(self.admin_url, name)
        return name

    def keep_rows(self, database: str) -> None:
        """Copy the rows of all tables beside them, in this database and those that are made of it.

        The first reader of a row would note down that it is committed, which counts as written: it is now.
        """
        with psycopg.connect(self.urls(database).admin, autocommit=True) as connection:
            found = connection.execute(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
            ).fetchall()
            connection.execute("DROP SCHEMA IF EXISTS kept CASCADE")
            connection.execute("CREATE SCHEMA kept")
            restoring = [sql.SQL("SET LOCAL session_replication_role = replica")]
            for (name,) in found:
                table, copy = sql.Identifier("public", name), sql.Identifier("kept", name)
                connection.execute(sql.SQL("CREATE TABLE {} AS TABLE {}").format(copy, table))
                restoring.append(sql.SQL(REFILL_IF_CHANGED).format(table, copy))
            connection.execute('CREATE TABLE kept."as of" AS SELECT pg_current_xact_id()::text::bigint AS id')
            restoring.append(sql.SQL('UPDATE kept."as of" SET id = pg_current_xact_id()::text::bigint'))
            connection.execute(
                sql.SQL("CREATE PROCEDURE kept.restore() LANGUAGE plpgsql AS {}").format(
                    sql.Literal(f"BEGIN {sql.SQL('; ').join(restoring).as_string()}; END")
                )
            )
            connection.execute("VACUUM (FREEZE)")

    def restore(self, database: str) -> None:
        """The rows that were kept, whatever was done to the tables'.

        Now and then the rows that are gone are cleared away, which all readers have to step over.
        """
        connection = self.connection(self.urls(database).admin)
        connection.execute("CALL kept.restore()")
        self._restored[database] += 1
        if self._restored[database] % RESTORED_PER_VACUUM == 0:
            connection.execute("VACUUM")

    def beside_rows(self, database: str) -> object:
        """What tests might leave in a database beside rows, which restoring does not take back."""
        return self.connection(self.urls(database).admin).execute(BESIDE_ROWS).fetchone()

    def written(self) -> str:
        """How far the server has written: as long as it stays there, no database has changed."""
        connection = self.connection(libpq_url(self.admin_url))
        row = connection.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        assert row is not None
        return str(row[0])

    def leave(self, database: str) -> None:
        """Drop a database at the end of the session, unless its server is thrown away then."""
        if self.data is None:
            self.drop(database)

    def drop(self, database: str) -> None:
        self.execute("DROP DATABASE IF EXISTS {database} WITH (FORCE)", database=database)


@pytest.fixture(scope="session")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """The event loop of the service: Python's takes longer for each of many short waits for the database."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="session")
def short_folder() -> Iterator[Path]:
    """A new folder directly under /tmp: the account that runs PostgreSQL for root can reach it."""
    folder = Path(tempfile.mkdtemp(prefix="pr-", dir="/tmp"))
    folder.chmod(0o711)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def postgres(short_folder: Path) -> Iterator[PostgresServer]:
    """The session's server."""
    given = os.environ.get("TEST_DATABASE_URL")
    if given:
        yield from _templated(given, None)
    else:
        with start_embedded(short_folder / "session") as embedded:
            data = embedded.home / "postgres" / "data"
            _hurry(embedded.admin_url)
            yield from _templated(embedded.admin_url, data)
            # What is thrown away need not be written first.
            os.kill(int((data / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)


def _hurry(admin_url: str) -> None:
    """Let a server that is thrown away not wait for the disk; only a machine that fails could tell."""
    with psycopg.connect(libpq_url(admin_url), autocommit=True) as connection:
        for setting in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum"):
            connection.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
        connection.execute("SELECT pg_reload_conf()")


def _templated(admin_url: str, data: Path | None) -> Iterator[PostgresServer]:
    template = f"template_{secrets.token_hex(6)}"
    # Roles belong to the server: sessions that share one must agree on the passwords.
    owner_password, runtime_password = (
        hashlib.sha256(f"{role} {admin_url}".encode()).hexdigest() for role in (OWNER_ROLE, RUNTIME_ROLE)
    )
    server = PostgresServer(admin_url, owner_password, runtime_password, template, data)
    provision(admin_url, template, server.owner_password, server.runtime_password)
    migrate(server.urls(template).owner)
    try:
        yield server
    finally:
        server.leave(template)
        server.close()


@pytest.fixture(scope="session")
def emptied_database(postgres: PostgresServer) -> Iterator[str]:
    """A database that one file after the other finds as the template: to copy one takes much longer."""
    name = postgres.clone()
    postgres.keep_rows(name)
    yield name
    postgres.leave(name)


@pytest.fixture(scope="module")
def own_database(postgres: PostgresServer) -> Iterator[str]:
    """A database that no other file is given: for what goes beyond rows, or may not end with its test."""
    name = postgres.clone()
    yield name
    postgres.drop(name)


@pytest.fixture(scope="module")
def file_database(postgres: PostgresServer, emptied_database: str) -> Iterator[str]:
    """The database of this file's tests that begin with nothing."""
    before = postgres.beside_rows(emptied_database)
    yield emptied_database
    postgres.restore(emptied_database)
    assert postgres.beside_rows(emptied_database) == before, "such a file needs `own_database`"


@pytest.fixture(scope="module")
def database_urls(postgres: PostgresServer, file_database: str) -> DatabaseUrls:
    """The addresses of the file's database."""
    return postgres.urls(file_database)


@pytest.fixture(scope="module")
def master_key() -> MasterKey:
    return MasterKey.generate()


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock()


@pytest.fixture(scope="session")
async def engines(anyio_backend: str) -> AsyncIterator[dict[str, AsyncEngine]]:
    """Address → the engine that goes on with its connections, of the few databases used last.

    As long as this fixture lives, all asynchronous tests share one event loop.
    """
    made: dict[str, AsyncEngine] = {}
    yield made
    for engine in made.values():
        await engine.dispose()


@pytest.fixture
async def engine(engines: dict[str, AsyncEngine], database_urls: DatabaseUrls) -> AsyncEngine:
    """The runtime role's engine of this test's database."""
    own = engines.pop(database_urls.runtime, None) or create_engine(database_urls.runtime)
    engines[database_urls.runtime] = own
    if len(engines) > ENGINES_KEPT:
        await engines.pop(next(iter(engines))).dispose()
    return own


@pytest.fixture
def store(engine: AsyncEngine, master_key: MasterKey, clock: FixedClock) -> PostgresStore:
    return PostgresStore(engine, master_key, clock)


@pytest.fixture
def registry(engine: AsyncEngine, master_key: MasterKey, clock: FixedClock) -> PostgresRegistry:
    return PostgresRegistry(engine, master_key, clock)


@pytest.fixture
async def tenant(anyio_backend: str, registry: PostgresRegistry) -> TenantId:
    """A new tenant."""
    return (await registry.add_tenant(f"tenant {secrets.token_hex(8)}"))[0].id


@pytest.fixture
async def second_tenant(anyio_backend: str, registry: PostgresRegistry) -> TenantId:
    """Another new tenant."""
    return (await registry.add_tenant(f"other tenant {secrets.token_hex(8)}"))[0].id


@pytest.fixture
def frozen() -> None:
    """As in a service: the collector does not look through what was there at the start."""
    gc.collect()
    gc.freeze()
