"""How what keeps a tenant's data in memory hears that some of these were deleted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from app.services.resources import TenantId


@dataclass(frozen=True)
class Erased:
    """A resource that was deleted, in whatever process."""

    tenant: TenantId
    id: str
    sha256: str
    """The hash of its content."""


Forget = Callable[[Erased | None], None]
"""Drops from memory what was erased; everything if that is None, for something may have been missed."""


class Deletions(Protocol):
    """Tells who keeps a tenant's data in memory that some of these were deleted."""

    async def follow(self, forget: Callable[[TenantId | None], Awaitable[None]]) -> None:
        """Call ``forget`` with each tenant of which data are deleted, until cancelled.

        With None where that may have gone unnoticed: any tenant's may have been deleted.
        """
