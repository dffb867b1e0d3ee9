"""Use cases on measurements: one measure of the catalogue, computed for the tenant's own resources."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, Final, Literal, get_type_hints

from app.domain.errors import DirectBudgetExceeded, Fault, InvalidInput
from app.domain.measures.entry import RELEASED_RULES, Cost
from app.services.access import require
from app.services.assessments import RunStarted, start_run
from app.services.cell_values import require_to_name_values, shown_parameters, shown_result
from app.services.evidence_masking import shown_resource
from app.services.fingerprints import resource_sha256
from app.services.measurement_documents import (
    document_of_parameters,
    references_in,
    with_references,
)
from app.services.measurement_work import Measurement, MeasurementPreparation, Question, measure_of
from app.services.named import NamedResources
from app.services.naming import check_name
from app.services.plans import DirectBudget, Plan
from app.services.ports import Store, UnitOfWork
from app.services.references import document_of
from app.services.resources import Actor, JsonObject, Kind, NewResource, Scope, Stored
from app.services.rule_documents import require_rule_of, resources_of_rule, rule_in_short, rule_sha256
from app.services.rules import RuleDefinition, defined_rule, kind_of
from app.services.scoring_inputs import (
    SourceRefs,
    find_sources,
    missing_inputs,
    missing_sources,
    plan_or_missing,
)
from app.services.scoring_options import ScoringOptions
from app.services.tables import TableLoader

RUN_ROUTE: Final = "/v1/measurements/runs"

_RELEASES_PER_READ: Final = 200


@dataclass(frozen=True)
class CreateMeasurement:
    """What to measure: ``parameters`` is a value of the measure's own type.

    Whether rule, dictionary and sensitivity are needed depends on the measure; ``rule`` is a stored rule or a
    definition. Without a name one is made of the hash.
    """

    dataset: str
    measure: str
    parameters: Any
    rule: str | RuleDefinition | None = None
    dictionary: str | None = None
    sensitivity: str | None = None
    failure: str | None = None
    name: str | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)

    @property
    def refs(self) -> SourceRefs:
        """What the measure rests on, but for the rule and what its parameters name."""
        return SourceRefs(self.dataset, self.dictionary, self.sensitivity, self.failure)


@dataclass(frozen=True)
class MeasurementSummary:
    """The keys of a measurement's ``summary``; the uses are names, None where none is used."""

    dataset: str
    rule: JsonObject | None
    dictionary: str | None
    sensitivity: str | None
    failure: str | None
    utility: str | JsonObject
    absent_policy: str
    risk_model: str | JsonObject
    consistency: JsonObject
    measure: str
    version: int
    guarantee: str


@dataclass(frozen=True)
class MeasurementView:
    """A measurement with its parameters and its result, which is None until a run has brought it."""

    resource: Stored
    parameters: JsonObject
    result: JsonObject | None


@dataclass(frozen=True)
class MeasurementCreated:
    """A direct measurement, and whether it is new."""

    view: MeasurementView
    created: bool


@dataclass(frozen=True)
class _Posed:
    """A measurement that was asked for, how it will be stored, and its result if it was computed before."""

    question: Question
    new: NewResource
    known: JsonObject | None


