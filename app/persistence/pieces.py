"""The encrypted pieces of uploads, each upload under a key of its own."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql.dml import ReturningUpdate

from app.domain.errors import NotFound, Unavailable
from app.persistence.encryption import derived, new_data_key, place, seal, unseal
from app.persistence.full_disk import full_disk
from app.persistence.repository import Context, Repository
from app.persistence.resources import PostgresResources
from app.persistence.tables import data_keys, resources, upload_pieces
from app.persistence.tenant_settings import PostgresOwnTenant
from app.persistence.transactions import TenantTransaction, off_loop, tenant_transaction
from app.services.resources import Kind, NewResource, Stored


class PostgresPieces(Repository):
    """Implements the port ``Pieces``.

    An upload under way is a row of ``data_keys`` without a resource of that id; its pieces hang on the
    key, so that destroying the key removes them.
    """

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._resources = PostgresResources(context)

    async def stage(self, upload_id: str, number: int, rows: int, payload: bytes) -> None:
        """Write one piece in a transaction of its own."""
        full_disk.require_room()
        tenant = self._transaction.tenant
        async with self._own() as own:
            key = await self._staging_key(own, upload_id, number)
            where = place(tenant, "piece", upload_id, number)
            sealed = await off_loop(len(payload), lambda: seal(key, payload, where))
            digest = await off_loop(len(sealed), lambda: hashlib.sha256(sealed).hexdigest())
            await own.execute(
                insert(upload_pieces).values(
                    tenant_id=tenant, upload_id=upload_id, number=number, rows=rows, sha256=digest,
                    payload=sealed,
                )
            )  # fmt: skip
            await PostgresOwnTenant(replace(self._context, transaction=own)).admit("stored_bytes")
        full_disk.forget()

    async def keep(self, upload_id: str) -> None:
        """Show in a transaction of its own that the upload is under way."""
        async with self._own() as own:
            await own.execute(_touched(upload_id))

    async def publish(self, upload_id: str, new: NewResource) -> tuple[Stored, bool]:
        """Turn the staged pieces into an upload, in the unit of work's transaction."""
        staged = (
            select(data_keys.c.id)
            .where(data_keys.c.id == upload_id, data_keys.c.purpose == "upload")
            .with_for_update(key_share=True)
        )
        if (await self._transaction.execute(staged)).first() is None:
            raise _swept()
        stored, created = await self._resources.add_with_id(upload_id, new, key_id=upload_id)
        if stored.id != upload_id:
            await self._destroy(self._transaction, upload_id)
        return stored, created

    async def discard(self, upload_id: str) -> None:
        """Remove the staged pieces at once, in a transaction of its own; a published upload stays."""
        async with self._own() as own:
            await self._destroy(own, upload_id)

    async def read(self, upload_id: str) -> AsyncIterator[bytes]:
        """Decrypted pieces in order; NotFound if there is no published upload of this id."""
        published = select(resources.c.id).where(
            resources.c.id == upload_id, resources.c.kind == Kind.UPLOAD.value
        )
        if (await self._transaction.execute(published)).first() is None:
            raise NotFound(Kind.UPLOAD.value, upload_id)
        key = await self._vault.data_key(upload_id)
        number = -1
        while True:
            query = (
                select(upload_pieces.c.number, upload_pieces.c.payload)
                .where(upload_pieces.c.upload_id == upload_id, upload_pieces.c.number > number)
                .order_by(upload_pieces.c.number)
                .limit(1)
            )
            row = (await self._transaction.execute(query)).one_or_none()
            if row is None:
                return
            number, sealed = row.number, row.payload
            where = place(self._transaction.tenant, "piece", upload_id, number)
            yield await off_loop(len(sealed), lambda s=sealed, w=where: unseal(key, s, w))  # type: ignore[misc]

    async def secret(self, upload_id: str, purpose: str) -> bytes:
        """Derived from the upload's key, so that there is nothing to store; see the port."""
        key = await self._vault.data_key(upload_id)
        return derived(key, place(self._transaction.tenant, "secret", upload_id, purpose))

    @asynccontextmanager
    async def _own(self) -> AsyncIterator[TenantTransaction]:
        """A transaction beside the unit of work's, committed unless an error leaves it."""
        async with tenant_transaction(self._transaction.engine, self._transaction.tenant) as own:
            yield own
            await own.commit()

    async def _staging_key(self, own: TenantTransaction, upload_id: str, number: int) -> bytes:
        """The upload's key, made by its first piece and by no other; says that the upload is alive."""
        touched = _touched(upload_id)
        wrapped = (await own.execute(touched)).scalar_one_or_none()
        if wrapped is None and number > 0:
            raise _swept()
        if wrapped is None:
            wrapped = self._master_key.wrap(new_data_key(), own.tenant, upload_id)
            made = postgresql.insert(data_keys).values(
                tenant_id=own.tenant, id=upload_id, purpose="upload",
                wrapped_key=wrapped, master_key_id=self._master_key.id,
            ).on_conflict_do_nothing()  # fmt: skip
            await own.execute(made)
            wrapped = (await own.execute(touched)).scalar_one()
        return self._master_key.unwrap(wrapped, own.tenant, upload_id)

    async def _destroy(self, transaction: TenantTransaction, upload_id: str) -> None:
        published = select(resources.c.id).where(resources.c.id == upload_id)
        await transaction.execute(
            delete(data_keys).where(
                data_keys.c.id == upload_id, data_keys.c.purpose == "upload", ~published.exists()
            )
        )
        self._vault.forget(upload_id)


def _touched(upload_id: str) -> ReturningUpdate[tuple[bytes]]:
    """Note that the upload is alive; its wrapped key."""
    return (
        update(data_keys)
        .where(data_keys.c.id == upload_id)
        .values(touched_at=func.clock_timestamp())
        .returning(data_keys.c.wrapped_key)
    )


def _swept() -> Unavailable:
    """What an upload is told that gave no sign of life for so long that its pieces were removed."""
    return Unavailable("The upload was interrupted for too long; nothing of it is kept.", "Send it again.")
