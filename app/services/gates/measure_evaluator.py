"""A number of a measure of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

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
from app.domain.rules.rule import Rule
from app.domain.search.budget import Halted, never
from app.services.gates.context import EvaluationContext
from app.services.gates.evaluator import AS_IT_IS, UNALIGNED, Evaluator, EvaluatorCost, are_quasi_identifiers
from app.services.resources import JsonObject
from app.services.scoring.measurement_documents import document_of_result
from app.services.scoring.measurement_work import Measurement

_ROWS_SHOWN = 20


class MeasureEvaluator(Evaluator):
    """Computes the measure and reads the number at the condition's path."""

    def __init__(
        self,
        criterion: Requirement,
        condition: MeasureCondition,
        measurement: Measurement,
        context: EvaluationContext,
    ) -> None:
        super().__init__(criterion)
        self._condition = condition
        self._context = context
        scope = criterion.scope.attributes
        if scope is not None:
            parameters = measurement.parameters
            if not isinstance(parameters, Grouping):
                raise NotSupported(
                    f"The measure {condition.measure} does not group records by quasi-identifiers, so that "
                    "it has no scope of attributes.",
                    "Leave the scope out, or choose a measure of classes.",
                )
            measurement = replace(measurement, parameters=replace(parameters, quasi_identifiers=scope))
        if criterion.scope.groups is not None:
            raise NotSupported(
                "A measure is of the whole release; groups of records have none of their own.",
                "Require a score or a privacy model of groups.",
            )
        if context.drawn is not None and "groups" in measurement.measure.reads:
            raise NotSupported(
                f"The measure {condition.measure} reads the groups of records that values were drawn for, "
                "and a gate judges a drawn release by what its readers have.",
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

    @cached_property
    def cost(self) -> EvaluatorCost:
        """The measure's own estimate."""
        if self._context.alone is not None:
            self._of_file()
        cost = self._measurement.cost
        return EvaluatorCost(cost.seconds, cost.bytes, cost.engine)

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """The number, compared with the threshold."""
        condition, measure = self._condition, self._measurement.measure
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
            None if self._context.drawn is not None else _worst(result),
            standard_error=error if isinstance(error, float | int) else None,
        )

    def _result(self, rule: Rule | None) -> JsonObject:
        measurement = self._measurement
        if measurement.measure.judges_synthetic and rule is not self._context.rule:
            raise NotSupported(*AS_IT_IS)
        if measurement.measure.judges_synthetic or self._context.drawn is not None:
            return measurement.result()
        if rule is not None:
            context = self._context.shared(self._prepared, rule)
        elif self._context.alone is not None:
            file = self._context.alone.by_itself
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
