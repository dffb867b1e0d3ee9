"""Who is unique, in a release and in the population behind it (Definitions: population models)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, doc

from app.domain.arrays import Bools, Floats
from app.domain.catalogue.meanings import LOW, LOW_AMOUNT, LOW_SHARE, SHARE, STRICTER_DOWN
from app.domain.classes.grouping import Grouping
from app.domain.classes.least_uniqueness import least_gone
from app.domain.classes.uniqueness import (
    MOST_PEOPLE,
    OVERLAPPING,
    SMALL_SAMPLE,
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
from app.domain.models.criterion import COUNTS_PERSONS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import JudgedOn, judged_on
from app.domain.models.judging import JudgedClasses
from app.domain.models.populations import cost_of_classes
from app.domain.models.table_wide import AtMost, fewest_in_order
from app.domain.tables.numbers import highest_accepted


@dataclass(frozen=True)
class SampleUniqueness(AtMost):
    """Of the records that are not suppressed only so large a share is in classes of one record, or person."""

    kind: ClassVar[str] = "sample_uniqueness"
    title: ClassVar[str] = "Share of the released records that are unique"
    source: ClassVar[str] = "Dankar et al. (2012)"
    adds_up: ClassVar[bool] = True
    by_persons: ClassVar[str] = COUNTS_PERSONS

    threshold: Annotated[
        float, Ge(0), Le(1), STRICTER_DOWN, doc("Greatest share of records that are unique.")
    ]

    def attained(self, judged: JudgedClasses) -> float | None:
        """The share of unique records."""
        if not len(judged.records):
            return None
        return int(judged.records[judged.sizes == 1].sum()) / int(judged.records.sum())

    def surpluses(self, judged: JudgedClasses) -> tuple[Floats, ...]:
        """1 − t of a unique record, −t · f of any other class of f records."""
        uniques = np.where(judged.sizes == 1, judged.records, 0)
        return (uniques - highest_accepted(self.threshold) * judged.records,)

    def least_suppressed(self, judged: JudgedClasses) -> int:
        """So many uniques that the rest has few enough.

        Who is unique here is unique at every more specific rule that keeps it, so that what such a rule
        keeps has few enough here, too. To suppress another record never lowers the share.
        """
        order = np.argsort(judged.records, kind="stable")
        return fewest_in_order(self.surpluses(judged), order)

    def impossible(self, whole: JudgedClasses) -> str | None:
        """A single record is unique, whatever is disclosed of it."""
        if self.threshold >= 1 or int(whole.records.sum()) != 1:
            return None
        return "There is 1 record, which is unique whatever is disclosed of it."


NOT_ASKED: Final = Estimate(None)
SECONDS_PER_ESTIMATE: Final = 1.2e-3
"""What estimating takes beside grouping, measured on Adult."""


@dataclass(frozen=True)
class PopulationUniqueness(AtMost):
    """Of the people whom the released records stand for only so large a share is estimated to be unique."""

    kind: ClassVar[str] = "population_uniqueness"
    title: ClassVar[str] = "Estimated share of the population that is unique"
    source: ClassVar[str] = "Dankar et al. (2012)"
    needs_partition: ClassVar[bool] = True
    guarantee: ClassVar[Literal["exact", "heuristic"]] = "heuristic"

    threshold: Annotated[
        float, Ge(0), Le(1), STRICTER_DOWN, doc("Greatest share of the people who are unique.")
    ]
    sampling_fraction: Annotated[
        float | None, Gt(0), Le(1), doc("Records of the dataset per person of the population.")
    ] = None
    population: Annotated[
        int | None, Ge(1), Le(MOST_PEOPLE), doc("People of the population, instead of the fraction.")
    ] = None
    estimator: Annotated[
        Literal["decision_rule", "pitman", "zayatz", "slide_negative_binomial"],
        doc("Whose estimate counts: of one estimator, or the choice of Dankar et al. between them."),
    ] = "decision_rule"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.sampling_fraction is None) == (self.population is None):
            raise InvalidInput.of(
                "/sampling_fraction",
                "exactly-one",
                "The size of the population is given by exactly one of sampling_fraction and population.",
                "Give one of them.",
            )

    def failing(self, judged: JudgedClasses) -> Bools:
        """No single class; InvalidInput for a population that the table cannot be a sample of."""
        self._people(judged)
        return super().failing(judged)

    def failing_alone(self, alone: JudgedClasses) -> Bools:
        """All, whatever an estimator may say, unless everybody may be unique."""
        return np.full(len(alone.records), self.threshold < 1)

    def attained(self, judged: JudgedClasses) -> float | None:
        """The share; infinite if the estimator has no solution, so that it is never accepted."""
        records = int(judged.records.sum())
        if not records:
            return None
        # The records left out stand for people of their own.
        people = max(1, round(self._people(judged) * records / judged.table_records()))
        uniques = self._uniques(sample_of(judged.records, people))
        return float("inf") if uniques is None else uniques / people

    def _uniques(self, sample: Sample) -> float | None:
        if self.estimator == "pitman":
            return pitman(sample).uniques
        if self.estimator == "slide_negative_binomial":
            return slide_negative_binomial(sample).uniques
        by_zayatz = zayatz(sample)
        if self.estimator == "zayatz":
            return by_zayatz.uniques
        if sample.fraction <= SMALL_SAMPLE:
            return decision_rule(sample, pitman(sample), by_zayatz, NOT_ASKED).uniques
        return decision_rule(sample, NOT_ASKED, by_zayatz, slide_negative_binomial(sample)).uniques

    def _people(self, judged: JudgedClasses) -> int:
        """People of the population; InvalidInput for fewer than records, and for more than can be."""
        records = judged.table_records()
        if self.sampling_fraction is not None:
            return people_of_fraction(records, self.sampling_fraction, "")
        return people_with_all(records, self.population or 0, "")

    def least_suppressed(self, judged: JudgedClasses) -> int:
        """What the estimators of Zayatz and Pitman need at least (``classes.least_uniqueness``).

        Of the slide negative binomial nothing is known, nor of the decision rule where it may take that one.
        """
        records, people = int(judged.records.sum()), self._people(judged)
        whole = judged.table_records()
        by_pitman = self.estimator in ("pitman", "decision_rule")
        may_slide = self.estimator == "decision_rule" and people * SMALL_SAMPLE < whole
        if not records or self.threshold >= 1 or may_slide or self.estimator == "slide_negative_binomial":
            return 0
        unique = int(np.count_nonzero(judged.records == 1))
        # The records left out stand for people of their own; one more allows for rounding.
        scaled = min(people, people * records // whole + 1)
        threshold = highest_accepted(self.threshold)
        return least_gone(len(judged.records), unique, records, scaled, threshold, by_pitman)

    def impossible(self, whole: JudgedClasses) -> str | None:
        """A single record has the same estimate, whatever is disclosed of it."""
        if int(whole.records.sum()) != 1 or self.satisfied(whole):
            return None
        return "There is 1 record, which is unique in the sample whatever is disclosed of it."


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
        float | None,
        LOW_AMOUNT,
        doc("Expected number of people who are unique in the population; null: no solution."),
    ]
    share: Annotated[float | None, LOW_SHARE, doc("Their share of the population.")]
    no_solution: Annotated[str | None, doc("Why the estimator has no solution, null if it has one.")]
    fitted: Annotated[Mapping[str, float], doc("The parameters of its model, by name.")]


@dataclass(frozen=True)
class Decision:
    """The estimate that the decision rule picks."""

    estimator: Annotated[Estimator, doc("Whose estimate it is.")]
    uniques: Annotated[float, LOW_AMOUNT, doc("Expected number of people who are unique in the population.")]
    share: Annotated[float, LOW_SHARE, doc("Their share of the population.")]
    reason: Annotated[str, doc("Why this estimator.")]


@dataclass(frozen=True)
class PopulationUniquenessFound:
    """Uniques of the sample, and those to be expected in the population."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how.")]
    population: Annotated[
        int, doc("People that the records judged are a sample of: in the proportion of the whole dataset.")
    ]
    sampling_fraction: Annotated[float, SHARE, doc("Records judged per person of it.")]
    sample_uniques: Annotated[int, LOW, doc("Records that are alone in their class.")]
    share_sample_uniques: Annotated[float, LOW_SHARE, doc("Their share of the records judged.")]
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
) -> PopulationUniquenessFound:
    people = _people(context, parameters)
    classes = context.release.classes(parameters)
    judged = classes.n_judged
    # The records left out stand for people of their own.
    population = max(1, round(people * judged / context.table.n_records))
    sample = sample_of(classes.records, population)
    found = pitman(sample), zayatz(sample), slide_negative_binomial(sample)
    uniques = sample.of_size(1)
    tick(1)
    return PopulationUniquenessFound(
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
    cost = cost_of_classes(context, parameters, counts_people=False)
    return replace(cost, seconds=cost.seconds + SECONDS_PER_ESTIMATE)


POPULATION_UNIQUENESS: Final = Measure(
    name="population_uniqueness",
    title="Uniques of the population, estimated from a sample",
    source="Dankar et al. (2012); Hoshino (2001); Zayatz (1991); Chen and Keller-McNulty (1998)",
    guarantee="heuristic",
    parameters=PopulationUniquenessParameters,
    result=PopulationUniquenessFound,
    supports=_supports,
    cost=_cost,
    compute=_compute,
    example=Example(
        "how many people would be unique if everybody were known?",
        "members-uniqueness",
        parameters={"sampling_fraction": 0.1},
    ),
    criteria=(SampleUniqueness, PopulationUniqueness),
    looks_at="quasi_identifiers",
    reads=frozenset({"records", "classes"}),
)
