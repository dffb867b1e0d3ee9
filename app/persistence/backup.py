"""Backup and restore with PostgreSQL's own programs, by the owner role, of any server.

The file holds names and summaries in clear and everything else encrypted as in the database; the master
key is not in it. It is read with the key that it was written with, so it is restored with no other.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import psycopg
from psycopg import sql

from app.domain.errors import Conflict, Unavailable
from app.persistence.addresses import libpq_url, sqlalchemy_url
from app.persistence.encryption import MasterKey
from app.persistence.key_rotation import WRAPPED
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
        _run(pg_dump, ["--format=custom", "--enable-row-security", f"--file={partial}"], owner_url)
        partial.rename(target)
    finally:
        partial.unlink(missing_ok=True)


def restore(owner_url: str, source: Path, pg_restore: Path, master_key: MasterKey) -> None:
    """Fill a database that has no tenants from a backup, and bring it to the newest revision.

    Conflict, before anything is changed, if the backup was written with another master key.
    """
    others = sorted(_master_keys_of(source, pg_restore) - {master_key.id})
    if others:
        raise Conflict(
            f"The backup was written with the master key {', '.join(others)}, not with this one "
            f"({master_key.id}): nothing was restored, for it could not be read.",
            "Give the master key that the backup was written with. To have another one, restore first, then "
            "run rotate-keys.",
        )
    _empty(owner_url)
    options = ["--exit-on-error", "--single-transaction", "--no-owner", "--schema=public", str(source)]
    try:
        _run(pg_restore, options, owner_url)
    finally:
        migrate(owner_url)
    # A backup holds no statistics, and PostgreSQL gathers them only after a while.
    with psycopg.connect(libpq_url(owner_url), autocommit=True, options=_MAINTENANCE) as connection:
        connection.execute("ANALYZE")


def _master_keys_of(source: Path, pg_restore: Path) -> set[str]:
    """The ids of the master keys that the keys in a backup are wrapped by, read from the file alone."""
    tables = [f"--table={table.name}" for table in WRAPPED.values()]
    text = _run(pg_restore, ["--data-only", "--schema=public", *tables, "--file=-", str(source)])
    found: set[str] = set()
    column: int | None = None
    for line in text.split("\n"):  # of the statement COPY: its columns, a line for each row, an end
        if line.startswith("COPY "):
            column = line[line.index("(") + 1 : line.rindex(")")].split(", ").index("master_key_id")
        elif line == "\\.":
            column = None
        elif column is not None:
            found.add(line.split("\t")[column])
    return found


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


def _run(program: Path, options: list[str], owner_url: str | None = None) -> str:
    """What the program writes to its standard output; on this database, if it needs one."""
    environment = {"PATH": os.defpath}
    if owner_url is not None:
        url = sqlalchemy_url(owner_url)
        bare = libpq_url(url.set(password=None).render_as_string(hide_password=False))
        options = [f"--dbname={bare}", *options]
        environment |= {"PGPASSWORD": url.password or "", "PGOPTIONS": _MAINTENANCE}
    done = subprocess.run(  # noqa: S603 - our own program; the password is not among the arguments
        [program, *options],
        env=environment,
        capture_output=True,
        check=False,
    )
    if done.returncode != 0:
        reason = done.stderr.decode(errors="replace").strip().splitlines()
        raise Unavailable(f"{program.name} failed: {reason[0] if reason else done.returncode}")
    return done.stdout.decode()
