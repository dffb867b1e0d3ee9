"""k-map: every released class stands for at least k of the population (Definitions: population models).

With a dictionary the people are counted. Without one, a class of the sample has to be so large that fewer
than k people would hardly have led to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar, Final, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, doc

from app.domain.arrays import Bools
from app.domain.catalogue.catalogue_types import DictionaryIf
from app.domain.catalogue.meanings import (
    ASKED,
    FAILING,
    FROM_ONE,
    HIDING,
    MET,
    SHARE,
    STRICTER_DOWN,
    STRICTER_UP,
)
from app.domain.classes.grouping import Grouping
from app.domain.classes.uniqueness import SampleTest, least_sample_class
from app.domain.errors import InvalidInput
from app.domain.models.criterion import COUNTS_PERSONS, Criterion, Merging
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import ClassRef, JudgedOn, judged_on, worst_class
from app.domain.models.judging import JudgedClasses
from app.domain.models.k_anonymity import GREATEST_K, KAnonymity, fit_only
from app.domain.models.populations import Population, cost_of_classes, people_of, population_of
from app.domain.risk.class_populations import entities_of_release, population_sizes

People = Annotated[
    int, Ge(1), Le(GREATEST_K), STRICTER_UP, doc("Least number of people of the population in a class.")
]


@dataclass(frozen=True)
class KMap(Criterion):
    """Every class that is not suppressed stands for at least k people of the population."""

    kind: ClassVar[str] = "k_map"
    title: ClassVar[str] = "k-map: at least k people of the population in every class"
    source: ClassVar[str] = "Sweeney (2002)"
    merging: ClassVar[Merging] = "fewer_fail"
    needs_population: ClassVar[bool] = True
    by_persons: ClassVar[str] = COUNTS_PERSONS

    k: People

    @property
    def enough_records(self) -> int:
        """k: records are people."""
        return self.k

    def failing(self, judged: JudgedClasses) -> Bools:
        """Classes of fewer than k people, records being people."""
        return people_of(judged) < self.k

    @property
    def failing_in_words(self) -> str:
        """How few people they stand for."""
        return f"would each fit fewer than {self.k:,} people of the population"

    def worst_in_words(self, worst: float) -> str:
        """Of a class of so many people."""
        return fit_only(int(worst), " people")

    def attained(self, judged: JudgedClasses) -> float | None:
        """People of the smallest class."""
        sizes = people_of(judged)
        return int(sizes.min()) if len(sizes) else None

    def impossible(self, whole: JudgedClasses) -> str | None:
        """The population has fewer than k people."""
        people = int(people_of(whole).sum())
        if people >= self.k:
            return None
        return f"The population has {people} people, {self.k - people} fewer than one class must have."


@lru_cache(maxsize=1024)
def _least_class(k: int, fraction: float, by: SampleTest, significance: float) -> int:
    return least_sample_class(k, fraction, by, significance)[0]


@dataclass(frozen=True)
class EstimatedKMap(Criterion):
    """Every class has so many records of a sample that fewer than k people would hardly have led to it."""

    kind: ClassVar[str] = "estimated_k_map"
    title: ClassVar[str] = "k-map by estimate: classes of a sample so large that they speak for k people"
    source: ClassVar[str] = "Pannekoek (1999); El Emam and Dankar (2008), estimators D3 and D4"
    merging: ClassVar[Merging] = "fewer_fail"
    guarantee: ClassVar[Literal["exact", "heuristic"]] = "heuristic"

    k: People
    sampling_fraction: Annotated[
        float,
        Gt(0),
        Le(1),
        doc("Records of the dataset per person of the population, who were drawn at random."),
    ]
    by: Annotated[
        SampleTest,
        doc("How the records of a class are distributed, given its people; truncated: not without records."),
    ] = "poisson"
    significance: Annotated[
        float,
        Gt(0),
        Lt(1),
        STRICTER_DOWN,
        doc("Greatest accepted probability of the test to be wrong about a class."),
    ] = 0.05

    @property
    def least_records(self) -> int:
        """The records that a class needs."""
        return self._least(self.k)

    def _least(self, k: int) -> int:
        return _least_class(k, self.sampling_fraction, self.by, self.significance)

    def failing(self, judged: JudgedClasses) -> Bools:
        """Classes of too few records."""
        return np.asarray(judged.records < self.least_records)

    def attained(self, judged: JudgedClasses) -> float | None:
        """The greatest k that the smallest class speaks for."""
        if not len(judged.records):
            return None
        records = int(judged.records.min())
        # So many records are as many people themselves.
        low, high = min(records, GREATEST_K), GREATEST_K + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._least(middle) <= records else (low, middle)
        return low

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """k-anonymity with the least records of a class."""
        return (KAnonymity(self.least_records),)

    def impossible(self, whole: JudgedClasses) -> str | None:
        """There are too few records for one class to speak for k people."""
        records, least = int(whole.records.sum()), self.least_records
        if records >= least:
            return None
        return f"A class speaks for {self.k} people from {least} records on, and there are {records}."


By = Literal["dictionary", "poisson", "zero_truncated_poisson"]


@dataclass(frozen=True, kw_only=True)
class KMapParameters(Grouping):
    """Which k, and how it is told."""

    k: Annotated[int, Ge(1), Le(1_000_000), doc("Least number of people of the population per class.")] = 5
    by: Annotated[
        By,
        DictionaryIf("dictionary"),
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
        SHARE,
        doc(
            "Greatest probability that a class of fewer than k people leads to so many records or more; 0 if "
            "that many records are k people themselves."
        ),
    ]


@dataclass(frozen=True)
class KMapFound:
    """How many people of the population each class stands for."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how.")]
    k: Annotated[int, FROM_ONE, HIDING, ASKED, doc("The k that was asked for.")]
    by: Annotated[By, doc("How the people of a class are known.")]
    guarantee: Annotated[
        Literal["exact", "statistical"], doc("Counts are exact; a test may be wrong about a class.")
    ]
    k_population: Annotated[
        int | None, HIDING, doc("People of the smallest class; null for a test, and if no class was judged.")
    ]
    sample: Annotated[SampleThreshold | None, doc("What the test asks of a class; null with a dictionary.")]
    population: Annotated[Population | None, doc("The population; null for a test.")]
    classes_failing: Annotated[int, FAILING, doc("Classes that do not stand for k people.")]
    records_failing: Annotated[int, FAILING, doc("Their records.")]
    is_k_map: Annotated[bool, MET, doc("Whether no class fails.")]
    worst_class: Annotated[ClassRef | None, doc("A class of fewest people; null if none was judged.")]


