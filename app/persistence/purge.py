"""Leaving nothing of deleted rows in the files of the database: neither keys nor what was stored in clear.

PostgreSQL keeps the bytes of a deleted row in its page until something else is written there, and in its
write-ahead log until that is removed.
"""

from __future__ import annotations

from typing import Final

import psycopg
from psycopg import sql
from psycopg.errors import LockNotAvailable

from app.domain.errors import Unavailable
from app.persistence.addresses import libpq_url
from app.persistence.records import REPLIES_KEPT
from app.persistence.tables import metadata, release_pieces, upload_pieces

_SEALED_ONLY: Final = (upload_pieces, release_pieces)
"""Large, and nothing in clear: what was deleted there is under a key that is gone."""

_FORGET_REPLIES: Final = """
    DELETE FROM public.idempotency_keys WHERE reply IS NOT NULL AND created_at <= now() - %s
"""

LOCK_MILLISECONDS = 30_000
"""Whoever waits longer for a table holds up all requests that need it and come after."""


def rewrite_tables(owner_url: str) -> None:
    """Write all other tables anew, one after the other; each is closed to everybody meanwhile.

    Replies that are kept no longer go first: their key is the tenant's, and no worker may have run since.
    What a transaction that began before the deletion may still see is written, too. Unavailable if a table
    stays in use.
    """
    options = f"-c lock_timeout={LOCK_MILLISECONDS} -c app.maintenance=on"
    with psycopg.connect(libpq_url(owner_url), autocommit=True, options=options) as connection:
        connection.execute(_FORGET_REPLIES, [REPLIES_KEPT])
        for table in metadata.sorted_tables:
            if table in _SEALED_ONLY:
                continue
            statement = sql.SQL("VACUUM (FULL, ANALYZE) {}").format(sql.Identifier("public", table.name))
            try:
                connection.execute(statement)
            except LockNotAvailable as error:
                raise Unavailable(
                    f"The table {table.name} stayed in use: from there on nothing was written anew.",
                    "Run purge again when fewer requests come, or end what holds it (pg_stat_activity).",
                ) from error


def drop_log(admin_url: str) -> None:
    """Remove the write-ahead log so far, and statistics that are out of date; as a superuser.

    The files of the log are removed and not used again where ``wal_recycle`` is off.
    """
    with psycopg.connect(libpq_url(admin_url), autocommit=True) as connection:
        for statement in LOG_STATEMENTS:
            connection.execute(statement)


LOG_STATEMENTS: Final = ("VACUUM (FULL) pg_catalog.pg_statistic", "SELECT pg_switch_wal()", "CHECKPOINT")
"""What :func:`drop_log` does."""
