"""What precedes a tenant: look-ups through the database's definer functions, claims, sessions of pages."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cache
from math import ceil
from typing import Any

from sqlalchemy import TextClause, text
from sqlalchemy.ext.asyncio import AsyncEngine

from app.persistence.encryption import MasterKey, new_data_key
from app.persistence.records import api_key
from app.persistence.store import PostgresUnitOfWork, unit_of_work
from app.persistence.transactions import DOCUMENTS_KEY, database_errors, single_statements
from app.services.access.rates import WINDOW_SECONDS, Rate
from app.services.access.tenant_settings import USUAL, TenantSettings
from app.services.ports import Clock
from app.services.resources import (
    Actor,
    ApiKey,
    Claim,
    JsonObject,
    Kind,
    LostRun,
    QueuedRuns,
    Removed,
    Tenant,
    TenantId,
)
from app.services.runs.webhook_values import DueDelivery, Shares


@cache
def _statement(call: str) -> TextClause:
    """One of the few calls below, made once."""
    return text(call)


class _Functions:
    """Calls the definer functions on an engine of the runtime role, each in a transaction of its own."""

    def __init__(self, engine: AsyncEngine, clock: Clock) -> None:
        self._engine = engine
        self._clock = clock

    async def _call(self, statement: str, parameters: Mapping[str, Any]) -> Sequence[Any]:
        async with database_errors(), single_statements(self._engine) as connection:
            return (await connection.execute(_statement(statement), parameters)).all()


class PostgresRegistry(_Functions):
    """Implements the port ``Registry`` on an engine of the runtime role."""

    def __init__(
        self, engine: AsyncEngine, master_key: MasterKey, clock: Clock, defaults: TenantSettings = USUAL
    ) -> None:
        super().__init__(engine, clock)
        self._master_key = master_key
        self._defaults = defaults

    async def find_api_key(self, prefix: str) -> tuple[ApiKey, bytes] | None:
        """The key of this prefix and the hash of its secret."""
        rows = await self._call("SELECT * FROM lookup_api_key(:prefix)", {"prefix": prefix})
        return (api_key(rows[0]), rows[0].secret_sha256) if rows else None

    async def touch_api_key(self, key_id: str) -> None:
        """Note that the key was used; written once a minute at most."""
        await self._call("SELECT lookup_touch_api_key(:key_id, :at)", {"key_id": key_id, "at": self._clock()})

    async def add_tenant(self, name: str) -> tuple[Tenant, bool]:
        """Make a tenant with its data key, or answer the one of this name and False."""
        tenant_id = str(uuid.uuid4())
        wrapped = self._master_key.wrap(new_data_key(), tenant_id, DOCUMENTS_KEY)
        (row,) = await self._call(
            "SELECT * FROM lookup_add_tenant(:id, :name, :at, :wrapped, :master)",
            {
                "id": uuid.UUID(tenant_id), "name": name, "at": self._clock(), "wrapped": wrapped,
                "master": self._master_key.id,
            },
        )  # fmt: skip
        return _tenant(row), row.created

    async def list_tenants(self) -> Sequence[Tenant]:
        """All tenants by name."""
        return [_tenant(row) for row in await self._call("SELECT * FROM lookup_tenants()", {})]

    async def claim(self, run_id: str, worker: str, silent_seconds: float) -> Claim | None:
        """Take a queued or lost run for one attempt; None if it is final, held or unknown."""
        async with self._work_on(run_id) as work:
            if work is None:
                return None
            claim = await work.claims.claim(run_id, worker, silent_seconds)
            await work.commit()
            return claim

    async def lost_runs(self, silent_seconds: float) -> Sequence[LostRun]:
        """Runs that are running in silence, or queued without a living job."""
        rows = await self._call("SELECT * FROM lookup_lost_runs(:silent)", {"silent": silent_seconds})
        return [LostRun(row.id, row.attempt) for row in rows]

    async def run_queue(self) -> Sequence[QueuedRuns]:
        """The runs that are queued or running, by kind; kinds without any are left out."""
        rows = await self._call("SELECT * FROM lookup_run_queue(:at)", {"at": self._clock()})
        return [
            QueuedRuns(
                Kind(row.kind), row.queued, row.running, max(0.0, row.oldest_seconds), row.estimated_seconds
            )
            for row in rows
        ]

    async def fail_lost(self, lost: LostRun, error: JsonObject) -> None:
        """End a run whose attempts are used up; nothing if it is final or in a newer attempt by now."""
        async with self._work_on(lost.run_id) as work:
            if work is not None:
                await work.claims.fail(lost, error)
                await work.commit()

    async def forsake(self, worker: str, silent_seconds: float) -> int:
        """Have the runs of a worker that is dead count as lost at once; how many it had."""
        ((runs,),) = await self._call(
            "SELECT lookup_forsake_runs(:worker, :silent)", {"worker": worker, "silent": silent_seconds}
        )
        return int(runs)

    async def due_deliveries(self, most: int, shares: Shares, hold_seconds: float) -> Sequence[DueDelivery]:
        """Messages of webhooks whose turn has come, held for so long."""
        rows = await self._call(
            "SELECT * FROM lookup_due_deliveries(:at, :most, :of_tenant, :of_webhook, :hold)",
            {
                "at": self._clock(), "most": most, "of_tenant": shares.of_tenant,
                "of_webhook": shares.of_webhook, "hold": hold_seconds,
            },
        )  # fmt: skip
        return [DueDelivery(TenantId(str(row.tenant_id)), row.id) for row in rows]

    async def discard_stale_uploads(self, silent_seconds: float) -> int:
        """Remove half-written uploads to which nothing was added for so long; how many there were."""
        stale = await self._call(
            "SELECT tenant_id, id FROM lookup_stale_uploads(:silent)", {"silent": silent_seconds}
        )
        for row in stale:
            async with self._work(TenantId(str(row.tenant_id))) as work:
                await work.pieces.discard(row.id)
        return len(stale)

    async def encrypt_webhook_addresses(self) -> int:
        """Encrypt the addresses of webhooks that were stored in clear before; how many there were."""
        encrypted = 0
        for row in await self._call("SELECT tenant_id FROM lookup_plain_webhooks()", {}):
            async with self._work(TenantId(str(row.tenant_id))) as work:
                encrypted += await work.outbox.encrypt_addresses()
                await work.commit()
        return encrypted

    async def put_table_hashes_under_keys(self) -> int:
        """Put the hashes of tables that were kept with no key before under one; how many there were."""
        changed = 0
        for row in await self._call("SELECT tenant_id FROM lookup_unkeyed_tables()", {}):
            async with self._work(TenantId(str(row.tenant_id))) as work:
                changed += await work.table_hashes.put_under_key()
                await work.commit()
        return changed

    async def apply_retention(self, tenant: TenantId, most: int) -> Removed:
        """Remove at most so many of each kind of what is past the tenant's retention; what there was."""
        async with self._work(tenant) as work:
            await work.replies.forget_old()
            settings = await work.tenant.settings()
            await work.commit()
        expired = removed = uploads = 0
        if settings.results_days is not None:
            async with self._work(tenant) as work:
                expired = await work.retention.expire_results(settings.results_days, most)
                await work.commit()
        if settings.runs_days is not None:
            async with self._work(tenant) as work:
                removed = await work.retention.remove_runs(settings.runs_days, most)
                await work.commit()
        if settings.unused_uploads_days is not None:
            uploads = await self._remove_unused_uploads(tenant, settings.unused_uploads_days, most)
        return Removed(expired, removed, uploads)

    async def _remove_unused_uploads(self, tenant: TenantId, days: int, most: int) -> int:
        """Each in a transaction of its own, for an upload may be large."""
        async with self._work(tenant) as work:
            unused = await work.retention.unused_uploads(days, most)
        removed = 0
        for upload_id in unused:
            async with self._work(tenant) as work:
                removed += await work.retention.remove_upload(upload_id, days)
                await work.commit()
        return removed

    @asynccontextmanager
    async def _work_on(self, run_id: str) -> AsyncIterator[PostgresUnitOfWork | None]:
        (row,) = await self._call("SELECT lookup_run_tenant(:run_id) AS tenant_id", {"run_id": run_id})
        if row.tenant_id is None:
            yield None
        else:
            async with self._work(TenantId(str(row.tenant_id))) as work:
                yield work

    @asynccontextmanager
    async def _work(self, tenant: TenantId) -> AsyncIterator[PostgresUnitOfWork]:
        async with unit_of_work(self._engine, tenant, self._master_key, self._clock, self._defaults) as work:
            yield work