def _supports(context: MeasureContext, parameters: KMapParameters) -> str | None:
    if parameters.by == "dictionary" and context.dictionary is None:
        return (
            "The people of the population are counted in a dictionary, and none is given. Name one, or have "
            "them inferred from a sampling fraction with `by` poisson or zero_truncated_poisson."
        )
    if parameters.by != "dictionary" and context.table.persons is not None:
        return (
            "A person may have several records, and the tests take each record for another person; count the "
            "people in a dictionary: `by` dictionary."
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


def _compute(context: MeasureContext, parameters: KMapParameters, tick: Tick) -> KMapFound:
    classes = context.release.classes(parameters)
    sizes, least, sample, population = classes.records, parameters.k, None, None
    counted = parameters.by == "dictionary"
    if parameters.by == "dictionary":
        entities = entities_of_release(context.counter, context.release, classes)
        sizes = population_sizes(entities, classes.units)
        population = population_of(context, classes, entities)
    else:
        test: SampleTest = parameters.by
        least, chance = least_sample_class(parameters.k, _fraction(parameters), test, parameters.significance)
        sample = SampleThreshold(least, chance)
    failing = sizes < least
    tick(1)
    return KMapFound(
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


def _cost(context: MeasureContext, parameters: KMapParameters) -> Cost:
    if parameters.by != "dictionary":
        _fraction(parameters)
    return cost_of_classes(context, parameters, counts_people=parameters.by == "dictionary")


K_MAP: Final = Measure(
    name="k_map",
    title="k-map: people of the population per class",
    source="Sweeney (2002); El Emam and Dankar (2008)",
    guarantee="exact",
    parameters=KMapParameters,
    result=KMapFound,
    supports=_supports,
    cost=_cost,
    compute=_compute,
    example=Example(
        "does every class stand for enough people of the census?",
        "proposal-k-map",
        rule="proposal",
        dictionary="census",
        parameters={"k": 3},
    ),
    criteria=(KMap, EstimatedKMap),
    judges=lambda own, value: KMap(own.k),
    looks_at="quasi_identifiers",
    reads=frozenset({"records", "classes"}),
    by_persons=COUNTS_PERSONS,
)
