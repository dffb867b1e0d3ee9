"""What this process has read before is believed until one statement says at the end whether it still holds.

A question names resources, and they are the same from one question to the next. A resource never changes
under its id; only what a name leads to can, or whether it leads anywhere. So a question is worked out from
what was read before, and whoever looks for its answer is told what was taken for granted: where that does not
hold any more, the question is worked out again from what is stored now. Nothing is answered in between.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from app.domain.errors import NotFound
from app.services.deletions import Erased
from app.services.json_text import is_small
from app.services.ports import Resources, Store, UnitOfWork
from app.services.resources import Kind, Stored, TenantId

MOST_KEPT: Final = 512
"""Resources that a process remembers, each of at most the size that :func:`is_small` allows."""


class Memory:
    """What references led to when they were last followed, by tenant; the longest unused is dropped first."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._held: OrderedDict[tuple[TenantId, Kind, str], Stored | None] = OrderedDict()

    def knows(self, tenant: TenantId, kind: Kind, ref: str) -> bool:
        """Whether it is known what the reference led to, be it nothing."""
        return (tenant, kind, ref) in self._held

    def recall(self, tenant: TenantId, kind: Kind, ref: str) -> Stored | None:
        """What the reference led to; None: nothing."""
        self._held.move_to_end((tenant, kind, ref))
        return self._held[tenant, kind, ref]

    def keep(self, tenant: TenantId, kind: Kind, ref: str, found: Stored | None) -> None:
        """Remember what a reference led to just now."""
        self._held.pop((tenant, kind, ref), None)
        if found is None or (is_small(found.document) and is_small(found.summary)):
            self._held[tenant, kind, ref] = found
            if len(self._held) > self._most:
                self._held.popitem(last=False)

    def forget(self, erased: Erased | None) -> None:
        """Drop what led to an erased resource; everything if that is None."""
        for key in [
            key
            for key, found in self._held.items()
            if erased is None or (found is not None and key[0] == erased.tenant and found.id == erased.id)
        ]:
            del self._held[key]


class Recollection:
    """A store whose resources are believed to be what they were; ``believed`` says which, by their ids.

    Without faith it believes nothing, reads everything, and remembers it.
    """

    def __init__(self, store: Store, memory: Memory, *, faith: bool) -> None:
        self._store = store
        self._memory = memory
        self._faith = faith
        self.believed: dict[tuple[Kind, str], str | None] = {}

    @asynccontextmanager
    async def work(self, tenant: TenantId) -> AsyncIterator[UnitOfWork]:
        """A transaction of one tenant that begins with what is not known."""
        async with self._store.work(tenant) as work:
            work.resources = _Recollected(work.resources, self, tenant)
            yield work

    async def get(self, tenant: TenantId, kind: Kind, ref: str, resources: Resources) -> Stored:
        """The resource, from memory if it is known; NotFound if there is or was none."""
        if self._faith and self._memory.knows(tenant, kind, ref):
            found = self._memory.recall(tenant, kind, ref)
            self.believed[kind, ref] = None if found is None else found.id
        else:
            found = await _found(resources, kind, ref)
            self._memory.keep(tenant, kind, ref, found)
        if found is None:
            raise NotFound(kind.value, ref)
        return found


async def _found(resources: Resources, kind: Kind, ref: str) -> Stored | None:
    try:
        return await resources.get(kind, ref)
    except NotFound:
        return None


class _Recollected:
    """The tenant's resources, of which single ones are believed."""

    def __init__(self, resources: Resources, recollection: Recollection, tenant: TenantId) -> None:
        self._resources = resources
        self._recollection = recollection
        self._tenant = tenant
        self.add = resources.add
        self.described = resources.described
        self.list = resources.list
        self.delete = resources.delete
        self.delete_all = resources.delete_all
        self.users_of = resources.users_of
        self.require_unused = resources.require_unused

    async def get(self, kind: Kind, ref: str) -> Stored:
        return await self._recollection.get(self._tenant, kind, ref, self._resources)
