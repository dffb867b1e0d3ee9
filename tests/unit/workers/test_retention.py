"""The keeper of retention goes round all tenants, and on after whatever fails."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest

from app.domain.errors import Unavailable
from app.services.resources import Removed, Tenant, TenantId
from app.workers.retention import BATCH, RetentionKeeper

pytestmark = pytest.mark.anyio


class Registry:
    """Tenants with so many batches to remove; one of them cannot be reached."""

    def __init__(self, **batches: int) -> None:
        self.batches = batches
        self.asked: list[str] = []

    async def list_tenants(self):
        return [Tenant(TenantId(name), name, datetime(2026, 11, 20, tzinfo=UTC)) for name in self.batches]

    async def apply_retention(self, tenant: TenantId, most: int) -> Removed:
        assert most == BATCH
        self.asked.append(tenant)
        if tenant == "broken":
            raise Unavailable("The database does not answer at present.")
        self.batches[tenant] -= 1
        return Removed(0, 0, 1) if self.batches[tenant] >= 0 else Removed(0, 0, 0)


async def test_each_tenant_is_asked_until_nothing_is_left():
    registry = Registry(a=2, b=0)
    await RetentionKeeper(registry).go_round(asyncio.Event())
    assert registry.asked == ["a", "a", "a", "b"]


async def test_a_tenant_that_fails_keeps_no_other_waiting():
    registry = Registry(broken=1, b=1)
    with pytest.raises(Unavailable):
        await RetentionKeeper(registry).go_round(asyncio.Event())
    assert registry.asked == ["broken", "b", "b"]


async def test_a_worker_that_is_asked_to_end_does_so_between_two_batches():
    registry, stop = Registry(a=1000), asyncio.Event()
    apply = registry.apply_retention

    async def once(tenant, most):
        stop.set()
        return await apply(tenant, most)

    registry.apply_retention = once
    await RetentionKeeper(registry).serve(stop)
    assert registry.asked == ["a"]
