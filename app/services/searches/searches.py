"""Questions whose answer is a search, always made by a run: what is alike for one rule and for a frontier."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from app.domain.errors import MemoryLimitExceeded
from app.domain.search.answers import answers_of
from app.domain.search.blocks import BlockedSearch, SearchCost, cost_of
from app.domain.search.budget import Halted, never
from app.services.datasets.dataset_schema import Role, flat_warning
from app.services.datasets.tables import TableLoader
from app.services.ports import Store, UnitOfWork
from app.services.questions import RUN_BYTES, Plan, QuestionService, Request, Route, faults_of
from app.services.resources import Actor, JsonObject, NewResource, Stored, TenantId
from app.services.runs.run_execution import Conclusion
from app.services.scoring.scoring_inputs import SourceRefs, Sources, find_sources, refs_of
from app.services.scoring.scoring_options import ScoringOptions


@dataclass(frozen=True)
class SearchQuestion:
    """What is searched for: as it is stored or will be, what it rests on, and how a score is taken.

    ``options`` are those that were sent, defaults that are spelled out included; of a stored question those
    of its document.
    """

    asked: Stored | NewResource
    sources: Sources
    options: ScoringOptions


class SearchWork(ABC):
    """The work of a run that searches; ``time_limit`` in seconds halts it."""

    notes: tuple[str, ...] = ()

    def __init__(self, search: BlockedSearch[object], time_limit: float | None = None) -> None:
        self._blocks = search
        self.n_blocks, self.units, self.seconds = search.n_blocks, search.units, search.seconds
        self.time_limit = time_limit
        self.answers = answers_of(search)

    @property
    def cost(self) -> SearchCost:
        """The estimate."""
        return cost_of(self._blocks)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """Search one block."""
        return self._blocks.run_block(index, tick, halted)

    @abstractmethod
    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """What was found."""


class SearchRequest(Request, Protocol):
    """What is searched for in a dataset."""

    @property
    def refs(self) -> SourceRefs:
        """What it is about."""


R = TypeVar("R", bound=SearchRequest)
Q = TypeVar("Q", bound=SearchQuestion)


class SearchPreparation(ABC, Generic[Q]):
    """Makes the work of a stored question; a ``Prepare`` of run execution.

    ``threads`` is how many may search at once.
    """

    def __init__(self, store: Store, loader: TableLoader, threads: int = 1) -> None:
        self._store = store
        self._loader = loader
        self._threads = threads

    async def __call__(self, tenant: TenantId, stored: Stored) -> SearchWork:
        """Load what the question rests on, and plan its search."""
        async with self._store.work(tenant) as work:
            question = await self._question(work, stored, await find_sources(work, refs_of(stored)))
        return await self.work(tenant, question)

    @abstractmethod
    async def _question(self, work: UnitOfWork, stored: Stored, sources: Sources) -> Q:
        """What a stored question asks."""

    @abstractmethod
    async def work(self, tenant: TenantId, question: Q) -> SearchWork:
        """The work of a question, planned but not begun."""


def warnings_about(dataset: Stored, *moved: Role) -> list[str]:
    """One per column of these roles that a search can only show or suppress."""
    return [
        flat_warning(own["name"])
        for own in dataset.summary["attributes"]
        if own["role"] in moved and own["hierarchy"] is None and (own["leaves"] or 0) > 1
    ]


class SearchService(QuestionService[R, Q, SearchWork], Generic[R, Q]):
    """Ask questions and read their answers.

    ``run_bytes`` is the memory that a run may have; a search that is estimated to need more is refused.
    """

    def __init__(
        self,
        store: Store,
        loader: TableLoader,
        preparation: SearchPreparation[Q],
        run_bytes: int = RUN_BYTES,
    ) -> None:
        super().__init__(store, loader)
        self._preparation = preparation
        self._run_bytes = run_bytes

    async def _resolve(self, store: Store, actor: Actor, request: R, route: Route) -> tuple[Q, NewResource]:
        async with store.work(actor.tenant) as work:
            return await self._ask(work, request, await find_sources(work, request.refs))

    async def _prepare(self, actor: Actor, question: Q) -> SearchWork:
        return await self._preparation.work(actor.tenant, question)

    def _plan(self, prepared: SearchWork) -> Plan:
        estimate = self._estimate(prepared)
        try:
            self._refuse_as_run(estimate)
        except MemoryLimitExceeded as error:
            return Plan(**estimate, missing=faults_of(error))
        return Plan("run", **estimate, notes=prepared.notes)

    def _refuse_as_run(self, estimate: JsonObject) -> None:
        if estimate["bytes"] > self._run_bytes:
            raise MemoryLimitExceeded(estimate["bytes"], self._run_bytes, estimate)

    @abstractmethod
    async def _ask(self, work: UnitOfWork, request: R, sources: Sources) -> tuple[Q, NewResource]:
        """The question, and how it will be stored; InvalidInput where its parts do not fit."""
