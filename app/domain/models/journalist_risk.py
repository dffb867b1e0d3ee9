"""Journalist and marketer: attackers who compare the release with a population (El Emam (2013))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le, doc

from app.domain.arrays import Floats
from app.domain.catalogue.meanings import STRICTER_DOWN
from app.domain.models.criterion import Criterion, Merging
from app.domain.models.judging import JudgedClasses
from app.domain.models.k_map import KMap
from app.domain.models.populations import people_of
from app.domain.models.prosecutor_risk import SMALLEST_RISK, GuessRisk, HighestRisk, MeanRisk, least_class
from app.domain.models.table_wide import SAME_SUM
from app.domain.tables.numbers import highest_accepted


@dataclass(frozen=True)
class _AgainstPopulation(GuessRisk):
    """A risk against the population."""

    needs_population: ClassVar[bool] = True

    merging_by_persons: ClassVar[Merging | None] = None

    def _highest(self, judged: JudgedClasses) -> Floats:
        """(G,) 1 over the people of each class."""
        return np.asarray(1.0 / people_of(judged))

    def _expected(self, judged: JudgedClasses) -> Floats:
        """(G,) the same, once for each record."""
        return np.asarray(judged.records / people_of(judged))

    def _everybody(self, whole: JudgedClasses) -> tuple[int, str]:
        people = int(people_of(whole).sum())
        return people, f"The population has {people} people"


@dataclass(frozen=True)
class HighestJournalistRisk(_AgainstPopulation, HighestRisk):
    """No released record is found in the population with a higher probability."""

    kind: ClassVar[str] = "highest_journalist_risk"
    title: ClassVar[str] = "Highest journalist risk of a record"

    threshold: Annotated[
        float,
        Ge(SMALLEST_RISK),
        Le(1),
        STRICTER_DOWN,
        doc("Greatest risk 1/F of a record, F people of the population being like its class."),
    ]

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """k-map with the least k of a low enough risk."""
        return (KMap(least_class(self.threshold)),)


@dataclass(frozen=True)
class _MeanAgainstPopulation(_AgainstPopulation, MeanRisk):
    """A mean risk against the population."""

    def least_suppressed(self, judged: JudgedClasses) -> int:
        """So many of the records of highest risk that the mean over the others is low enough.

        A record has no more people like it at a more specific rule, nor if others of its class go, hence no
        lower risk: what such a rule keeps has so low a mean by the risks of this rule, too.
        """
        people = people_of(judged)
        order = np.argsort(people, kind="stable")
        surplus = MeanRisk.surpluses(self, judged)[0][order]
        records = judged.records[order]
        above = float(surplus.sum()) * (1 - SAME_SUM) - SAME_SUM * float(records.sum())
        if above <= 0:
            return 0
        taken = np.cumsum(np.maximum(surplus, 0.0))
        last = min(int(np.searchsorted(taken, above)), len(order) - 1)
        whole = int(records[:last].sum())
        missing = above - (float(taken[last - 1]) if last else 0.0)
        each = float(surplus[last]) / int(records[last])
        part = math.ceil(missing / each * (1 - SAME_SUM)) if each > 0 else 0
        return whole + min(max(part, 0), int(records[last]))


@dataclass(frozen=True)
class AverageJournalistRisk(_MeanAgainstPopulation):
    """The released records are found in the population with no higher probability on average."""

    kind: ClassVar[str] = "average_journalist_risk"
    title: ClassVar[str] = "Average journalist risk of the released records"

    threshold: Annotated[
        float,
        Gt(0),
        Le(1),
        STRICTER_DOWN,
        doc(
            "Greatest average risk: the greater of the mean of 1/F over records, and of classes divided by "
            "the people who are like one of them."
        ),
    ]

    def attained(self, judged: JudgedClasses) -> float | None:
        """The greater of the two averages."""
        people = people_of(judged)
        per_record = super().attained(judged)
        return None if per_record is None else max(len(people) / int(people.sum()), per_record)

    def surpluses(self, judged: JudgedClasses) -> tuple[Floats, ...]:
        """Those of the mean over records, and 1 − t · F of a class among F people for that over classes."""
        people = people_of(judged)
        return *super().surpluses(judged), np.asarray(1.0 - highest_accepted(self.threshold) * people)


@dataclass(frozen=True)
class MarketerRisk(_MeanAgainstPopulation):
    """Who links every released record with the population gets no larger share of them right."""

    kind: ClassVar[str] = "marketer_risk"
    title: ClassVar[str] = "Marketer risk: expected share of released records that are linked rightly"

    threshold: Annotated[
        float, Gt(0), Le(1), STRICTER_DOWN, doc("Greatest share: the mean of 1/F over records.")
    ]
