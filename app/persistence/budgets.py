"""Budgets of what may be told of a table, in PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import Row, case, insert, or_, select, update

from app.domain.errors import Conflict, NotFound
from app.domain.mechanisms.privacy_loss import PrivacyLoss
from app.persistence.draws import loss_columns, loss_of_row
from app.persistence.repository import Repository, contains
from app.persistence.resources import new_id
from app.persistence.tables import budgets, resources, runs
from app.services.releases.budgets import Budget, QueuedDraw
from app.services.releases.queued_draws import SPENDS, SUBJECT, loss_kept
from app.services.resources import ALWAYS, Kind, Page, Period, RunState

_LIVE = (RunState.QUEUED.value, RunState.RUNNING.value)


class PostgresBudgets(Repository):
    """Implements the port ``Budgets``; who adds or changes one has the turn at draws."""

    async def add(self, name: str, subject_sha256: str, limits: PrivacyLoss) -> Budget:
        """Keep a budget; see the port."""
        if (await self._transaction.execute(select(budgets.c.id).where(budgets.c.name == name))).first():
            raise Conflict(f"There is a budget named {name!r} of another table.", "Choose another name.")
        now = self._clock()
        made = Budget(new_id(), name, subject_sha256, limits, now, now)
        await self._transaction.execute(
            insert(budgets).values(
                tenant_id=self._transaction.tenant, id=made.id, name=name, subject_sha256=subject_sha256,
                created_at=now, changed_at=now, **loss_columns(limits),
            )
        )  # fmt: skip
        return made

    async def get(self, ref: str) -> Budget:
        """The budget of this id or name; an id goes before an equal name."""
        own = budgets.c
        query = (
            select(budgets)
            .where(or_(own.id == ref, own.name == ref))
            .order_by(case((own.id == ref, 0), else_=1))
            .limit(1)
        )
        row = (await self._transaction.execute(query)).one_or_none()
        if row is None:
            raise NotFound("budget", ref)
        return _budget(row)

    async def of_table(self, subjects: Collection[str]) -> Sequence[Budget]:
        """The budgets of the contents that are one table, the oldest first; see the port."""
        query = select(budgets).where(budgets.c.subject_sha256.in_(subjects)).order_by(budgets.c.serial)
        return [_budget(row) for row in await self._transaction.execute(query)]

    async def list(
        self, *, name: str | None, limit: int, cursor: str | None, created: Period = ALWAYS
    ) -> Page[Budget]:
        """One page, newest first; see the port."""
        own, query = budgets.c, select(budgets)
        if name:
            query = query.where(contains(own.name, name))
        listing = ("budgets", name or "")
        rows, following = await self._page(
            query, own.serial, own.created_at, created, limit, cursor, *listing
        )
        return Page(tuple(map(_budget, rows)), following)

    async def change(self, budget_id: str, limits: PrivacyLoss) -> Budget:
        """Give a budget other limits."""
        statement = (
            update(budgets)
            .where(budgets.c.id == budget_id)
            .values(**loss_columns(limits), changed_at=self._clock())
            .returning(budgets)
        )
        return _budget((await self._transaction.execute(statement)).one())

    async def queued(self, subjects: Collection[str]) -> Sequence[QueuedDraw]:
        """What runs that have not ended are to draw of these contents."""
        asked = resources.c
        subject = asked.summary[SPENDS][SUBJECT].astext
        query = (
            select(subject.label("subject"), asked.sha256, asked.name, asked.summary)
            .join(runs, (runs.c.tenant_id == asked.tenant_id) & (runs.c.resource_id == asked.id))
            .where(
                runs.c.state.in_(_LIVE),
                asked.kind == Kind.DRAW.value,
                subject.in_(subjects),
            )
        )
        rows = await self._transaction.execute(query)
        return [QueuedDraw(row.subject, row.sha256, row.name, loss_kept(row.summary)) for row in rows]


def _budget(row: Row[Any]) -> Budget:
    limits = loss_of_row(row)
    if limits is None:
        raise ValueError("a budget has limits")
    return Budget(row.id, row.name, row.subject_sha256, limits, row.created_at, row.changed_at)
