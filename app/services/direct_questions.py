"""Questions that are answered at once where that is small."""

from __future__ import annotations

import asyncio
from typing import Generic, Protocol, TypeVar

from app.domain.errors import DirectBudgetExceeded
from app.services.datasets.tables import TableLoader
from app.services.ports import Store
from app.services.questions import (
    Answer,
    DirectBudget,
    Plan,
    Q,
    QuestionService,
    R,
    Route,
    RunStarted,
    Workload,
)
from app.services.resources import Actor, JsonObject


class Computation(Workload, Protocol):
    """What finds an answer here and now."""

    def result(self) -> JsonObject | None:
        """The result document; None: it took far longer than was expected."""


C = TypeVar("C", bound=Computation)


class DirectService(QuestionService[R, Q, C], Generic[R, Q, C]):
    """Questions that are answered at once where that is small."""

    def __init__(self, store: Store, loader: TableLoader, budget: DirectBudget) -> None:
        super().__init__(store, loader)
        self._budget = budget

    async def ask(self, actor: Actor, request: R, *, prefers_run: bool = False) -> Answer | RunStarted:
        """Answer now what is small; what is large, or takes far longer than was expected, becomes a run."""
        estimate = None
        if not prefers_run:
            try:
                return await self.create(actor, request)
            except DirectBudgetExceeded as error:
                estimate = error.cost  # a large table is not loaded a second time for it
        return await self.create_run(actor, request, estimate=estimate)

    async def create(self, actor: Actor, request: R) -> Answer:
        """Answer now; DirectBudgetExceeded if the estimate is above the budget: it must be a run.

        So it is where the work takes far longer than was expected of it.
        """
        async with self._look_up(actor, request, "direct") as asked:
            question, new, created = asked.question, asked.new, False

            async def compute() -> JsonObject:
                return await asyncio.to_thread(self._result, await self._prepare(actor, question))

            result = asked.recalled.result or await asked.shared.once(compute)
            stored = asked.known
            async with self._store.work(actor.tenant) as work:
                if stored is None:
                    details = self._audit_details(result)
                    stored, created = await work.questions.answer(new, result, actor.key_id, details)
                await self._complete(work, actor, question, stored, result, None)
                answer = await self._answer(work, actor, stored, result, created=created)
                await work.commit()
        return answer

    def _result(self, prepared: C) -> JsonObject:
        result = prepared.result() if self._budget.allows(prepared.cost) else None
        if result is None:
            raise DirectBudgetExceeded(self._estimate(prepared))
        return result

    def _plan(self, prepared: C) -> Plan:
        return Plan(self._route(prepared), **self._estimate(prepared))

    def _route(self, prepared: C) -> Route:
        return "direct" if self._budget.allows(prepared.cost) else "run"

    def _audit_details(self, result: JsonObject) -> JsonObject:
        """What the audit trail says of an answer beside its hash."""
        return {}
