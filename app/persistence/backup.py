"""Backup and restore with PostgreSQL's own programs, by the owner role, of any server.

The file holds names and summaries in clear and everything else encrypted as in the database; the master
key is not in it and is needed to read what is restored.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql

from app.domain.errors import Conflict, Unavailable
from app.persistence.addresses import libpq_url, sqlalchemy_url
from app.persistence.migration import migrate

# The owner sees all tenants only where it says so; see the first migration.
_MAINTENANCE = "-c app.maintenance=on"


def backup(owner_url: str, target: Path, pg_dump: Path) -> None:
    """Write the whole database to a new file of mode 0600; whole or not at all."""
    if target.exists():
        raise Conflict(f"{target} exists already.", "Name a new file.")
    partial = target.with_name(f".{target.name}.partial")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        _run(owner_url, pg_dump, ["--format=custom", "--enable-row-security", f"--file={partial}"])
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)


def restore(owner_url: str, source: Path, pg_restore: Path) -> None:
    """Fill a database that has no tenants from a backup, and bring it to the newest revision."""
    _empty(owner_url)
    options = ["--exit-on-error", "--single-transaction", "--no-owner", "--schema=public", str(source)]
    try:
        _run(owner_url, pg_restore, options)
    finally:
        migrate(owner_url)


def _empty(owner_url: str) -> None:
    with psycopg.connect(libpq_url(owner_url), options=_MAINTENANCE) as connection:
        known = connection.execute("SELECT to_regclass('public.tenants') IS NOT NULL").fetchone()
        if known == (True,) and connection.execute("SELECT 1 FROM tenants LIMIT 1").fetchone():
            raise Conflict(
                "The database holds tenants already.", "Restore into a new database or home folder."
            )
    migrate(owner_url, "base")
    with psycopg.connect(libpq_url(owner_url)) as connection:
        connection.execute(sql.SQL("DROP TABLE IF EXISTS alembic_version"))


def _run(owner_url: str, program: Path, options: list[str]) -> None:
    url = sqlalchemy_url(owner_url)
    bare = libpq_url(url.set(password=None).render_as_string(hide_password=False))
    done = subprocess.run(  # noqa: S603 - our own program; the password is not among the arguments
        [program, f"--dbname={bare}", *options],
        env={"PGPASSWORD": url.password or "", "PGOPTIONS": _MAINTENANCE, "PATH": os.defpath},
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unavailable(f"{program.name} failed: {reason[0] if reason else done.returncode}")
