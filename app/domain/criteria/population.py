"""Criteria on re-identification, among the records or among a population (Definitions: population models)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt, Le, doc

from app.domain.classes.grouping import Bools
from app.domain.classes.population import outside_presence, population_sizes, presence_shares
from app.domain.criteria.anonymity import GREATEST_K, KAnonymity
from app.domain.criteria.criterion import Criterion, Floats, Judged, Merging
from app.domain.criteria.ranges import require_positive_share, require_within
from app.domain.distinct import Longs
from app.domain.errors import InvalidInput
from app.domain.numbers import exact_sum, highest_accepted, lowest_accepted

Indices = npt.NDArray[np.intp]

SMALLEST_RISK: Final = 1 / GREATEST_K


def people_of(judged: Judged) -> Longs:
    """(G,) people of each class, records being people."""
    return population_sizes(judged.population(), judged.records)


@dataclass(frozen=True)
class KMap(Criterion):
    """Every class that is not withheld stands for at least k people of the population."""

    kind: ClassVar[str] = "k_map"
    title: ClassVar[str] = "k-map: at least k people of the population in every class"
    source: ClassVar[str] = "Sweeney (2002)"
    merging: ClassVar[Merging] = "fewer_fail"
    needs_population: ClassVar[bool] = True

    k: Annotated[int, Ge(1), Le(GREATEST_K), doc("Least number of people disclosed alike.")]

    def __post_init__(self) -> None:
        require_within("k", self.k, 1, GREATEST_K)

    def failing(self, judged: Judged) -> Bools:
        """Classes of fewer than k people, records being people."""
        return people_of(judged) < self.k

    def attained(self, judged: Judged) -> float | None:
        """People of the smallest class."""
        sizes = people_of(judged)
        return int(sizes.min()) if len(sizes) else None

    def impossible(self, whole: Judged) -> str | None:
        """The population has fewer than k people."""
        people = int(people_of(whole).sum())
        if people >= self.k:
            return None
        return f"The population has {people} people, {self.k - people} fewer than one class must have."


@dataclass(frozen=True)
class DeltaPresence(Criterion):
    """Of the people with one tuple of disclosed quasi-identifiers, bounded shares are in the release."""

    kind: ClassVar[str] = "delta_presence"
    title: ClassVar[str] = "δ-presence: bounded shares of the population in the release"
    source: ClassVar[str] = "Nergiz et al. (2007)"
    merging: ClassVar[Merging] = "passes_stay"
    needs_population: ClassVar[bool] = True

    lower: Annotated[float, Ge(0), Le(1), doc("δ_min: no tuple's share may be below.")] = 0.0
    upper: Annotated[float, Ge(0), Le(1), doc("δ_max: no tuple's share may be above.")] = 0.5

    def __post_init__(self) -> None:
        require_within("lower", self.lower, 0, 1)
        require_within("upper", self.upper, 0, 1)
        if self.lower > self.upper:
            raise InvalidInput.of(
                "/lower", "out-of-range", "The lower bound is above the upper one.", "Exchange the two."
            )

    @property
    def bars_outsiders(self) -> bool:
        """Whether people of whom no record can be break the lower bound."""
        return lowest_accepted(self.lower) > 0

    def failing(self, judged: Judged) -> Bools:
        """Classes whose share is out of bounds; all if people without a record break the lower one."""
        if self.bars_outsiders and judged.outside():
            return np.ones(len(judged.sizes), dtype=bool)
        people = people_of(judged)
        return outside_presence(judged.records, people, self.lower, self.upper)

    def satisfied(self, judged: Judged) -> bool:
        """No class fails, and people without a record do not break the lower bound."""
        if self.bars_outsiders and judged.outside():
            return False
        return not self.failing(judged).any()

    def attained(self, judged: Judged) -> float | None:
        """The greatest share."""
        shares = presence_shares(judged.records, people_of(judged))
        return float(shares.max()) if len(shares) else None

    def impossible(self, whole: Judged) -> str | None:
        """The share of the whole population that is in the release is out of bounds."""
        people = people_of(whole)
        if not outside_presence(whole.records, people, self.lower, self.upper).any():
            return None
        share = float(presence_shares(whole.records, people)[0])
        if share > self.upper:
            bound, by = f"above the upper bound {self.upper:g}", share - self.upper
        else:
            bound, by = f"below the lower bound {self.lower:g}", self.lower - share
        return f"The records are a share of {share:g} of the population, {bound} by {by:g}."


def _riskier_as_one_class(whole: Judged, threshold: float) -> str | None:
    """Why not even all records together have so low a risk; None if they do."""
    records = int(whole.records.sum())
    if records and 1.0 / records <= highest_accepted(threshold):
        return None
    return f"There are {records} records: together as one class they still have a higher risk."


def least_class(threshold: float) -> int:
    """The least k with a risk 1/k that is accepted."""
    most = highest_accepted(threshold)
    k = math.ceil(1 / most)
    while k > 1 and 1.0 / (k - 1) <= most:
        k -= 1
    return k


@dataclass(frozen=True)
class HighestRisk(Criterion):
    """No record that is not withheld is re-identified with a higher probability."""

    kind: ClassVar[str] = "highest_risk"
    title: ClassVar[str] = "Highest prosecutor risk of a record"
    source: ClassVar[str] = "El Emam (2013)"
    merging: ClassVar[Merging] = "fewer_fail"

    threshold: Annotated[
        float, Ge(SMALLEST_RISK), Le(1), doc("Greatest risk 1/f of a record in a class of f records.")
    ]

    def __post_init__(self) -> None:
        require_within("threshold", self.threshold, SMALLEST_RISK, 1)

    def failing(self, judged: Judged) -> Bools:
        """Classes of records with a higher risk."""
        failing: Bools = 1.0 / judged.sizes > highest_accepted(self.threshold)
        return failing

    def attained(self, judged: Judged) -> float | None:
        """The highest risk."""
        return 1.0 / int(judged.sizes.min()) if len(judged.sizes) else None

    def implied(self, whole: Judged) -> tuple[Criterion, ...]:
        """k-anonymity with the least k of a low enough risk."""
        return (KAnonymity(least_class(self.threshold)),)

    def impossible(self, whole: Judged) -> str | None:
        """There are too few records for so low a risk."""
        return _riskier_as_one_class(whole, self.threshold)


SAME_SUM: Final = 1e-12
"""More than sums of surpluses in other orders differ by, as a share of the records."""


def fewest_in_order(surpluses: Sequence[Floats], order: Indices) -> int:
    """How many classes of an order have to go at least so that no sum over the others is above 0.

    Up to rounding: never one more, perhaps one less.

    *Lemma.* Let the classes whose surpluses are above 0 come first in the order, those of greater surpluses
    earlier (in all of ``surpluses``), and let no class cost less than one before it. Then no set of classes
    that may go costs less than the first ones of the order, as many as this function says.

    *Proof.* A class whose surplus is not above 0 is left out of the set, and what is left of it still may
    go. If it has m classes, the first m of the order have no smaller surpluses in sum, so that they may go,
    and cost no more: the i-th of them costs no more than the i-th of the set in the order. The fewest first
    ones cost least of these. ∎
    """
    fewest = 0
    for surplus in surpluses:
        taken = np.cumsum(np.maximum(surplus[order], 0.0))
        above = float(surplus.sum()) - SAME_SUM * (len(order) + float(np.abs(surplus).sum()))
        if above > 0:
            fewest = max(fewest, int(np.searchsorted(taken, above)) + 1)
    return min(fewest, len(order))


@dataclass(frozen=True)
class AtMost(Criterion):
    """A number of all remaining classes together that may be no greater than a threshold."""

    merging: ClassVar[Merging] = "none"
    table_wide: ClassVar[bool] = True

    threshold: float

    def failing(self, judged: Judged) -> Bools:
        """No single class."""
        return np.zeros(len(judged.sizes), dtype=bool)

    def satisfied(self, judged: Judged) -> bool:
        """Whether the number is low enough; without classes it is."""
        attained = self.attained(judged)
        return attained is None or attained <= highest_accepted(self.threshold)


def surplus_of_risk(judged: Judged, hidden_among: Longs, threshold: float) -> Floats:
    """(G,) what each class adds to Σ records · (1/``hidden_among`` − threshold), above 0 if its risk is."""
    return np.asarray(judged.records / hidden_among - highest_accepted(threshold) * judged.records)


def mean_risk(records: Longs, hidden_among: Longs) -> float | None:
    """Mean over the records of G classes of 1/``hidden_among`` (G,); None without classes."""
    return exact_sum(records / hidden_among) / int(records.sum()) if len(records) else None


@dataclass(frozen=True)
class AverageRisk(AtMost):
    """The records that are not withheld are re-identified with no higher probability on average."""

    kind: ClassVar[str] = "average_risk"
    title: ClassVar[str] = "Average prosecutor risk of the released records"
    source: ClassVar[str] = "El Emam (2013)"
    adds_up: ClassVar[bool] = True

    threshold: Annotated[
        float, Gt(0), Le(1), doc("Greatest mean risk of a record: classes divided by records.")
    ]

    def __post_init__(self) -> None:
        require_positive_share("threshold", self.threshold)

    def attained(self, judged: Judged) -> float | None:
        """The mean risk."""
        return mean_risk(judged.records, judged.sizes)

    def surpluses(self, judged: Judged) -> tuple[Floats, ...]:
        """1 − t · f of a class of f records: positive below 1/t records, and the greater the fewer."""
        return (surplus_of_risk(judged, judged.sizes, self.threshold),)

    def least_suppressed(self, judged: Judged) -> int:
        """The smallest classes, as many as bring the rest to the threshold.

        Let K be what a more specific rule keeps. It makes no fewer classes of K than this rule does, so
        that K has so low a risk here, too. Of all such sets of records here the greatest is one of whole
        classes, since a record that leaves others of its class behind only takes from the divisor, and
        by :func:`fewest_in_order` one of all but the smallest.
        """
        order = np.argsort(judged.records, kind="stable")
        gone = fewest_in_order(self.surpluses(judged), order)
        return int(judged.records[order[:gone]].sum())

    def impossible(self, whole: Judged) -> str | None:
        """There are too few records for so low a risk."""
        return _riskier_as_one_class(whole, self.threshold)


@dataclass(frozen=True)
class SampleUniqueness(AtMost):
    """Of the records that are not withheld only so large a share is alone in its class."""

    kind: ClassVar[str] = "sample_uniqueness"
    title: ClassVar[str] = "Share of the released records that are unique"
    source: ClassVar[str] = "Dankar et al. (2012)"
    adds_up: ClassVar[bool] = True

    threshold: Annotated[float, Ge(0), Le(1), doc("Greatest share of records that are unique.")]

    def __post_init__(self) -> None:
        require_within("threshold", self.threshold, 0, 1)

    def attained(self, judged: Judged) -> float | None:
        """The share of unique records."""
        if not len(judged.records):
            return None
        return int(judged.records[judged.sizes == 1].sum()) / int(judged.records.sum())

    def surpluses(self, judged: Judged) -> tuple[Floats, ...]:
        """1 − t of a unique record, −t · f of any other class of f records."""
        uniques = np.where(judged.sizes == 1, judged.records, 0)
        return (uniques - highest_accepted(self.threshold) * judged.records,)

    def least_suppressed(self, judged: Judged) -> int:
        """So many uniques that the rest has few enough.

        Who is unique here is unique at every more specific rule that keeps it, so that what such a rule
        keeps has few enough here, too. To suppress another record never lowers the share.
        """
        order = np.argsort(judged.records, kind="stable")
        return fewest_in_order(self.surpluses(judged), order)

    def impossible(self, whole: Judged) -> str | None:
        """A single record is unique, whatever is disclosed of it."""
        if self.threshold >= 1 or int(whole.records.sum()) != 1:
            return None
        return "There is 1 record, which is unique whatever is disclosed of it."
