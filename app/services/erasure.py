"""Deletes a resource together with all that is built on it, as one customer's erasure asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from app.services.named import NamedResources, record_deletion
from app.services.ports import Store, UnitOfWork
from app.services.resources import Actor, Kind, Stored, require

Kinds: TypeAlias = Mapping[Kind, NamedResources]
"""The use cases by kind. A kind that has none belongs to what it is built on, as steps of disclosures do."""


class Erasure:
    """Deletes with dependents. Whatever outlives single deletions does so here, as signed evidence does."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def plan(
        self, actor: Actor, kinds: Kinds, kind: Kind, ref: str, *, with_dependents: bool
    ) -> Sequence[Stored]:
        """What would be deleted, in this order; Conflict if the resource alone is to be and is in use."""
        async with self._store.work(actor.tenant) as work:
            found = await _found(work, actor, kinds, kind, ref)
            for own in found if with_dependents else found[-1:]:
                await work.resources.require_unused(own, but_for=found if with_dependents else ())
        return [own for own in found if own.kind in kinds] if with_dependents else found[-1:]

    async def delete(self, actor: Actor, kinds: Kinds, kind: Kind, ref: str) -> None:
        """Delete all of it in one transaction; Conflict naming a run that is at work, or a new dependent."""
        async with self._store.work(actor.tenant) as work:
            found = await _found(work, actor, kinds, kind, ref)
            named = [own for own in found if own.kind in kinds]
            for own in named:
                await kinds[own.kind].keep_counted(work, own)
            await work.resources.delete_all(found)
            for own in named:
                await record_deletion(work, actor, own)
            await work.commit()


async def _found(work: UnitOfWork, actor: Actor, kinds: Kinds, kind: Kind, ref: str) -> Sequence[Stored]:
    """The resource behind all that is built on it; Forbidden without the scopes that each of these needs."""
    require(actor, kinds[kind].write_scope)
    meant = await kinds[kind].to_delete(work, ref)
    found = [*await work.resources.users_of(meant.id), meant]
    for own in found:
        if own.kind in kinds:
            require(actor, kinds[own.kind].write_scope)
    return found
