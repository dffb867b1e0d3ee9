"""Bringing a database to a revision of ``migrations/``, and saying which one it is at."""

from __future__ import annotations

from importlib.resources import files

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, create_engine, text

from app.persistence.addresses import sqlalchemy_url

# Any constant will do: it keeps two processes from migrating one database at once.
_LOCK = 7_203_114_511


def alembic_config(connection: Connection | None = None) -> Config:
    """Alembic's configuration for the packaged migrations, working on the connection given."""
    config = Config()
    config.set_main_option("script_location", str(files("migrations")).replace("%", "%%"))
    config.attributes["connection"] = connection
    return config


def head_revision() -> str:
    """The newest revision that this code knows."""
    head = ScriptDirectory.from_config(alembic_config()).get_current_head()
    if head is None:
        raise RuntimeError("the package holds no migrations")
    return head


def migrate(owner_url: str, revision: str = "head") -> None:
    """Bring the database to the revision, up or down; the address must be the owner role's."""
    engine = create_engine(sqlalchemy_url(owner_url))
    try:
        with engine.connect() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            at = MigrationContext.configure(connection).get_current_revision()
            _move(alembic_config(connection), at, revision)
            connection.commit()
    finally:
        engine.dispose()


def _move(config: Config, at: str | None, revision: str) -> None:
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
