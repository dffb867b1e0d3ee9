"""Use cases on optimisations: the question which rule is best; its work is always a run."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar, Literal

from app.domain.errors import Conflict, InvalidInput, NotFound
from app.domain.search.budget import Budget
from app.domain.search.plans import SearchCost, estimate
from app.domain.search.problem import Aggregate, Constraint
from app.services.access import require
from app.services.assessments import RunStarted, start_run
from app.services.fingerprints import resource_sha256
from app.services.named import NamedResources
from app.services.naming import check_name
from app.services.optimisation_work import PLAIN_SOLVERS, found_rule, problem_of
from app.services.plans import Plan
from app.services.ports import Store, UnitOfWork
from app.services.references import document_of
from app.services.resources import Actor, JsonObject, Kind, NewResource, RunState, Scope, Stored
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
class MinRisk:
    """Least risk among the rules with at least this utility, or at most this loss of information."""

    utility_floor: float | None = None
    loss_cap: float | None = None


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
    """What to optimise; the optimal rule will be stored under the same name.

    ``constraint`` says of record-level rules whether the threshold holds for every record (None) or for the
    mean of the table; ``aggregate`` whether the risk of a table is the mean of its records' or the greatest.
    """

    name: str
    dataset: str
    dictionary: str
    sensitivity: str
    objective: Objective
    scope: Literal["table_level", "record_level"] = "table_level"
    solver: Literal["auto", "enumeration", "branch_and_bound"] = "auto"
    failure: str | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)
    constraint: Constraint | None = None
    aggregate: Aggregate = "average"
    max_nodes: int | None = None

    @property
    def refs(self) -> SourceRefs:
        """What the question is about."""
        return SourceRefs(self.dataset, self.dictionary, self.sensitivity, self.failure)


@dataclass(frozen=True)
class OptimisationSummary:
    """The keys of an optimisation's ``summary``; the uses are names."""

    dataset: str
    dictionary: str
    dictionaries: tuple[str, ...]
    sensitivity: str
    failure: str | None
    objective: JsonObject
    scope: str
    solver: str
    constraint: str
    aggregate: str
    utility: str | JsonObject
    absent_policy: str
    risk_model: str | JsonObject
    consistency: JsonObject
    attacker_view: str
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

        async def planned() -> Plan:
            async with self._store.work(actor.tenant) as work:
                missing = await missing_sources(work, request.refs)
                if missing:
                    return Plan(None, None, None, None, None, missing)
                sources = await find_sources(work, request.refs)
            cost = await self._cost(actor, _resolved(request, sources), sources)
            return Plan("run", cost.seconds, cost.bytes, cost.engine, cost.units, ())

        return await plan_or_missing(planned)

    async def create(self, actor: Actor, request: CreateOptimisation) -> RunStarted:
        """Store the question and queue its run in one transaction.

        If the answer is known from an equal question, the run has succeeded at once and the rule is there.
        """
        require(actor, Scope.ASSESS)
        check_name(request.name)
        async with self._store.work(actor.tenant) as work:
            sources = await find_sources(work, request.refs)
            request = _resolved(request, sources)
            document = _document(request)
            problem_of(document)
            new = _new(request, document, sources)
            known = await work.results.find(self.kind.value, new.sha256)
            if known is None:
                await _refuse_taken_rule_name(work, new)
        cost = None if known else await self._cost(actor, request, sources)
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

    async def _cost(self, actor: Actor, request: CreateOptimisation, sources: Sources) -> SearchCost:
        problem = problem_of(_document(request))
        scoring = await load_scoring(self._loader, actor.tenant, sources, request.options)

        def cost() -> SearchCost:
            return estimate(
                scoring.context, problem, PLAIN_SOLVERS[request.solver], Budget(request.max_nodes)
            )

        return await asyncio.to_thread(cost)

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


def _resolved(request: CreateOptimisation, sources: Sources) -> CreateOptimisation:
    """The request with the view that its dictionaries have; InvalidInput where parts do not fit."""
    if request.scope == "table_level" and request.constraint == "per_record":
        raise InvalidInput.of(
            "/constraint",
            "constraint-of-records",
            "Table-level rules are held against the threshold as a whole, by the mean over the table.",
            "Leave constraint out, choose average, or ask for record_level.",
        )
    if isinstance(request.objective, MinRisk):
        _check_floor(request.objective, request.options)
    view = sources.view(request.options.attacker_view)
    return replace(request, options=replace(request.options, attacker_view=view))


def _check_floor(objective: MinRisk, options: ScoringOptions) -> None:
    """A loss of information is capped, any other utility has a floor (D-11)."""
    is_loss = options.utility.kind.startswith("info_loss")
    given, wanted = ("loss_cap", "utility_floor") if objective.utility_floor is None else (
        "utility_floor", "loss_cap"
    )  # fmt: skip
    if is_loss != (given == "loss_cap"):
        kind = "a loss: less of it is better" if is_loss else "no loss: more of it is better"
        raise InvalidInput.of(
            f"/objective/{given}",
            "wrong-direction",
            f"The utility {options.utility.kind} is {kind}.",
            f"Give {wanted} instead.",
        )


def _document(request: CreateOptimisation) -> JsonObject:
    """What is asked, apart from what it is asked about; all of it has meaning."""
    match request.objective:
        case MinRisk(None, loss_cap) if loss_cap is not None:
            objective: JsonObject = {"kind": "min_risk", "loss_cap": float(loss_cap)}
        case MinRisk(utility_floor):
            objective = {"kind": "min_risk", "utility_floor": float(utility_floor or 0.0)}
        case MaxUtility(risk_cap):
            objective = {"kind": "max_utility", "risk_cap": float(risk_cap)}
        case Lagrangian(trade_off):
            objective = {"kind": "lagrangian", "trade_off": float(trade_off)}
    document = {
        "objective": objective,
        "scope": request.scope,
        "solver": request.solver,
        **request.options.document(),
        "max_nodes": request.max_nodes,
    }
    # Only what is not as usual is written down, so that it means and hashes the same if it is left out.
    if request.scope == "record_level" and request.constraint == "average":
        document["constraint"] = "average"
    if request.aggregate != "average":
        document["aggregate"] = request.aggregate
    return document


def _new(request: CreateOptimisation, document: JsonObject, sources: Sources) -> NewResource:
    per_record = request.scope == "record_level" and request.constraint != "average"
    return NewResource(
        Kind.OPTIMISATION,
        request.name,
        resource_sha256(Kind.OPTIMISATION, document, sources.hashes),
        {
            **document,
            **sources.shown(),
            **request.options.shown(),
            "constraint": "per_record" if per_record else "average",
            "aggregate": request.aggregate,
        },
        {**document, "sources": sources.refs},
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
