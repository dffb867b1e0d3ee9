"""Distinct ℓ-diversity: at least ℓ different sensitive values in every class."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from app.domain.arrays import Bools
from app.domain.classes.diversity import distinct_values
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.models.criterion import COUNTS_PERSONS, Criterion, Merging
from app.domain.models.judging import JudgedClasses
from app.domain.models.k_anonymity import GREATEST_K, KAnonymity
from app.domain.models.sensitive_values import (
    GREATEST_L,
    Attribute,
    Ell,
    OtherAttributes,
    WholeBlockCriterion,
    named,
)


@dataclass(frozen=True)
class DistinctLDiversity(WholeBlockCriterion):
    """Every class has at least ℓ different sensitive values."""

    kind: ClassVar[str] = "distinct_l_diversity"
    title: ClassVar[str] = "distinct ℓ-diversity: at least ℓ different values in every class"
    by_persons: ClassVar[str] = COUNTS_PERSONS
    merging_by_persons: ClassVar[Merging | None] = "none"

    l: Ell  # noqa: E741
    attribute: Attribute = None
    others: OtherAttributes = "in_classes"

    def _failing(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        return distinct_values(counts) < self.l

    @property
    def failing_in_words(self) -> str:
        """How few values their classes have."""
        return f"would be in classes with fewer than {self.l:,} different values of {named(self.attribute)}"

    def worst_in_words(self, worst: float) -> str:
        """So many values, one of which is known with certainty."""
        if worst <= 1:
            return "of the worst-off the value is known for certain"
        return f"the worst-off have {int(worst):,}"

    def attained(self, judged: JudgedClasses) -> float | None:
        """Least number of different values."""
        counts = self._counts(judged)
        return int(distinct_values(counts).min()) if counts.n_classes else None

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """ℓ values of the attribute apart, and ℓ records."""
        own: tuple[Criterion, ...] = ()
        if self.others == "in_classes":
            own = (replace(self, others="apart"),)
        return (*own, KAnonymity(min(self.l, GREATEST_K)))

    def implied_by_persons(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """ℓ persons."""
        return (KAnonymity(min(self.l, GREATEST_K)),)

    def impossible(self, whole: JudgedClasses) -> str | None:
        """There are fewer than ℓ values."""
        found = self._whole(whole)
        if found is None:
            return None
        least = int(found[0].distinct.min())
        return f"{found[1]} have {least} different sensitive values, {self.l - least} fewer than {self.l}."


def at_least_values(values: int, attribute: str | None) -> tuple[Criterion, ...]:
    """Criteria of at least so many different values in a class, a missing one among them."""
    if values < 2:
        return ()
    least = min(values, GREATEST_L)
    apart = DistinctLDiversity(least, attribute, "apart", missing_sensitive="own_category")
    return apart, KAnonymity(min(least, GREATEST_K))


def least_classes(size: int, values: int, attribute: str | None) -> tuple[Criterion, ...]:
    """Criteria that say that every class has so many records and different values."""
    records = (KAnonymity(min(size, GREATEST_K)),) if size > values else ()
    return (*records, *at_least_values(values, attribute))
