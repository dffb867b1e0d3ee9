"""Prosecutor, journalist and marketer: the field's three attackers on a release (El Emam (2013)).

All three match quasi-identifiers and guess among those who fit. The prosecutor knows that the target is in
the release, the journalist matches against a population, the marketer wants as many records as possible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.arrays import Floats
from app.domain.catalogue.catalogue_types import ADDED_LATER
from app.domain.catalogue.meanings import ASKED, FAILING, LOW_SHARE, OF_DICTIONARY, SHARE
from app.domain.classes.grouping import EquivalenceClasses, Grouping
from app.domain.models.criterion import COUNTS_PERSONS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.journalist_risk import AverageJournalistRisk, HighestJournalistRisk, MarketerRisk
from app.domain.models.judged import ClassRef, JudgedOn, judged_on, worst_class
from app.domain.models.populations import Population, cost_of_classes, population_of
from app.domain.models.prosecutor_risk import AverageRisk, HighestRisk
from app.domain.risk.class_populations import RiskFigures, entities_of_release, population_sizes, risk_figures


@dataclass(frozen=True, kw_only=True)
class AttackerModelsParameters(Grouping):
    """How records are grouped, and what counts as at risk."""

    threshold: Annotated[
        float, Ge(0), Le(1), doc("A record is at risk if its probability of re-identification is above this.")
    ] = 0.2
    target_known_in_table: Annotated[
        bool,
        ADDED_LATER,
        doc(
            "Whether the journalist knows that the target is in the table: then the highest risk is no less "
            "than the largest share that one person has of the records of a class."
        ),
    ] = False


@dataclass(frozen=True)
class AttackerRisk:
    """The risk of the records against one attacker.

    Released records are those that were judged; all records are these and the suppressed ones, of whom
    nothing is disclosed and whose risk is 0. Numbers of none are null.
    """

    highest: Annotated[float | None, LOW_SHARE, doc("Highest risk of a record.")]
    average_per_record: Annotated[float | None, LOW_SHARE, doc("Mean risk over released records.")]
    average_per_record_of_all: Annotated[float | None, LOW_SHARE, doc("Mean risk over all records.")]
    average_per_class: Annotated[
        float | None, LOW_SHARE, doc("Mean risk over classes, whatever their size: not that of a record.")
    ]
    records_at_risk: Annotated[int, FAILING, doc("Records whose risk is above the threshold.")]
    share_at_risk: Annotated[float | None, SHARE, FAILING, doc("Their share of released records.")]
    share_at_risk_of_all: Annotated[float | None, SHARE, FAILING, doc("Their share of all records.")]
    worst_class: Annotated[ClassRef | None, doc("A class of highest risk; null if none was judged.")]


@dataclass(frozen=True)
class Journalist(AttackerRisk):
    """The risk against an attacker who matches released records with the population."""

    classes_per_person: Annotated[
        float, LOW_SHARE, doc("Classes divided by the people of the population who are in one of them.")
    ]
    average: Annotated[
        float | None,
        LOW_SHARE,
        doc("The attacker's average risk: the greater of `classes_per_person` and `average_per_record`."),
    ]
    population: Annotated[Population, doc("The population.")]


@dataclass(frozen=True)
class Marketer:
    """What an attacker gets who links every record."""

    share_re_identified: Annotated[
        float | None, LOW_SHARE, doc("Expected share of released records that are linked rightly.")
    ]
    share_re_identified_of_all: Annotated[float | None, LOW_SHARE, doc("The same as a share of all records.")]
    by_population: Annotated[
        bool, doc("Whether classes were compared with the population; if not, with themselves.")
    ]


@dataclass(frozen=True)
class AttackerModels:
    """The three attackers."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how.")]
    threshold: Annotated[float, ASKED, doc("Risks above this count as at risk.")]
    prosecutor: Annotated[AttackerRisk, doc("Who knows that the target's record is in the release.")]
    journalist: Annotated[
        Journalist | None,
        OF_DICTIONARY,
        doc("Who matches against the population; null without a dictionary."),
    ]
    journalist_missing: Annotated[
        str | None, doc("Why there is no journalist, and what would make the risk computable.")
    ]
    marketer: Annotated[Marketer, doc("Who links as many records as possible.")]


_Number = float | None


def _against(
    classes: EquivalenceClasses, risks: Floats, figures: RiskFigures
) -> tuple[_Number, _Number, _Number, _Number, int, _Number, _Number, ClassRef | None]:
    """The fields of :class:`AttackerRisk` of classes whose highest ``risks`` are (G,)."""
    released, everybody = classes.n_judged, classes.n_judged + classes.n_suppressed
    return (
        figures.highest if released else None,
        figures.per_record if released else None,
        figures.per_record * released / everybody if everybody else None,
        figures.per_class if released else None,
        figures.at_risk,
        figures.at_risk / released if released else None,
        figures.at_risk / everybody if everybody else None,
        worst_class(classes, risks),
    )


def _journalist(
    context: MeasureContext, parameters: AttackerModelsParameters, classes: EquivalenceClasses
) -> Journalist | None:
    if context.dictionary is None:
        return None
    entities = entities_of_release(context.counter, context.release, classes)
    people = population_sizes(entities, classes.units)
    risks = 1.0 / people
    if parameters.target_known_in_table:
        risks = np.maximum(risks, classes.largest_share)
    figures = risk_figures(classes.records, people, parameters.threshold)
    figures = replace(figures, highest=float(risks.max(initial=0.0)))
    total = int(people.sum())
    of_classes = classes.n_classes / total if total else 0.0
    return Journalist(
        *_against(classes, risks, figures),
        classes_per_person=of_classes,
        average=max(of_classes, figures.per_record) if classes.n_judged else None,
        population=population_of(context, classes, entities),
    )


def _compute(context: MeasureContext, parameters: AttackerModelsParameters, tick: Tick) -> AttackerModels:
    classes = context.release.classes(parameters)
    figures = risk_figures(classes.records, classes.sizes, parameters.threshold, classes.persons)
    prosecutor = AttackerRisk(*_against(classes, classes.largest_share, figures))
    journalist = _journalist(context, parameters, classes)
    best = journalist or prosecutor
    tick(1)
    return AttackerModels(
        judged=judged_on(context.table, parameters, classes),
        threshold=parameters.threshold,
        prosecutor=prosecutor,
        journalist=journalist,
        journalist_missing=None
        if journalist
        else "The risk against a population needs one: name a dictionary in the request.",
        marketer=Marketer(
            best.average_per_record, best.average_per_record_of_all, by_population=journalist is not None
        ),
    )


def _cost(context: MeasureContext, parameters: AttackerModelsParameters) -> Cost:
    return cost_of_classes(context, parameters, counts_people=context.dictionary is not None)


ATTACKER_MODELS: Final = Measure(
    name="attacker_models",
    title="Prosecutor, journalist and marketer",
    source="El Emam (2013); Definitions: attackers on a release",
    guarantee="exact",
    parameters=AttackerModelsParameters,
    result=AttackerModels,
    cost=_cost,
    compute=_compute,
    example=Example(
        "how likely are members named, by whom?",
        "proposal-attackers",
        rule="proposal",
        dictionary="census",
        parameters={"threshold": 0.2},
    ),
    criteria=(HighestRisk, AverageRisk, HighestJournalistRisk, AverageJournalistRisk, MarketerRisk),
    judges=lambda own, value: HighestRisk(own.threshold),
    looks_at="quasi_identifiers",
    reads=frozenset({"records", "classes"}),
    by_persons=COUNTS_PERSONS,
    bounded_by_persons={"prosecutor.highest": "upper"},
)
