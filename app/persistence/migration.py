"""Bringing a database to a revision of ``migrations/``, and saying which one it is at."""

from __future__ import annotations

import time
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.pq import PGconn, Ping
from sqlalchemy import Connection, create_engine, text

from app.domain.errors import Unavailable
from app.persistence.addresses import libpq_url, sqlalchemy_url

if TYPE_CHECKING:
    from alembic.config import Config

# Any constant will do: it keeps two processes from migrating one database at once.
_LOCK = 7_203_114_511

_PING_SECONDS = 2  # the least that libpq takes


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's configuration for the packaged migrations, working on the connection given."""
    # Imported here and below: a database that is at the newest revision already needs none of it.
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


@cache
def head_revision() -> str:
    """The newest revision that this code knows: the name of a migration's file begins with its revision."""
    names = (file.name for file in (files("migrations") / "versions").iterdir())
    return max(name.partition("_")[0] for name in names if name[0].isdigit())


def await_server(url: str, seconds: float) -> None:
    """Wait until the server at the address takes connections, for so many seconds at most.

    What it says then of the role, the password or the database is for whoever connects next.
    """
    # What takes a connection and says nothing would be waited for without end.
    address = make_conninfo(libpq_url(url), connect_timeout=_PING_SECONDS).encode()
    deadline = time.monotonic() + seconds
    while PGconn.ping(address) in (Ping.REJECT, Ping.NO_RESPONSE):
        if time.monotonic() >= deadline:
            raise Unavailable(
                f"The database took no connection within {seconds:g} s.",
                "Look whether the server runs at the address in PRIVACY_RISK_OWNER_DATABASE_URL.",
            )
        time.sleep(0.2)


def migrate(owner_url: str, revision: str = "head") -> None:
    """Bring the database to the revision, up or down; the address must be the owner role's.

    Raises Unavailable for a database that cannot be reached, or cannot keep every text.
    """
    _refuse_other_encoding(owner_url)
    engine = create_engine(sqlalchemy_url(owner_url))
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            at = _current_revision(connection)
            if revision != "head" or at != head_revision():
                _move(alembic_config(connection), at, revision)
            connection.commit()
    finally:
        engine.dispose()


def _refuse_other_encoding(owner_url: str) -> None:
    try:
        with psycopg.connect(libpq_url(owner_url)) as connection:
            encoding = connection.info.parameter_status("server_encoding")
    except psycopg.OperationalError as error:  # which names address and role, and no password
        raise Unavailable(f"The database cannot be reached: {error}.", "Look into its address.") from error
    if encoding != "UTF8":
        raise Unavailable(
            f"The database keeps text as {encoding}, which cannot hold every name and value.",
            "Make it anew: CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
        )


def _current_revision(connection: Connection) -> str | None:
    """The revision that the database is at, None before the first migration."""
    if connection.execute(text("SELECT to_regclass('alembic_version')")).scalar() is None:
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _move(config: Config, at: str | None, revision: str) -> None:
    from alembic import command
    from alembic.script import ScriptDirectory

    if revision == "base":
        command.downgrade(config, "base")
        return
    script = ScriptDirectory.from_config(config)
    target = script.get_revision(revision)
    known = {step.revision for step in script.iterate_revisions(target.revision, "base")} if target else set()
    if at is None or at in known:
        command.upgrade(config, revision)
    else:
        command.downgrade(config, revision)
