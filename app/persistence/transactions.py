"""One tenant's transaction: opened at its first statement, and the vault of that tenant's keys."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import psycopg
from procrastinate.exceptions import ConnectorException
from psycopg.errors import DiskFull
from sqlalchemy import CursorResult, Executable, Select, bindparam, case, func, select, text, true
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from app.domain.errors import NotFound, Unavailable
from app.evidence.canonical import canonical_json
from app.persistence.encryption import KeyCache, MasterKey, place, seal, unseal
from app.persistence.full_disk import full_disk
from app.persistence.tables import data_keys, resources
from app.services.json_text import is_small, sliced_document
from app.services.resources import JsonObject, Kind, TenantId

T = TypeVar("T")

DOCUMENTS_KEY = "documents"
# Above this, work on bytes is handed to a thread, so that other requests go on meanwhile.
_THREAD_BYTES = 64 * 1024

_SET_TENANT: Final = text("SELECT set_config('app.tenant', :tenant, true)")
_TAKE_TURN: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:tenant, 1))")
_TAKE_TURN_AT_DRAWS: Final = text("SELECT pg_advisory_xact_lock(hashtextextended(:tenant, 2))")

_TENANT: Final = select(func.set_config("app.tenant", bindparam("tenant"), true()).label("id")).cte("tenant")


def alone(query: Select[Any]) -> Select[Any]:
    """The query as a statement that says itself whose rows it sees; for :meth:`TenantTransaction.read`.

    Its offset, which is 0, follows from the tenant, so that no row can be looked at before that is set.
    Whatever looked earlier would see none.
    """
    found = query.offset(func.length(_TENANT.c.id) * 0).lateral("found")
    return select(found).select_from(_TENANT.join(found, true()))


@asynccontextmanager
async def database_errors() -> AsyncIterator[None]:
    """Turn the loss of the database, or its full disk, into Unavailable.

    Its own message may name data and is dropped.
    """
    try:
        yield
    except (DBAPIError, PoolTimeout, ConnectorException) as error:
        # The queue puts what the driver raises below an error of its own.
        cause = error.orig if isinstance(error, DBAPIError) else error.__cause__
        if isinstance(cause, DiskFull):
            raise full_disk.meet() from error
        if not _is_lost(error, cause):
            raise
        raise Unavailable("The database does not answer at present.", "Try again shortly.") from error


def _is_lost(error: Exception, cause: BaseException | None) -> bool:
    """Whether the database has gone away, or does not answer."""
    if isinstance(error, ConnectorException):
        return isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError)
    if isinstance(error, OperationalError | InterfaceError | PoolTimeout):
        return True
    return isinstance(error, DBAPIError) and error.connection_invalidated


class TenantTransaction:
    """A transaction in which row-level security shows one tenant's rows."""

    def __init__(self, engine: AsyncEngine, tenant: TenantId) -> None:
        self.engine = engine
        self.tenant = tenant
        self._connection: AsyncConnection | None = None
        self._has_read = False

    async def connection(self) -> AsyncConnection:
        """The connection, taken from the pool when it is first needed."""
        if self._connection is None:
            self._connection = await self.engine.connect()
            await self._connection.execute(_SET_TENANT, {"tenant": self.tenant})
        return self._connection

    async def read(self, query: Select[Any], parameters: Mapping[str, Any]) -> Sequence[Any]:
        """The rows of a statement of :func:`alone`.

        The first one of a unit of work that has not begun its transaction needs none: it goes by itself.
        """
        values = {"tenant": self.tenant, **parameters}
        found: CursorResult[Any]
        if self._connection is not None or self._has_read:
            found = await (await self.connection()).execute(query, values)
            return found.all()
        self._has_read = True
        async with single_statements(self.engine) as connection:
            found = await connection.execute(query, values)
            return found.all()

    async def execute(
        self, statement: Executable, parameters: Mapping[str, Any] | None = None
    ) -> CursorResult[Any]:
        """Run one statement."""
        return await (await self.connection()).execute(statement, parameters)

    async def begin_with(self, statement: Executable, parameters: Mapping[str, Any]) -> CursorResult[Any]:
        """Run a statement that sets the tenant itself, as the first one or a later one."""
        if self._connection is None:
            self._connection = await self.engine.connect()
        return await self._connection.execute(statement, {"tenant": self.tenant, **parameters})

    async def take_turn(self) -> None:
        """Wait until no other writer of this tenant has the turn; kept until the transaction ends.

        It is the last that a transaction waits for: whoever has it waits for no row that others hold.
        """
        await self.execute(_TAKE_TURN, {"tenant": self.tenant})

    async def take_turn_at_draws(self) -> None:
        """Wait until nobody else of this tenant begins a draw, or deletes what is drawn of; kept as above.

        It is the first that a transaction waits for, before any row, so that none waits for it in a circle.
        """
        await self.execute(_TAKE_TURN_AT_DRAWS, {"tenant": self.tenant})

    async def commit(self) -> None:
        """Make everything durable and give the connection back; a later statement begins anew."""
        if self._connection is not None:
            await self._connection.commit()
            await self.close()

    async def close(self) -> None:
        """Give the connection back, rolling back what was not committed."""
        if self._connection is not None:
            connection, self._connection = self._connection, None
            await connection.close()