class PostgresPageSessions(_Functions):
    """Implements the port ``LiveSessions``, by the hash of a session's id; every process sees the same."""

    async def begin(self, key_prefix: str, session_id: str, ends: datetime) -> None:
        """Note a session of the API key with this prefix; those that are over by now are forgotten."""
        await self._call(
            "SELECT lookup_begin_page_session(:prefix, :id, :at, :ends)",
            {"prefix": key_prefix, "id": _hashed(session_id), "at": self._clock(), "ends": ends},
        )

    async def begin_in_tenant(self, tenant: str, session_id: str, ends: datetime) -> None:
        """Note a session in this tenant of somebody without an API key."""
        await self._call(
            "SELECT lookup_begin_tenant_session(:tenant, :id, :at, :ends)",
            {"tenant": uuid.UUID(tenant), "id": _hashed(session_id), "at": self._clock(), "ends": ends},
        )

    async def is_live(self, session_id: str) -> bool:
        """Whether the session has begun and not ended."""
        ((found,),) = await self._call(
            "SELECT lookup_page_session(:id, :at)", {"id": _hashed(session_id), "at": self._clock()}
        )
        return bool(found)

    async def end(self, session_id: str) -> None:
        """End the session; a second time changes nothing."""
        await self._call("SELECT lookup_end_page_session(:id)", {"id": _hashed(session_id)})


class PostgresRequestRates(_Functions):
    """Implements the port ``RequestRates``, by one statement that writes no log, for all processes."""

    def __init__(self, engine: AsyncEngine, clock: Clock, limit: int) -> None:
        super().__init__(engine, clock)
        self._limit = limit

    async def count(self, actor: Actor) -> Rate:
        """Count one more request of the actor, by the database's clock."""
        (row,) = await self._call(
            "SELECT * FROM lookup_count_request(:tenant, :caller, :seconds)",
            {
                "tenant": uuid.UUID(actor.tenant), "caller": _hashed(actor.key_id),
                "seconds": WINDOW_SECONDS,
            },
        )  # fmt: skip
        return Rate(self._limit, row.sent, max(1, ceil(row.seconds_left)))


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _tenant(row: Any) -> Tenant:  # noqa: ANN401 - a row
    return Tenant(TenantId(str(row.id)), row.name, row.created_at)