class MeasurementService(NamedResources):
    """Compute measures, directly where that is small and by a run where it is not."""

    kind: ClassVar[Kind] = Kind.MEASUREMENT
    write_scope: ClassVar[Scope] = Scope.ASSESS

    def __init__(self, store: Store, loader: TableLoader, budget: DirectBudget) -> None:
        super().__init__(store)
        self._loader = loader
        self._budget = budget
        self._prepare = MeasurementPreparation(store, loader, budget.bytes)

    async def plan(self, actor: Actor, request: CreateMeasurement) -> Plan:
        """Cost and route, or what is missing or not supported; computes and stores nothing."""
        _require_for(actor, request)

        async def estimate() -> Plan:
            missing = await self._missing(actor, request)
            if missing:
                return Plan(None, None, None, None, None, missing)
            cost = await self._cost(actor, await self._pose(actor, request))
            route: Literal["direct", "run"] = "direct" if self._allows(cost) else "run"
            return Plan(route, cost.seconds, cost.bytes, cost.engine, cost.units, ())

        return await plan_or_missing(estimate)

    async def create(self, actor: Actor, request: CreateMeasurement) -> MeasurementCreated:
        """Compute now; DirectBudgetExceeded names the run route if the estimate is above the budget."""
        _require_for(actor, request)
        posed = await self._pose(actor, request)
        result = posed.known
        if result is None:
            measurement = await self._measurement(actor, posed)
            cost = await asyncio.to_thread(lambda: measurement.cost)
            if not self._allows(cost):
                raise DirectBudgetExceeded(asdict(cost), RUN_ROUTE)
            result = await asyncio.to_thread(measurement.result)
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.resources.add(posed.new)
            await work.results.save(self.kind.value, posed.new.sha256, result)
            if created:
                await self._note(work, actor, stored)
            await work.commit()
        return MeasurementCreated(_view(actor, stored, posed.new.document, result), created)

    async def create_run(self, actor: Actor, request: CreateMeasurement) -> RunStarted:
        """Store the measurement and queue its run."""
        _require_for(actor, request)
        posed = await self._pose(actor, request)
        estimate = {} if posed.known is not None else asdict(await self._cost(actor, posed))
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.resources.add(posed.new)
            if created:
                await self._note(work, actor, stored)
            run = await start_run(work, stored, estimate)
            await work.commit()
        return RunStarted(stored, run, created)

    async def view(self, actor: Actor, ref: str) -> MeasurementView:
        """The measurement with its result, if there is one yet; values of cells only with data:read."""
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
            result = await work.results.find(self.kind.value, stored.sha256)
        return _view(actor, stored, stored.document, result)

    async def _missing(self, actor: Actor, request: CreateMeasurement) -> tuple[Fault, ...]:
        named = [("/rule", Kind.RULE, request.rule)] if isinstance(request.rule, str) else []
        named += [(found.pointer, found.kind, found.ref) for found in references_in(request.parameters)]
        async with self._store.work(actor.tenant) as work:
            return (*await missing_sources(work, request.refs), *await missing_inputs(work, named))

    async def _cost(self, actor: Actor, posed: _Posed) -> Cost:
        measurement = await self._measurement(actor, posed)
        return await asyncio.to_thread(lambda: measurement.cost)

    async def _measurement(self, actor: Actor, posed: _Posed) -> Measurement:
        return await self._prepare.measurement(actor.tenant, posed.question)

    async def _pose(self, actor: Actor, request: CreateMeasurement) -> _Posed:
        if request.name is not None:
            check_name(request.name)
        rule = stored_rule = None
        async with self._store.work(actor.tenant) as work:
            sources = await find_sources(work, request.refs)
            if isinstance(request.rule, str):
                stored_rule = await work.resources.get(Kind.RULE, request.rule)
                rule = require_rule_of(stored_rule, sources.dataset)
            parameters = await with_released_rules(work, request.parameters, sources.dataset)
            by_pointer = {
                reference.pointer: await work.resources.get(reference.kind, reference.ref)
                for reference in references_in(parameters)
            }
        if request.rule is not None and not isinstance(request.rule, str):
            table = await self._loader.table(actor.tenant, sources.dataset)
            rule = await defined_rule(self._store, self._loader, actor, request.rule, sources.dataset, table)
        _require_rules_of(sources.dataset, by_pointer)
        question = Question(
            measure_of(request.measure),
            with_references(parameters, lambda reference: by_pointer[reference.pointer].name),
            sources,
            request.options,
            rule,
            {(stored.kind, stored.name): stored for stored in by_pointer.values()},
        )
        new = _resource(request, question, stored_rule, by_pointer)
        async with self._store.work(actor.tenant) as work:
            return _Posed(question, new, await work.results.find(self.kind.value, new.sha256))

    async def _note(self, work: UnitOfWork, actor: Actor, stored: Stored) -> None:
        await work.audit.record(actor.key_id, "measurement.create", stored.id, {"sha256": stored.sha256})

    def _allows(self, cost: Cost) -> bool:
        return cost.seconds <= self._budget.seconds and cost.bytes <= self._budget.bytes


