"""From the requirements of a policy to their evaluators."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

from app.domain.errors import InvalidInput, NotSupported
from app.domain.policies.bound_condition import BoundCondition
from app.domain.policies.budget_condition import BudgetCondition
from app.domain.policies.guarantee_condition import GuaranteeCondition
from app.domain.policies.measure_condition import MeasureCondition
from app.domain.policies.optimum_condition import OptimumCondition
from app.domain.policies.perfect_privacy_condition import PerfectPrivacyCondition
from app.domain.policies.policy import Requirement
from app.domain.policies.privacy_model_condition import PrivacyModelCondition
from app.domain.policies.score_condition import ScoreCondition
from app.domain.rules.rule import identity
from app.services.datasets.tables import TableLoader
from app.services.gates.budget_evaluator import BudgetEvaluator
from app.services.gates.context import EvaluationContext
from app.services.gates.evaluator import (
    AS_IT_IS,
    OF_NOBODY,
    OF_RECORDS,
    Broken,
    Evaluator,
    is_bounded,
    require_certified,
    required,
)
from app.services.gates.guarantee_evaluator import GuaranteeEvaluator
from app.services.gates.measure_evaluator import MeasureEvaluator
from app.services.gates.privacy_model_evaluator import PrivacyModelEvaluator
from app.services.gates.proven_evaluators import BoundEvaluator, optimum_evaluator
from app.services.gates.score_evaluator import ScoreEvaluator
from app.services.gates.subject import Subject
from app.services.ports import Store
from app.services.resources import TenantId
from app.services.rules.rule_documents import rule_document, rule_sha256
from app.services.rules.rules import RuleInQuestion
from app.services.scoring.measurement_work import MeasurementPreparation, Question, measure_of
from app.services.scoring.scoring_inputs import Sources


class EvaluatorMaker:
    """Makes the evaluators of one evaluation."""

    def __init__(
        self,
        store: Store,
        loader: TableLoader,
        tenant: TenantId,
        subject: Subject,
        context: EvaluationContext,
    ) -> None:
        self._measurements = MeasurementPreparation(store, loader, context.memory_ceiling)
        self._tenant = tenant
        self._subject = subject
        self._context = context

    async def evaluator(self, criterion: Requirement) -> Evaluator:
        """The requirement's evaluator; one that only says why, if it cannot be computed."""
        try:
            return await self._evaluator(criterion)
        except (InvalidInput, NotSupported) as error:
            return Broken(criterion, error)

    async def _evaluator(self, criterion: Requirement) -> Evaluator:
        if self._context.doubt is not None:
            raise InvalidInput([self._context.doubt])
        file = self._context.alone
        if file is not None and self._context.table.persons is not None:
            asked = self._subject.parameters.get(criterion.id, criterion.condition)
            if file.table.persons is None or not is_bounded(criterion, asked, file.table):
                raise NotSupported(*OF_NOBODY)
        match criterion.condition:
            case MeasureCondition() as condition:
                return await self._measure(criterion, condition)
            case PerfectPrivacyCondition():
                raise NotSupported(
                    "Perfect privacy is required of views, not of data.", "Give relational_schema and views."
                )
            case GuaranteeCondition() as condition:
                return GuaranteeEvaluator(criterion, condition, self._subject, self._context)
            case BudgetCondition() as condition:
                return BudgetEvaluator(criterion, condition, self._subject)
            case _ if self._context.drawn is not None:
                raise NotSupported(*OF_RECORDS)
            case ScoreCondition() as condition:
                return ScoreEvaluator(criterion, condition, self._context)
            case PrivacyModelCondition() as condition:
                return PrivacyModelEvaluator(criterion, condition, self._context)
            case BoundCondition() as condition:
                return BoundEvaluator(criterion, condition, self._context)
            case OptimumCondition() as condition:
                required(self._context.rule)
                return await optimum_evaluator(criterion, condition, self._context)

    async def _measure(self, criterion: Requirement, condition: MeasureCondition) -> MeasureEvaluator:
        subject, context = self._subject, self._context
        context.scoring(condition.dictionary)
        measure, rule = measure_of(condition.measure, condition.version), self._rule
        sources = subject.base if condition.dictionary is None else subject.slots[condition.dictionary]
        if measure.judges_synthetic:
            if context.drawn is None and context.rule != identity(context.table.n_attributes):
                raise NotSupported(*AS_IT_IS)
            if context.drawn is not None and criterion.severity == "block":
                require_certified(subject.policy)
            sources, rule = Sources(subject.compared["original"]), None
        question = Question(
            measure,
            subject.parameters[criterion.id],
            sources,
            context.scoring(condition.dictionary).options,
            rule,
            subject.referred,
        )
        measurement = await self._measurements.measurement(self._tenant, question)
        return MeasureEvaluator(criterion, condition, measurement, context)

    @cached_property
    def _rule(self) -> RuleInQuestion | None:
        """The rule as it is in the context; of a finished release the one that it comes from."""
        asked, made = self._subject.rule, self._context.rule
        if made is None or asked is not None:
            return asked and replace(asked, made=made)
        document = rule_document(made, self._context.table.attributes)
        return RuleInQuestion(document, rule_sha256(document, self._subject.dataset.sha256), None, None, made)
