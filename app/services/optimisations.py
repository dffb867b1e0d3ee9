"""Use cases on optimisations: the question which rule is best; its work is always a run."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

from app.domain.errors import Conflict, NotFound
from app.domain.search.plans import SearchCost, estimate
from app.services.access import require
from app.services.assessments import AbsentPolicy, RunStarted, start_run
from app.services.fingerprints import resource_sha256
from app.services.named import NamedResources
from app.services.naming import check_name
from app.services.optimisation_work import found_rule, problem_of
from app.services.plans import Plan
from app.services.ports import Store, UnitOfWork
from app.services.references import document_of
from app.services.resources import Actor, JsonObject, Kind, NewResource, RunState, Scope, Stored
from app.services.scoring_inputs import (
    Sources,
    find_sources,
    load_context,
    missing_inputs,
    plan_or_missing,
)
from app.services.tables import TableLoader


@dataclass(frozen=True)
class MinRisk:
    """Least risk among the rules with at least this utility."""

    utility_floor: float


@dataclass(frozen=True)
class MaxUtility:
    """Greatest utility among the rules with at most this risk."""

    risk_cap: float


@dataclass(frozen=True)
class Lagrangian:
    """Least risk − trade_off · utility."""

    trade_off: float


Objective = MinRisk | MaxUtility | Lagrangian


@dataclass(frozen=True)
class CreateOptimisation:
    """What to optimise; the optimal rule will be stored under the same name."""

    name: str
    dataset: str
    dictionary: str
    sensitivity: str
    objective: Objective
    scope: Literal["table_level", "record_level"] = "table_level"
    solver: Literal["auto", "enumeration", "branch_and_bound"] = "auto"
    utility: Literal["depth_sum"] = "depth_sum"
    absent_policy: AbsentPolicy = "zero"
    max_nodes: int | None = None


@dataclass(frozen=True)
class OptimisationSummary:
    """The keys of an optimisation's ``summary``; the uses are names."""

    dataset: str
    dictionary: str
    sensitivity: str
    objective: JsonObject
    scope: str
    solver: str
    utility: str
    absent_policy: str
    max_nodes: int | None


@dataclass(frozen=True)
class OptimisationView:
    """An optimisation with its result, None until its run has succeeded."""

    resource: Stored
    result: JsonObject | None


class OptimisationService(NamedResources):
    """Pose questions and read their answers."""

    kind: ClassVar[Kind] = Kind.OPTIMISATION
    write_scope: ClassVar[Scope] = Scope.ASSESS

    def __init__(self, store: Store, loader: TableLoader) -> None:
        super().__init__(store)
        self._loader = loader

    async def plan(self, actor: Actor, request: CreateOptimisation) -> Plan:
        """Cost and missing inputs; computes and stores nothing."""
        require(actor, Scope.ASSESS)
        named = [
            ("/dataset", Kind.DATASET, request.dataset),
            ("/dictionary", Kind.DICTIONARY, request.dictionary),
            ("/sensitivity", Kind.SENSITIVITY_PROFILE, request.sensitivity),
        ]
        async with self._store.work(actor.tenant) as work:
            missing = await missing_inputs(work, named)
        if missing:
            return Plan(None, None, None, None, None, missing)

        async def planned() -> Plan:
            async with self._store.work(actor.tenant) as work:
                sources = await find_sources(work, _refs(request))
            cost = await self._cost(actor, _document(request), sources)
            return Plan("run", cost.seconds, cost.bytes, cost.engine, cost.units, ())

        return await plan_or_missing(planned)

    async def create(self, actor: Actor, request: CreateOptimisation) -> RunStarted:
        """Store the question and queue its run in one transaction.

        If the answer is known from an equal question, the run has succeeded at once and the rule is there.
        """
        require(actor, Scope.ASSESS)
        check_name(request.name)
        document = _document(request)
        problem_of(document)
        async with self._store.work(actor.tenant) as work:
            sources = await find_sources(work, _refs(request))
            new = _new(request, document, sources)
            known = await work.results.find(self.kind.value, new.sha256)
            if known is None:
                await _refuse_taken_rule_name(work, new)
        cost = None if known else await self._cost(actor, document, sources)
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.resources.add(new)
            if created:
                await work.audit.record(
                    actor.key_id, "optimisation.create", stored.id, {"sha256": stored.sha256}
                )
            run = await start_run(work, stored, asdict(cost) if cost else {})
            if run.state is RunState.SUCCEEDED:
                await self._store_known_rule(work, actor, stored, sources)
            await work.commit()
        return RunStarted(stored, run, created)

    async def view(self, actor: Actor, ref: str) -> OptimisationView:
        """The optimisation with its result, if there is one yet."""
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
            return OptimisationView(stored, await work.results.find(self.kind.value, stored.sha256))

    async def _cost(self, actor: Actor, document: JsonObject, sources: Sources) -> SearchCost:
        context = await load_context(self._loader, actor.tenant, sources, document["utility"])
        problem = problem_of(document)
        return await asyncio.to_thread(estimate, context, problem, document["solver"], document["max_nodes"])

    async def _store_known_rule(
        self, work: UnitOfWork, actor: Actor, stored: Stored, sources: Sources
    ) -> None:
        known = await work.results.find(self.kind.value, stored.sha256)
        new = None if known is None else found_rule(known, stored, sources.dataset)
        if new is None:
            return
        rule, created = await work.resources.add(new)
        if created:
            await work.audit.record(actor.key_id, "rule.create", rule.id, {"sha256": rule.sha256})


def _refs(request: CreateOptimisation) -> tuple[str, str, str]:
    return request.dataset, request.dictionary, request.sensitivity


def _document(request: CreateOptimisation) -> JsonObject:
    """What is asked, apart from what it is asked about; all of it has meaning."""
    match request.objective:
        case MinRisk(utility_floor):
            objective: JsonObject = {"kind": "min_risk", "utility_floor": float(utility_floor)}
        case MaxUtility(risk_cap):
            objective = {"kind": "max_utility", "risk_cap": float(risk_cap)}
        case Lagrangian(trade_off):
            objective = {"kind": "lagrangian", "trade_off": float(trade_off)}
    return {
        "objective": objective,
        "scope": request.scope,
        "solver": request.solver,
        "utility": request.utility,
        "absent_policy": request.absent_policy,
        "max_nodes": request.max_nodes,
    }


def _new(request: CreateOptimisation, document: JsonObject, sources: Sources) -> NewResource:
    return NewResource(
        Kind.OPTIMISATION,
        request.name,
        resource_sha256(Kind.OPTIMISATION, document, sources.hashes),
        {
            "dataset": sources.dataset.name,
            "dictionary": sources.dictionary.name,
            "sensitivity": sources.sensitivity.name,
            **document,
        },
        document,
        sources.ids,
    )


async def _refuse_taken_rule_name(work: UnitOfWork, new: NewResource) -> None:
    """Refuse the work whose rule could not be stored; a rule that an equal question found is no obstacle."""
    try:
        rule = await work.resources.get(Kind.RULE, new.name)
    except NotFound:
        return
    if document_of(rule)["found_by"] != new.sha256:
        raise Conflict(
            f"A rule named {new.name!r} exists already; the best rule is to be stored under this name.",
            "Choose another name for the optimisation, or delete that rule first.",
            {"existing": {"kind": Kind.RULE.value, "name": rule.name, "id": rule.id}},
        )
