"""An evaluation, ready to be computed criterion by criterion."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from app.documents import written
from app.domain.errors import Fault, InvalidInput, NotSupported
from app.domain.gates.verdicts import outcome_of
from app.domain.search.answers import Answers
from app.domain.search.budget import Halted, never
from app.services.datasets.tables import TableLoader
from app.services.fingerprints import canonical_json
from app.services.gates.changes import Changes
from app.services.gates.context import EvaluationContext, load_context
from app.services.gates.coverage import broken_coverage, coverage_document, find_coverage, seconds_of_coverage
from app.services.gates.documents import broken_document, criterion_document, risk_document, verdict_document
from app.services.gates.evaluator import Evaluator, by_fewest_persons, fault_of
from app.services.gates.evaluators import evaluator_of
from app.services.gates.requests import CriterionPlan
from app.services.gates.subject import Subject
from app.services.ports import Store
from app.services.questions import Route
from app.services.resources import JsonObject, TenantId

FEWEST_RULES: Final[dict[Route, int]] = {"direct": 10, "run": 100}
MOST_RULES: Final[dict[Route, int]] = {"direct": 2000, "run": 20_000}
SECONDS_OF_CHANGES: Final[dict[Route, float]] = {"direct": 2.0, "run": 120.0}
"""How much estimated time the search for changes may take; a number of rules follows from it."""


@dataclass(frozen=True)
class EvaluationCost:
    """Estimated seconds and bytes of all criteria, the search for changes not counted."""

    seconds: float
    bytes: int


class Evaluation:
    """The criteria of a policy on one subject: their values, outcomes, and the verdict."""

    def __init__(self, context: EvaluationContext, evaluators: Sequence[Evaluator]) -> None:
        self.subject = context.subject
        self._context = context
        self._evaluators = tuple(evaluators)
        self._criteria: dict[int, JsonObject] = {}
        self._coverage: JsonObject | None = None
        self.answers = Answers()
        """What was found out: parts by the number of a criterion are of its search, the next of changes, and
        the last are criteria's documents."""
        for number, evaluator in enumerate(self._evaluators):
            if evaluator.answers is not None:
                evaluator.answers.become_part(self.answers, number)

    @property
    def n_criteria(self) -> int:
        """Criteria of the policy."""
        return len(self._evaluators)

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """Slots under which the risk is told beside the criteria."""
        no_harm = self._context.rule is None or self._context.base.sensitivity is None
        if no_harm or self._context.doubt is not None:
            return ()
        return tuple(sorted(self._context.scorings))

    @cached_property
    def plans(self) -> tuple[CriterionPlan, ...]:
        """What each criterion would take, or why it cannot be computed."""
        return tuple(_plan(evaluator) for evaluator in self._evaluators)

    @cached_property
    def cost(self) -> EvaluationCost:
        """The estimate of what can be computed."""
        known = [plan for plan in self.plans if plan.error is None]
        rule = self._context.rule
        costs = [] if rule is None else [self._context.score(slot, rule).cost for slot in self.slots]
        seconds = sum(plan.seconds or 0.0 for plan in known) + sum(cost.seconds for cost in costs)
        seconds += seconds_of_coverage(self._context)
        return EvaluationCost(
            seconds, max([plan.bytes or 0 for plan in known] + [cost.bytes for cost in costs], default=0)
        )

    def change_rules(self, route: Route) -> int:
        """How many rules are examined for changes, all together."""
        # A change is not looked for while a column is not covered, so that columns are not looked at again.
        each = max(self.cost.seconds - seconds_of_coverage(self._context), 1e-6)
        return max(FEWEST_RULES[route], min(MOST_RULES[route], int(SECONDS_OF_CHANGES[route] / each)))

    def risk(self, number: int) -> JsonObject | None:
        """The risk under a slot in short; None where it cannot be had."""
        rule = self._context.rule
        if rule is None:
            return None
        try:
            return risk_document(self._context.score(self.slots[number], rule).document)
        except (InvalidInput, NotSupported):
            return None

    def criterion(self, number: int, halted: Halted = never) -> JsonObject:
        """The result document of a criterion; computed once."""
        if number not in self._criteria:
            asked = (self.n_criteria + 1, number)
            known = self.answers.known(asked)
            found = self._criterion(self._evaluators[number], halted) if known is None else json.loads(known)
            if known is None and self._evaluators[number].complete:
                self.answers.keep(asked, canonical_json(found))
            self._criteria[number] = found
        return self._criteria[number]

    def changes(self, rules: int, halted: Halted = never) -> tuple[list[JsonObject], bool]:
        """The nearest changes for what failed, and whether the search for them came to its own end.

        What no generalisation was tried for, a column that is not covered, stands in the way of one for all.
        """
        criteria = [self.criterion(number, halted) for number in range(self.n_criteria)]
        blocking = [own for own in criteria if own["severity"] == "block"]
        failed = [own["id"] for own in blocking if own["outcome"] == "failed"]
        unknown = any(own["outcome"] == "not_computable" for own in blocking)
        unknown |= self.coverage(halted)["outcome"] != "covered"
        answers = Answers()
        answers.become_part(self.answers, self.n_criteria)
        search = Changes(self._context, self._evaluators, rules, answers)
        return search.find(failed, halted, unknown=unknown), search.complete

    def coverage(self, halted: Halted = never) -> JsonObject:
        """The document of the columns; computed once, and before it the criteria for which there are waivers.

        A criterion that fails and is waived covers no column. One that was halted is not waived but unknown:
        the verdict is an error then, whatever is said of the columns.
        """
        doubt = self._context.doubt
        if self._coverage is None and doubt is not None:
            self._coverage = broken_coverage(f"{doubt.message} {doubt.remedy}")
        elif self._coverage is None:
            found = [
                self.criterion(number, halted)
                for number, evaluator in enumerate(self._evaluators)
                if self.subject.waivers.get(evaluator.criterion.id, {"in_force": False})["in_force"]
            ]
            waived = {own["id"] for own in found if own["outcome"] == "waived"}
            try:
                found_columns = find_coverage(self.subject, self._context, waived)
                self._coverage = coverage_document(found_columns, self.subject.policy, self._context)
            except NotSupported as error:
                self._coverage = broken_coverage(f"{error.message} {error.remedy}")
        return self._coverage

    @property
    def complete(self) -> bool:
        """False if a result depends on when the work was halted."""
        return all(evaluator.complete for evaluator in self._evaluators)

    def result(
        self,
        criteria: Sequence[JsonObject],
        risks: Sequence[JsonObject | None],
        changes: Sequence[JsonObject],
        coverage: JsonObject,
    ) -> JsonObject:
        """The verdict document; ValueError unless there is a document of every criterion."""
        if len(criteria) != self.n_criteria:
            raise ValueError("a verdict needs every criterion")
        return verdict_document(
            self.subject,
            self._context,
            criteria,
            dict(zip(self.slots, risks, strict=True)),
            changes,
            coverage,
        )

    def stopped(self, number: int) -> JsonObject:
        """The document of a criterion that was not computed because its user stopped the work."""
        error = NotSupported(
            "The work was stopped before the criterion was computed.", "Start the evaluation again."
        )
        return self._broken(self._evaluators[number], error)

    def now(self, rules: int, halted: Halted = never) -> JsonObject | None:
        """Everything at once; None if a criterion was halted before it came to its own end."""
        criteria = []
        for number in range(self.n_criteria):
            criteria.append(self.criterion(number, halted))
            if not self.complete:
                return None
        risks = [self.risk(number) for number in range(len(self.slots))]
        return self.result(criteria, risks, self.changes(rules)[0], self.coverage())

    def _criterion(self, evaluator: Evaluator, halted: Halted) -> JsonObject:
        criterion = evaluator.criterion
        waiver = self.subject.waivers.get(criterion.id)
        try:
            finding = evaluator.find(self._context.rule, halted)
            if self._context.alone is not None and self._context.alone.table.persons is not None:
                finding = by_fewest_persons(finding)
        except (InvalidInput, NotSupported) as error:
            return self._broken(evaluator, error)
        outcome = outcome_of(finding.passes, waived=waiver is not None and waiver["in_force"])
        return criterion_document(criterion, written(criterion.condition), finding, outcome, waiver)

    def _broken(self, evaluator: Evaluator, error: InvalidInput | NotSupported) -> JsonObject:
        criterion = evaluator.criterion
        waiver = self.subject.waivers.get(criterion.id)
        return broken_document(criterion, written(criterion.condition), fault_of(error), waiver)


def _plan(evaluator: Evaluator) -> CriterionPlan:
    criterion = evaluator.criterion
    kind: str = criterion.condition.kind
    found: tuple[float, int, str, None] | tuple[None, None, None, Fault]
    try:
        cost = evaluator.cost
        found = cost.seconds, cost.bytes, cost.engine, None
    except (InvalidInput, NotSupported) as error:
        found = None, None, None, fault_of(error)
    return CriterionPlan(criterion.id, criterion.title, criterion.severity, kind, *found)


async def prepare_evaluation(
    store: Store, loader: TableLoader, tenant: TenantId, subject: Subject
) -> Evaluation:
    """Load what an evaluation rests on; InvalidInput where it does not fit together."""
    if subject.is_as_written:
        loader = loader.of_files()
    context = await load_context(store, loader, tenant, subject)
    evaluators = [await evaluator_of(own, context) for own in subject.policy.requirements]
    return Evaluation(context, evaluators)
