"""Results by the hash of everything that went in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from psycopg.errors import ForeignKeyViolation
from sqlalchemy import bindparam, select
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError

from app.domain.errors import NotFound
from app.persistence.repository import Repository
from app.persistence.resources import new_id
from app.persistence.tables import results
from app.persistence.transactions import DOCUMENTS_KEY
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

    async def save(self, kind: str, input_sha256: str, document: JsonObject, about: str) -> None:
        """Keep a result about a resource; one that is there already stays."""
        await self.keep(kind, input_sha256, document, about)

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
        query = select(results.c.document, results.c.sealed_by).where(results.c.id == result_id)
        row = (await self._transaction.execute(query)).one_or_none()
        if row is None:
            raise NotFound("result", result_id)
        return await self.opened(result_id, row.document, row.sealed_by)

    async def opened(self, result_id: str, sealed: bytes, sealed_by: str | None) -> JsonObject:
        """The document of a result that was read."""
        return await self._vault.unseal_json(sealed, "result", result_id, key_id=sealed_by)

    async def new(
        self, kind: str, input_sha256: str | None, document: JsonObject, about: Sequence[str]
    ) -> dict[str, Any]:
        """The values with which :data:`KEEP` keeps a result about these resources, under a new id."""
        result_id, key_id = new_id(), await self._vault.key_over(about)
        return {
            "result_tenant_id": self._transaction.tenant, "result_id": result_id, "result_kind": kind,
            "result_input_sha256": input_sha256, "result_created_at": self._clock(),
            "result_document": await self._vault.seal_json(document, "result", result_id, key_id=key_id),
            "result_sealed_by": None if key_id == DOCUMENTS_KEY else key_id,
        }  # fmt: skip

    async def keep(self, kind: str, input_sha256: str | None, document: JsonObject, about: str) -> str:
        """Save and answer the id of the result that is now stored for this input.

        Without an input nothing but the id leads to it.
        """
        values = await self.new(kind, input_sha256, document, [about])
        result_id: str = values["result_id"]
        await self.put(values)
        if input_sha256 is None:
            return result_id
        stored = await self.id_of(kind, input_sha256)
        if stored is None:
            raise NotFound("result", result_id)
        return stored

    async def put(self, values: dict[str, Any]) -> None:
        """Run :data:`KEEP`; NotFound if the key of the result has been destroyed meanwhile."""
        try:
            await self._transaction.execute(KEEP, values)
        except IntegrityError as error:
            if isinstance(error.orig, ForeignKeyViolation):
                raise NotFound("data key", values["result_sealed_by"]) from None
            raise
