"""What all use cases on named resources share: get, list and delete."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Final

from app.domain.errors import Conflict, NotFound
from app.domain.search.alternatives.questions import WAYS, Way
from app.domain.search.objectives import Alternatives
from app.services.gates.evidence_masking import shown_resource
from app.services.ports import Store, UnitOfWork
from app.services.resources import (
    ALWAYS,
    Actor,
    Created,
    JsonObject,
    Kind,
    NewResource,
    Page,
    Period,
    Run,
    Scope,
    Stored,
    check_name,
    document_of,
    require,
)

_PER_READ: Final = 200

_MADE_BY: Final = {Kind.RULE: Kind.OPTIMISATION, Kind.RELEASE: Kind.DRAW}
"""Kinds of what a run stores under the name of its question, and of that."""


class NamedResources:
    """Reading and deleting the resources of one kind; subclasses add how they are made."""

    kind: ClassVar[Kind]
    write_scope: ClassVar[Scope] = Scope.DATA_WRITE

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, actor: Actor, ref: str) -> Stored:
        """The resource with its document, by id or name; NotFound otherwise."""
        async with self._store.work(actor.tenant) as work:
            (shown,) = await self._shown(work, actor, [await work.resources.get(self.kind, ref)])
        return shown

    async def configured(self, actor: Actor, ref: str) -> tuple[Stored, JsonObject]:
        """The resource, and what was configured when it was made; Forbidden without data:read."""
        require(actor, Scope.DATA_READ)
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
        return stored, await asyncio.to_thread(self._definition_of, stored)

    def _definition_of(self, stored: Stored) -> JsonObject:
        """What was configured; a kind whose documents hold more says which part of them that is."""
        return document_of(stored)

    async def list(
        self,
        actor: Actor,
        *,
        name: str | None = None,
        created: Period = ALWAYS,
        limit: int = 50,
        cursor: str | None = None,
        revoked: bool | None = None,
    ) -> Page[Stored]:
        """Newest first, without documents; ``name`` filters by substring, ``revoked`` evaluations alone."""
        async with self._store.work(actor.tenant) as work:
            page = await work.resources.list(
                self.kind, name=name, limit=limit, cursor=cursor, created=created, revoked=revoked
            )
            return Page(await self._shown(work, actor, page.items), page.next_cursor)

    async def _shown(self, work: UnitOfWork, actor: Actor, found: Sequence[Stored]) -> tuple[Stored, ...]:
        """The resources as the actor may see them; a kind of which more is known than is stored adds it."""
        return tuple(shown_resource(actor, stored) for stored in found)

    def _admit(self, actor: Actor, name: str) -> None:
        """Raise unless the actor may make such a resource, and it may be named so."""
        require(actor, self.write_scope)
        check_name(name)

    async def _add(self, actor: Actor, new: NewResource) -> Created:
        """Store a new resource and its audit event in one transaction."""
        async with self._store.work(actor.tenant) as work:
            await refuse_promised(work, new.kind, new.name)
            stored, created = await add_resource(work, actor, new)
            await work.commit()
        return Created(shown_resource(actor, stored), created)

    async def delete(self, actor: Actor, ref: str) -> None:
        """Delete it; Conflict naming its users while it is in use."""
        require(actor, self.write_scope)
        async with self._store.work(actor.tenant) as work:
            found = await self.to_delete(work, ref)
            await self.keep_counted(work, found)
            await work.resources.delete(self.kind, found.id)
            await record_deletion(work, actor, found)
            await work.commit()

    async def to_delete(self, work: UnitOfWork, ref: str) -> Stored:
        """The resource, without its document, that a deletion by this id or name means."""
        return await work.resources.described(self.kind, ref)

    async def keep_counted(self, work: UnitOfWork, found: Stored) -> None:
        """Keep what must outlive a resource that is being deleted."""


async def record_deletion(work: UnitOfWork, actor: Actor, gone: Stored) -> None:
    """Write who deleted a resource into the audit trail."""
    await work.audit.record(actor.key_id, f"{gone.kind.value}.delete", gone.id, {"sha256": gone.sha256})


async def all_resources(
    work: UnitOfWork, kind: Kind, *, name: str | None = None, built_on: str | None = None
) -> Sequence[Stored]:
    """All resources of a kind without their documents, the newest first; filtered as lists are."""
    found: list[Stored] = []
    cursor = None
    while True:
        page = await work.resources.list(kind, name=name, limit=_PER_READ, cursor=cursor, built_on=built_on)
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


async def latest_run(work: UnitOfWork, stored: Stored) -> Run | None:
    """The resource's latest run; None if it has none."""
    runs, _ = await work.runs.list(resource_id=stored.id, state=None, limit=1, cursor=None)
    return runs[0] if runs else None


def ending_of(way: Way) -> str:
    """What the name of an alternative's rule has behind that of the optimisation."""
    return f"-{way.replace('_', '-')}"


async def refuse_promised(work: UnitOfWork, kind: Kind, name: str, own: Collection[str] = ()) -> None:
    """Refuse a name under which a run is to store what it finds, unless its question's hash is of ``own``."""
    if kind not in _MADE_BY:
        return
    endings = map(ending_of, WAYS) if kind is Kind.RULE else ()
    for asked in (name, *(name.removesuffix(ending) for ending in endings if name.endswith(ending))):
        try:
            question = await work.resources.described(_MADE_BY[kind], asked)
        except NotFound:
            continue
        if asked != name and question.summary["objective"]["kind"] != Alternatives.kind:
            continue
        run = None if question.sha256 in own else await latest_run(work, question)
        if run is not None and not run.state.is_final:
            raise Conflict(
                f"A run is at work that is to store a {kind.value} under the name {name!r}.",
                "Choose another name, or cancel that run first.",
                {"existing": {"kind": "run", "name": asked, "id": run.id}},
            )


async def add_resource(
    work: UnitOfWork,
    actor: Actor,
    new: NewResource,
    **details: Any,  # noqa: ANN401 - JSON
) -> tuple[Stored, bool]:
    """Store a resource; where it is new, with an audit event that says its hash and the details."""
    stored, created = await work.resources.add(new)
    if created:
        await work.audit.record(
            actor.key_id, f"{new.kind.value}.create", stored.id, {"sha256": stored.sha256, **details}
        )
    return stored, created
