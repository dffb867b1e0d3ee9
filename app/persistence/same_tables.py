"""Which uploaded contents were read as which tables, in PostgreSQL.

The hash of a table is kept as its HMAC under a key that is derived from the tenant's documents key: that one
outlives every upload and is wrapped anew with the master key, and without it nobody can try guesses.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Collection, Sequence
from typing import Final

from sqlalchemy import func, select, update
from sqlalchemy.dialects import postgresql

from app.persistence.encryption import derived
from app.persistence.repository import Repository
from app.persistence.tables import read_contents
from app.persistence.transactions import DOCUMENTS_KEY

_PURPOSE: Final = b"hashes of tables"
_BYTES: Final = 32


class PostgresSameTables(Repository):
    """Implements the port ``SameTables``."""

    async def note(
        self, content_sha256: str, table_hashes: Collection[str], nameless: str | None = None
    ) -> None:
        """Keep that a content was read as a table with these hashes, the one without names among them."""
        key = await self._key()
        rows = [
            {
                "tenant_id": self._transaction.tenant,
                "content_sha256": content_sha256,
                "table_sha256": _keyed(key, own),
                "is_keyed": True,
                "is_nameless": own == nameless,
            }
            for own in table_hashes
        ]
        await self._transaction.execute(
            postgresql.insert(read_contents).values(rows).on_conflict_do_nothing()
        )

    async def are_nameless(self) -> bool:
        """Whether of each content a hash without names was noted."""
        own = read_contents.c
        of_each = select(own.content_sha256).group_by(own.content_sha256)
        without = of_each.having(~func.bool_or(own.is_nameless)).limit(1)
        return (await self._transaction.execute(without)).first() is None

    async def noted(self) -> Sequence[tuple[str, str]]:
        """All contents with the tables that they were read as."""
        own = read_contents.c
        rows = await self._transaction.execute(select(own.content_sha256, own.table_sha256))
        return [(row.content_sha256, row.table_sha256) for row in rows]

    async def put_under_key(self) -> int:
        """Put the hashes of the time before under the tenant's key; how many there were."""
        own, key = read_contents.c, await self._key()
        plain = select(own.content_sha256, own.table_sha256).where(~own.is_keyed).with_for_update()
        rows = (await self._transaction.execute(plain)).all()
        known = set(await self.noted())
        for row in rows:
            keyed = _keyed(key, row.table_sha256)
            if (row.content_sha256, keyed) in known:
                # Noted anew already. No row can be removed: this one becomes the hash of no table.
                keyed = secrets.token_hex(_BYTES)
            await self._transaction.execute(
                update(read_contents)
                .where(own.content_sha256 == row.content_sha256, own.table_sha256 == row.table_sha256)
                .values(table_sha256=keyed, is_keyed=True)
            )
        return len(rows)

    async def _key(self) -> bytes:
        return derived(await self._vault.data_key(DOCUMENTS_KEY), _PURPOSE)


def _keyed(key: bytes, table_sha256: str) -> str:
    return hmac.digest(key, table_sha256.encode(), hashlib.sha256).hex()
