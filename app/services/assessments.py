"""Use cases on assessments: the score of one rule against what the attacker has."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, dataclass, field, replace
from typing import ClassVar, Final, Literal

from app.domain.counting.counter import Cost
from app.domain.errors import Conflict, DirectBudgetExceeded, InvalidInput
from app.domain.risk.loss import AbsentPolicy as AbsentPolicy
from app.services.access import require
from app.services.assessment_work import AssessmentPreparation, RuleScore
from app.services.evidence_masking import shown_resource
from app.services.fingerprints import resource_sha256
from app.services.named import NamedResources
from app.services.naming import check_name
from app.services.plans import DirectBudget, Plan
from app.services.ports import Store, UnitOfWork
from app.services.resources import (
    Actor,
    DataFormat,
    DataStream,
    JsonObject,
    Kind,
    NewResource,
    Run,
    RunState,
    Scope,
    Stored,
)
from app.services.rule_documents import (
    require_rule_of,
    resources_of_rule,
    rule_in_short,
    rule_of,
    rule_sha256,
)
from app.services.rules import RuleDefinition, defined_rule, kind_of
from app.services.scoring_inputs import (
    SourceRefs,
    Sources,
    find_sources,
    load_scoring,
    missing_inputs,
    missing_sources,
    plan_or_missing,
)
from app.services.scoring_options import ScoringOptions
from app.services.table_streams import stream_columns
from app.services.tables import TableLoader

RUN_ROUTE: Final = "/v1/assessments/runs"


@dataclass(frozen=True)
class Bounds:
    """The question whether the risk is an upper bound (Definitions: upper bound).

    Of the risk under ``true_dictionary``, or, where that is None, under whatever the attacker has.
    """

    true_dictionary: str | None = None


@dataclass(frozen=True)
class CreateAssessment:
    """What to score; ``rule`` is a stored rule or a definition. Without a name one is made of the hash.

    ``dictionary`` is a dictionary or a dictionary set.
    """

    dataset: str
    rule: str | RuleDefinition
    dictionary: str
    sensitivity: str
    name: str | None = None
    failure: str | None = None
    options: ScoringOptions = field(default_factory=ScoringOptions)
    bounds: Bounds | None = None

    @property
    def refs(self) -> SourceRefs:
        """What the score rests on, but for the rule."""
        true_dictionary = None if self.bounds is None else self.bounds.true_dictionary
        return SourceRefs(self.dataset, self.dictionary, self.sensitivity, self.failure, true_dictionary)


@dataclass(frozen=True)
class AssessmentSummary:
    """The keys of an assessment's ``summary``; the uses are names.

    ``dictionaries`` are those of a dictionary set in the order of the result, empty for a single one.
    """

    dataset: str
    rule: JsonObject
    dictionary: str
    dictionaries: tuple[str, ...]
    sensitivity: str
    failure: str | None
    utility: str | JsonObject
    absent_policy: str
    risk_model: str | JsonObject
    consistency: JsonObject
    attacker_view: str
    bounds: JsonObject | None


@dataclass(frozen=True)
class AssessmentView:
    """An assessment with its result, which is None until a run has brought it.

    Keys of the result: those of the domain's Assessment, infinities as "inf".
    """

    resource: Stored
    result: JsonObject | None


@dataclass(frozen=True)
class AssessmentCreated:
    """A direct assessment, and whether it is new."""

    view: AssessmentView
    created: bool


@dataclass(frozen=True)
class RunStarted:
    """A resource whose work was handed to a run (or was found done: the run has succeeded)."""

    resource: Stored
    run: Run
    created: bool


@dataclass(frozen=True)
class _Posed:
    """An assessment that was asked for: its sources, the rule's document, and how it will be stored.

    ``known`` is its result, if the same was computed before.
    """

    request: CreateAssessment
    sources: Sources
    rule: JsonObject
    new: NewResource
    known: JsonObject | None = None


class AssessmentService(NamedResources):
    """Score rules, directly where that is small and by a run where it is not."""

    kind: ClassVar[Kind] = Kind.ASSESSMENT
    write_scope: ClassVar[Scope] = Scope.ASSESS

    def __init__(self, store: Store, loader: TableLoader, budget: DirectBudget) -> None:
        super().__init__(store)
        self._loader = loader
        self._budget = budget
        self._prepare = AssessmentPreparation(store, loader, budget.bytes)

    async def plan(self, actor: Actor, request: CreateAssessment) -> Plan:
        """Cost, route and missing inputs; computes and stores nothing."""
        require(actor, Scope.ASSESS)

        async def estimate() -> Plan:
            named = [("/rule", Kind.RULE, request.rule)] if isinstance(request.rule, str) else []
            async with self._store.work(actor.tenant) as work:
                missing = (*await missing_sources(work, request.refs), *await missing_inputs(work, named))
            if missing:
                return Plan(None, None, None, None, None, missing)
            score = await self._score(actor, await self._pose(actor, request))
            cost = await asyncio.to_thread(score.estimate)
            route: Literal["direct", "run"] = "direct" if self._allows(cost) else "run"
            return Plan(route, cost.seconds, cost.bytes, cost.engine, score.units, ())

        return await plan_or_missing(estimate)

    async def create(self, actor: Actor, request: CreateAssessment) -> AssessmentCreated:
        """Score now; DirectBudgetExceeded names the run route if the estimate is above the budget."""
        require(actor, Scope.ASSESS)
        posed = await self._pose(actor, request)
        result = posed.known
        if result is None:
            score = await self._score(actor, posed)
            cost = await asyncio.to_thread(score.estimate)
            if not self._allows(cost):
                raise DirectBudgetExceeded(asdict(cost), RUN_ROUTE)
            result = await asyncio.to_thread(score.result)
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.resources.add(posed.new)
            await work.results.save(self.kind.value, posed.new.sha256, result)
            if created:
                await self._note(work, actor, stored)
            await work.commit()
        return AssessmentCreated(AssessmentView(shown_resource(actor, stored), result), created)

    async def create_run(self, actor: Actor, request: CreateAssessment) -> RunStarted:
        """Store the assessment and queue its run."""
        require(actor, Scope.ASSESS)
        posed = await self._pose(actor, request)
        estimate: JsonObject = {}
        if posed.known is None:
            score = await self._score(actor, posed)
            estimate = {**asdict(await asyncio.to_thread(score.estimate)), "units": score.units}
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.resources.add(posed.new)
            if created:
                await self._note(work, actor, stored)
            run = await start_run(work, stored, estimate)
            await work.commit()
        return RunStarted(stored, run, created)

    async def view(self, actor: Actor, ref: str) -> AssessmentView:
        """The assessment with its result, if there is one yet."""
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
            result = await work.results.find(self.kind.value, stored.sha256)
        return AssessmentView(shown_resource(actor, stored), result)

    async def records(self, actor: Actor, ref: str, format: DataFormat) -> DataStream:
        """Counts, probability, harms, loss and utility of every record; needs data:read.

        The numbers are computed anew: only their summary is kept. Conflict while a run is at work on that.
        """
        require(actor, Scope.DATA_READ)
        view = await self.view(actor, ref)
        if view.result is None:
            raise Conflict(
                f"The assessment {view.resource.name!r} has no result yet.",
                "Wait for its run to succeed, or start one again.",
            )
        score = await self._prepare.score(actor.tenant, view.resource)
        names = view.resource.summary.get("dictionaries", ())
        columns = await asyncio.to_thread(score.record_columns, names)
        return stream_columns(columns, format, f"{view.resource.name}-records")

    async def _pose(self, actor: Actor, request: CreateAssessment) -> _Posed:
        if request.name is not None:
            check_name(request.name)
        async with self._store.work(actor.tenant) as work:
            sources = await find_sources(work, request.refs)
            request = _resolved(request, sources)
            if isinstance(request.rule, str):
                stored_rule = await work.resources.get(Kind.RULE, request.rule)
                rule = require_rule_of(stored_rule, sources.dataset)
                shown = {"name": stored_rule.name, **rule_in_short(rule, stored_rule.summary["kind"])}
                return await self._with_known(work, _posed(request, sources, rule, shown, stored_rule))
        table = await self._loader.table(actor.tenant, sources.dataset)
        rule = await defined_rule(self._store, self._loader, actor, request.rule, sources.dataset, table)
        shown = {"name": None, **rule_in_short(rule, kind_of(request.rule))}
        async with self._store.work(actor.tenant) as work:
            return await self._with_known(work, _posed(request, sources, rule, shown, None))

    async def _with_known(self, work: UnitOfWork, posed: _Posed) -> _Posed:
        return replace(posed, known=await work.results.find(self.kind.value, posed.new.sha256))

    async def _score(self, actor: Actor, posed: _Posed) -> RuleScore:
        scoring = await load_scoring(self._loader, actor.tenant, posed.sources, posed.request.options)
        rule = await asyncio.to_thread(rule_of, posed.rule, scoring.table)
        return RuleScore(scoring, rule, self._budget.bytes, bounds=posed.request.bounds is not None)

    async def _note(self, work: UnitOfWork, actor: Actor, stored: Stored) -> None:
        await work.audit.record(actor.key_id, "assessment.create", stored.id, {"sha256": stored.sha256})

    def _allows(self, cost: Cost) -> bool:
        return cost.seconds <= self._budget.seconds and cost.bytes <= self._budget.bytes


async def start_run(work: UnitOfWork, stored: Stored, estimate: JsonObject) -> Run:
    """The resource's latest run, or a new one, queued, if there is none that works or has worked."""
    runs, _ = await work.runs.list(resource_id=stored.id, state=None, limit=1, cursor=None)
    if runs and (runs[0].state is RunState.SUCCEEDED or not runs[0].state.is_final):
        return runs[0]
    run = await work.runs.create(stored, stored.sha256, estimate)
    if not run.state.is_final:
        await work.enqueue(run.id)
    return run


