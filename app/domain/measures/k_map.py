"""k-map: every released class stands for at least k of the population (Definitions: population models).

With a dictionary the people are counted. Without one, a class of the sample has to be so large that fewer
than k people would hardly have led to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, doc

from app.domain.classes.grouping import EquivalenceClasses, Grouping
from app.domain.classes.population import population_sizes
from app.domain.classes.uniqueness import SampleTest, least_sample_class
from app.domain.distinct import Longs
from app.domain.errors import InvalidInput
from app.domain.measures.entry import Cost, Measure, MeasureContext, Tick
from app.domain.measures.judged import ClassRef, JudgedOn, judged_on, worst_class
from app.domain.measures.populations import Population, cost_of_classes, entities_of, population_of

By = Literal["dictionary", "poisson", "zero_truncated_poisson"]


@dataclass(frozen=True, kw_only=True)
class KMapParameters(Grouping):
    """Which k, and how it is told."""

    k: Annotated[int, Ge(1), Le(1_000_000), doc("Least number of people of the population per class.")] = 5
    by: Annotated[
        By,
        doc(
            "How the people of a class are known: counted in the dictionary, or inferred from the records of "
            "a sample by a test with Poisson or zero-truncated Poisson distributed classes."
        ),
    ] = "dictionary"
    sampling_fraction: Annotated[
        float | None,
        Gt(0),
        Le(1),
        doc("Records of the dataset per person of the population; for the tests only, which need it."),
    ] = None
    significance: Annotated[
        float, Gt(0), Lt(1), doc("Greatest accepted probability of the test to be wrong about a class.")
    ] = 0.05


@dataclass(frozen=True)
class SampleThreshold:
    """The least class of the sample that the test accepts."""

    records: Annotated[int, doc("Least number of records of a class: as many speak for k people.")]
    probability: Annotated[
        float,
        doc(
            "Greatest probability that a class of fewer than k people leads to so many records or more; 0 if "
            "that many records are k people themselves."
        ),
    ]


@dataclass(frozen=True)
class KMap:
    """How many people of the population each class stands for."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how.")]
    k: Annotated[int, doc("The k that was asked for.")]
    by: Annotated[By, doc("How the people of a class are known.")]
    guarantee: Annotated[
        Literal["exact", "statistical"], doc("Counts are exact; a test may be wrong about a class.")
    ]
    k_population: Annotated[
        int | None, doc("People of the smallest class; null for a test, and if no class was judged.")
    ]
    sample: Annotated[SampleThreshold | None, doc("What the test asks of a class; null with a dictionary.")]
    population: Annotated[Population | None, doc("The population; null for a test.")]
    classes_failing: Annotated[int, doc("Classes that do not stand for k people.")]
    records_failing: Annotated[int, doc("Their records.")]
    is_k_map: Annotated[bool, doc("Whether no class fails.")]
    worst_class: Annotated[ClassRef | None, doc("A class of fewest people; null if none was judged.")]


def _supports(context: MeasureContext, parameters: KMapParameters) -> str | None:
    if parameters.by == "dictionary" and context.dictionary is None:
        return (
            "The people of the population are counted in a dictionary, and none is given. Name one, or have "
            "them inferred from a sampling fraction with `by` poisson or zero_truncated_poisson."
        )
    return None


def _fraction(parameters: KMapParameters) -> float:
    if parameters.sampling_fraction is None:
        raise InvalidInput.of(
            "/measure/sampling_fraction",
            "missing",
            "Without a dictionary the share of the population that is in the dataset must be known.",
            "Give the records of the dataset divided by the people of the population.",
        )
    return parameters.sampling_fraction


def _result(
    context: MeasureContext,
    parameters: KMapParameters,
    classes: EquivalenceClasses,
    *,
    sizes: Longs,
    least: int,
    sample: SampleThreshold | None,
    population: Population | None,
) -> KMap:
    failing = sizes < least
    counted = population is not None
    return KMap(
        judged=judged_on(context.table, parameters, classes),
        k=parameters.k,
        by=parameters.by,
        guarantee="exact" if counted else "statistical",
        k_population=int(sizes.min()) if counted and len(sizes) else None,
        sample=sample,
        population=population,
        classes_failing=int(np.count_nonzero(failing)),
        records_failing=int(classes.records[failing].sum()),
        is_k_map=not failing.any(),
        worst_class=worst_class(classes, -sizes.astype(np.float64)),
    )


def _compute(context: MeasureContext, parameters: KMapParameters, tick: Tick) -> KMap:
    classes = context.release.classes(parameters)
    if parameters.by == "dictionary":
        entities = entities_of(context, classes)
        result = _result(
            context,
            parameters,
            classes,
            sizes=population_sizes(entities, classes.records),
            least=parameters.k,
            sample=None,
            population=population_of(context, classes, entities),
        )
    else:
        test: SampleTest = parameters.by
        least, chance = least_sample_class(parameters.k, _fraction(parameters), test, parameters.significance)
        result = _result(
            context,
            parameters,
            classes,
            sizes=classes.records,
            least=least,
            sample=SampleThreshold(least, chance),
            population=None,
        )
    tick(1)
    return result


def _cost(context: MeasureContext, parameters: KMapParameters) -> Cost:
    if parameters.by != "dictionary":
        _fraction(parameters)
    return cost_of_classes(context, parameters, counts_people=parameters.by == "dictionary")


K_MAP: Final = Measure(
    name="k_map",
    version=1,
    title="k-map: people of the population per class",
    source="Sweeney (2002); El Emam and Dankar (2008)",
    guarantee="exact",
    parameters=KMapParameters,
    result=KMap,
    needs=frozenset(),
    supports=_supports,
    cost=_cost,
    compute=_compute,
)
