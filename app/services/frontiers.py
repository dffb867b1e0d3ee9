"""Use cases on frontiers: all best compromises of risk and utility at once; their work is always a run."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar

from app.domain.search.plans import SearchCost, plan_frontier
from app.domain.search.problem import Aggregate
from app.domain.search.problem import Scope as RuleScope
from app.services.access import require
from app.services.assessments import RunStarted, start_run
from app.services.fingerprints import resource_sha256
from app.services.frontier_work import frontier_problem_of
from app.services.named import NamedResources
from app.services.naming import check_name
from app.services.plans import Plan
from app.services.ports import Store
from app.services.resources import Actor, JsonObject, Kind, NewResource, Scope, Stored
from app.services.scoring_inputs import (
    SourceRefs,
    Sources,
    find_sources,
    load_scoring,
    missing_sources,
    plan_or_missing,
)
from app.services.scoring_options import ScoringOptions
from app.services.tables import TableLoader


@dataclass(frozen=True)
class CreateFrontier:
    """What to draw the frontier of; the answer has at most ``max_points`` points."""

    name: str
    dataset: str
    dictionary: str
    sensitivity: str
    scope: RuleScope = "table_level"
    failure: str | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)
    aggregate: Aggregate = "average"
    max_points: int = 200

    @property
    def refs(self) -> SourceRefs:
        """What the question is about."""
        return SourceRefs(self.dataset, self.dictionary, self.sensitivity, self.failure)


@dataclass(frozen=True)
class FrontierSummary:
    """The keys of a frontier's ``summary``; the uses are names."""

    dataset: str
    dictionary: str
    dictionaries: tuple[str, ...]
    sensitivity: str
    failure: str | None
    scope: str
    aggregate: str
    utility: str | JsonObject
    absent_policy: str
    risk_model: str | JsonObject
    consistency: JsonObject
    attacker_view: str
    max_points: int


@dataclass(frozen=True)
class FrontierView:
    """A frontier with its result, None until its run has succeeded."""

    resource: Stored
    result: JsonObject | None


class FrontierService(NamedResources):
    """Pose the question for all best compromises and read the answer."""

    kind: ClassVar[Kind] = Kind.FRONTIER
    write_scope: ClassVar[Scope] = Scope.ASSESS

    def __init__(self, store: Store, loader: TableLoader) -> None:
        super().__init__(store)
        self._loader = loader

    async def plan(self, actor: Actor, request: CreateFrontier) -> Plan:
        """Cost and missing inputs; computes and stores nothing."""
        require(actor, Scope.ASSESS)

        async def planned() -> Plan:
            async with self._store.work(actor.tenant) as work:
                missing = await missing_sources(work, request.refs)
                if missing:
                    return Plan(None, None, None, None, None, missing)
                sources = await find_sources(work, request.refs)
            cost = await self._cost(actor, request, sources)
            return Plan("run", cost.seconds, cost.bytes, cost.engine, cost.units, ())

        return await plan_or_missing(planned)

    async def create(self, actor: Actor, request: CreateFrontier) -> RunStarted:
        """Store the question and queue its run in one transaction."""
        require(actor, Scope.ASSESS)
        check_name(request.name)
        async with self._store.work(actor.tenant) as work:
            sources = await find_sources(work, request.refs)
            document = _document(request, sources)
            new = _new(request.name, document, sources)
            known = await work.results.find(self.kind.value, new.sha256)
        cost = None if known else await self._cost(actor, request, sources)
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.resources.add(new)
            if created:
                await work.audit.record(actor.key_id, "frontier.create", stored.id, {"sha256": stored.sha256})
            run = await start_run(work, stored, asdict(cost) if cost else {})
            await work.commit()
        return RunStarted(stored, run, created)

    async def view(self, actor: Actor, ref: str) -> FrontierView:
        """The frontier with its result, if there is one yet."""
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
            return FrontierView(stored, await work.results.find(self.kind.value, stored.sha256))

    async def _cost(self, actor: Actor, request: CreateFrontier, sources: Sources) -> SearchCost:
        problem = frontier_problem_of(_document(request, sources))
        scoring = await load_scoring(self._loader, actor.tenant, sources, request.options)

        def cost() -> SearchCost:
            search = plan_frontier(scoring.context, problem)
            return SearchCost(search.seconds, search.n_bytes, search.solver, search.units)

        return await asyncio.to_thread(cost)


def _document(request: CreateFrontier, sources: Sources) -> JsonObject:
    """What is asked, apart from what it is asked about, in the view that the dictionaries have."""
    view = sources.view(request.options.attacker_view)
    document: JsonObject = {
        "scope": request.scope,
        **replace(request.options, attacker_view=view).document(),
        "max_points": request.max_points,
    }
    if request.aggregate != "average":
        document["aggregate"] = request.aggregate
    return document


def _new(name: str, document: JsonObject, sources: Sources) -> NewResource:
    return NewResource(
        Kind.FRONTIER,
        name,
        resource_sha256(Kind.FRONTIER, document, sources.hashes),
        {
            "aggregate": "average",
            **document,
            **sources.shown(),
            **ScoringOptions.of(document).shown(),
        },
        {**document, "sources": sources.refs},
        sources.ids,
    )
