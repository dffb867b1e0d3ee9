"""The tenant of a transaction, what holds for it and what it has, in PostgreSQL."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import ScalarSelect, Select, Table, func, select, update

from app.domain.errors import QuotaExceeded, RateLimited
from app.persistence.repository import Context, Repository
from app.persistence.tables import release_pieces, resources, runs, tenants, upload_pieces
from app.services.access.tenant_settings import DEFAULT, Changes, TenantOverview, TenantSettings, Usage
from app.services.resources import Kind, RunState, Tenant, TenantId

RETRY_SECONDS: Final = 10
"""When to try again where the end of a run makes room."""

_ACTIVE: Final = (RunState.QUEUED.value, RunState.RUNNING.value)


def _number_of(kind: Kind) -> Select[Any]:
    return select(func.count()).select_from(resources).where(resources.c.kind == kind.value)


def _bytes_in(pieces: Table) -> ScalarSelect[Any]:
    """The length of what is stored outside its row is known without reading it."""
    return select(func.coalesce(func.sum(func.octet_length(pieces.c.payload)), 0)).scalar_subquery()


_USED: Final[dict[str, Select[Any]]] = {
    "uploads": _number_of(Kind.UPLOAD),
    "datasets": _number_of(Kind.DATASET),
    "stored_bytes": select(_bytes_in(upload_pieces) + _bytes_in(release_pieces)),
    "active_runs": select(func.count()).select_from(runs).where(runs.c.state.in_(_ACTIVE)),
}
_NOUNS: Final = {
    "stored_bytes": "bytes of uploads and drawn releases",
    "active_runs": "runs queued or running",
}
_REMEDIES: Final = {
    "uploads": "Delete uploads that are not needed any more",
    "datasets": "Delete datasets that are not needed any more",
    "stored_bytes": "Delete uploads or releases that are not needed any more",
    "active_runs": "Wait for a run to end, or cancel one",
}


class PostgresOwnTenant(Repository):
    """Implements the port ``OwnTenant``; the defaults hold for what the tenant has no setting of its own."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._defaults = context.defaults

    async def overview(self) -> TenantOverview:
        """The tenant, its settings and what it has."""
        row = await self._row()
        used = {name: await self._used(name) for name in _USED}
        return TenantOverview(
            Tenant(TenantId(str(row.id)), row.name, row.created_at),
            self._defaults.changed(row.settings),
            frozenset(row.settings),
            Usage(**used),
        )

    async def settings(self) -> TenantSettings:
        """What holds for the tenant."""
        return self._defaults.changed((await self._row()).settings)

    async def change(self, changes: Changes) -> None:
        """Keep these settings, and forget those that go back to the defaults."""
        kept = (await self._row(lock=True)).settings | dict(changes)
        own = {name: value for name, value in kept.items() if value != DEFAULT}
        itself = tenants.c.id == self._transaction.tenant
        await self._transaction.execute(update(tenants).where(itself).values(settings=own))

    async def admit(self, quota: str, *, tells_needed: bool = True) -> None:
        """Raise QuotaExceeded or RateLimited if what was just written takes the tenant above a quota.

        It takes the turn that audit events take too: until the transaction ends nobody else of the tenant is
        admitted, so that two at once cannot both have the last place. Without ``tells_needed`` it is not told
        how much the tenant would have.
        """
        limit: int | None = getattr(await self.settings(), quota)
        if limit is None:
            return
        await self._transaction.take_turn()
        used = await self._used(quota)
        if used <= limit:
            return
        number = f"{used:,}" if tells_needed else "too many"
        message = (
            f"With this the tenant would have {number} {_NOUNS.get(quota, quota)}; its quota {quota} is "
            f"{limit:,}."
        )
        remedy = f"{_REMEDIES[quota]}, or have the operator raise the quota."
        told = {"name": quota, "limit": limit} | ({"needed": used} if tells_needed else {})
        if quota == "active_runs":
            raise RateLimited(message, RETRY_SECONDS, remedy, told)
        raise QuotaExceeded(message, remedy, told)

    async def _used(self, quota: str) -> int:
        return int((await self._transaction.execute(_USED[quota])).scalar_one())

    async def _row(self, *, lock: bool = False) -> Any:  # noqa: ANN401 - a row
        query = select(tenants).where(tenants.c.id == self._transaction.tenant)
        return (await self._transaction.execute(query.with_for_update() if lock else query)).one()
