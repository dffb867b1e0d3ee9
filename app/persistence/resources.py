"""The tenant's named resources in PostgreSQL."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from psycopg.errors import ForeignKeyViolation, RestrictViolation
from sqlalchemy import (
    ColumnElement,
    Select,
    bindparam,
    case,
    delete,
    func,
    or_,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError

from app.domain.errors import Conflict, NotFound
from app.persistence.repository import Context, Repository, contains
from app.persistence.tables import data_keys, draws, resource_uses, resources, results, revocations, runs
from app.persistence.tenant_settings import PostgresOwnTenant
from app.persistence.transactions import DOCUMENTS_KEY, alone
from app.services.resources import ALWAYS, Kind, NewResource, Page, Period, RunState, Stored

DELETIONS_CHANNEL: Final = "deletions"
"""Says what was deleted that other processes may hold: its tenant, its id and the hash of its content."""

_HELD: Final = frozenset(Kind) - {
    Kind.ASSESSMENT, Kind.MEASUREMENT, Kind.EVALUATION, Kind.OPTIMISATION, Kind.FRONTIER, Kind.DRAW,
    Kind.VIEW_CHECK, Kind.MECHANISM_AUDIT,
}  # fmt: skip
"""Kinds of what questions name, which processes keep in memory beyond one request or run."""

_DRAWN_OF: Final = frozenset({Kind.DATASET, Kind.RULE})
"""Kinds that a release is drawn of, and that take along what was asked of them and not drawn."""

_KEYED: Final = frozenset({Kind.UPLOAD, Kind.RELEASE})
"""Kinds whose data are encrypted under a key of their own."""

_LIVE = (RunState.QUEUED.value, RunState.RUNNING.value)
_USERS_SHOWN = 100
_COUNTED = {Kind.UPLOAD: "uploads", Kind.DATASET: "datasets"}


def new_id() -> str:
    """A random public id: it says nothing and cannot be guessed."""
    return secrets.token_hex(16)


_USES: Final = (
    select(func.array_agg(postgresql.aggregate_order_by(resource_uses.c.used_id, resource_uses.c.position)))
    .where(resource_uses.c.tenant_id == resources.c.tenant_id, resource_uses.c.user_id == resources.c.id)
    .scalar_subquery()
)

COLUMNS: Final[tuple[ColumnElement[Any], ...]] = (
    resources.c.id, resources.c.serial, resources.c.kind, resources.c.name, resources.c.sha256,
    resources.c.created_at, resources.c.sealed_by, resources.c.summary, _USES.label("uses"),
)  # fmt: skip
"""What :func:`stored_row` reads of a resource."""


class PostgresResources(Repository):
    """Implements the port ``Resources``."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._owner = PostgresOwnTenant(context)

    async def add(self, new: NewResource) -> tuple[Stored, bool]:
        """Store it, or find the equal one under its name; see the port."""
        return await self.add_with_id(new_id(), new)

    async def add_with_id(
        self, resource_id: str, new: NewResource, *, key_id: str | None = None
    ) -> tuple[Stored, bool]:
        """Store it under a given id, encrypted under this key, or else that of what it is built on.

        A name that another transaction is just taking makes the insert wait for that one; its outcome
        is then read. The loop runs again only if what was in the way has been deleted meanwhile.
        """
        key_id = key_id or await self._vault.key_over(new.uses)
        if new.packed is None:
            document = await self._vault.seal_json(new.document, new.kind.value, resource_id, key_id=key_id)
        else:
            document = await self._vault.seal_bytes(new.packed, new.kind.value, resource_id, key_id=key_id)
        for _ in range(3):
            created_at = self._clock()
            if await self._insert(resource_id, new, document, key_id, created_at):
                self._vault.note(resource_id, key_id)
                if new.kind in _COUNTED:
                    await self._owner.admit(_COUNTED[new.kind])
                return (
                    Stored(
                        resource_id, new.kind, new.name, new.sha256, created_at, new.summary,
                        new.document if new.packed is None else None, new.uses,
                    ),
                    True,
                )  # fmt: skip
            existing = await self._find(new.kind, new.name)
            if existing is not None:
                return await self._same_or_conflict(existing, new), False
        raise Conflict("The resource is being changed by others at this moment.", "Try again.")

    async def get(self, kind: Kind, ref: str) -> Stored:
        """The resource with its document; an id goes before an equal name."""
        return await self._opened(await self._row(kind, ref))

    async def described(self, kind: Kind, ref: str) -> Stored:
        """The same without its document."""
        return stored_row(await self._row(kind, ref))

    async def list(
        self,
        kind: Kind,
        *,
        name: str | None,
        limit: int,
        cursor: str | None,
        built_on: str | None = None,
        created: Period = ALWAYS,
        revoked: bool | None = None,
    ) -> Page[Stored]:
        """One page, newest first; see the port."""
        query = select(*COLUMNS).where(resources.c.kind == kind.value)
        if built_on:
            users = select(resource_uses.c.user_id).where(resource_uses.c.used_id == built_on)
            query = query.where(resources.c.id.in_(users))
        if name:
            query = query.where(contains(resources.c.name, name))
        if revoked is not None:
            is_revoked = resources.c.id.in_(select(revocations.c.id))
            query = query.where(is_revoked if revoked else ~is_revoked)
        told = () if revoked is None else (str(revoked),)
        listing = ("resources", kind.value, name or "", built_on or "", *told)
        table = resources.c
        rows, following = await self._page(
            query, table.serial, table.created_at, created, limit, cursor, *listing
        )
        return Page(tuple(stored_row(row) for row in rows), following)

    async def delete(self, kind: Kind, ref: str) -> None:
        """Delete it with its pieces, their key, its runs and the results that only it leads to."""
        await self.delete_all([await self.described(kind, ref)])

    async def delete_all(self, found: Sequence[Stored]) -> None:
        """Delete these with what each owns, those that use others before these; see the port."""
        if any(own.kind in _DRAWN_OF for own in found):
            await self._transaction.take_turn_at_draws()
        leads = [await self._remove(own) for own in found]
        # Who is given a result has the turn already: it must not wait for one that waits for the turn.
        await self._transaction.take_turn()
        for own, led_to in zip(found, leads, strict=True):
            await self._remove_what_it_led_to(own, *led_to)

    async def users_of(self, used_id: str) -> Sequence[Stored]:
        """All that is built on it, the newest first: whatever uses another is newer; see the port."""
        uses, further = resource_uses.alias(), resource_uses.alias()
        users = select(uses.c.user_id).where(uses.c.used_id == used_id).cte("users", recursive=True)
        users = users.union(select(further.c.user_id).join(users, further.c.used_id == users.c.user_id))
        query = (
            select(*COLUMNS)
            .where(resources.c.id.in_(select(users.c.user_id)), resources.c.kind != Kind.DRAW.value)
            .order_by(resources.c.serial.desc())
        )
        return [stored_row(row) for row in await self._transaction.execute(query)]

    async def _remove(self, own: Stored) -> tuple[set[str], Sequence[str]]:
        """Delete its row; answers the inputs of its results, and the results that only its runs led to."""
        await self.require_unused(own)
        query = select(runs.c.input_sha256).where(runs.c.resource_id == own.id)
        inputs = {own.sha256, *(await self._transaction.execute(query)).scalars()}
        by_runs = await self._results_alone(own)
        connection = await self._transaction.connection()
        try:
            async with connection.begin_nested():
                # The uploads it is built on are used no longer: their retention begins now.
                used = select(resource_uses.c.used_id).where(resource_uses.c.user_id == own.id)
                await self._transaction.execute(
                    update(data_keys)
                    .where(data_keys.c.id.in_(used), data_keys.c.purpose == "upload")
                    .values(touched_at=func.clock_timestamp())
                )
                # Nobody can delete the questions about it otherwise that a run was to draw a release for;
                # what was drawn for them is a release of its own, and stays counted.
                await self._transaction.execute(
                    delete(resources).where(resources.c.id.in_(_asked_draws(own.id)))
                )
                if own.kind is Kind.DATASET:
                    await self._give_up_draws(own)
                gone = await self._transaction.execute(delete(resources).where(resources.c.id == own.id))
        except IntegrityError as error:
            # A user that was added meanwhile; PostgreSQL 18 has a name of its own for it.
            if not isinstance(error.orig, ForeignKeyViolation | RestrictViolation):
                raise
            await self.require_unused(own)
            raise
        if gone.rowcount == 0:  # somebody else has just deleted it
            raise NotFound(own.kind.value, own.name)
        return inputs, by_runs

    async def _remove_what_it_led_to(self, own: Stored, inputs: set[str], by_runs: Sequence[str]) -> None:
        """Delete its results and its key, once its row is gone; say so to who holds it in memory."""
        await self._drop_results(inputs)
        await self._transaction.execute(delete(results).where(results.c.id.in_(by_runs)))
        if own.kind is Kind.UPLOAD:
            await self._hand_on_results(own.id)
        if own.kind in _KEYED:
            await self._transaction.execute(delete(data_keys).where(data_keys.c.id == own.id))
            self._vault.forget(own.id)
        if own.kind in _HELD:  # the news is sent when it is true
            gone_for_all = f"{self._transaction.tenant} {own.id} {own.sha256}"
            await self._transaction.execute(select(func.pg_notify(DELETIONS_CHANNEL, gone_for_all)))

    async def _give_up_draws(self, dataset: Stored) -> None:
        """Destroy the secrets of draws from a dataset that were begun and not stored; they stay counted."""
        # The draws before their keys, as they are held by whoever stores one.
        given_up = (
            update(draws)
            .where(draws.c.dataset_id == dataset.id, draws.c.sealed.is_not(None))
            .values(sealed=None, given_up_at=self._clock())
            .returning(draws.c.id)
        )
        begun = (await self._transaction.execute(given_up)).scalars().all()
        await self._transaction.execute(
            delete(data_keys).where(data_keys.c.id.in_(begun), data_keys.c.purpose == "release")
        )

    async def _insert(
        self, resource_id: str, new: NewResource, document: bytes, key_id: str, created_at: datetime
    ) -> bool:
        """Add the row and what it uses; whether its name was free."""
        values = {
            "id": resource_id, "kind": new.kind.value, "name": new.name,
            "sha256": new.sha256, "summary": new.summary, "document": document, "created_at": created_at,
            "uses": list(new.uses), "sealed_by": None if key_id == DOCUMENTS_KEY else key_id,
        }  # fmt: skip
        try:
            return (await self._transaction.begin_with(_INSERT, values)).first() is not None
        except IntegrityError as error:
            if isinstance(error.orig, ForeignKeyViolation):
                raise NotFound("resource", await self._first_gone(new.uses)) from None
            raise

    async def _first_gone(self, used: tuple[str, ...]) -> str:
        """The first of these ids that leads to nothing, looked for in a new transaction: this one has failed.

        The database does not tell, lest it name rows of another tenant.
        """
        await self._transaction.close()
        query = select(resources.c.id).where(resources.c.id.in_(used))
        there = set((await self._transaction.execute(query)).scalars())
        return next((used_id for used_id in used if used_id not in there), used[0])

    async def _row(self, kind: Kind, ref: str) -> Any:  # noqa: ANN401 - a row
        row = await self._find(kind, ref)
        if row is None:
            raise NotFound(kind.value, ref)
        return row

    async def _find(self, kind: Kind, ref: str) -> Any:  # noqa: ANN401 - a row
        rows = await self._transaction.read(_FIND, {"kind": kind.value, "ref": ref})
        return rows[0] if rows else None

    async def _opened(self, row: Any) -> Stored:  # noqa: ANN401 - a row
        document = await self._vault.unseal_json(row.document, row.kind, row.id, key_id=row.sealed_by)
        return stored_row(row, document)

    async def _same_or_conflict(self, row: Any, new: NewResource) -> Stored:  # noqa: ANN401 - a row
        if row.sha256 == new.sha256:
            return stored_row(row) if new.packed is not None else await self._opened(row)
        raise Conflict(
            f"The {new.kind.value} {new.name!r} exists with other content.",
            "Choose another name, or delete that one first.",
            {"existing": {"kind": new.kind.value, "name": new.name, "id": row.id}},
        )

    async def require_unused(self, own: Stored, but_for: Sequence[Stored] = ()) -> None:
        """Refuse what is in use; see the port."""
        users = (
            select(resources.c.kind, resources.c.name)
            .join(resource_uses, resource_uses.c.user_id == resources.c.id)
            .where(resource_uses.c.used_id == own.id, resources.c.kind != Kind.DRAW.value)
            .where(resources.c.id.not_in([known.id for known in but_for]))
            .distinct()
            .order_by(resources.c.kind, resources.c.name)
            .limit(_USERS_SHOWN)
        )
        live = select(runs.c.id).where(_of_it_or_its_draws(own.id), runs.c.state.in_(_LIVE))
        found = [{"kind": user.kind, "name": user.name} for user in await self._transaction.execute(users)]
        found += [{"kind": "run", "name": run.id} for run in await self._transaction.execute(live)]
        if found:
            shown = ", ".join(f"{user['kind']} {user['name']!r}" for user in found[:5])
            more = f" and {len(found) - 5} more" if len(found) > 5 else ""
            raise Conflict(
                f"The {own.kind.value} {own.name!r} is in use by {shown}{more}.",
                "Delete these first, or all of it by with_dependents=true; cancel what is at work.",
                {"users": found},
            )

    async def _results_alone(self, own: Stored) -> Sequence[str]:
        """Ids of the results to which only the runs of this resource lead."""
        query = (
            select(results.c.id)
            .join(runs, runs.c.result_id == results.c.id)
            .where(_of_it_or_its_draws(own.id), results.c.input_sha256.is_(None))
        )
        return (await self._transaction.execute(query)).scalars().all()

    async def _drop_results(self, inputs: set[str]) -> None:
        """Delete results of these inputs unless another resource or run still leads to them."""
        await self._transaction.execute(
            delete(results).where(
                results.c.input_sha256.in_(inputs),
                ~select(runs.c.id).where(runs.c.input_sha256 == results.c.input_sha256).exists(),
                ~select(resources.c.id).where(resources.c.sha256 == results.c.input_sha256).exists(),
            )
        )

    async def _hand_on_results(self, upload_id: str) -> None:
        """Seal what others with equal data still lead to under a key of theirs: this upload's is destroyed.

        What nothing leads to any more is deleted.
        """
        own = results.c
        asked = select(resources.c.sealed_by).where(resources.c.sha256 == own.input_sha256)
        by_run = (
            select(resources.c.sealed_by)
            .join(runs, (runs.c.tenant_id == resources.c.tenant_id) & (runs.c.resource_id == resources.c.id))
            .where(runs.c.input_sha256 == own.input_sha256)
        )
        heirs = asked.correlate(results).union_all(by_run.correlate(results)).subquery("heirs")
        heir = select(func.coalesce(heirs.c.sealed_by, DOCUMENTS_KEY)).limit(1).scalar_subquery()
        query = select(own.id, own.document, heir.label("heir")).where(own.sealed_by == upload_id)
        for row in (await self._transaction.execute(query)).all():
            if row.heir is None:
                await self._transaction.execute(delete(results).where(own.id == row.id))
                continue
            packed = await self._vault.unseal_bytes(row.document, "result", row.id, key_id=upload_id)
            sealed = await self._vault.seal_bytes(packed, "result", row.id, key_id=row.heir)
            values = {"document": sealed, "sealed_by": None if row.heir == DOCUMENTS_KEY else row.heir}
            await self._transaction.execute(update(results).where(own.id == row.id).values(**values))


