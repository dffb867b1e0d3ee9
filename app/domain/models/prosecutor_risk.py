"""The prosecutor, who knows that the target is in the release, as criteria (El Emam (2013))."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Ge, Gt, Le, doc

from app.domain.arrays import Bools, Floats
from app.domain.catalogue.meanings import STRICTER_DOWN
from app.domain.models.criterion import COUNTS_PERSONS, Criterion, Merging
from app.domain.models.judging import JudgedClasses
from app.domain.models.k_anonymity import GREATEST_K, KAnonymity
from app.domain.models.table_wide import AtMost, fewest_in_order
from app.domain.tables.numbers import exact_sum, highest_accepted

SMALLEST_RISK: Final = 1 / GREATEST_K


def least_class(threshold: float) -> int:
    """The least k with a risk 1/k that is accepted."""
    most = highest_accepted(threshold)
    k = math.ceil(1 / most)
    while k > 1 and 1.0 / (k - 1) <= most:
        k -= 1
    return k


@dataclass(frozen=True)
class GuessRisk(Criterion):
    """A bound on the risk of guessing whose a record is: 1 over those who fit, or the share of one person."""

    source: ClassVar[str] = "El Emam (2013); Wang and Fung (2006)"
    by_persons: ClassVar[str] = COUNTS_PERSONS

    threshold: float

    def _highest(self, judged: JudgedClasses) -> Floats:
        """(G,) highest risk of a record of each class."""
        return judged.largest_share

    def _expected(self, judged: JudgedClasses) -> Floats:
        """(G,) risks of the records of each class, summed."""
        return judged.expected_matches

    def _everybody(self, whole: JudgedClasses) -> tuple[int, str]:
        """Whom records can hide among at most, and how that is said."""
        records = int(whole.records.sum())
        return records, f"There are {records} records"

    def impossible(self, whole: JudgedClasses) -> str | None:
        """There are too few for so low a risk."""
        together, said = self._everybody(whole)
        if together and 1.0 / together <= highest_accepted(self.threshold):
            return None
        return f"{said}: together as one class they still have a higher risk."


@dataclass(frozen=True)
class HighestRisk(GuessRisk):
    """No record that is not suppressed is re-identified with a higher probability."""

    kind: ClassVar[str] = "highest_risk"
    title: ClassVar[str] = "Highest prosecutor risk of a record"
    merging: ClassVar[Merging] = "fewer_fail"
    merging_by_persons: ClassVar[Merging | None] = "passes_stay"

    threshold: Annotated[
        float,
        Ge(SMALLEST_RISK),
        Le(1),
        STRICTER_DOWN,
        doc(
            "Greatest risk of a record: 1/f in a class of f records, or the largest share that one person "
            "has of them."
        ),
    ]

    def failing(self, judged: JudgedClasses) -> Bools:
        """Classes of records with a higher risk."""
        failing: Bools = self._highest(judged) > highest_accepted(self.threshold)
        return failing

    @property
    def failing_in_words(self) -> str:
        """With what probability they are found."""
        return f"would be re-identified with a probability above {self.threshold:.6g}"

    def worst_in_words(self, worst: float) -> str:
        """Their probability."""
        return f"the worst-off with one of {worst:.6g}"

    def attained(self, judged: JudgedClasses) -> float | None:
        """The highest risk."""
        risks = self._highest(judged)
        return float(risks.max()) if len(risks) else None

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """k-anonymity with the least k of a low enough risk."""
        return (KAnonymity(least_class(self.threshold)),)

    def implied_by_persons(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """The same: of few persons one has a large share."""
        return self.implied(whole)


@dataclass(frozen=True)
class MeanRisk(GuessRisk, AtMost):
    """A mean over records of their risk."""

    adds_up: ClassVar[bool] = True

    def attained(self, judged: JudgedClasses) -> float | None:
        """The mean risk."""
        risks = self._expected(judged)
        return exact_sum(risks) / int(judged.records.sum()) if len(risks) else None

    def surpluses(self, judged: JudgedClasses) -> tuple[Floats, ...]:
        """What f records add to the sum: their risks less f · t, above 0 if their mean risk is above t."""
        excess = self._expected(judged) - highest_accepted(self.threshold) * judged.records
        return (np.asarray(excess),)


@dataclass(frozen=True)
class AverageRisk(MeanRisk):
    """The records that are not suppressed are re-identified with no higher probability on average."""

    kind: ClassVar[str] = "average_risk"
    title: ClassVar[str] = "Average prosecutor risk of the released records"
    merging_by_persons: ClassVar[Merging | None] = "none"

    threshold: Annotated[
        float,
        Gt(0),
        Le(1),
        STRICTER_DOWN,
        doc("Greatest mean risk of a record: classes divided by records, or the mean share of its person."),
    ]

    def least_suppressed(self, judged: JudgedClasses) -> int:
        """The smallest classes, as many as bring the rest to the threshold.

        Let K be what a more specific rule keeps. It makes no fewer classes of K than this rule does, so
        that K has so low a risk here, too. Of all such sets of records here the greatest is one of whole
        classes, since a record that leaves others of its class behind only takes from the divisor, and
        by :func:`fewest_in_order` one of all but the smallest.
        """
        order = np.argsort(judged.records, kind="stable")
        gone = fewest_in_order(self.surpluses(judged), order)
        return int(judged.records[order[:gone]].sum())
