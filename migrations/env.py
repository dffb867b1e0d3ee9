"""Alembic's environment: one transaction for all steps, on the connection given or the owner's address."""

import os

from alembic import context
from sqlalchemy import Connection, create_engine

from app.persistence.addresses import sqlalchemy_url
from app.persistence.tables import metadata


def _is_ours(name: str | None, kind: str, parents: object) -> bool:
    """Whether autogenerate may compare it; the queue's tables are pinned by their own SQL file."""
    return kind != "table" or not (name or "").startswith("procrastinate_")


def _run(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=metadata,
        include_name=_is_ours,
        compare_server_default=True,
        transaction_per_migration=False,
    )
    with context.begin_transaction():
        context.run_migrations()


given = context.config.attributes.get("connection")
if given is not None:
    _run(given)
else:
    engine = create_engine(sqlalchemy_url(os.environ["PRIVACY_RISK_OWNER_DATABASE_URL"]))
    with engine.connect() as opened:
        _run(opened)
        opened.commit()
    engine.dispose()
