"""A number of a measure of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cached_property
from typing import Any, ClassVar

from app.domain.catalogue.catalogue_types import Guarantee
from app.domain.catalogue.result_values import value_at
from app.domain.classes.grouping import Grouping
from app.domain.errors import NotSupported
from app.domain.gates.explanations import of_value
from app.domain.gates.findings import Finding, WorstRecords, held
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.models.entry import MeasureContext
from app.domain.policies.measure_condition import MeasureCondition
from app.domain.policies.policy import Requirement
from app.domain.rules.rule import Rule, identity
from app.domain.search.budget import Halted, never
from app.services.gates.context import EvaluationContext
from app.services.gates.evaluator import (
    AS_IT_IS,
    OF_THIS_DRAW,
    UNALIGNED,
    Evaluator,
    EvaluatorCost,
    are_quasi_identifiers,
)
from app.services.resources import JsonObject
from app.services.rules.rule_documents import rule_document, rule_sha256
from app.services.rules.rules import RuleInQuestion
from app.services.scoring.measurement_documents import document_of_result
from app.services.scoring.measurement_work import Measurement, Question, measure_of
from app.services.scoring.scoring_inputs import Sources

_ROWS_SHOWN = 20


class MeasureEvaluator(Evaluator):
    """Computes the measure and reads the number at the condition's path."""

    of_draws: ClassVar[bool] = True
    condition: MeasureCondition

    def __init__(self, criterion: Requirement, context: EvaluationContext, measurement: Measurement) -> None:
        super().__init__(criterion, context)
        scope = criterion.scope.attributes
        if scope is not None:
            parameters = replace(measurement.parameters, quasi_identifiers=scope)
            measurement = replace(measurement, parameters=parameters)
        if context.drawn is not None and "groups" in measurement.measure.reads:
            raise NotSupported(
                f"The measure {self.condition.measure} reads the groups of records that values were drawn "
                "for, and a gate judges a drawn release by what its readers have.",
                "Require a guarantee of the release, or measure it.",
            )
        if context.drawn is not None:
            measurement = _of_drawn(measurement, context.drawn)
        self._measurement = measurement
        grouping = measurement.parameters
        self.of_quasi_identifiers = (
            measurement.measure.looks_at == "quasi_identifiers"
            and isinstance(grouping, Grouping)
            and are_quasi_identifiers(context.table, grouping.quasi_identifiers)
        )

    @classmethod
    async def prepared(cls, criterion: Requirement, context: EvaluationContext) -> Evaluator:
        """The evaluator with the measurement of what is judged."""
        condition: Any = criterion.condition
        subject, slot, rule = context.subject, condition.dictionary, _rule(context)
        scoring = context.scoring(slot)
        measure = measure_of(condition.measure, condition.version)
        sources = subject.base if slot is None else subject.slots[slot]
        if measure.judges_synthetic:
            if context.drawn is None and context.rule != identity(context.table.n_attributes):
                raise NotSupported(*AS_IT_IS)
            if (
                context.drawn is not None
                and criterion.severity == "block"
                and not subject.policy.is_certified
            ):
                raise NotSupported(*OF_THIS_DRAW)
            sources, rule = Sources(subject.compared["original"]), None
        parameters = subject.parameters[criterion.id]
        question = Question(measure, parameters, sources, scoring.options, rule, subject.referred)
        return cls(criterion, context, await context.measure(question))

    @cached_property
    def cost(self) -> EvaluatorCost:
        """The measure's own estimate."""
        if self.context.alone is not None:
            self._of_file()
        cost = self._measurement.cost
        return EvaluatorCost(cost.seconds, cost.bytes, cost.engine)

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """The number, compared with the threshold."""
        condition, measure = self.condition, self._measurement.measure
        result = self._result(rule)
        value = value_at(result, condition.value)
        if value is None:
            raise NotSupported(
                f"The measure {condition.measure} has no value {condition.value} for this release: it is "
                "undefined here.",
                "Read the measure's result, and require a number that it has.",
            )
        part = held(value, condition.comparison, condition.threshold, condition.dictionary)
        guarantee: Guarantee = result.get("guarantee", measure.guarantee)
        error = result.get("standard_error")
        return Finding(
            condition.comparison,
            condition.threshold,
            (part,),
            guarantee,
            of_value(
                f"{measure.title}: {condition.value}", (part,), condition.comparison, condition.threshold
            ),
            # Rows that a mechanism made are nobody's known: none is one of the dataset.
            None if self.context.drawn is not None else _worst(result),
            standard_error=error if isinstance(error, float | int) else None,
        )

    def _result(self, rule: Rule | None) -> JsonObject:
        measurement = self._measurement
        if measurement.measure.judges_synthetic and rule is not self.context.rule:
            raise NotSupported(*AS_IT_IS)
        if measurement.measure.judges_synthetic or self.context.drawn is not None:
            return measurement.result()
        if rule is not None:
            context = self.context.shared(self._prepared, rule)
        elif self.context.alone is not None:
            file = self.context.alone.by_itself
            context = replace(self._of_file(), table=file.table, rule=file.rule)
        else:
            raise NotSupported(*UNALIGNED)
        replace(measurement, context=context).refuse_unless_supported()
        found = measurement.measure.compute(context, measurement.parameters, lambda done: None)
        return document_of_result(measurement.measure, found)

    @cached_property
    def _prepared(self) -> MeasureContext:
        return self._measurement.prepare()

    def _of_file(self) -> MeasureContext:
        """The context of a file, yet without its table and rule; NotSupported if classes are not enough."""
        measure, context = self._measurement.measure, self._measurement.context
        only_classes = (
            isinstance(self._measurement.parameters, Grouping)
            and not measure.needs
            and measure.looks_at != "originals"
        )
        if not only_classes or context.dictionary is not None or context.dictionaries or context.others:
            raise NotSupported(*UNALIGNED)
        if "quasi_identifiers" not in {own.name for own in fields(self._measurement.parameters)}:
            raise NotSupported(*UNALIGNED)
        return replace(context, sensitivity=None, failure=None)


def _rule(context: EvaluationContext) -> RuleInQuestion | None:
    """The rule as it is in the context; of a finished release the one that it comes from."""
    asked, made = context.subject.rule, context.rule
    if made is None or asked is not None:
        return asked and replace(asked, made=made)
    document = rule_document(made, context.table.attributes)
    sha256 = rule_sha256(document, context.subject.dataset.sha256)
    return RuleInQuestion(document, sha256, None, None, made)


def _of_drawn(measurement: Measurement, drawn: DrawnRelease) -> Measurement:
    """The measurement of a release that a mechanism made."""
    return replace(
        measurement,
        context=replace(measurement.context, drawn=drawn),
        prepare=lambda: replace(measurement.prepare(), drawn=drawn),
    )


def _worst(result: Mapping[str, Any]) -> WorstRecords | None:
    """The worst class that the measure names, if it names one."""
    worst = result.get("worst_class", result.get("worst"))
    if not isinstance(worst, Mapping) or "rows" not in worst or "records" not in worst:
        return None
    return WorstRecords(tuple(worst["rows"])[:_ROWS_SHOWN], worst["records"])
