"""How many people of the population are unique, told from a sample (Definitions: population models)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from annotated_types import Ge, Gt, Le, doc

from app.domain.classes.grouping import Grouping
from app.domain.classes.uniqueness import (
    MOST_PEOPLE,
    OVERLAPPING,
    Estimate,
    Estimator,
    Sample,
    decision_rule,
    people_of_fraction,
    people_with_all,
    pitman,
    sample_of,
    slide_negative_binomial,
    zayatz,
)
from app.domain.errors import InvalidInput
from app.domain.measures.entry import Cost, Measure, MeasureContext, Tick
from app.domain.measures.judged import JudgedOn, judged_on
from app.domain.measures.populations import cost_of_classes


@dataclass(frozen=True, kw_only=True)
class PopulationUniquenessParameters(Grouping):
    """How large the population is, of which the dataset is a sample."""

    sampling_fraction: Annotated[
        float | None, Gt(0), Le(1), doc("Records of the dataset per person of the population.")
    ] = None
    population: Annotated[
        int | None,
        Ge(1),
        Le(MOST_PEOPLE),
        doc("People of the population; without it and the fraction, the entities of the dictionary."),
    ] = None


@dataclass(frozen=True)
class UniquesEstimate:
    """What one estimator says."""

    uniques: Annotated[
        float | None, doc("Expected number of people who are unique in the population; null: no solution.")
    ]
    share: Annotated[float | None, doc("Their share of the population.")]
    no_solution: Annotated[str | None, doc("Why the estimator has no solution, null if it has one.")]
    fitted: Annotated[Mapping[str, float], doc("The parameters of its model, by name.")]


@dataclass(frozen=True)
class Decision:
    """The estimate that the decision rule picks."""

    estimator: Annotated[Estimator, doc("Whose estimate it is.")]
    uniques: Annotated[float, doc("Expected number of people who are unique in the population.")]
    share: Annotated[float, doc("Their share of the population.")]
    reason: Annotated[str, doc("Why this estimator.")]


@dataclass(frozen=True)
class PopulationUniqueness:
    """Uniques of the sample, and those to be expected in the population."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how.")]
    population: Annotated[
        int, doc("People that the records judged are a sample of: in the proportion of the whole dataset.")
    ]
    sampling_fraction: Annotated[float, doc("Records judged per person of it.")]
    sample_uniques: Annotated[int, doc("Records that are alone in their class.")]
    share_sample_uniques: Annotated[float, doc("Their share of the records judged.")]
    pitman: Annotated[UniquesEstimate, doc("Pitman's sampling formula, by maximum likelihood.")]
    zayatz: Annotated[UniquesEstimate, doc("Zayatz: how likely a sample unique is unique altogether.")]
    slide_negative_binomial: Annotated[UniquesEstimate, doc("The slide negative binomial model.")]
    decision: Annotated[
        Decision | None, doc("The choice of Dankar et al. between them; null if no record was judged.")
    ]


def _people(context: MeasureContext, parameters: PopulationUniquenessParameters) -> int:
    """People of the population; InvalidInput for two answers, and for fewer than records."""
    n = context.table.n_records
    if parameters.sampling_fraction is not None:
        if parameters.population is not None:
            raise InvalidInput.of(
                "/measure/population",
                "two-answers",
                "The size of the population is given twice, by number and by sampling fraction.",
                "Give one of them.",
            )
        return people_of_fraction(n, parameters.sampling_fraction, "/measure")
    if parameters.population is not None:
        people = parameters.population
    elif context.dictionary is not None:
        people = context.dictionary.n_entities
    else:
        raise InvalidInput.of(
            "/measure/sampling_fraction",
            "missing",
            "Nothing is known of the size of the population.",
            "Give the sampling fraction, the number of people, or a dictionary of them.",
        )
    return people_with_all(n, people, "/measure")


def _supports(context: MeasureContext, parameters: PopulationUniquenessParameters) -> str | None:
    if parameters.missing == "matches_everything" and not context.table.is_complete:
        return OVERLAPPING
    return None


def _said(estimate: Estimate, population: int) -> UniquesEstimate:
    share = None if estimate.uniques is None else estimate.uniques / population
    return UniquesEstimate(estimate.uniques, share, estimate.failure, dict(estimate.fitted))


def _decided(sample: Sample, found: tuple[Estimate, Estimate, Estimate]) -> Decision | None:
    if not sample.n:
        return None
    choice = decision_rule(sample, *found)
    return Decision(choice.estimator, choice.uniques, choice.uniques / sample.population, choice.reason)


def _compute(
    context: MeasureContext, parameters: PopulationUniquenessParameters, tick: Tick
) -> PopulationUniqueness:
    people = _people(context, parameters)
    classes = context.release.classes(parameters)
    judged = classes.n_judged
    # The records left out stand for people of their own.
    population = max(1, round(people * judged / context.table.n_records))
    sample = sample_of(classes.records, population)
    found = pitman(sample), zayatz(sample), slide_negative_binomial(sample)
    uniques = sample.of_size(1)
    tick(1)
    return PopulationUniqueness(
        judged=judged_on(context.table, parameters, classes),
        population=population,
        sampling_fraction=sample.fraction,
        sample_uniques=uniques,
        share_sample_uniques=uniques / judged if judged else 0.0,
        pitman=_said(found[0], population),
        zayatz=_said(found[1], population),
        slide_negative_binomial=_said(found[2], population),
        decision=_decided(sample, found),
    )


def _cost(context: MeasureContext, parameters: PopulationUniquenessParameters) -> Cost:
    _people(context, parameters)
    return cost_of_classes(context, parameters, counts_people=False)


POPULATION_UNIQUENESS: Final = Measure(
    name="population_uniqueness",
    version=1,
    title="Uniques of the population, estimated from a sample",
    source="Dankar et al. (2012); Hoshino (2001); Zayatz (1991); Chen and Keller-McNulty (1998)",
    guarantee="heuristic",
    parameters=PopulationUniquenessParameters,
    result=PopulationUniqueness,
    needs=frozenset(),
    supports=_supports,
    cost=_cost,
    compute=_compute,
)
