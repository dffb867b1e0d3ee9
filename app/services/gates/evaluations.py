"""Use cases on evaluations: evaluate a release by a policy, directly where that is small, else by a run."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

from app.domain.errors import Conflict, InvalidInput, NotFound, NotSupported, Withdrawn
from app.domain.policies.privacy_model_condition import PrivacyModelCondition
from app.domain.policies.reasons import is_reason
from app.domain.search.answers import answers_of
from app.domain.search.budget import Halted, never
from app.services.datasets.cell_values import require_to_name_values
from app.services.datasets.tables import TableLoader
from app.services.direct_questions import DirectService
from app.services.fingerprints import canonical_json
from app.services.gates.completion import Completion
from app.services.gates.coverage import broken_coverage
from app.services.gates.evaluation import Evaluation, EvaluationCost, prepare_evaluation
from app.services.gates.ledger import find_earlier_releases, refuse_drawn
from app.services.gates.requests import (
    CreateEvaluation,
    EvaluationPlan,
    ReleaseFile,
    StoredRelease,
    ViewsAsked,
)
from app.services.gates.stored_releases import JudgedRelease, find_release, with_dataset
from app.services.gates.subject import (
    Subject,
    asked_parameters,
    find_base,
    find_compared,
    find_referred,
    find_slots,
    new_evaluation,
    subject_of,
)
from app.services.gates.view_evaluation import ViewEvaluation
from app.services.gates.view_subject import (
    find_views,
    new_view_evaluation,
    require_readable,
    view_subject_of,
    with_waivers,
)
from app.services.gates.waivers import Waivable, waivers_for
from app.services.ports import Clock, Store, UnitOfWork
from app.services.questions import Answer, DirectBudget, Route, faults_of, require_result
from app.services.releases.withdrawal import find_withdrawal
from app.services.resources import (
    Actor,
    JsonObject,
    Kind,
    NewResource,
    Run,
    RunState,
    Scope,
    Stored,
    TenantId,
    document_of,
    require,
)
from app.services.rules.rules import find_rule
from app.services.runs.run_execution import Conclusion
from app.services.runs.webhook_values import WebhookEvent

OVERRUN: Final = 10.0
"""So many times the direct budget a search may take: of searches only the expected time is known."""


@dataclass(frozen=True)
class TimedEvaluation:
    """An evaluation that ends after ``seconds``, and examines so many rules for changes."""

    evaluation: Evaluation | ViewEvaluation
    change_rules: int
    seconds: float

    @property
    def cost(self) -> EvaluationCost:
        """The estimate."""
        return self.evaluation.cost

    def result(self) -> JsonObject | None:
        """The verdict document; None if the search for an optimum did not end in time."""
        ends = time.monotonic() + self.seconds
        return self.evaluation.now(self.change_rules, lambda: time.monotonic() >= ends)


class EvaluationService(DirectService[CreateEvaluation, TimedEvaluation, TimedEvaluation]):
    """Evaluate releases and read verdicts."""

    kind: ClassVar[Kind] = Kind.EVALUATION

    def __init__(
        self, store: Store, loader: TableLoader, budget: DirectBudget, clock: Clock, completion: Completion
    ) -> None:
        super().__init__(store, loader, budget)
        self._clock = clock
        self._completion = completion

    async def plan(self, actor: Actor, request: CreateEvaluation) -> EvaluationPlan:
        """What every criterion would take, the route, or what is missing; computes and stores nothing."""
        self._require_for(actor, request)
        try:
            evaluation = await self._evaluation(self._store, actor, request)
        except (InvalidInput, NotSupported, NotFound, Withdrawn) as error:
            return EvaluationPlan(missing=faults_of(error))
        return await asyncio.to_thread(self._plan, self._timed(evaluation, 0))

    def _plan(self, prepared: TimedEvaluation) -> EvaluationPlan:
        evaluation, cost, route = prepared.evaluation, prepared.cost, self._route(prepared)
        rules = evaluation.change_rules(route)
        return EvaluationPlan(
            route,
            cost.seconds,
            cost.bytes,
            change_rules=rules,
            change_seconds=rules * cost.seconds,
            criteria=evaluation.plans,
        )

    async def _resolve(
        self, store: Store, actor: Actor, request: CreateEvaluation, route: Route
    ) -> tuple[TimedEvaluation, NewResource]:
        evaluation = await self._evaluation(store, actor, request)
        if isinstance(evaluation, ViewEvaluation):
            return self._timed(evaluation, 0), new_view_evaluation(evaluation.subject, request.name, route)
        rules = await asyncio.to_thread(evaluation.change_rules, route)
        return self._timed(evaluation, rules), new_evaluation(evaluation.subject, request.name, route, rules)

    async def _prepare(self, actor: Actor, question: TimedEvaluation) -> TimedEvaluation:
        return question

    def _is_small_run(self, prepared: TimedEvaluation, budget: DirectBudget) -> bool:
        """Runs look for many changes, each of which takes an evaluation."""
        cost = prepared.cost
        return budget.allows(replace(cost, seconds=(1 + prepared.change_rules) * cost.seconds))

    async def _evaluation(
        self, store: Store, actor: Actor, request: CreateEvaluation
    ) -> Evaluation | ViewEvaluation:
        if request.views is not None:
            return await self._of_views(store, actor, request, request.views)
        subject = await self._subject(store, actor, request)
        return await prepare_evaluation(store, self._loader, actor.tenant, subject)

    async def _of_views(
        self, store: Store, actor: Actor, request: CreateEvaluation, asked: ViewsAsked
    ) -> ViewEvaluation:
        async with store.work(actor.tenant) as work:
            subject = await find_views(work, request, asked)
            sha256 = await asyncio.to_thread(lambda: subject.sha256)
            judged = Waivable(subject.stored_policy, subject.policy, sha256, self._clock().date())
            subject = await with_waivers(work, subject, judged)
        await asyncio.to_thread(require_readable, subject)
        return ViewEvaluation(subject)

    def _timed(self, evaluation: Evaluation | ViewEvaluation, change_rules: int) -> TimedEvaluation:
        return TimedEvaluation(evaluation, change_rules, OVERRUN * self._budget.seconds)

    async def _subject(self, store: Store, actor: Actor, request: CreateEvaluation) -> Subject:
        async with store.work(actor.tenant) as work:
            request = await with_dataset(work, request)
            stored_policy, policy, base = await find_base(work, request)
            slots = await find_slots(work, base, request.dictionaries)
            released = None
            if isinstance(request.release, StoredRelease):
                released = await find_release(work, request.release.name, base.dataset)
            is_drawn = released is not None and released.is_drawn
            drawn_of = base.dataset if is_drawn else None
            compared = await find_compared(work, policy, request, drawn_of)
            parameters = await asked_parameters(work, policy, base, slots, compared, is_drawn=is_drawn)
            referred = await find_referred(work, parameters)
            judged = Waivable(stored_policy, policy, base.dataset, self._clock().date())
            waivers = await waivers_for(work, judged)
            earlier = await find_earlier_releases(work, base.dataset)
            upload = None
            if isinstance(request.release, ReleaseFile):
                upload = await work.resources.get(Kind.UPLOAD, request.release.upload)
                refuse_drawn(upload, earlier)
            elif released is not None:
                earlier = tuple(own for own in earlier if own["name"] != released.stored.name)
        models = [
            own.condition.typed
            for own in policy.requirements
            if isinstance(own.condition, PrivacyModelCondition)
        ]
        require_to_name_values(actor, *parameters.values(), *models)
        rule, asked = None, request.rule if released is None else released.rule_id
        if asked is not None:
            rule = await find_rule(store, self._loader, actor, asked, base.dataset)
        known = {criterion.id for criterion in policy.requirements}
        return Subject(
            stored_policy=stored_policy,
            policy=policy,
            base=base,
            slots=slots,
            rule=rule,
            upload=upload,
            key=request.release.key if isinstance(request.release, ReleaseFile) else None,
            order=_order(request, released),
            parameters=parameters,
            referred=referred,
            waivers={id_: own for id_, own in waivers.items() if id_ in known},
            earlier=earlier,
            released=released,
            is_filled_by_govern=request.as_governor and Scope.GOVERN in actor.scopes,
            compared=compared,
        )

    async def revoke(self, actor: Actor, ref: str, reason: str) -> Answer:
        """Say for good that a verdict stands no more, and all of the same; needs govern.

        Conflict while there is no verdict. A second time changes nothing, the reason neither.
        """
        require(actor, Scope.GOVERN)
        if not is_reason(reason):
            raise InvalidInput.of(
                "/reason", "missing-reason", "The reason has no word.", "Say why the verdict stands no more."
            )
        async with self._store.work(actor.tenant) as work:
            stored, result = await work.questions.view(self.kind, ref)
            verdict = require_result(stored, result)["verdict"]
            if await work.tombstones.revoke(stored, reason):
                details = {"sha256": stored.sha256, "verdict": verdict}
                await work.audit.record(actor.key_id, "evaluation.revoke", stored.id, details)
                evidence = await work.evidence.of_resource(stored.id)
                news = {
                    "evaluation": {"id": stored.id, "name": stored.name},
                    "verdict": verdict,
                    "policy": stored.summary["policy"],
                    "dataset": stored.summary["dataset"],
                    "evidence": evidence and evidence.id,
                }
                await work.webhooks.emit(WebhookEvent.EVALUATION_REVOKED, news)
                await work.commit()
        return await self.view(actor, stored.id)

    async def _refuse_again(self, work: UnitOfWork, new: NewResource) -> None:
        found = await work.tombstones.revocations([new.sha256, new.summary["judged_sha256"]])
        for own in found.values():
            raise Conflict(
                f"The same was judged, and that verdict revoked on {own.revoked_at:%Y-%m-%d}: {own.reason}",
                "Change what is to be released, or ask by a new version of the policy.",
                {"revocation": {"revoked_at": own.revoked_at.isoformat(), "reason": own.reason}},
            )

    async def _shown(self, work: UnitOfWork, actor: Actor, found: Sequence[Stored]) -> tuple[Stored, ...]:
        """With the revocations of those that are revoked."""
        revocations = await work.tombstones.revocations([own.id for own in found])
        shown = await super()._shown(work, actor, found)
        return tuple(
            replace(own, summary={**own.summary, "revocation": revocations.get(own.id)}) for own in shown
        )

    async def _complete(
        self,
        work: UnitOfWork,
        actor: Actor,
        question: TimedEvaluation,
        stored: Stored,
        result: JsonObject,
        run: Run | None,
    ) -> None:
        """Issue the evidence of a verdict that is there at once."""
        if run is None or run.state is RunState.SUCCEEDED:
            subject = question.evaluation.subject
            await self._completion.complete(work, subject, stored, result, None if run is None else run.id)

    async def _beside(self, work: UnitOfWork, actor: Actor, stored: Stored) -> JsonObject:
        """The evidence, if there is any yet, and whether the release was withdrawn or the verdict revoked."""
        withdrawn_at = await find_withdrawal(work, document_of(stored).get("released"))
        evidence = await work.evidence.of_resource(stored.id)
        return {
            "evidence": evidence and evidence.ref,
            "release_withdrawn_at": withdrawn_at,
            "revocation": evidence and evidence.revocation,
        }

    def _audit_details(self, result: JsonObject) -> JsonObject:
        return {"verdict": result["verdict"]}


def _order(request: CreateEvaluation, released: JudgedRelease | None) -> Literal["records"] | None:
    """``records`` if the rows are meant to stand in the records' order."""
    if released is not None:
        return released.chosen_order
    return request.release.order if isinstance(request.release, ReleaseFile) else None


