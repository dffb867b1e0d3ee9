"""Use cases on the audit trail: who did what, and whether the record of it is whole."""

from __future__ import annotations

from app.services.access.access import require
from app.services.ports import Store
from app.services.resources import Actor, AuditEvent, AuditVerification, Page, Period, Scope


class AuditTrailService:
    """The tenant's audit events; reading them needs the scope admin."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(
        self,
        actor: Actor,
        *,
        action: str | None,
        subject: str | None,
        created: Period,
        limit: int,
        cursor: str | None,
    ) -> Page[AuditEvent]:
        """One page; ``action`` filters by its beginning, ``subject`` by the id of what was acted on."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            return Page(
                *await work.audit.list(
                    action=action, subject=subject, limit=limit, cursor=cursor, created=created
                )
            )

    async def verify(self, actor: Actor) -> AuditVerification:
        """Recompute the chain of hashes from its first event on."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            return await work.audit.verify()
