"""Use cases on questions whose answer is a search, which is always a run: what their kinds share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar, Generic, Protocol, TypeVar

from app.domain.search.plans import SearchCost
from app.services.access import require
from app.services.assessments import RunStarted, start_run
from app.services.dataset_schema import Role, flat_warning
from app.services.evidence_masking import shown_document, shown_resource
from app.services.named import NamedResources
from app.services.naming import check_name
from app.services.plans import RUN_BYTES, Plan, memory_fault, refuse_above
from app.services.ports import Store, UnitOfWork
from app.services.resources import Actor, JsonObject, Kind, NewResource, RunState, Scope, Stored
from app.services.scoring_inputs import (
    SourceRefs,
    Sources,
    find_sources,
    missing_inputs,
    missing_sources,
    plan_or_missing,
)
from app.services.scoring_options import ScoringOptions
from app.services.search_work import SearchPreparation


class Question(Protocol):
    """What is asked, under a name."""

    @property
    def name(self) -> str:
        """The question's name."""

    @property
    def refs(self) -> SourceRefs:
        """What it is about."""

    @property
    def options(self) -> ScoringOptions:
        """How a score is taken."""

    @property
    def named(self) -> Sequence[tuple[str, Kind, str]]:
        """Where it names other resources, of which kind, and by which id or name."""


Q = TypeVar("Q", bound=Question)


def warnings_about(dataset: Stored, *moved: Role) -> list[str]:
    """One per column of these roles that a search can only show or suppress."""
    return [
        flat_warning(own["name"])
        for own in dataset.summary["attributes"]
        if own["role"] in moved and own["hierarchy"] is None and (own["leaves"] or 0) > 1
    ]


@dataclass(frozen=True)
class SearchView:
    """A question with its result, None until its run has succeeded."""

    resource: Stored
    result: JsonObject | None


class SearchService(NamedResources, Generic[Q]):
    """Pose questions and read their answers.

    ``run_bytes`` is the memory that a run may have; a search that is estimated to need more is refused.
    """

    write_scope: ClassVar[Scope] = Scope.ASSESS

    def __init__(self, store: Store, preparation: SearchPreparation, run_bytes: int = RUN_BYTES) -> None:
        super().__init__(store)
        self._preparation = preparation
        self._run_bytes = run_bytes

    def _require_for(self, actor: Actor, request: Q) -> None:
        """Raise unless the actor may ask this."""
        require(actor, Scope.ASSESS)

    async def plan(self, actor: Actor, request: Q) -> Plan:
        """Cost and missing inputs; computes and stores nothing."""
        self._require_for(actor, request)

        async def planned() -> Plan:
            async with self._store.work(actor.tenant) as work:
                missing = (
                    *await missing_sources(work, request.refs),
                    *await missing_inputs(work, request.named),
                )
                if missing:
                    return Plan(None, None, None, None, None, missing)
                sources = await find_sources(work, request.refs)
                new = await self._posed(work, request, sources)
            cost = await self._cost(actor, request, new, sources)
            too_large = memory_fault(cost.bytes, self._run_bytes)
            return Plan(
                None if too_large else "run", cost.seconds, cost.bytes, cost.engine, cost.units, too_large
            )

        return await plan_or_missing(planned)

    async def create(self, actor: Actor, request: Q) -> RunStarted:
        """Store the question and queue its run in one transaction.

        If the answer is known from an equal question, the run has succeeded at once.
        """
        self._require_for(actor, request)
        check_name(request.name)
        async with self._store.work(actor.tenant) as work:
            sources = await find_sources(work, request.refs)
            new = await self._posed(work, request, sources)
            known = await work.results.find(self.kind.value, new.sha256)
            if known is None:
                await self._refuse_in_vain(work, new)
        estimate: JsonObject = {}
        if known is None:
            cost = await self._cost(actor, request, new, sources)
            estimate = asdict(cost)
            refuse_above(cost.bytes, self._run_bytes, estimate)
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.resources.add(new)
            if created:
                await work.audit.record(
                    actor.key_id, f"{self.kind.value}.create", stored.id, {"sha256": stored.sha256}
                )
            run = await start_run(work, stored, estimate)
            # A search that was stopped keeps its answer, even if an equal question has found another since.
            if known is not None and (
                run.state is not RunState.SUCCEEDED or await work.runs.result(run.id) == known
            ):
                await self._note_known(work, actor, stored, sources, known)
            await work.commit()
        return RunStarted(stored, run, created)

    async def view(self, actor: Actor, ref: str) -> SearchView:
        """The question with its result, if there is one yet: its own run's, else that of an equal one."""
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
            runs, _ = await work.runs.list(resource_id=stored.id, state=None, limit=1, cursor=None)
            if runs and runs[0].state is RunState.SUCCEEDED:
                result: JsonObject | None = await work.runs.result(runs[0].id)
            else:
                result = await work.results.find(self.kind.value, stored.sha256)
        shown = None if result is None else shown_document(actor, result)
        return SearchView(shown_resource(actor, stored), shown)

    async def _cost(self, actor: Actor, request: Q, new: NewResource, sources: Sources) -> SearchCost:
        return (await self._preparation.work(actor.tenant, new, sources, request.options)).cost

    @abstractmethod
    async def _posed(self, work: UnitOfWork, request: Q, sources: Sources) -> NewResource:
        """The question as it will be stored; InvalidInput where its parts do not fit."""

    async def _refuse_in_vain(self, work: UnitOfWork, new: NewResource) -> None:
        """Raise if the answer, which is not known yet, could not be stored."""

    async def _note_known(
        self, work: UnitOfWork, actor: Actor, stored: Stored, sources: Sources, known: JsonObject
    ) -> None:
        """Store what belongs to an answer that an equal question has found."""