@asynccontextmanager
async def single_statements(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    """A connection on which every statement is a transaction of its own, begun and ended with it."""
    async with engine.connect() as connection:
        yield await connection.execution_options(isolation_level="AUTOCOMMIT")


@asynccontextmanager
async def tenant_transaction(engine: AsyncEngine, tenant: TenantId) -> AsyncIterator[TenantTransaction]:
    """A transaction that is rolled back unless committed."""
    async with database_errors():
        transaction = TenantTransaction(engine, tenant)
        try:
            yield transaction
        finally:
            await transaction.close()


class Vault:
    """Encrypts and decrypts what one tenant stores; key rows are read through its transaction."""

    def __init__(self, transaction: TenantTransaction, master_key: MasterKey, cache: KeyCache) -> None:
        self._transaction = transaction
        self._master_key = master_key
        self._cache = cache

    async def data_key(self, key_id: str) -> bytes:
        """The data key; NotFound if it was destroyed.

        Only committed keys are ever read here, for a key that is rolled back must not be cached.
        """
        tenant = self._transaction.tenant
        key = self._cache.get(tenant, key_id)
        if key is None:
            query = select(data_keys.c.wrapped_key).where(data_keys.c.id == key_id)
            wrapped = (await self._transaction.execute(query)).scalar_one_or_none()
            if wrapped is None:
                raise NotFound("data key", key_id)
            key = self._master_key.unwrap(wrapped, tenant, key_id)
            self._cache.put(tenant, key_id, key)
        return key

    async def key_over(self, used: Sequence[str]) -> str:
        """The id of the key for what is built on these resources: the first upload's among theirs.

        Where none of them rests on an upload it is the tenant's.
        """
        tenant, found = self._transaction.tenant, dict[str, str]()
        for resource_id in used:
            known = self._cache.sealed_by(tenant, resource_id)
            if known is not None:
                found[resource_id] = known
        unknown = [resource_id for resource_id in used if resource_id not in found]
        if unknown:
            # An upload of the time before documents were sealed so has a key for its pieces all the same.
            of_upload = case((resources.c.kind == Kind.UPLOAD.value, resources.c.id), else_=DOCUMENTS_KEY)
            query = select(resources.c.id, func.coalesce(resources.c.sealed_by, of_upload).label("key_id"))
            for row in await self._transaction.execute(query.where(resources.c.id.in_(unknown))):
                found[row.id] = row.key_id
                self._cache.note(tenant, row.id, row.key_id)
        keys = (found.get(resource_id, DOCUMENTS_KEY) for resource_id in used)
        return next((key_id for key_id in keys if key_id != DOCUMENTS_KEY), DOCUMENTS_KEY)

    def note(self, resource_id: str, key_id: str) -> None:
        """Hold which key a new resource is sealed under."""
        self._cache.note(self._transaction.tenant, resource_id, key_id)

    async def seal_bytes(
        self, payload: bytes, kind: str, owner: str, number: int = 0, *, key_id: str = DOCUMENTS_KEY
    ) -> bytes:
        """Encrypt for one place, under the tenant's key or this one."""
        key = await self.data_key(key_id)
        where = place(self._transaction.tenant, kind, owner, number)
        return await off_loop(len(payload), lambda: seal(key, payload, where))

    async def unseal_bytes(
        self, sealed: bytes, kind: str, owner: str, number: int = 0, *, key_id: str = DOCUMENTS_KEY
    ) -> bytes:
        """Decrypt what ``seal_bytes`` made for this place under this key."""
        key = await self.data_key(key_id)
        where = place(self._transaction.tenant, kind, owner, number)
        return await off_loop(len(sealed), lambda: unseal(key, sealed, where))

    async def seal_json(
        self, document: JsonObject, kind: str, owner: str, *, key_id: str = DOCUMENTS_KEY
    ) -> bytes:
        """Encrypt a document, serialised canonically and compressed."""

        def pack() -> bytes:
            return zlib.compress(canonical_json(document), 1)

        packed = pack() if is_small(document) else await asyncio.to_thread(pack)
        return await self.seal_bytes(packed, kind, owner, key_id=key_id)

    async def unseal_json(
        self, sealed: bytes, kind: str, owner: str, *, key_id: str | None = None
    ) -> JsonObject:
        """The document that ``seal_json`` encrypted for this place under this key; None: the tenant's."""
        packed = await self.unseal_bytes(sealed, kind, owner, key_id=key_id or DOCUMENTS_KEY)

        def unpack() -> JsonObject:
            document: JsonObject = sliced_document(zlib.decompress(packed).decode())
            return document

        return await off_loop(len(packed), unpack)

    def forget(self, key_id: str) -> None:
        """Drop a destroyed key from memory."""
        self._cache.drop(self._transaction.tenant, key_id)


async def off_loop(size: int, work: Callable[[], T]) -> T:
    """Do the work here if it is small, else in a thread."""
    if size < _THREAD_BYTES:
        return work()
    return await asyncio.to_thread(work)
