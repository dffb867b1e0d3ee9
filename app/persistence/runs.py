"""The tenant's runs in PostgreSQL: the truth about their state, whatever the queue says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from psycopg.errors import ForeignKeyViolation
from sqlalchemy import Select, TextClause, bindparam, delete, func, insert, select, text, update
from sqlalchemy.dialects import postgresql
from sqlalchemy.exc import IntegrityError

from app.domain.errors import Conflict, NotFound
from app.persistence.repository import Context, Repository, contains
from app.persistence.resources import new_id
from app.persistence.results import PostgresResults
from app.persistence.tables import resources, run_blocks, run_events, runs
from app.persistence.tenant_settings import PostgresOwnTenant
from app.persistence.transactions import DOCUMENTS_KEY
from app.persistence.webhooks import PostgresWebhooks
from app.services.ports import Fenced
from app.services.resources import (
    ALWAYS,
    Claim,
    JsonObject,
    Kind,
    LostRun,
    Period,
    Progress,
    Run,
    RunEvent,
    RunState,
    Stored,
    Wishes,
)
from app.services.runs.webhook_values import WebhookEvent

NEWS_CHANNEL = "run_news"


def _with_event(changes: str, *documents: str) -> TextClause:
    """Change the run's row and append an event; ``documents`` are the parameters that are JSON.

    The row is locked by the update, so numbers have no gaps; the news is sent when it is true.
    """
    statement = f"""
    WITH numbered AS (
        UPDATE runs SET {changes}last_event = last_event + 1 WHERE id = :run_id
        RETURNING tenant_id, id, last_event
    ), added AS (
        INSERT INTO run_events (tenant_id, run_id, number, type, data, at)
        SELECT tenant_id, id, last_event, :type, :data, :at FROM numbered RETURNING run_id
    )
    SELECT pg_notify(:channel, run_id) FROM added
    """  # noqa: S608 - the two changes below
    typed = [bindparam(name, type_=postgresql.JSONB()) for name in ("data", *documents)]
    return text(statement).bindparams(*typed, channel=NEWS_CHANNEL)


_ADD_EVENT = _with_event("")

# All in one change of the run: a second one of the same transaction would have its resource checked, and so
# wait for whoever is just deleting that and waits for the run.
_EXPIRE = _with_event("state = :state, result_id = NULL, error = :error, ", "error")

_STATE = "state"
_PROGRESS = "progress"
_TOLD = {
    RunState.SUCCEEDED: WebhookEvent.RUN_SUCCEEDED,
    RunState.FAILED: WebhookEvent.RUN_FAILED,
    RunState.CANCELLED: WebhookEvent.RUN_CANCELLED,
}


class PostgresRuns(Repository):
    """Implements the port ``Runs``."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._results = PostgresResults(context)
        self._webhooks = PostgresWebhooks(context)
        self._owner = PostgresOwnTenant(context)

    async def create(self, resource: Stored, input_sha256: str, estimate: JsonObject) -> Run:
        """Queue a run, or create it as succeeded if the result is known; NotFound if the resource is gone."""
        run_id, now = new_id(), self._clock()
        state = RunState.QUEUED
        new = insert(runs).values(
            tenant_id=self._transaction.tenant, id=run_id, resource_id=resource.id, state=state.value,
            input_sha256=input_sha256, estimate=estimate, created_at=now,
        )  # fmt: skip
        try:
            await self._transaction.execute(new)
        except IntegrityError as error:
            if isinstance(error.orig, ForeignKeyViolation):  # somebody has just deleted it
                raise NotFound(resource.kind.value, resource.id) from None
            raise
        # The resource is held before its result, as it is by whoever deletes both.
        result_id = await self._results.hold(resource.kind.value, input_sha256)
        if result_id is not None:
            state = RunState.SUCCEEDED
            known = {"state": state.value, "result_id": result_id, "started_at": now, "finished_at": now}
            await self._change(run_id, known)
        await self._tell_state(run_id, state)
        run = await self.get(run_id)
        if run.state.is_final:
            await self._tell_webhooks(run)
        else:
            await self._owner.admit("active_runs")
        return run

    async def get(self, run_id: str) -> Run:
        """The run as it stands."""
        row = (await self._transaction.execute(_columns().where(runs.c.id == run_id))).one_or_none()
        if row is None:
            raise NotFound("run", run_id)
        return _run(row)

    async def list(
        self,
        *,
        resource_id: str | None,
        state: RunState | None,
        limit: int,
        cursor: str | None,
        name: str | None = None,
        created: Period = ALWAYS,
    ) -> tuple[tuple[Run, ...], str | None]:
        """One page, newest first, and the next cursor; see the port."""
        query = _columns()
        if name:
            query = query.where(contains(resources.c.name, name))
        if resource_id is not None:
            query = query.where(runs.c.resource_id == resource_id)
        if state is not None:
            query = query.where(runs.c.state == state.value)
        listing = ("runs", resource_id or "", state.value if state else "", name or "")
        rows, following = await self._page(
            query, runs.c.serial, runs.c.created_at, created, limit, cursor, *listing
        )
        return tuple(_run(row) for row in rows), following

    async def request_cancel(self, run_id: str) -> Run:
        """Cancel a queued run, flag a running one; Conflict if it is final."""
        row = await self._lock(run_id)
        state = RunState(row.state)
        if state.is_final:
            raise Conflict(
                f"The run is {state.value}; it can no longer be cancelled.", "", {"state": state.value}
            )
        if state is RunState.QUEUED:
            await self._end(run_id, RunState.CANCELLED, result_id=None, error=None)
        elif not row.cancel_requested:
            await self._change(run_id, {"cancel_requested": True})
            await self._tell(run_id, _STATE, {"state": state.value, "cancel_requested": True})
        return await self.get(run_id)

    async def request_stop(self, run_id: str) -> tuple[Run, bool]:
        """Flag a run that is not final; whether that was news. Conflict if it ended without a result."""
        row = await self._lock(run_id)
        state = RunState(row.state)
        if state.is_final and state is not RunState.SUCCEEDED:
            raise Conflict(
                f"The run is {state.value}; it has found nothing to end with.", "", {"state": state.value}
            )
        is_news = not (state.is_final or row.stop_requested)
        if is_news:
            await self._change(run_id, {"stop_requested": True})
            await self._tell(run_id, _STATE, {"state": state.value, "stop_requested": True})
        return await self.get(run_id), is_news

    async def _lock(self, run_id: str) -> Any:  # noqa: ANN401 - a row
        """State and wishes of the run, which nobody else changes until the transaction ends."""
        locked = (
            select(runs.c.state, runs.c.cancel_requested, runs.c.stop_requested)
            .where(runs.c.id == run_id)
            .with_for_update()
        )
        row = (await self._transaction.execute(locked)).one_or_none()
        if row is None:
            raise NotFound("run", run_id)
        return row

    async def events_after(self, run_id: str, number: int, limit: int) -> Sequence[RunEvent]:
        """Events in order, from the one after ``number``."""
        query = (
            select(run_events.c.number, run_events.c.type, run_events.c.data, run_events.c.at)
            .where(run_events.c.run_id == run_id, run_events.c.number > number)
            .order_by(run_events.c.number)
            .limit(limit)
        )
        rows = await self._transaction.execute(query)
        return [RunEvent(run_id, row.number, row.type, row.data, row.at) for row in rows]

    async def claim(self, run_id: str, worker: str, silent_seconds: float) -> Claim | None:
        """Take the run for one attempt more, if it is queued or its worker is silent."""
        alive_after = func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, silent_seconds)
        lost = (runs.c.state == RunState.RUNNING.value) & (runs.c.alive_at <= alive_after)
        statement = (
            update(runs)
            .where(runs.c.id == run_id, (runs.c.state == RunState.QUEUED.value) | lost)
            .values(
                state=RunState.RUNNING.value,
                attempt=runs.c.attempt + 1,
                worker=worker,
                started_at=func.coalesce(runs.c.started_at, self._clock()),
                alive_at=func.clock_timestamp(),
            )
            .returning(runs.c.attempt)
        )
        attempt = (await self._transaction.execute(statement)).scalar_one_or_none()
        if attempt is None:
            return None
        await self._tell(run_id, _STATE, {"state": RunState.RUNNING.value, "attempt": attempt})
        return Claim(run_id, self._transaction.tenant, attempt)

    async def fail(self, lost: LostRun, error: JsonObject) -> None:
        """End a run that no worker holds any more; nothing if it is final or in a newer attempt."""
        locked = (
            select(runs.c.state)
            .where(runs.c.id == lost.run_id, runs.c.attempt == lost.attempt)
            .with_for_update()
        )
        state = (await self._transaction.execute(locked)).scalar_one_or_none()
        if state is not None and not RunState(state).is_final:
            await self._end(lost.run_id, RunState.FAILED, result_id=None, error=error)

    async def heartbeat(self, claim: Claim, progress: Progress | None) -> Wishes:
        """Record life and progress; what was asked of the run meanwhile."""
        values: dict[str, Any] = {} if progress is None else {"progress": asdict(progress)}
        wishes = await self._fenced_change(claim, values)
        if progress is not None:
            await self._tell(claim.run_id, _PROGRESS, asdict(progress))
        return wishes

    async def release(self, claim: Claim, *, spend_attempt: bool) -> None:
        """Make the run queued again with its blocks.

        Without spending the attempt the next claim has the same number as this one, which its worker
        must not use after the release.
        """
        attempt = claim.attempt if spend_attempt else claim.attempt - 1
        await self._fenced_change(claim, {"state": RunState.QUEUED.value, "attempt": attempt, "worker": None})
        await self._tell_state(claim.run_id, RunState.QUEUED)

    async def count_loss(self, claim: Claim) -> int:
        """Count a death of the child; how many there were since the run's last new block."""
        await self._fenced_change(claim, {"losses": runs.c.losses + 1})
        query = select(runs.c.losses).where(runs.c.id == claim.run_id)
        return int((await self._transaction.execute(query)).scalar_one())

    async def save_block(self, claim: Claim, block: int, payload: bytes) -> None:
        """Keep a finished block, encrypted as the result will be; one that is there already is replaced."""
        asked_of = select(runs.c.resource_id).where(runs.c.id == claim.run_id)
        key_id = await self._vault.key_over((await self._transaction.execute(asked_of)).scalars().all())
        sealed = await self._vault.seal_bytes(payload, "run_block", claim.run_id, block, key_id=key_id)
        await self._fenced_change(claim, {"losses": 0})
        statement = postgresql.insert(run_blocks).values(
            tenant_id=self._transaction.tenant, run_id=claim.run_id, number=block, payload=sealed,
            sealed_by=None if key_id == DOCUMENTS_KEY else key_id,
        )  # fmt: skip
        replaced = {name: statement.excluded[name] for name in ("payload", "sealed_by")}
        await self._transaction.execute(
            statement.on_conflict_do_update(index_elements=["tenant_id", "run_id", "number"], set_=replaced)
        )

    async def blocks(self, run_id: str) -> dict[int, bytes]:
        """The finished blocks by number."""
        stored = run_blocks.c
        query = select(stored.number, stored.payload, stored.sealed_by).where(stored.run_id == run_id)
        return {
            row.number: await self._vault.unseal_bytes(
                row.payload, "run_block", run_id, row.number, key_id=row.sealed_by or DOCUMENTS_KEY
            )
            for row in await self._transaction.execute(query)
        }

    async def finish(
        self,
        claim: Claim,
        state: RunState,
        *,
        result: JsonObject | None,
        error: JsonObject | None,
        reproducible: bool = True,
    ) -> Run:
        """End the run: its result stored, for its input too if it is reproducible, its blocks dropped."""
        if not state.is_final:
            raise ValueError(f"a run does not end as {state.value}")
        await self._fenced_change(claim, {})
        result_id = None
        if result is not None:
            run = await self.get(claim.run_id)
            answers = run.input_sha256 if reproducible else None
            result_id = await self._results.keep(run.resource_kind.value, answers, result, run.resource_id)
        await self._end(claim.run_id, state, result_id=result_id, error=error)
        return await self.get(claim.run_id)

    async def result(self, run_id: str) -> JsonObject:
        """The result document; NotFound while there is none."""
        run = await self.get(run_id)
        if run.result_id is None:
            raise NotFound("result of run", run_id)
        return await self._results.read(run.result_id)

    async def _end(
        self, run_id: str, state: RunState, *, result_id: str | None, error: JsonObject | None
    ) -> None:
        await self._change(
            run_id,
            {
                "state": state.value, "result_id": result_id, "error": error, "worker": None,
                "finished_at": self._clock(),
            },
        )  # fmt: skip
        await self._transaction.execute(delete(run_blocks).where(run_blocks.c.run_id == run_id))
        await self._tell_state(run_id, state, error)
        await self._tell_webhooks(await self.get(run_id))

    async def _tell_webhooks(self, run: Run) -> None:
        """Write messages about a run that is final."""
        about = {"id": run.resource_id, "kind": run.resource_kind.value, "name": run.resource_name}
        error = None if run.error is None else {"code": run.error.get("code")}
        told = {"id": run.id, "state": run.state.value, "resource": about, "error": error}
        await self._webhooks.emit(_TOLD[run.state], {"run": told})

    async def _change(self, run_id: str, values: Mapping[str, Any]) -> None:
        await self._transaction.execute(update(runs).where(runs.c.id == run_id).values(**values))

    async def _fenced_change(self, claim: Claim, values: Mapping[str, Any]) -> Wishes:
        """Change the run and lock it, if the claim still holds; what was asked of the run."""
        statement = (
            update(runs)
            .where(
                runs.c.id == claim.run_id,
                runs.c.state == RunState.RUNNING.value,
                runs.c.attempt == claim.attempt,
            )
            .values(alive_at=func.clock_timestamp(), **values)
            .returning(runs.c.cancel_requested, runs.c.stop_requested)
        )
        row = (await self._transaction.execute(statement)).one_or_none()
        if row is None:
            raise Fenced(f"attempt {claim.attempt} of run {claim.run_id} is outdated")
        return Wishes(row.cancel_requested, row.stop_requested)

    async def _tell_state(self, run_id: str, state: RunState, error: JsonObject | None = None) -> None:
        await self._tell(run_id, _STATE, {"state": state.value} | ({"error": error} if error else {}))

    async def expire(self, run_id: str, error: JsonObject) -> None:
        """Take its result from a run that has succeeded, and tell why."""
        state = RunState.EXPIRED.value
        event = {"type": _STATE, "data": {"state": state, "error": error}, "at": self._clock()}
        await self._transaction.execute(_EXPIRE, {"run_id": run_id, "state": state, "error": error, **event})

    async def _tell(self, run_id: str, kind: str, data: JsonObject) -> None:
        """Append to the run's events and wake those who wait."""
        event = {"run_id": run_id, "type": kind, "data": data, "at": self._clock()}
        await self._transaction.execute(_ADD_EVENT, event)


def _columns() -> Select[Any]:
    joined = runs.join(
        resources, (resources.c.tenant_id == runs.c.tenant_id) & (resources.c.id == runs.c.resource_id)
    )
    table = runs.c
    return select(
        table.id, table.serial, table.resource_id, resources.c.kind, resources.c.name, table.state,
        table.attempt, table.input_sha256, table.created_at, table.started_at, table.finished_at,
        table.alive_at, table.progress, table.cancel_requested, table.stop_requested, table.error,
        table.result_id,
    ).select_from(joined)  # fmt: skip


def _run(row: Any) -> Run:  # noqa: ANN401 - a row
    return Run(
        id=row.id, resource_id=row.resource_id, resource_kind=Kind(row.kind), resource_name=row.name,
        state=RunState(row.state), attempt=row.attempt, input_sha256=row.input_sha256,
        created_at=row.created_at, started_at=row.started_at, finished_at=row.finished_at,
        heartbeat_at=row.alive_at if row.started_at else None,
        progress=None if row.progress is None else Progress(**row.progress),
        cancel_requested=row.cancel_requested, stop_requested=row.stop_requested, error=row.error,
        result_id=row.result_id,
    )  # fmt: skip
