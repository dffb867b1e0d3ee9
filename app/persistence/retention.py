"""What is past its retention leaves: a batch at a time, each in one transaction with its audit events.

Whatever ends the process in between, a batch is gone with its events or is all there. Two processes at once
share the work: rows that the other has locked are left to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Select, delete, select

from app.domain.errors import Conflict, NotFound
from app.persistence.records import PostgresAudit
from app.persistence.repository import Context, Repository
from app.persistence.resources import PostgresResources
from app.persistence.runs import PostgresRuns
from app.persistence.tables import data_keys, resource_uses, resources, results, runs
from app.services.resources import Kind, RunState

RETENTION: Final = "retention"
"""Who did it in the audit chain."""

_WITHOUT_RESULT: Final = (RunState.FAILED.value, RunState.CANCELLED.value, RunState.EXPIRED.value)


class PostgresRetention(Repository):
    """Removes one tenant's data whose days are over."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._resources = PostgresResources(context)
        self._runs = PostgresRuns(context)
        self._audit = PostgresAudit(context)

    async def expire_results(self, days: int, most: int) -> int:
        """Make runs that succeeded so many days ago ``expired``, their results removed; how many.

        A result stays while a younger run, or an equal question that was answered without a run, leads to it.
        """
        due = await self._ended((RunState.SUCCEEDED.value,), days, most)
        found = await self._held([row.result_id for row in due])
        rows = [row for row in due if row.result_id is None or row.result_id in found]
        error = {
            "code": "expired",
            "message": f"The result was kept for {days} days after the run and has been removed.",
            "remedy": "Send the request that made it again: it starts a new run.",
        }
        for row in rows:
            await self._runs.expire(row.id, error)
        of_a_run = select(runs.c.id).where(runs.c.result_id == results.c.id)
        ever_run = select(runs.c.id).where(runs.c.resource_id == resources.c.id)
        found_by_a_run = select(runs.c.id).where(
            runs.c.input_sha256 == results.c.input_sha256, runs.c.attempt > 0
        )
        # Who is asked again by way of a run is given what was answered at once, and the run does nothing.
        answered_at_once = select(resources.c.id).where(
            resources.c.kind == results.c.kind,
            resources.c.sha256 == results.c.input_sha256,
            ~ever_run.exists()
            | ((resources.c.created_at <= results.c.created_at) & ~found_by_a_run.exists()),
        )
        await self._transaction.execute(
            delete(results).where(results.c.id.in_(found), ~of_a_run.exists(), ~answered_at_once.exists())
        )
        await self._note("run.expire", rows)
        return len(rows)

    async def remove_runs(self, days: int, most: int) -> int:
        """Remove runs that ended so many days ago and have no result (any more); how many."""
        rows = await self._ended(_WITHOUT_RESULT, days, most)
        await self._transaction.execute(delete(runs).where(runs.c.id.in_([row.id for row in rows])))
        await self._note("run.remove", rows)
        return len(rows)

    async def unused_uploads(self, days: int, most: int) -> Sequence[str]:
        """Ids of uploads that nothing has used for so many days, the longest unused first."""
        query = self._unused(days).order_by(data_keys.c.touched_at).limit(most)
        return (await self._transaction.execute(query)).scalars().all()

    async def remove_upload(self, upload_id: str, days: int) -> bool:
        """Remove an upload with its pieces and their key, if it is still unused; whether it was."""
        query = self._unused(days).where(resources.c.id == upload_id).add_columns(resources.c.sha256)
        row = (await self._transaction.execute(query)).one_or_none()
        if row is None:
            return False
        try:
            await self._resources.delete(Kind.UPLOAD, upload_id)
        except (Conflict, NotFound):  # used or deleted by somebody at this moment
            return False
        await self._audit.record(RETENTION, "upload.expire", upload_id, {"sha256": row.sha256})
        return True

    async def _ended(self, states: Sequence[str], days: int, most: int) -> Sequence[Any]:
        """Runs that ended in these states so long ago, held until the transaction ends.

        The turn comes first, and whatever is held by others is left out: who has the turn waits for nobody.
        """
        await self._transaction.take_turn()
        query = (
            select(runs.c.id, runs.c.resource_id, runs.c.result_id)
            .where(runs.c.state.in_(states), runs.c.finished_at <= self._before(days))
            .order_by(runs.c.finished_at)
            .limit(most)
            .with_for_update(skip_locked=True)
        )
        return (await self._transaction.execute(query)).all()

    async def _held(self, result_ids: Sequence[str]) -> set[str]:
        """Those of the results that no run is just being given; whoever asks from now on waits."""
        query = select(results.c.id).where(results.c.id.in_(result_ids))
        return set((await self._transaction.execute(query.with_for_update(skip_locked=True))).scalars())

    async def _note(self, action: str, rows: Sequence[Any]) -> None:
        for row in rows:
            await self._audit.record(RETENTION, action, row.id, {"resource": row.resource_id})

    def _unused(self, days: int) -> Select[Any]:
        used = select(resource_uses.c.user_id).where(resource_uses.c.used_id == resources.c.id)
        return (
            select(resources.c.id)
            .join(data_keys, data_keys.c.id == resources.c.id)
            .where(
                resources.c.kind == Kind.UPLOAD.value,
                data_keys.c.purpose == "upload",
                data_keys.c.touched_at <= self._before(days),
                ~used.exists(),
            )
        )

    def _before(self, days: int) -> datetime:
        return self._clock() - timedelta(days=days)
