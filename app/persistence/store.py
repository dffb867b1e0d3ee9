"""The unit of work and the store: what services get when they ask for the database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import AlreadyEnqueued
from sqlalchemy.ext.asyncio import AsyncEngine

from app.persistence.budgets import PostgresBudgets
from app.persistence.draws import PostgresDraws
from app.persistence.encryption import KeyCache, MasterKey
from app.persistence.evidence import PostgresEvidence, PostgresSigningKeys
from app.persistence.pieces import PostgresPieces
from app.persistence.questions import PostgresQuestions
from app.persistence.records import PostgresApiKeys, PostgresAudit, PostgresIdempotencyKeys
from app.persistence.repository import Context, Cursors
from app.persistence.resources import PostgresResources
from app.persistence.results import PostgresResults
from app.persistence.retention import PostgresRetention
from app.persistence.runs import PostgresRuns
from app.persistence.same_tables import PostgresSameTables
from app.persistence.tenant_settings import PostgresOwnTenant
from app.persistence.tombstones import PostgresTombstones
from app.persistence.transactions import TenantTransaction, Vault, tenant_transaction
from app.persistence.webhooks import PostgresWebhooks
from app.services.access.tenant_settings import USUAL, OwnTenant, TenantSettings
from app.services.answers import Questions
from app.services.gates.tombstones import Tombstones
from app.services.ports import (
    RUN_QUEUE,
    RUN_TASK,
    ApiKeys,
    Audit,
    Clock,
    Evidence,
    IdempotencyKeys,
    Pieces,
    Resources,
    Results,
    Runs,
    SigningKeys,
    UnitOfWork,
)
from app.services.releases.budgets import Budgets
from app.services.releases.draws import Draws
from app.services.releases.same_tables import SameTables
from app.services.resources import TenantId
from app.services.runs.webhook_values import Webhooks


class PostgresUnitOfWork:
    """Implements the port ``UnitOfWork``; the transaction begins with the first statement.

    ``claims`` are the runs, ``replies`` the idempotency keys, ``outbox`` the webhooks, with what only the
    registry does to them;
    ``defaults`` are the settings of tenants that have none of their own.
    """

    def __init__(
        self,
        transaction: TenantTransaction,
        master_key: MasterKey,
        keys: KeyCache,
        clock: Clock,
        defaults: TenantSettings,
    ) -> None:
        self._transaction = transaction
        vault = Vault(transaction, master_key, keys)
        context = Context(transaction, master_key, vault, Cursors(master_key), clock, defaults)
        self.resources: Resources = PostgresResources(context)
        self.pieces: Pieces = PostgresPieces(context)
        self.draws: Draws = PostgresDraws(context)
        self.budgets: Budgets = PostgresBudgets(context)
        self.table_hashes = PostgresSameTables(context)
        self.same_tables: SameTables = self.table_hashes
        self.results: Results = PostgresResults(context)
        self.questions: Questions = PostgresQuestions(context)
        self.claims = PostgresRuns(context)
        self.runs: Runs = self.claims
        self.signing_keys: SigningKeys = PostgresSigningKeys(context)
        self.evidence: Evidence = PostgresEvidence(context)
        self.tombstones: Tombstones = PostgresTombstones(context)
        self.replies = PostgresIdempotencyKeys(context)
        self.idempotency: IdempotencyKeys = self.replies
        self.api_keys: ApiKeys = PostgresApiKeys(context)
        self.audit: Audit = PostgresAudit(context)
        self.retention = PostgresRetention(context)
        self.tenant: OwnTenant = PostgresOwnTenant(context)
        self.outbox = PostgresWebhooks(context)
        self.webhooks: Webhooks = self.outbox

    async def enqueue(self, run_id: str) -> None:
        """Put the run on the queue in this transaction, unless a job waits for it already."""
        connection = await self._transaction.connection()
        driver = (await connection.get_raw_connection()).driver_connection
        queue = App(connector=PsycopgConnector())  # never opened: it works on our connection
        job = queue.configure_task(RUN_TASK, queue=RUN_QUEUE, queueing_lock=run_id, connection=driver)
        point = await connection.begin_nested()
        try:
            await job.defer_async(run_id=run_id)
        except AlreadyEnqueued:
            await point.rollback()
        else:
            await point.commit()

    async def commit(self) -> None:
        """Make everything durable."""
        await self._transaction.commit()


class PostgresStore:
    """Implements the port ``Store`` on an engine of the runtime role."""

    def __init__(
        self, engine: AsyncEngine, master_key: MasterKey, clock: Clock, defaults: TenantSettings = USUAL
    ) -> None:
        self._engine = engine
        self._master_key = master_key
        self._clock = clock
        self._defaults = defaults
        self._keys = KeyCache()

    def work(self, tenant: TenantId) -> AbstractAsyncContextManager[UnitOfWork]:
        """One transaction of one tenant."""
        return unit_of_work(self._engine, tenant, self._master_key, self._clock, self._defaults, self._keys)

    def forget(self, tenant: str, key_id: str) -> None:
        """Drop a data key from memory that somebody else has destroyed; nothing if it is not held."""
        self._keys.drop(tenant, key_id)

    def forget_all(self) -> None:
        """Drop all data keys from memory."""
        self._keys.clear()


@asynccontextmanager
async def unit_of_work(
    engine: AsyncEngine,
    tenant: TenantId,
    master_key: MasterKey,
    clock: Clock,
    defaults: TenantSettings,
    keys: KeyCache | None = None,
) -> AsyncIterator[PostgresUnitOfWork]:
    """A unit of work; without ``keys`` it reads each data key anew."""
    async with tenant_transaction(engine, tenant) as transaction:
        yield PostgresUnitOfWork(transaction, master_key, keys or KeyCache(), clock, defaults)
