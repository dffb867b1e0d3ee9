"""Criteria that take the release for a sample: k-map by estimated people, ℓ-diversity by estimated entropy.

What they say of the population rests on the sample being drawn at random; a release that was chosen otherwise
may mislead them without any sign of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, doc

from app.domain.classes.entropy_estimates import ESTIMATE_TOLERANCE, corrected_values, has_corrected_entropy
from app.domain.classes.grouping import Bools
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.classes.uniqueness import SampleTest, least_sample_class
from app.domain.criteria.anonymity import GREATEST_K, KAnonymity
from app.domain.criteria.criterion import Criterion, Judged, Merging, Others
from app.domain.criteria.diversity import (
    GREATEST_L,
    Attribute,
    DiversityCriterion,
    OtherAttributes,
    at_least_values,
)
from app.domain.criteria.ranges import require_positive_share, require_within
from app.domain.distinct import Longs
from app.domain.errors import InvalidInput


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

    k: Annotated[int, Ge(1), Le(GREATEST_K), doc("Least number of people disclosed alike.")]
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
        float, Gt(0), Lt(1), doc("Greatest accepted probability of the test to be wrong about a class.")
    ] = 0.05

    def __post_init__(self) -> None:
        require_within("k", self.k, 1, GREATEST_K)
        require_positive_share("sampling_fraction", self.sampling_fraction)
        if not 0 < self.significance < 1:
            raise InvalidInput.of(
                "/significance",
                "out-of-range",
                "significance must be between 0 and 1.",
                "0.05 is usual: one class in twenty may be judged wrongly.",
            )

    @property
    def least_records(self) -> int:
        """The records that a class needs."""
        return self._least(self.k)

    def _least(self, k: int) -> int:
        return _least_class(k, self.sampling_fraction, self.by, self.significance)

    def failing(self, judged: Judged) -> Bools:
        """Classes of too few records."""
        return np.asarray(judged.records < self.least_records)

    def attained(self, judged: Judged) -> float | None:
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

    def implied(self, whole: Judged) -> tuple[Criterion, ...]:
        """k-anonymity with the least records of a class."""
        return (KAnonymity(self.least_records),)

    def impossible(self, whole: Judged) -> str | None:
        """There are too few records for one class to speak for k people."""
        records, least = int(whole.records.sum()), self.least_records
        if records >= least:
            return None
        return f"A class speaks for {self.k} people from {least} records on, and there are {records}."


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
        doc("ℓ, also between whole numbers; compared to 1e-9 nats."),
    ]
    attribute: Attribute = None
    others: OtherAttributes = "in_classes"

    def __post_init__(self) -> None:
        require_within("l", self.l, 1, GREATEST_L)

    @property
    def _of(self) -> tuple[str | None, Others]:
        return self.attribute, self.others

    def _failing(self, judged: Judged, counts: SensitiveCounts) -> Bools:
        return ~has_corrected_entropy(counts, self.l)

    def unavoidable(self, judged: Judged) -> Longs:
        """Nothing is known: the parts of a class that fails may all have a greater estimate."""
        return np.zeros(len(judged.records), dtype=np.int64)

    def attained(self, judged: Judged) -> float | None:
        """Least estimated number of equally frequent values."""
        counts = judged.counts(*self._of)
        return float(corrected_values(counts).min()) if counts.n_classes else None

    def implied(self, whole: Judged) -> tuple[Criterion, ...]:
        """⌈ℓ⌉ different values, and as many records: no estimate counts for more than the values shown."""
        least = math.floor(self.l)
        if math.log(least) < math.log(self.l) - ESTIMATE_TOLERANCE:
            least += 1
        return at_least_values(least, self.attribute)

    def impossible(self, whole: Judged) -> str | None:
        """Only too few values are known to be in the way: a part of the table may have a greater estimate."""
        values = int(whole.counts(self.attribute, "apart").distinct.max(initial=0))
        if math.log(max(values, 1)) >= math.log(self.l) - ESTIMATE_TOLERANCE:
            return None
        return f"There are {values} different sensitive values, fewer than {self.l:g}."
