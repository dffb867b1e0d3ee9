"""The tenant of a transaction and what holds for it, in PostgreSQL."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select, update

from app.persistence.tables import tenants
from app.persistence.transactions import TenantTransaction
from app.services.resources import Tenant, TenantId
from app.services.tenant_settings import DEFAULT, Changes, TenantSettings


class PostgresOwnTenant:
    """Implements the port ``OwnTenant``; ``defaults`` hold for what the tenant has no setting of its own."""

    def __init__(self, transaction: TenantTransaction, defaults: TenantSettings) -> None:
        self._transaction = transaction
        self._defaults = defaults
        self._own = tenants.c.id == transaction.tenant

    async def get(self) -> Tenant:
        """The tenant."""
        row = await self._row()
        return Tenant(TenantId(str(row.id)), row.name, row.created_at)

    async def settings(self) -> TenantSettings:
        """What holds for the tenant."""
        return self._defaults.changed((await self._row()).settings)

    async def change(self, changes: Changes) -> None:
        """Keep these settings, and forget those that go back to the defaults."""
        kept = (await self._row(lock=True)).settings | dict(changes)
        own = {name: value for name, value in kept.items() if value != DEFAULT}
        await self._transaction.execute(update(tenants).where(self._own).values(settings=own))

    async def _row(self, *, lock: bool = False) -> Any:  # noqa: ANN401 - a row
        query = select(tenants).where(self._own)
        return (await self._transaction.execute(query.with_for_update() if lock else query)).one()
