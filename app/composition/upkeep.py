"""The operator's verbs on a database: migrate, bootstrap, doctor, keys, backups, purge."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path

from app.cli.operations import Bootstrapped, Check, TenantLine
from app.composition.configured import configured_database, configured_master_key, owner_url, tenant_defaults
from app.composition.database import Database, utc_now
from app.composition.processes import embedded_database
from app.domain.errors import Conflict, Unavailable
from app.persistence import backup as files
from app.persistence import migration
from app.persistence.addresses import create_engine
from app.persistence.doctor import examine
from app.persistence.embedded import EmbeddedPostgres
from app.persistence.encryption import MasterKey
from app.persistence.key_rotation import rotate_master_key
from app.persistence.purge import LOG_STATEMENTS, drop_log, rewrite_tables
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from app.services.access.tenant_settings import SETTINGS, parsed
from app.services.access.tenants import TenantService
from app.settings import Settings


def first_tenant(settings: Settings, postgres: EmbeddedPostgres, name: str) -> Bootstrapped:
    """Make the tenant of a new embedded database, and its administrator's key."""
    return _bootstrap(_embedded(postgres), settings, name, new_key=False)


def migrate(settings: Settings, revision: str, patience: float) -> None:
    """Bring the configured or else the embedded database to this revision.

    A configured server is waited for, ``patience`` seconds at most.
    """
    if _is_embedded(settings):
        with _embedded_alone(settings) as postgres:
            migration.migrate(postgres.owner_url, revision)
    else:
        address = owner_url(settings)
        migration.await_server(address, patience)
        migration.migrate(address, revision)


def bootstrap(settings: Settings, name: str, new_key: bool) -> Bootstrapped:
    """Make a tenant of this name, or another key of its administrator."""
    with _database(settings) as database:
        return _bootstrap(database, settings, name, new_key=new_key)


def _bootstrap(database: Database, settings: Settings, name: str, *, new_key: bool) -> Bootstrapped:
    async def make() -> Bootstrapped:
        async with _tenants(database, settings) as tenants:
            made = await tenants.bootstrap(name, new_key=new_key)
        if made.first_key is None:
            raise Conflict(
                f"The tenant {name!r} exists; its first key was shown when it was made.",
                "Issue another with an administrator's key (POST /v1/api-keys), or with bootstrap --new-key.",
            )
        return Bootstrapped(made.tenant.id, made.tenant.name, made.first_key.token)

    return asyncio.run(make())


def tenant(settings: Settings, name: str, texts: Mapping[str, str]) -> Sequence[TenantLine]:
    """Change settings of a tenant; all of them as they are then."""
    changes = parsed(texts)

    async def change(database: Database) -> Sequence[TenantLine]:
        async with _tenants(database, settings) as tenants:
            seen = await tenants.change_settings(name, changes)
        return [
            TenantLine(
                setting,
                getattr(seen.settings, setting),
                setting in seen.own,
                getattr(seen.usage, setting, None),
                own.metadata["meaning"],
            )
            for setting, own in SETTINGS.items()
        ]

    with _database(settings) as database:
        return asyncio.run(change(database))


def doctor(settings: Settings) -> Sequence[Check]:
    """Check role, row-level security, keys, disk and migrations."""
    if _is_embedded(settings):
        with _embedded_alone(settings) as postgres:
            findings = asyncio.run(examine(postgres.runtime_url, postgres.master_key, postgres.home))
    else:
        database = configured_database(settings)
        findings = asyncio.run(examine(database.url, database.master_key))
    return [Check(f.name, f.passed, f.message, f.remedy) for f in findings]


def rotate_keys(settings: Settings) -> int:
    """Rewrap the data keys of every tenant; an embedded database makes the new master key itself."""
    if _is_embedded(settings):
        with _embedded_alone(settings) as postgres:
            return postgres.rotate_master_key()
    if settings.previous_master_key_file is None:
        raise Unavailable(
            "PRIVACY_RISK_PREVIOUS_MASTER_KEY_FILE is not set.", "Name the file of the key to be replaced."
        )
    previous = MasterKey.from_text(settings.previous_master_key_file.read_text())
    current = configured_master_key(settings)
    if current is None:
        raise Unavailable("There is no new master key.", "Set PRIVACY_RISK_MASTER_KEY_FILE.")
    return rotate_master_key(owner_url(settings), previous, current)


def backup(settings: Settings, target: Path) -> None:
    """Write the whole database to a new file."""
    with _maintained(settings, "pg_dump") as (owner_url, pg_dump, _):
        files.backup(owner_url, target, pg_dump)


def restore(settings: Settings, source: Path) -> None:
    """Fill a database without tenants from such a file, if that was written with the same master key."""
    with _maintained(settings, "pg_restore") as (owner_url, pg_restore, master_key):
        if master_key is None:
            raise Unavailable(
                "There is no master key.", "Set PRIVACY_RISK_MASTER_KEY_FILE to the one of the backup."
            )
        files.restore(owner_url, source, pg_restore, master_key)


def purge(settings: Settings) -> Sequence[str]:
    """Leave nothing of deleted rows in the files; the statements that a superuser has yet to do for that."""
    if not _is_embedded(settings):
        rewrite_tables(owner_url(settings))
        return LOG_STATEMENTS
    with _embedded_alone(settings) as postgres:
        rewrite_tables(postgres.owner_url)
        drop_log(postgres.superuser_url)
    return ()


def _is_embedded(settings: Settings) -> bool:
    """Whether the database is one that this program brings."""
    return settings.database_url is None and settings.owner_database_url is None


def _embedded_alone(settings: Settings) -> AbstractContextManager[EmbeddedPostgres]:
    """The embedded database for the length of a command: who starts a service meanwhile waits for its end."""
    return embedded_database(settings.home, is_shared=False)


def _embedded(postgres: EmbeddedPostgres) -> Database:
    return Database(postgres.runtime_url, postgres.master_key, 0)


@contextmanager
def _database(settings: Settings) -> Iterator[Database]:
    """The configured database, or else the embedded one."""
    if settings.database_url is not None:
        yield configured_database(settings)
        return
    with _embedded_alone(settings) as postgres:
        yield _embedded(postgres)


@asynccontextmanager
async def _tenants(database: Database, settings: Settings) -> AsyncIterator[TenantService]:
    """The use cases on tenants of a database."""
    engine = create_engine(database.url, connections=2)
    try:
        store = PostgresStore(engine, database.master_key, utc_now, tenant_defaults(settings))
        yield TenantService(store, PostgresRegistry(engine, database.master_key, utc_now), utc_now)
    finally:
        await engine.dispose()


@contextmanager
def _maintained(settings: Settings, program: str) -> Iterator[tuple[str, Path, MasterKey | None]]:
    """The owner's address of the database, one of PostgreSQL's programs that fits it, and its master key."""
    if _is_embedded(settings):
        with _embedded_alone(settings) as postgres:
            yield postgres.owner_url, postgres.program(program), postgres.master_key
        return
    found = shutil.which(program)
    if found is None:
        raise Unavailable(f"{program} is not on the PATH.", "Install PostgreSQL's client programs.")
    yield owner_url(settings), Path(found), configured_master_key(settings)
