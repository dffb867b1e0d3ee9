"""What all use cases on named resources share: get, list and delete."""

from __future__ import annotations

from typing import ClassVar

from app.services.access import require
from app.services.evidence_masking import shown_resource
from app.services.ports import Store
from app.services.resources import ALWAYS, Actor, Created, Kind, NewResource, Page, Period, Scope, Stored


class NamedResources:
    """Reading and deleting the resources of one kind; subclasses add how they are made."""

    kind: ClassVar[Kind]
    write_scope: ClassVar[Scope] = Scope.DATA_WRITE

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, actor: Actor, ref: str) -> Stored:
        """The resource with its document, by id or name; NotFound otherwise."""
        async with self._store.work(actor.tenant) as work:
            return shown_resource(actor, await work.resources.get(self.kind, ref))

    async def list(
        self,
        actor: Actor,
        *,
        name: str | None = None,
        created: Period = ALWAYS,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """Newest first, without documents; ``name`` filters by substring."""
        async with self._store.work(actor.tenant) as work:
            page = await work.resources.list(
                self.kind, name=name, limit=limit, cursor=cursor, created=created
            )
        return Page(tuple(shown_resource(actor, stored) for stored in page.items), page.next_cursor)

    async def _add(self, actor: Actor, new: NewResource) -> Created:
        """Store a new resource and its audit event in one transaction."""
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.resources.add(new)
            if created:
                await work.audit.record(
                    actor.key_id, f"{self.kind.value}.create", stored.id, {"sha256": stored.sha256}
                )
            await work.commit()
        return Created(shown_resource(actor, stored), created)

    async def delete(self, actor: Actor, ref: str) -> None:
        """Delete it; Conflict naming its users while it is in use."""
        require(actor, self.write_scope)
        async with self._store.work(actor.tenant) as work:
            found = await work.resources.described(self.kind, ref)
            await work.resources.delete(self.kind, found.id)
            await work.audit.record(
                actor.key_id, f"{self.kind.value}.delete", found.id, {"sha256": found.sha256}
            )
            await work.commit()
