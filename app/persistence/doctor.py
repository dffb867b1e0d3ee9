"""What can be wrong with a database, told before anything is served from it."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.errors import Unavailable
from app.persistence.addresses import create_engine
from app.persistence.encryption import MasterKey
from app.persistence.evidence import first_unusable_key
from app.persistence.full_disk import full_disk
from app.persistence.migration import head_revision
from app.persistence.records import first_broken_event
from app.persistence.transactions import database_errors, tenant_transaction
from app.services.resources import TenantId

LEAST_FREE_BYTES = 1024**3
"""Of which whoever runs the service is told in time."""


@dataclass(frozen=True)
class Finding:
    """One thing looked at; ``remedy`` is empty if all is well."""

    name: str
    passed: bool
    message: str
    remedy: str = ""


async def refuse_unsafe(engine: AsyncEngine, master_key: MasterKey) -> None:
    """Raise Unavailable, naming every reason, unless the database may be served from."""
    failed = [finding for finding in await _safety(engine, master_key) if not finding.passed]
    if failed:
        raise Unavailable(
            " ".join(finding.message for finding in failed), " ".join(finding.remedy for finding in failed)
        )


async def readiness(engine: AsyncEngine) -> dict[str, bool]:
    """Whether the database answers, is at the revision that this code needs, and has room on its disk."""
    has_room = not full_disk.is_met()
    try:
        async with database_errors(), engine.connect() as connection:
            is_new = (await _migrations(connection)).passed
            return {"database": True, "disk": has_room, "migrations": is_new}
    except Unavailable:
        return {"database": False, "disk": has_room, "migrations": False}


async def examine(url: str, master_key: MasterKey, folder: Path | None = None) -> Sequence[Finding]:
    """Everything that start-up requires, audit chains, signing keys, and the disk of an embedded database.

    ``url`` is the runtime role's address.
    """
    engine = create_engine(url, connections=2)
    try:
        findings = await _safety(engine, master_key)
        if findings[0].passed:
            findings.append(await _audit(engine))
        if all(finding.passed for finding in findings[:4]):
            findings.append(await _signing_keys(engine, master_key))
            findings.append(await _webhook_addresses(engine))
    finally:
        await engine.dispose()
    if folder is not None:
        findings.append(_disk(folder))
    return findings


async def _safety(engine: AsyncEngine, master_key: MasterKey) -> list[Finding]:
    checks: list[Callable[[AsyncConnection], Awaitable[Finding]]] = [_migrations, _role, _row_security]
    async with database_errors(), engine.connect() as connection:
        findings = [await check(connection) for check in checks]
        if findings[0].passed:
            findings.append(await _keys(connection, master_key))
    return findings


async def _migrations(connection: AsyncConnection) -> Finding:
    found = (
        await connection.execute(text("SELECT to_regclass('public.alembic_version') IS NOT NULL"))
    ).scalar()
    revision = None
    if found:
        revision = (await connection.execute(text("SELECT version_num FROM alembic_version"))).scalar()
    head = head_revision()
    if revision == head:
        return Finding("migrations", True, f"The database is at revision {head}.")
    return Finding(
        "migrations", False, f"The database is at revision {revision}, the code needs {head}.",
        "Run: python -m app migrate",
    )  # fmt: skip


async def _role(connection: AsyncConnection) -> Finding:
    query = """
        SELECT current_user AS name, r.rolsuper, r.rolbypassrls,
               EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
                       AND pg_has_role(current_user, c.relowner, 'MEMBER')) AS owns
        FROM pg_roles r WHERE r.rolname = current_user
    """
    row = (await connection.execute(text(query))).one()
    if not (row.rolsuper or row.rolbypassrls or row.owns):
        return Finding("role", True, f"The role {row.name} owns nothing and is bound by row-level security.")
    return Finding(
        "role", False, f"The role {row.name} is a superuser, bypasses row-level security or owns the tables.",
        "Let DATABASE_URL name the role app_runtime.",
    )  # fmt: skip


async def _row_security(connection: AsyncConnection) -> Finding:
    query = """
        SELECT c.relname FROM pg_class c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
          AND c.relname <> 'alembic_version' AND NOT starts_with(c.relname, 'procrastinate_')
          AND NOT (c.relrowsecurity AND c.relforcerowsecurity)
        ORDER BY c.relname
    """
    open_tables = (await connection.execute(text(query))).scalars().all()
    if not open_tables:
        return Finding(
            "row-level security", True, "Every table of tenants is separated by row-level security."
        )
    return Finding(
        "row-level security", False, f"Not separated by row-level security: {', '.join(open_tables)}.",
        "Run the migrations; a table that they did not make does not belong here.",
    )  # fmt: skip


async def _keys(connection: AsyncConnection, master_key: MasterKey) -> Finding:
    rows = await connection.execute(text("SELECT master_key_id FROM lookup_master_keys()"))
    others = sorted({row.master_key_id for row in rows} - {master_key.id})
    if not others:
        return Finding(
            "keys", True, f"All data and signing keys are wrapped by this master key ({master_key.id})."
        )
    return Finding(
        "keys", False,
        f"Data or signing keys are wrapped by the master key {', '.join(others)}, not by this one "
        f"({master_key.id}): without it their data cannot be read and nothing can be signed.",
        "Give that master key. If it is lost, so are these data.",
    )  # fmt: skip


async def _signing_keys(engine: AsyncEngine, master_key: MasterKey) -> Finding:
    for tenant in await _tenants(engine):
        async with tenant_transaction(engine, TenantId(str(tenant.id))) as transaction:
            unusable = await first_unusable_key(transaction, master_key)
        if unusable is not None:
            return Finding(
                "signing keys", False,
                f"The signing key {unusable} of tenant {tenant.name!r} is not the one that its id names.",
                "Restore it from a backup, or rotate: POST /v1/signing-keys.",
            )  # fmt: skip
    return Finding("signing keys", True, "Every signing key is the one that its id names.")


async def _tenants(engine: AsyncEngine) -> Sequence[Row[Any]]:
    async with database_errors(), engine.connect() as connection:
        return (await connection.execute(text("SELECT id, name FROM lookup_tenants()"))).all()


async def _audit(engine: AsyncEngine) -> Finding:
    tenants = await _tenants(engine)
    for tenant in tenants:
        async with tenant_transaction(engine, TenantId(str(tenant.id))) as transaction:
            broken = await first_broken_event(transaction)
        if broken is not None:
            return Finding(
                "audit", False, f"The audit chain of tenant {tenant.name!r} is broken at event {broken}.",
                "Compare with a backup: events were changed or removed.",
            )  # fmt: skip
    return Finding("audit", True, f"The audit chains of {len(tenants)} tenants are whole.")


async def _webhook_addresses(engine: AsyncEngine) -> Finding:
    async with database_errors(), engine.connect() as connection:
        rows = (await connection.execute(text("SELECT webhooks FROM lookup_plain_webhooks()"))).all()
    plain = sum(row.webhooks for row in rows)
    if not plain:
        return Finding("webhook addresses", True, "Every address of a webhook is encrypted.")
    return Finding(
        "webhook addresses", False,
        f"{plain} addresses of webhooks of {len(rows)} tenants are stored in clear.",
        "Start the API or a worker: either encrypts them at its start.",
    )  # fmt: skip


def _disk(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    message = f"{free / 1024**3:.1f} GiB are free at {folder}."
    if free >= LEAST_FREE_BYTES:
        return Finding("disk", True, message)
    return Finding("disk", False, message, "Make room: PostgreSQL stops when the disk is full.")
