"""The operator's verbs on a database: migrate, bootstrap, doctor, keys, backups."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from app.cli.operations import Bootstrapped, Check, TenantLine
from app.composition.configured import configured_database, configured_master_key, owner_url, tenant_defaults
from app.composition.database import Database, utc_now
from app.composition.processes import embedded_database
from app.domain.errors import Conflict, Unavailable
from app.persistence import doctor
from app.persistence.addresses import create_engine
from app.persistence.backup import backup, restore
from app.persistence.embedded import EmbeddedPostgres
from app.persistence.encryption import MasterKey
from app.persistence.key_rotation import rotate_master_key
from app.persistence.migration import migrate
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from app.services.tenant_settings import SETTINGS, Changes, parsed
from app.services.tenants import TenantService
from app.settings import Settings


def migrate_database(settings: Settings, revision: str) -> None:
    """Bring the configured or else the embedded database to this revision."""
    if settings.database_url is None and settings.owner_database_url is None:
        with embedded_database(settings.home) as postgres:
            migrate(postgres.owner_url, revision)
    else:
        migrate(owner_url(settings), revision)


def bootstrap_tenant(settings: Settings, name: str, new_key: bool) -> Bootstrapped:
    """Make a tenant of this name, or another key of its administrator."""
    if settings.database_url is not None:
        return _bootstrap(configured_database(settings), name, new_key)
    with embedded_database(settings.home) as postgres:
        return _bootstrap(Database(postgres.runtime_url, postgres.master_key, 0), name, new_key)


def bootstrap_demo(postgres: EmbeddedPostgres) -> Bootstrapped:
    """Make the tenant of a service that runs for a while."""
    return _bootstrap(Database(postgres.runtime_url, postgres.master_key, 0), "demo", new_key=False)


def _bootstrap(database: Database, name: str, new_key: bool) -> Bootstrapped:
    async def make() -> Bootstrapped:
        engine = create_engine(database.url, pool_size=1)
        try:
            store = PostgresStore(engine, database.master_key, utc_now)
            registry = PostgresRegistry(engine, database.master_key, utc_now)
            made = await TenantService(store, registry, utc_now).bootstrap(name, new_key=new_key)
        finally:
            await engine.dispose()
        if made.first_key is None:
            raise Conflict(
                f"The tenant {name!r} exists; its first key was shown when it was made.",
                "Issue another with an administrator's key (POST /v1/api-keys), or with bootstrap --new-key.",
            )
        return Bootstrapped(made.tenant.id, made.tenant.name, made.first_key.token)

    return asyncio.run(make())


def tenant_as_set(settings: Settings, name: str, texts: Mapping[str, str]) -> Sequence[TenantLine]:
    """Change settings of a tenant; all of them as they are then."""
    changes = parsed(texts)
    if settings.database_url is not None:
        return asyncio.run(_changed(configured_database(settings), settings, name, changes))
    with embedded_database(settings.home) as postgres:
        database = Database(postgres.runtime_url, postgres.master_key, 0)
        return asyncio.run(_changed(database, settings, name, changes))


async def _changed(
    database: Database, settings: Settings, name: str, changes: Changes
) -> Sequence[TenantLine]:
    engine = create_engine(database.url, pool_size=1)
    try:
        store = PostgresStore(engine, database.master_key, utc_now, tenant_defaults(settings))
        registry = PostgresRegistry(engine, database.master_key, utc_now)
        seen = await TenantService(store, registry, utc_now).change_settings(name, changes)
    finally:
        await engine.dispose()
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


def examine(settings: Settings) -> Sequence[Check]:
    """Check role, row-level security, keys, disk and migrations."""
    if settings.database_url is None and settings.owner_database_url is None:
        with embedded_database(settings.home) as postgres:
            findings = asyncio.run(doctor.examine(postgres.runtime_url, postgres.master_key, postgres.home))
    else:
        database = configured_database(settings)
        findings = asyncio.run(doctor.examine(database.url, database.master_key))
    return [Check(f.name, f.passed, f.message, f.remedy) for f in findings]


def rotate_keys(settings: Settings) -> int:
    """Rewrap the data keys of every tenant; an embedded database makes the new master key itself."""
    if settings.database_url is None and settings.owner_database_url is None:
        with embedded_database(settings.home) as postgres:
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


def back_up(settings: Settings, target: Path) -> None:
    """Write the whole database to a new file."""
    with _maintained(settings, "pg_dump") as (owner_url, pg_dump):
        backup(owner_url, target, pg_dump)


def put_back(settings: Settings, source: Path) -> None:
    """Fill a database without tenants from such a file."""
    with _maintained(settings, "pg_restore") as (owner_url, pg_restore):
        restore(owner_url, source, pg_restore)


@contextmanager
def _maintained(settings: Settings, program: str) -> Iterator[tuple[str, Path]]:
    """The owner's address of the database, and one of PostgreSQL's programs that fits it."""
    if settings.database_url is None and settings.owner_database_url is None:
        with embedded_database(settings.home) as postgres:
            yield postgres.owner_url, postgres.program(program)
        return
    found = shutil.which(program)
    if found is None:
        raise Unavailable(f"{program} is not on the PATH.", "Install PostgreSQL's client programs.")
    yield owner_url(settings), Path(found)