class EvaluationWork:
    """The work of a run that evaluates one subject; a unit is a block."""

    time_limit = None

    def __init__(
        self, evaluation: Evaluation | ViewEvaluation, stored: Stored, rules: int, completion: Completion
    ) -> None:
        self._evaluation = evaluation
        self._stored = stored
        self._rules = rules
        self._completion = completion
        self._risks = len(evaluation.slots)
        self.answers = answers_of(evaluation)

    @property
    def n_blocks(self) -> int:
        """Slots, criteria, one for the changes, and one for the columns."""
        return self._risks + self._evaluation.n_criteria + 2

    @property
    def units(self) -> int:
        """Blocks."""
        return self.n_blocks

    @property
    def seconds(self) -> float:
        """Estimated time of the criteria."""
        return self._evaluation.cost.seconds

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """The documents of one block, and whether they depend on when the work was halted."""
        evaluation = self._evaluation
        found: Any
        complete = True
        if index < self._risks:
            found = evaluation.risk(index)
        elif index < self._risks + evaluation.n_criteria:
            found = evaluation.criterion(index - self._risks, halted)
            complete = evaluation.complete
        elif index < self.n_blocks - 1:
            found, complete = evaluation.changes(self._rules, halted)
        else:
            found = evaluation.coverage(halted)
            complete = evaluation.complete
        tick(1)
        return canonical_json({"found": found, "complete": complete})

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The verdict, and what is stored with it."""
        read = {index: json.loads(block) for index, block in blocks.items()}
        evaluation, first = self._evaluation, self._risks
        criteria = [
            read[first + number]["found"] if first + number in read else evaluation.stopped(number)
            for number in range(evaluation.n_criteria)
        ]
        risks = [read[number]["found"] if number in read else None for number in range(first)]
        changes, columns = read.get(self.n_blocks - 2), read.get(self.n_blocks - 1)
        result = evaluation.result(
            criteria,
            risks,
            [] if changes is None else changes["found"],
            broken_coverage("the work was stopped before.") if columns is None else columns["found"],
        )
        complete = len(read) == self.n_blocks and all(own["complete"] for own in read.values())
        also = self._completion.of(evaluation.subject, self._stored, result)
        return Conclusion(result, None, complete, also)


class EvaluationPreparation:
    """Makes the work of a stored evaluation; a ``Prepare`` of run execution."""

    def __init__(self, store: Store, loader: TableLoader, completion: Completion) -> None:
        self._store = store
        self._loader = loader
        self._completion = completion

    async def __call__(self, tenant: TenantId, stored: Stored) -> EvaluationWork:
        """Load what the evaluation rests on."""
        async with self._store.work(tenant) as work:
            views = await view_subject_of(work, stored)
            if views is not None:
                return EvaluationWork(ViewEvaluation(views), stored, 0, self._completion)
            subject = await subject_of(work, stored)
        evaluation = await prepare_evaluation(self._store, self._loader, tenant, subject)
        return EvaluationWork(evaluation, stored, document_of(stored)["change_rules"], self._completion)
