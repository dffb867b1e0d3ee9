"""Use cases on questions whose answer is a search, which is always a run: what their kinds share."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from app.domain.errors import MemoryLimitExceeded
from app.services.datasets.dataset_schema import Role, flat_warning
from app.services.ports import Store, UnitOfWork
from app.services.questions import RUN_BYTES, Plan, QuestionService, Request, Route, faults_of
from app.services.resources import Actor, JsonObject, NewResource, Stored
from app.services.scoring.scoring_inputs import Sources, find_sources
from app.services.scoring.scoring_options import ScoringOptions
from app.services.searches.search_work import SearchPreparation, SearchWork


class SearchRequest(Request, Protocol):
    """What is searched for."""

    @property
    def options(self) -> ScoringOptions:
        """How a score is taken."""


@dataclass(frozen=True)
class SearchQuestion:
    """What is searched for, what it rests on, and the options as they were sent."""

    new: NewResource
    sources: Sources
    options: ScoringOptions


R = TypeVar("R", bound=SearchRequest)


def warnings_about(dataset: Stored, *moved: Role) -> list[str]:
    """One per column of these roles that a search can only show or suppress."""
    return [
        flat_warning(own["name"])
        for own in dataset.summary["attributes"]
        if own["role"] in moved and own["hierarchy"] is None and (own["leaves"] or 0) > 1
    ]


class SearchService(QuestionService[R, SearchQuestion, SearchWork], Generic[R]):
    """Ask questions and read their answers.

    ``run_bytes`` is the memory that a run may have; a search that is estimated to need more is refused.
    """

    def __init__(self, store: Store, preparation: SearchPreparation, run_bytes: int = RUN_BYTES) -> None:
        super().__init__(store)
        self._preparation = preparation
        self._run_bytes = run_bytes

    async def _resolve(self, actor: Actor, request: R, route: Route) -> tuple[SearchQuestion, NewResource]:
        async with self._store.work(actor.tenant) as work:
            sources = await find_sources(work, request.refs)
            new = await self._resource(work, request, sources)
        return SearchQuestion(new, sources, request.options), new

    async def _prepare(self, actor: Actor, question: SearchQuestion) -> SearchWork:
        return await self._preparation.work(actor.tenant, question.new, question.sources, question.options)

    def _plan(self, prepared: SearchWork) -> Plan:
        estimate = self._estimate(prepared)
        try:
            self._refuse_as_run(estimate)
        except MemoryLimitExceeded as error:
            return Plan(**estimate, missing=faults_of(error))
        return Plan("run", **estimate)

    def _refuse_as_run(self, estimate: JsonObject) -> None:
        if estimate["bytes"] > self._run_bytes:
            raise MemoryLimitExceeded(estimate["bytes"], self._run_bytes, estimate)

    @abstractmethod
    async def _resource(self, work: UnitOfWork, request: R, sources: Sources) -> NewResource:
        """The question as it will be stored; InvalidInput where its parts do not fit."""
