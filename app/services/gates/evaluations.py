"""Use cases on evaluations: hold a release against a policy, directly where that is small, else by a run."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass
from typing import ClassVar, Final

from app.domain.errors import DirectBudgetExceeded, Fault, InvalidInput, NotFound, NotSupported
from app.domain.policies.objectives import criterion_of
from app.domain.policies.policy import PrivacyModelDemand
from app.services.access import require
from app.services.assessments import RunStarted, start_run
from app.services.cell_values import require_to_name_values
from app.services.evidence import find
from app.services.evidence_masking import shown_resource, shown_verdict
from app.services.gates.completion import Completion
from app.services.gates.evaluation import Evaluation, EvaluationCost, prepare_evaluation
from app.services.gates.ledger import find_earlier_releases
from app.services.gates.requests import (
    CreateEvaluation,
    EvaluationCreated,
    EvaluationPlan,
    EvaluationView,
    Route,
)
from app.services.gates.stored import new_evaluation
from app.services.gates.subject import (
    Subject,
    asked_parameters,
    find_base,
    find_referred,
    find_rule,
    find_slots,
)
from app.services.gates.waivers import Waivable, waivers_for
from app.services.named import NamedResources
from app.services.naming import check_name
from app.services.plans import DirectBudget
from app.services.ports import Clock, Store, UnitOfWork
from app.services.resources import Actor, JsonObject, Kind, NewResource, RunState, Scope, Stored
from app.services.rules import RuleDefinition, defined_rule, kind_of
from app.services.tables import TableLoader

RUN_ROUTE: Final = "/v1/gates/{policy}/evaluations/runs"
OVERRUN: Final = 10.0
"""So many times the direct budget a search may take: of searches only the expected time is known."""


@dataclass(frozen=True)
class _Posed:
    """An evaluation that was asked for, prepared, how it will be stored, and its result if it is known."""

    evaluation: Evaluation
    new: NewResource
    change_rules: int
    known: JsonObject | None

    @property
    def subject(self) -> Subject:
        """What is evaluated."""
        return self.evaluation.subject


class EvaluationService(NamedResources):
    """Evaluate releases and read verdicts."""

    kind: ClassVar[Kind] = Kind.EVALUATION
    write_scope: ClassVar[Scope] = Scope.ASSESS

    def __init__(
        self, store: Store, loader: TableLoader, budget: DirectBudget, clock: Clock, completion: Completion
    ) -> None:
        super().__init__(store)
        self._loader = loader
        self._budget = budget
        self._clock = clock
        self._completion = completion

    async def plan(self, actor: Actor, request: CreateEvaluation) -> EvaluationPlan:
        """What every criterion would take, the route, or what is missing; computes and stores nothing."""
        require(actor, Scope.ASSESS)
        try:
            evaluation = await self._prepared(actor, request)
        except InvalidInput as error:
            return EvaluationPlan(None, None, None, None, None, (), error.faults)
        except NotSupported as error:
            fault = Fault("", error.code, error.message, error.remedy)
            return EvaluationPlan(None, None, None, None, None, (), (fault,))
        except NotFound as error:
            fault = Fault("", error.code, error.message, "Create it first, or name another.")
            return EvaluationPlan(None, None, None, None, None, (), (fault,))
        cost = await asyncio.to_thread(lambda: evaluation.cost)
        route: Route = "direct" if self._allows(cost) else "run"
        rules = evaluation.change_rules(route)
        seconds = rules * cost.seconds
        return EvaluationPlan(route, cost.seconds, cost.bytes, rules, seconds, evaluation.plans, ())

    async def create(self, actor: Actor, request: CreateEvaluation) -> EvaluationCreated:
        """Evaluate now; DirectBudgetExceeded names the run route if the estimate is above the budget.

        So it does where the search for an optimum takes far longer than was expected of it.
        """
        posed = await self._pose(actor, request, "direct")
        result = posed.known
        if result is None:
            cost = posed.evaluation.cost
            refusal = DirectBudgetExceeded(asdict(cost), RUN_ROUTE.format(policy=request.policy))
            if not self._allows(cost):
                raise refusal
            ends = time.monotonic() + OVERRUN * self._budget.seconds
            result = await asyncio.to_thread(
                posed.evaluation.now, posed.change_rules, lambda: time.monotonic() >= ends
            )
            if result is None:
                raise refusal
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.resources.add(posed.new)
            await work.results.save(self.kind.value, posed.new.sha256, result)
            if created:
                await self._note(work, actor, stored, result["verdict"])
            evidence = await self._completion.complete(work, posed.subject, stored, result, None)
            await work.commit()
        view = EvaluationView(shown_resource(actor, stored), shown_verdict(actor, result), evidence)
        return EvaluationCreated(view, created)

    async def create_run(self, actor: Actor, request: CreateEvaluation) -> RunStarted:
        """Store the evaluation and queue its run."""
        posed = await self._pose(actor, request, "run")
        estimate = {} if posed.known is not None else asdict(posed.evaluation.cost)
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.resources.add(posed.new)
            if created:
                await self._note(work, actor, stored, None)
            run = await start_run(work, stored, estimate)
            if posed.known is not None and run.state is RunState.SUCCEEDED:
                await self._completion.complete(work, posed.subject, stored, posed.known, run.id)
            await work.commit()
        return RunStarted(stored, run, created)

    async def view(self, actor: Actor, ref: str) -> EvaluationView:
        """The evaluation with its result and evidence, if there are any yet; values only with data:read.

        A run that was stopped keeps its own result, which is not that of an equal evaluation.
        """
        async with self._store.work(actor.tenant) as work:
            stored = await work.resources.get(self.kind, ref)
            runs, _ = await work.runs.list(resource_id=stored.id, state=None, limit=1, cursor=None)
            result: JsonObject | None
            if runs and runs[0].state is RunState.SUCCEEDED:
                result = await work.runs.result(runs[0].id)
            else:
                result = await work.results.find(self.kind.value, stored.sha256)
            evidence = await find(work, stored.id)
        return EvaluationView(
            shown_resource(actor, stored), None if result is None else shown_verdict(actor, result), evidence
        )

    async def _prepared(self, actor: Actor, request: CreateEvaluation) -> Evaluation:
        subject = await self._subject(actor, request)
        return await prepare_evaluation(self._store, self._loader, actor.tenant, subject)

    async def _pose(self, actor: Actor, request: CreateEvaluation, route: Route) -> _Posed:
        require(actor, Scope.ASSESS)
        if request.name is not None:
            check_name(request.name)
        evaluation = await self._prepared(actor, request)
        rules = await asyncio.to_thread(evaluation.change_rules, route)
        new = new_evaluation(evaluation.subject, request.name, route, rules)
        async with self._store.work(actor.tenant) as work:
            known = await work.results.find(self.kind.value, new.sha256)
        return _Posed(evaluation, new, rules, known)

    async def _subject(self, actor: Actor, request: CreateEvaluation) -> Subject:
        async with self._store.work(actor.tenant) as work:
            stored_policy, policy, base = await find_base(work, request)
            slots = await find_slots(work, base, request.dictionaries)
            parameters = await asked_parameters(work, policy, base, slots)
            referred = await find_referred(work, parameters)
            judged = Waivable(stored_policy, policy, base.dataset, self._clock().date())
            waivers = await waivers_for(work, judged)
            earlier = await find_earlier_releases(work, base.dataset)
            stored_rule = rule = upload = None
            if isinstance(request.rule, str):
                stored_rule, rule = await find_rule(work, request.rule, base.dataset)
            if request.release is not None:
                upload = await work.resources.get(Kind.UPLOAD, request.release.upload)
        models = [
            criterion_of(own.demand.model, own.demand.parameters)
            for own in policy.criteria
            if isinstance(own.demand, PrivacyModelDemand)
        ]
        require_to_name_values(actor, *parameters.values(), *models)
        kind = None if stored_rule is None else stored_rule.summary["kind"]
        if request.rule is not None and not isinstance(request.rule, str):
            rule = await self._defined(actor, request.rule, base.dataset)
            kind = kind_of(request.rule)
        known = {criterion.id for criterion in policy.criteria}
        return Subject(
            stored_policy=stored_policy,
            policy=policy,
            base=base,
            slots=slots,
            rule=rule,
            stored_rule=stored_rule,
            rule_kind=kind,
            upload=upload,
            key=None if request.release is None else request.release.key,
            order=None if request.release is None else request.release.order,
            parameters=parameters,
            referred=referred,
            waivers={id_: own for id_, own in waivers.items() if id_ in known},
            earlier=earlier,
        )

    async def _defined(self, actor: Actor, rule: RuleDefinition, dataset: Stored) -> JsonObject:
        table = await self._loader.table(actor.tenant, dataset)
        return await defined_rule(self._store, self._loader, actor, rule, dataset, table)

    async def _note(self, work: UnitOfWork, actor: Actor, stored: Stored, verdict: str | None) -> None:
        details: JsonObject = {"sha256": stored.sha256}
        if verdict is not None:
            details["verdict"] = verdict
        await work.audit.record(actor.key_id, "evaluation.create", stored.id, details)

    def _allows(self, cost: EvaluationCost) -> bool:
        return cost.seconds <= self._budget.seconds and cost.bytes <= self._budget.bytes