def _require_for(actor: Actor, request: CreateMeasurement) -> None:
    require(actor, Scope.ASSESS)
    require_to_name_values(actor, request.parameters)


def _view(
    actor: Actor, stored: Stored, document: JsonObject | None, result: JsonObject | None
) -> MeasurementView:
    """What the actor may see."""
    return MeasurementView(
        shown_resource(actor, stored),
        {} if document is None else shown_parameters(actor, document["measure"]),
        None if result is None else shown_result(actor, result),
    )


def _require_rules_of(dataset: Stored, by_pointer: Mapping[str, Stored]) -> None:
    """Raise InvalidInput for every rule that the parameters name and that is for another dataset."""
    faults = [
        Fault(
            pointer,
            "other-dataset",
            f"The rule {stored.name!r} is not for the dataset {dataset.name!r}.",
            "Name rules of the dataset that is measured.",
        )
        for pointer, stored in by_pointer.items()
        if stored.kind is Kind.RULE and document_of(stored)["dataset"]["sha256"] != dataset.sha256
    ]
    if faults:
        raise InvalidInput(faults)


def _resource(
    request: CreateMeasurement, question: Question, rule: Stored | None, by_pointer: Mapping[str, Stored]
) -> NewResource:
    """The measurement as it will be stored.

    Results may name what the parameters refer to, so the names count among what gives it its meaning.
    """
    measure, sources = question.measure, question.sources
    asked = {
        "name": measure.name,
        "version": measure.version,
        "parameters": document_of_parameters(question.parameters),
    }
    meaning = {**request.options.document(), "measure": asked}
    hashes = {**sources.hashes, **{pointer: stored.sha256 for pointer, stored in by_pointer.items()}}
    if question.rule is not None:
        own = rule_sha256(question.rule, sources.dataset.sha256)
        hashes["rule"] = own if rule is None else rule.sha256
    sha256 = resource_sha256(Kind.MEASUREMENT, meaning, hashes)
    document = {
        **meaning,
        "sources": sources.refs,
        "rule": question.rule if rule is None else None,
        "stored_rule": None if rule is None else rule.id,
    }
    used = [*sources.ids, *resources_of_rule(question.rule, rule), *(s.id for s in by_pointer.values())]
    return NewResource(
        Kind.MEASUREMENT,
        request.name or f"measurement-{sha256[:16]}",
        sha256,
        _summary(request, question, rule),
        document,
        tuple(dict.fromkeys(used)),
    )


def _summary(request: CreateMeasurement, question: Question, rule: Stored | None) -> JsonObject:
    shown = request.options.shown()
    del shown["attacker_view"]
    summary: JsonObject = {
        **dict.fromkeys(("dictionary", "sensitivity", "failure", "rule")),
        **question.sources.names,
        **shown,
        "measure": question.measure.name,
        "version": question.measure.version,
        "guarantee": question.measure.guarantee,
    }
    if question.rule is not None:
        kind = kind_of(request.rule) if not isinstance(request.rule, str | None) else None
        name = None if rule is None else rule.name
        kind = kind if rule is None else rule.summary["kind"]
        summary["rule"] = {"name": name, **rule_in_short(question.rule, kind)}
    return summary


async def with_released_rules(work: UnitOfWork, parameters: Any, dataset: Stored) -> Any:  # noqa: ANN401
    """The parameters with the rules of the dataset's releases, oldest first, where they ask for these."""
    hints = get_type_hints(type(parameters), include_extras=True)
    asked = [
        own.name
        for own in dataclasses.fields(parameters)
        if RELEASED_RULES in getattr(hints[own.name], "__metadata__", ())
        and getattr(parameters, own.name) is None
    ]
    if not asked:
        return parameters
    rules: list[str] = []
    cursor = None
    while True:
        page = await work.resources.list(Kind.RELEASE, name=None, limit=_RELEASES_PER_READ, cursor=cursor)
        rules += [
            r.summary["rule"]["name"] for r in page.items if r.summary["dataset_sha256"] == dataset.sha256
        ]
        cursor = page.next_cursor
        if cursor is None:
            return replace(parameters, **dict.fromkeys(asked, tuple(dict.fromkeys(reversed(rules)))))
