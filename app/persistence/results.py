"""Results by the hash of everything that went in."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import bindparam, select
from sqlalchemy.dialects import postgresql

from app.domain.errors import NotFound
from app.persistence.repository import Repository
from app.persistence.resources import new_id
from app.persistence.tables import results
from app.services.resources import JsonObject

KEEP: Final = (
    postgresql.insert(results)
    .values({column: bindparam(f"result_{column.name}") for column in results.c})
    .on_conflict_do_nothing()
)
"""Keeps a result of :meth:`PostgresResults.new`, unless there is one for its input already."""


class PostgresResults(Repository):
    """Implements the port ``Results``."""

    async def find(self, kind: str, input_sha256: str) -> JsonObject | None:
        """The stored result, if the same was computed before."""
        result_id = await self.id_of(kind, input_sha256)
        return None if result_id is None else await self.read(result_id)

    async def save(self, kind: str, input_sha256: str, document: JsonObject) -> None:
        """Keep a result; one that is there already stays."""
        await self.keep(kind, input_sha256, document)

    async def id_of(self, kind: str, input_sha256: str) -> str | None:
        """The id of the result for this input."""
        query = select(results.c.id).where(results.c.input_sha256 == input_sha256, results.c.kind == kind)
        found: str | None = (await self._transaction.execute(query)).scalar_one_or_none()
        return found

    async def hold(self, kind: str, input_sha256: str) -> str | None:
        """The id of the result for this input, which nobody removes until the transaction ends."""
        query = select(results.c.id).where(results.c.input_sha256 == input_sha256, results.c.kind == kind)
        held = query.with_for_update(read=True, key_share=True)
        found: str | None = (await self._transaction.execute(held)).scalar_one_or_none()
        return found

    async def read(self, result_id: str) -> JsonObject:
        """The document of a result."""
        query = select(results.c.document).where(results.c.id == result_id)
        sealed = (await self._transaction.execute(query)).scalar_one_or_none()
        if sealed is None:
            raise NotFound("result", result_id)
        return await self.opened(result_id, sealed)

    async def opened(self, result_id: str, sealed: bytes) -> JsonObject:
        """The document of a result that was read."""
        return await self._vault.unseal_json(sealed, "result", result_id)

    async def new(self, kind: str, input_sha256: str | None, document: JsonObject) -> dict[str, Any]:
        """The values with which :data:`KEEP` keeps a result, under a new id."""
        result_id = new_id()
        return {
            "result_tenant_id": self._transaction.tenant, "result_id": result_id, "result_kind": kind,
            "result_input_sha256": input_sha256, "result_created_at": self._clock(),
            "result_document": await self._vault.seal_json(document, "result", result_id),
        }  # fmt: skip

    async def keep(self, kind: str, input_sha256: str | None, document: JsonObject) -> str:
        """Save and answer the id of the result that is now stored for this input.

        Without an input nothing but the id leads to it.
        """
        values = await self.new(kind, input_sha256, document)
        result_id: str = values["result_id"]
        await self._transaction.execute(KEEP, values)
        if input_sha256 is None:
            return result_id
        stored = await self.id_of(kind, input_sha256)
        if stored is None:
            raise NotFound("result", result_id)
        return stored
