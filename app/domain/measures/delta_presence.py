"""δ-presence: how surely an attacker tells who of the population is in the release (Nergiz et al. (2007)).

Of the people of the population who share a tuple of generalised quasi-identifiers, δ is the share whose
records are in the release. Near 1 everybody with that tuple is known to be in it, near 0 not to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.classes.grouping import EquivalenceClasses, Grouping, equivalence_classes
from app.domain.classes.population import (
    entities_of_classes,
    outside_presence,
    population_sizes,
    presence_shares,
    require_tuples,
    shared_levels,
)
from app.domain.errors import InvalidInput, NotSupported
from app.domain.measures.entry import Cost, Measure, MeasureContext, Tick, always_supported
from app.domain.measures.judged import ClassRef, JudgedOn, judged_on, worst_class
from app.domain.measures.populations import Population, cost_of_classes, population_of
from app.domain.numbers import lowest_accepted
from app.domain.rules.rule import TableRule, apply


@dataclass(frozen=True, kw_only=True)
class DeltaPresenceParameters(Grouping):
    """The bounds of δ."""

    lower: Annotated[float, Ge(0), Le(1), doc("δ_min: no tuple's share may be below.")] = 0.0
    upper: Annotated[float, Ge(0), Le(1), doc("δ_max: no tuple's share may be above.")] = 0.5


@dataclass(frozen=True)
class DeltaPresence:
    """How the release is spread over the tuples of the population."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how.")]
    lower: Annotated[float, doc("The lower bound.")]
    upper: Annotated[float, doc("The upper bound.")]
    least: Annotated[
        float | None, doc("Least δ of a tuple of the population; null if nobody is in any tuple.")
    ]
    greatest: Annotated[float | None, doc("Greatest δ of a tuple; null if no record was judged.")]
    classes_failing: Annotated[int, doc("Classes of the release whose δ is out of bounds.")]
    records_failing: Annotated[int, doc("Their records.")]
    entities_without_records: Annotated[
        int, doc("Entities of the dictionary whose tuple no record has: there δ is 0.")
    ]
    is_delta_present: Annotated[bool, doc("Whether the δ of every tuple of the population is in bounds.")]
    most_present: Annotated[ClassRef | None, doc("A class of greatest δ; null if none was judged.")]
    least_present: Annotated[ClassRef | None, doc("A class of least δ; null if none was judged.")]
    population: Annotated[Population, doc("The population.")]


def _levels(context: MeasureContext, classes: EquivalenceClasses) -> tuple[int, ...]:
    """The levels that make the tuples; NotSupported for rules that treat the records kept differently."""
    release = context.release
    levels = shared_levels(release.rule, context.table, ~release.is_suppressed, classes.attributes)
    if levels is None:
        raise NotSupported(
            "The rule discloses the quasi-identifiers of different records on different levels: the "
            "population has no tuples of its own to compare the classes with.",
            "Use a rule with one level per attribute for the whole table; it may suppress records.",
        )
    return levels


def _compute(context: MeasureContext, parameters: DeltaPresenceParameters, tick: Tick) -> DeltaPresence:
    _require_bounds(parameters)
    table, counter = context.table, context.counter
    classes = context.release.classes(parameters)
    levels = _levels(context, classes)
    require_tuples(table, counter.dictionary, classes.attributes, levels)
    rule = context.release.rule
    entities = entities_of_classes(counter, classes, levels if isinstance(rule, TableRule) else None)
    people = population_sizes(entities, classes.records)
    shares = presence_shares(classes.records, people)
    failing = outside_presence(classes.records, people, parameters.lower, parameters.upper)
    without = counter.dictionary.n_entities - _with_records(context, parameters, levels)
    found = shares.tolist() + ([0.0] if without else [])
    tick(1)
    return DeltaPresence(
        judged=judged_on(table, parameters, classes),
        lower=parameters.lower,
        upper=parameters.upper,
        least=min(found, default=None),
        greatest=float(shares.max()) if len(shares) else None,
        classes_failing=int(np.count_nonzero(failing)),
        records_failing=int(classes.records[failing].sum()),
        entities_without_records=without,
        is_delta_present=not failing.any() and (without == 0 or lowest_accepted(parameters.lower) <= 0),
        most_present=worst_class(classes, shares),
        least_present=worst_class(classes, -shares),
        population=population_of(context, classes, entities),
    )


def _with_records(
    context: MeasureContext, parameters: DeltaPresenceParameters, levels: tuple[int, ...]
) -> int:
    """Entities whose tuple some record has, be it suppressed: what is withheld is not known to be absent."""
    table, rule = context.table, TableRule(levels)
    nobody = np.zeros(table.n_records, dtype=bool)
    classes = equivalence_classes(table, apply(rule, table), nobody, parameters)
    return int(entities_of_classes(context.counter, classes, levels).sum())


def _require_bounds(parameters: DeltaPresenceParameters) -> None:
    if parameters.lower > parameters.upper:
        raise InvalidInput.of(
            "/measure/lower", "out-of-range", "The lower bound is above the upper one.", "Exchange the two."
        )


def _cost(context: MeasureContext, parameters: DeltaPresenceParameters) -> Cost:
    _require_bounds(parameters)
    return cost_of_classes(context, parameters, counts_people=True)


DELTA_PRESENCE: Final = Measure(
    name="delta_presence",
    version=1,
    title="δ-presence: who of the population is in the release",
    source="Nergiz et al. (2007)",
    guarantee="exact",
    parameters=DeltaPresenceParameters,
    result=DeltaPresence,
    needs=frozenset({"dictionary"}),
    supports=always_supported,
    cost=_cost,
    compute=_compute,
)