def _resolved(request: CreateAssessment, sources: Sources) -> CreateAssessment:
    """The request with the view that its dictionaries have; InvalidInput where the two do not fit."""
    if request.bounds is not None and sources.is_set:
        raise InvalidInput.of(
            "/bounds",
            "bound-of-a-set",
            "Whether a risk is an upper bound is asked of one dictionary; this is a set.",
            "Name the dictionary whose risk is to be the bound.",
        )
    view = sources.view(request.options.attacker_view)
    return replace(request, options=replace(request.options, attacker_view=view))


def _posed(
    request: CreateAssessment,
    sources: Sources,
    rule: JsonObject,
    shown: JsonObject,
    stored_rule: Stored | None,
) -> _Posed:
    meaning = request.options.document()
    if request.bounds is not None:
        meaning["bounds"] = True
    rule_hash = rule_sha256(rule, sources.dataset.sha256) if stored_rule is None else stored_rule.sha256
    sha256 = resource_sha256(Kind.ASSESSMENT, meaning, {**sources.hashes, "rule": rule_hash})
    document = {
        **meaning,
        "sources": sources.refs,
        "rule": rule if stored_rule is None else None,
        "stored_rule": None if stored_rule is None else stored_rule.id,
    }
    new = NewResource(
        Kind.ASSESSMENT,
        request.name or f"assessment-{sha256[:16]}",
        sha256,
        _summary(request, sources, shown),
        document,
        tuple(dict.fromkeys((*sources.ids, *resources_of_rule(rule, stored_rule)))),
    )
    return _Posed(request, sources, rule, new)


def _summary(request: CreateAssessment, sources: Sources, rule: JsonObject) -> JsonObject:
    true = sources.true_dictionary
    return {
        **sources.shown(),
        "rule": rule,
        **request.options.shown(),
        "bounds": request.bounds and {"true_dictionary": None if true is None else true.name},
    }
