"""A number of a measure of the catalogue."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

from app.domain.catalogue_types import Guarantee
from app.domain.classes.grouping import Grouping
from app.domain.errors import NotSupported
from app.domain.gates.explanations import of_value
from app.domain.gates.findings import Finding, WorstRecords, held
from app.domain.measures.entry import MeasureContext
from app.domain.policies.policy import MeasureDemand, PolicyCriterion
from app.domain.policies.values import value_at
from app.domain.rules.rule import CellRule, Rule
from app.domain.search.budget import Halted, never
from app.domain.tables import Table
from app.services.gates.bench import Bench
from app.services.gates.probe import UNALIGNED, Probe, ProbeCost, are_quasi_identifiers
from app.services.measurement_documents import document_of_result
from app.services.measurement_work import Measurement
from app.services.resources import JsonObject

_ROWS_SHOWN = 20
_OF_CLASSES_ALONE = frozenset(
    {"equivalence_classes", "attacker_models", "k_map", "delta_presence", "population_uniqueness"}
)
"""Measures to which it makes no difference what is shown beside quasi-identifiers."""
_OF_ORIGINALS = frozenset({"information_loss", "query_accuracy"})
"""Measures of classes that compare them with the original values: a file alone would have lost nothing."""


class MeasureProbe(Probe):
    """Computes the measure and reads the number at the demand's path."""

    def __init__(
        self, criterion: PolicyCriterion, demand: MeasureDemand, measurement: Measurement, bench: Bench
    ) -> None:
        super().__init__(criterion)
        self._demand = demand
        self._bench = bench
        scope = criterion.scope.attributes
        if scope is not None:
            parameters = measurement.parameters
            if not isinstance(parameters, Grouping):
                raise NotSupported(
                    f"The measure {demand.measure} does not group records by quasi-identifiers, so that it "
                    "has no scope of attributes.",
                    "Leave the scope out, or choose a measure of classes.",
                )
            measurement = replace(measurement, parameters=replace(parameters, quasi_identifiers=scope))
        if criterion.scope.groups is not None:
            raise NotSupported(
                "A measure is of the whole release; groups of records have none of their own.",
                "Demand a score or a privacy model of groups.",
            )
        self._measurement = measurement
        grouping = measurement.parameters
        self.of_quasi_identifiers = (
            demand.measure in _OF_CLASSES_ALONE
            and isinstance(grouping, Grouping)
            and are_quasi_identifiers(bench.table, grouping.quasi_identifiers)
        )

    @cached_property
    def cost(self) -> ProbeCost:
        """The measure's own estimate."""
        if self._bench.alone is not None:
            self._of_file(self._bench.alone)
        cost = self._measurement.cost
        return ProbeCost(cost.seconds, cost.bytes, cost.engine)

    def find(self, rule: Rule | None, halted: Halted = never) -> Finding:
        """The number, held against the threshold."""
        demand, measure = self._demand, self._measurement.measure
        result = self._result(rule)
        value = value_at(result, demand.value)
        if value is None:
            raise NotSupported(
                f"The measure {demand.measure} has no value {demand.value} for this release: it is undefined "
                "here.",
                "Read the measure's result, and demand a number that it has.",
            )
        part = held(value, demand.comparison, demand.threshold, demand.dictionary)
        guarantee: Guarantee = result.get("guarantee", measure.guarantee)
        error = result.get("standard_error")
        return Finding(
            demand.comparison,
            demand.threshold,
            (part,),
            guarantee,
            of_value(f"{measure.title}: {demand.value}", (part,), demand.comparison, demand.threshold),
            _worst(result),
            standard_error=error if isinstance(error, float | int) else None,
        )

    def _result(self, rule: Rule | None) -> JsonObject:
        measurement = self._measurement
        if rule is not None:
            context = self._bench.shared(replace(self._prepared, rule=rule), rule)
        elif self._bench.alone is not None:
            context = self._of_file(self._bench.alone)
        else:
            raise NotSupported(*UNALIGNED)
        replace(measurement, context=context).refuse_unless_supported()
        found = measurement.measure.compute(context, measurement.parameters, lambda done: None)
        return document_of_result(measurement.measure, found)

    @cached_property
    def _prepared(self) -> MeasureContext:
        return self._measurement.prepare()

    def _of_file(self, table: Table) -> MeasureContext:
        """The context of a file by itself; NotSupported for a measure that needs more than its classes."""
        measure, context = self._measurement.measure, self._measurement.context
        only_classes = (
            isinstance(self._measurement.parameters, Grouping)
            and not measure.needs
            and measure.name not in _OF_ORIGINALS
        )
        if not only_classes or context.dictionary is not None or context.dictionaries or context.others:
            raise NotSupported(*UNALIGNED)
        if "quasi_identifiers" not in {own.name for own in fields(self._measurement.parameters)}:
            raise NotSupported(*UNALIGNED)
        return replace(context, table=table, rule=CellRule(table.codes), sensitivity=None, failure=None)


def _worst(result: Mapping[str, Any]) -> WorstRecords | None:
    """The worst class that the measure names, if it names one."""
    worst = result.get("worst_class", result.get("worst"))
    if not isinstance(worst, Mapping) or "rows" not in worst or "records" not in worst:
        return None
    return WorstRecords(tuple(worst["rows"])[:_ROWS_SHOWN], worst["records"])
