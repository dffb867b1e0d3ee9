"""Entropy ℓ-diversity: the sensitive values of every class are as uncertain as ℓ equally frequent ones.

The corrected entropy takes the release for a sample: it rests on that being drawn at random, and a release
that was chosen otherwise may mislead it without any sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.arrays import Bools, Longs
from app.domain.catalogue.meanings import STRICTER_UP
from app.domain.classes import diversity, evening
from app.domain.classes.diversity import ESTIMATE_TOLERANCE, corrected_values, has_corrected_entropy, ranked
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.models.criterion import COUNTS_PERSONS, Criterion, Merging
from app.domain.models.distinct_l_diversity import at_least_values
from app.domain.models.judging import JudgedClasses
from app.domain.models.sensitive_values import (
    GREATEST_L,
    Attribute,
    DiversityCriterion,
    OtherAttributes,
    named,
)


def _whole_values(ell: float, tolerance: float) -> int:
    """⌈ℓ⌉, unless ln ℓ is within the tolerance of the next smaller number's."""
    least = math.floor(ell)
    return least + (math.log(least) < math.log(ell) - tolerance)


@dataclass(frozen=True)
class EntropyLDiversity(DiversityCriterion):
    """The sensitive values of every class are as uncertain as ℓ equally frequent ones."""

    kind: ClassVar[str] = "entropy_l_diversity"
    title: ClassVar[str] = "entropy ℓ-diversity: values as uncertain as ℓ equally frequent ones"
    passes_by_fewer_values: ClassVar[bool] = False
    by_persons: ClassVar[str] = COUNTS_PERSONS

    l: Annotated[  # noqa: E741
        float,
        Ge(1),
        Le(GREATEST_L),
        STRICTER_UP,
        doc("ℓ, also between whole numbers; these are compared exactly, others to 1e-9 nats."),
    ]
    attribute: Attribute = None
    others: OtherAttributes = "in_classes"

    def _counts(self, judged: JudgedClasses) -> SensitiveCounts:
        return self._completed(judged.distributions(*self._of))

    def _failing(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        return ~diversity.has_entropy(counts, self.l)

    def _removed(self, judged: JudgedClasses, counts: SensitiveCounts, failing: Bools) -> Longs:
        return evening.removed_for_entropy(ranked(counts), failing, self.l)

    @property
    def failing_in_words(self) -> str:
        """How little uncertain their values are."""
        return (
            f"would be in classes whose values of {named(self.attribute)} are less uncertain than "
            f"{self.l:.6g} equally frequent ones"
        )

    def worst_in_words(self, worst: float) -> str:
        """How many equally frequent values would be as uncertain."""
        return f"those of the worst-off are as uncertain as {worst:.6g}"

    def attained(self, judged: JudgedClasses) -> float | None:
        """Least effective number of values."""
        counts = self._counts(judged)
        return float(diversity.effective_entropy(counts).min()) if counts.n_classes else None

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """⌈ℓ⌉ different values, and as many records."""
        return at_least_values(_whole_values(self.l, diversity.ENTROPY_TOLERANCE), self.attribute)

    def impossible(self, whole: JudgedClasses) -> str | None:
        """No class is more uncertain than the whole table."""
        found = self._whole(whole)
        if found is None:
            return None
        most = float(diversity.effective_entropy(found[0]).min())
        return (
            f"{found[1]} are as diverse as {most:.6g} equally frequent values, {self.l - most:.3g} fewer "
            f"than {self.l:g}."
        )


@dataclass(frozen=True)
class CorrectedEntropyLDiversity(DiversityCriterion):
    """Entropy ℓ-diversity with the entropy estimated by Grassberger's correction."""

    kind: ClassVar[str] = "corrected_entropy_l_diversity"
    title: ClassVar[str] = "entropy ℓ-diversity with Grassberger's correction of the entropy"
    source: ClassVar[str] = "Machanavajjhala et al. (2007); Grassberger (2003)"
    merging: ClassVar[Merging] = "none"
    guarantee: ClassVar[Literal["exact", "heuristic"]] = "heuristic"

    l: Annotated[  # noqa: E741
        float,
        Ge(1),
        Le(GREATEST_L),
        STRICTER_UP,
        doc("ℓ, also between whole numbers; compared to 1e-9 nats."),
    ]
    attribute: Attribute = None
    others: OtherAttributes = "in_classes"

    def _failing(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        return ~has_corrected_entropy(counts, self.l)

    def unavoidable(self, judged: JudgedClasses) -> Longs:
        """Nothing is known: the parts of a class that fails may all have a greater estimate."""
        return np.zeros(len(judged.records), dtype=np.int64)

    def attained(self, judged: JudgedClasses) -> float | None:
        """Least estimated number of equally frequent values."""
        counts = self._counts(judged)
        return float(corrected_values(counts).min()) if counts.n_classes else None

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """⌈ℓ⌉ different values, and as many records: no estimate counts for more than the values shown."""
        return at_least_values(_whole_values(self.l, ESTIMATE_TOLERANCE), self.attribute)

    def impossible(self, whole: JudgedClasses) -> str | None:
        """Only too few values are known to be in the way: a part of the table may have a greater estimate."""
        values = int(whole.counts(self.attribute, "apart").distinct.max(initial=0))
        if math.log(max(values, 1)) >= math.log(self.l) - ESTIMATE_TOLERANCE:
            return None
        return f"There are {values} different sensitive values, fewer than {self.l:g}."
