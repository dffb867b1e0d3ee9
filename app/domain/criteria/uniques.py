"""Uniqueness in a population, the table being a sample, as a criterion (Definitions: population models)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, doc

from app.domain.classes.grouping import Bools
from app.domain.classes.least_uniqueness import least_gone
from app.domain.classes.uniqueness import (
    MOST_PEOPLE,
    OVERLAPPING,
    SMALL_SAMPLE,
    Estimate,
    Sample,
    decision_rule,
    people_of_fraction,
    people_with_all,
    pitman,
    sample_of,
    slide_negative_binomial,
    zayatz,
)
from app.domain.criteria.criterion import Criterion, Judged
from app.domain.criteria.population import AtMost
from app.domain.criteria.ranges import require_positive_share, require_within
from app.domain.errors import InvalidInput, NotSupported
from app.domain.numbers import highest_accepted
from app.domain.tables import Table

NOT_ASKED: Final = Estimate(None)


def require_partitions(table: Table, criteria: Iterable[Criterion]) -> None:
    """Refuse estimators where missing values match everything, as the measure does: NotSupported."""
    if not table.is_complete and any(isinstance(own, PopulationUniqueness) for own in criteria):
        raise NotSupported.because(OVERLAPPING)


@dataclass(frozen=True)
class PopulationUniqueness(AtMost):
    """Of the people whom the released records stand for only so large a share is estimated to be unique."""

    kind: ClassVar[str] = "population_uniqueness"
    title: ClassVar[str] = "Estimated share of the population that is unique"
    source: ClassVar[str] = "Dankar et al. (2012)"
    guarantee: ClassVar[Literal["exact", "heuristic"]] = "heuristic"

    threshold: Annotated[float, Ge(0), Le(1), doc("Greatest share of the people who are unique.")]
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
        require_within("threshold", self.threshold, 0, 1)
        if (self.sampling_fraction is None) == (self.population is None):
            raise InvalidInput.of(
                "/sampling_fraction",
                "exactly-one",
                "The size of the population is given by exactly one of sampling_fraction and population.",
                "Give one of them.",
            )
        if self.sampling_fraction is not None:
            require_positive_share("sampling_fraction", self.sampling_fraction)
        if self.population is not None:
            require_within("population", self.population, 1, MOST_PEOPLE)

    def failing(self, judged: Judged) -> Bools:
        """No single class; InvalidInput for a population that the table cannot be a sample of."""
        self._people(judged)
        return super().failing(judged)

    def failing_alone(self, alone: Judged) -> Bools:
        """All, whatever an estimator may say, unless everybody may be unique."""
        return np.full(len(alone.records), self.threshold < 1)

    def attained(self, judged: Judged) -> float | None:
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

    def _people(self, judged: Judged) -> int:
        """People of the population; InvalidInput for fewer than records, and for more than can be."""
        records = judged.table_records()
        if self.sampling_fraction is not None:
            return people_of_fraction(records, self.sampling_fraction, "")
        return people_with_all(records, self.population or 0, "")

    def least_suppressed(self, judged: Judged) -> int:
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

    def impossible(self, whole: Judged) -> str | None:
        """A single record has the same estimate, whatever is disclosed of it."""
        if int(whole.records.sum()) != 1 or self.satisfied(whole):
            return None
        return "There is 1 record, which is unique in the sample whatever is disclosed of it."
