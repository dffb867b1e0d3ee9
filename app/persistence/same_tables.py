"""Which uploaded contents were read as which tables, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.dialects import postgresql

from app.persistence.repository import Repository
from app.persistence.tables import read_contents


class PostgresSameTables(Repository):
    """Implements the port ``SameTables``."""

    async def note(self, content_sha256: str, table_sha256: str) -> None:
        """Keep that a content was read as a table."""
        noted = postgresql.insert(read_contents).values(
            tenant_id=self._transaction.tenant, content_sha256=content_sha256, table_sha256=table_sha256
        )
        await self._transaction.execute(noted.on_conflict_do_nothing())

    async def noted(self) -> Sequence[tuple[str, str]]:
        """All contents with the tables that they were read as."""
        own = read_contents.c
        rows = await self._transaction.execute(select(own.content_sha256, own.table_sha256))
        return [(row.content_sha256, row.table_sha256) for row in rows]