def _asked_draws(used_id: str) -> Select[Any]:
    """Ids of the questions about a resource that a run was to draw a release for."""
    return (
        select(resource_uses.c.user_id)
        .join(resources, resources.c.id == resource_uses.c.user_id)
        .where(resource_uses.c.used_id == used_id, resources.c.kind == Kind.DRAW.value)
    )


def _of_it_or_its_draws(resource_id: str) -> ColumnElement[bool]:
    """Whether a run is of the resource, or of such a question about it."""
    return (runs.c.resource_id == resource_id) | runs.c.resource_id.in_(_asked_draws(resource_id))


def of_ref(kind: ColumnElement[str], ref: ColumnElement[str], *columns: ColumnElement[Any]) -> Select[Any]:
    """The resource of a kind with this id, or else with this name."""
    table = resources.c
    return (
        select(*columns)
        .where(table.kind == kind, or_(table.id == ref, table.name == ref))
        .order_by(case((table.id == ref, 0), else_=1))
        .limit(1)
    )


_FIND: Final = alone(of_ref(bindparam("kind"), bindparam("ref"), *COLUMNS, resources.c.document))

# The tenant is set by what the rows are made of, and so before any is checked.
_INSERT: Final = text("""
    WITH tenant AS MATERIALIZED (
        SELECT set_config('app.tenant', :tenant, true)::uuid AS id
    ), made AS (
        INSERT INTO resources (tenant_id, id, kind, name, sha256, summary, document, created_at, sealed_by)
        SELECT tenant.id, :id, :kind, :name, :sha256, :summary, :document, :created_at, :sealed_by FROM tenant
        ON CONFLICT DO NOTHING RETURNING tenant_id, id
    ), used AS (
        INSERT INTO resource_uses (tenant_id, user_id, position, used_id)
        SELECT made.tenant_id, made.id, use.number - 1, use.id
        FROM made, unnest(CAST(:uses AS text[])) WITH ORDINALITY AS use (id, number)
    )
    SELECT id FROM made
    """).bindparams(bindparam("summary", type_=postgresql.JSONB()))


def stored_row(row: Any, document: dict[str, Any] | None = None) -> Stored:  # noqa: ANN401 - a row
    """The resource of a row of :data:`COLUMNS`."""
    return Stored(
        id=row.id, kind=Kind(row.kind), name=row.name, sha256=row.sha256, created_at=row.created_at,
        summary=row.summary, document=document, uses=tuple(row.uses or ()),
    )  # fmt: skip
