"""Recursive (c, ℓ)-diversity: the most frequent sensitive value of a class is not too frequent."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from app.domain.arrays import Bools, Longs
from app.domain.classes import diversity, evening
from app.domain.classes.diversity import ranked
from app.domain.classes.ratios import as_written
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.models.criterion import COUNTS_PERSONS, Criterion
from app.domain.models.distinct_l_diversity import at_least_values
from app.domain.models.judging import JudgedClasses
from app.domain.models.sensitive_values import Attribute, C, DiversityCriterion, Ell, OtherAttributes, named


@dataclass(frozen=True)
class RecursiveLDiversity(DiversityCriterion):
    """The most frequent value of a class has fewer than c times the records of those from rank ℓ on."""

    kind: ClassVar[str] = "recursive_l_diversity"
    title: ClassVar[str] = "recursive (c, ℓ)-diversity: the most frequent value is not too frequent"
    passes_by_fewer_values: ClassVar[bool] = False
    by_persons: ClassVar[str] = COUNTS_PERSONS

    c: C
    l: Ell  # noqa: E741
    attribute: Attribute = None
    others: OtherAttributes = "in_classes"

    def _counts(self, judged: JudgedClasses) -> SensitiveCounts:
        return self._completed(judged.distributions(*self._of))

    def _failing(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        return ~diversity.is_recursive(counts, as_written(self.c), self.l)

    def _removed(self, judged: JudgedClasses, counts: SensitiveCounts, failing: Bools) -> Longs:
        if self.l == 1:
            return np.zeros(counts.n_classes, dtype=np.int64)
        return evening.removed_for_recursion(ranked(counts), failing, as_written(self.c), self.l)

    @property
    def failing_in_words(self) -> str:
        """That one value outweighs the others."""
        return (
            f"would be in classes in which the most frequent value of {named(self.attribute)} is too frequent"
        )

    def attained(self, judged: JudgedClasses) -> float | None:
        """Least c with which it holds: any greater one does."""
        counts = self._counts(judged)
        return float(diversity.least_c(ranked(counts), self.l).max()) if counts.n_classes else None

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """r_1 < c · (m − ℓ + 1) · r_1 takes more than ℓ − 1 + 1/c values."""
        if self.l == 1:
            return ()
        return at_least_values(self.l + int(1 / as_written(self.c)), self.attribute)

    def impossible(self, whole: JudgedClasses) -> str | None:
        """No class holds with a smaller c than the whole table."""
        found = self._whole(whole)
        if found is None:
            return None
        return needs_c(found[1], float(diversity.least_c(ranked(found[0]), self.l).max()), self.c, self.l)


def needs_c(what: str, least: float, c: float, ell: int) -> str:
    """The reason that (c, ℓ)-diversity fails: ``least`` is the c that would do, ∞ if none would."""
    if math.isinf(least):
        return f"{what} do not have enough different values for ℓ = {ell} with any c."
    return f"{what} need a c above {least:.6g} for ℓ = {ell}; {c:g} is {least - c:.3g} short of it."
