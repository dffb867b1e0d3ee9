"""Removes what is past its retention, tenant by tenant and a batch at a time."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog

from app.services.ports import Registry
from app.services.resources import TenantId

PASS_SECONDS: Final = 600.0

BATCH: Final = 50
"""Most of each kind removed at once: the tenant's other writers wait for the audit events of one batch."""

log = structlog.get_logger(__name__)


class RetentionKeeper:
    """Goes round all tenants every ten minutes; every worker may do so, they share the work."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def serve(self, stop: asyncio.Event) -> None:
        """Keep to the retention of all tenants until ``stop``; whatever fails is tried again next time."""
        stopped = asyncio.create_task(stop.wait())
        while not stop.is_set():
            try:
                await self.go_round(stop)
            except Exception as error:
                log.warning("retention_failed", error=type(error).__name__)
            await asyncio.wait({stopped}, timeout=PASS_SECONDS)

    async def go_round(self, stop: asyncio.Event) -> None:
        """Remove what is past its retention now; one tenant that fails keeps none of the others waiting."""
        failure: Exception | None = None
        for tenant in await self._registry.list_tenants():
            try:
                await self._keep(tenant.id, stop)
            except Exception as error:
                failure = error
        if failure is not None:
            raise failure

    async def _keep(self, tenant: TenantId, stop: asyncio.Event) -> None:
        while not stop.is_set():
            removed = await self._registry.apply_retention(tenant, BATCH)
            if not removed:
                return
            log.info("retention_ended", results=removed.results, runs=removed.runs, uploads=removed.uploads)
