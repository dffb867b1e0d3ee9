"""Distinct, entropy and recursive ℓ-diversity as criteria (Machanavajjhala (2008))."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Ge, Le, MaxLen, doc

from app.domain.classes import diversity, evening
from app.domain.classes.diversity import ranked
from app.domain.classes.grouping import Bools
from app.domain.classes.ratios import as_written
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.criteria.anonymity import GREATEST_K, KAnonymity
from app.domain.criteria.criterion import Criterion, Judged, Merging, Others, failing_classes
from app.domain.criteria.ranges import require_within
from app.domain.distinct import Longs

GREATEST_L: Final = 1_000_000
GREATEST_C: Final = 1e9
LEAST_C: Final = 1e-9
BY_ITSELF: Final = (
    "The other sensitive attributes split the classes here (`others: in_classes`); `others: apart` judges "
    "this one by itself, as other tools do."
)
SOURCE: Final = "Machanavajjhala et al. (2007); Machanavajjhala (2008), section 3.4"

Attribute = Annotated[
    str | None, MaxLen(200), doc("The sensitive attribute; may be left out if there is only one.")
]
OtherAttributes = Annotated[
    Others,
    doc(
        "Whether the other sensitive attributes split the classes further (`in_classes`): whoever knows one "
        "of them must not learn this one from it; or are left aside (`apart`)."
    ),
]
Ell = Annotated[int, Ge(1), Le(GREATEST_L), doc("ℓ.")]
C = Annotated[
    float,
    Ge(LEAST_C),
    Le(GREATEST_C),
    doc("The c, taken as the decimal it is written as; the comparison is strict."),
]


@dataclass(frozen=True)
class DiversityCriterion(Criterion):
    """A condition on the values of one sensitive attribute in each class, or each block of it."""

    source: ClassVar[str] = SOURCE
    merging: ClassVar[Merging] = "passes_stay"

    @property
    @abstractmethod
    def _of(self) -> tuple[str | None, Others]:
        """The attribute, and what becomes of the others."""

    @abstractmethod
    def _failing(self, judged: Judged, counts: SensitiveCounts) -> Bools:
        """(B,) which blocks fail."""

    def _removed(self, judged: Judged, counts: SensitiveCounts, failing: Bools) -> Longs:
        """(B,) records of failing blocks that fail however the block is split, 0 for the others."""
        return failing.astype(np.int64)

    def failing(self, judged: Judged) -> Bools:
        """Classes with a block that fails."""
        attribute, others = self._of
        return failing_classes(
            judged, attribute, others, self._failing(judged, judged.counts(attribute, others))
        )

    def unavoidable(self, judged: Judged) -> Longs:
        """Records of the blocks that cannot pass with the others, in all blocks of a class."""
        attribute, others = self._of
        counts = judged.counts(attribute, others)
        removed = self._removed(judged, counts, self._failing(judged, counts))
        if others == "apart":
            return removed
        owners = judged.class_of_block(attribute)
        return np.bincount(owners, removed, len(judged.sizes)).astype(np.int64)

    def _whole(self, whole: Judged) -> tuple[SensitiveCounts, str] | None:
        """Counts of the table as one class, and what they are of; None if that meets the criterion."""
        attribute, others = self._of
        counts = whole.counts(attribute, others)
        if not self._failing(whole, counts).any():
            return None
        if counts.n_classes > 1:
            return counts, "Of all records as one class, those alike in the other sensitive attributes"
        return counts, "All records as one class"

    def alternative(self, whole: Judged) -> str:
        """The attribute by itself, where only the other sensitive attributes are in the way."""
        attribute, others = self._of
        if others == "apart" or whole.counts(attribute, others).n_classes <= len(whole.sizes):
            return ""
        beside = replace(self, **{"others": "apart"})
        return BY_ITSELF if beside.impossible(whole) is None else ""


@dataclass(frozen=True)
class DistinctLDiversity(DiversityCriterion):
    """Every class has at least ℓ different sensitive values."""

    kind: ClassVar[str] = "distinct_l_diversity"
    title: ClassVar[str] = "distinct ℓ-diversity: at least ℓ different values in every class"
    merging: ClassVar[Merging] = "fewer_fail"

    l: Ell  # noqa: E741
    attribute: Attribute = None
    others: OtherAttributes = "in_classes"

    def __post_init__(self) -> None:
        require_within("l", self.l, 1, GREATEST_L)
        if self.others == "in_classes":
            # A block that fails may join a class that had none and take its records along.
            object.__setattr__(self, "merging", "passes_stay")

    @property
    def _of(self) -> tuple[str | None, Others]:
        return self.attribute, self.others

    def _failing(self, judged: Judged, counts: SensitiveCounts) -> Bools:
        return counts.distinct < self.l

    def _removed(self, judged: Judged, counts: SensitiveCounts, failing: Bools) -> Longs:
        """No part of a block has more values than the block."""
        return np.where(failing, counts.sizes, 0)

    def attained(self, judged: Judged) -> float | None:
        """Least number of different values."""
        counts = judged.counts(*self._of)
        return int(counts.distinct.min()) if counts.n_classes else None

    def implied(self, whole: Judged) -> tuple[Criterion, ...]:
        """ℓ values of the attribute apart, and ℓ records."""
        own: tuple[Criterion, ...] = ()
        if self.others == "in_classes":
            own = (DistinctLDiversity(self.l, self.attribute, "apart"),)
        return (*own, KAnonymity(min(self.l, GREATEST_K)))

    def impossible(self, whole: Judged) -> str | None:
        """There are fewer than ℓ values."""
        found = self._whole(whole)
        if found is None:
            return None
        least = int(found[0].distinct.min())
        return f"{found[1]} have {least} different sensitive values, {self.l - least} fewer than {self.l}."


def at_least_values(values: int, attribute: str | None) -> tuple[Criterion, ...]:
    """Criteria of at least so many different values in a class."""
    if values < 2:
        return ()
    least = min(values, GREATEST_L)
    return DistinctLDiversity(least, attribute, "apart"), KAnonymity(min(least, GREATEST_K))


@dataclass(frozen=True)
class EntropyLDiversity(DiversityCriterion):
    """The sensitive values of every class are as uncertain as ℓ equally frequent ones."""

    kind: ClassVar[str] = "entropy_l_diversity"
    title: ClassVar[str] = "entropy ℓ-diversity: values as uncertain as ℓ equally frequent ones"

    l: Annotated[  # noqa: E741
        float,
        Ge(1),
        Le(GREATEST_L),
        doc("ℓ, also between whole numbers; these are compared exactly, others to 1e-9 nats."),
    ]
    attribute: Attribute = None
    others: OtherAttributes = "in_classes"

    def __post_init__(self) -> None:
        require_within("l", self.l, 1, GREATEST_L)

    @property
    def _of(self) -> tuple[str | None, Others]:
        return self.attribute, self.others

    def _failing(self, judged: Judged, counts: SensitiveCounts) -> Bools:
        return ~diversity.has_entropy(counts, self.l)

    def _removed(self, judged: Judged, counts: SensitiveCounts, failing: Bools) -> Longs:
        return evening.removed_for_entropy(ranked(counts), failing, self.l)

    def attained(self, judged: Judged) -> float | None:
        """Least effective number of values."""
        counts = judged.counts(*self._of)
        return float(diversity.effective_entropy(counts).min()) if counts.n_classes else None

    def implied(self, whole: Judged) -> tuple[Criterion, ...]:
        """⌈ℓ⌉ different values, and as many records."""
        least = math.floor(self.l)
        if math.log(least) < math.log(self.l) - diversity.ENTROPY_TOLERANCE:
            least += 1
        return at_least_values(least, self.attribute)

    def impossible(self, whole: Judged) -> str | None:
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
class RecursiveLDiversity(DiversityCriterion):
    """The most frequent value of a class has fewer than c times the records of those from rank ℓ on."""

    kind: ClassVar[str] = "recursive_l_diversity"
    title: ClassVar[str] = "recursive (c, ℓ)-diversity: the most frequent value is not too frequent"

    c: C
    l: Ell  # noqa: E741
    attribute: Attribute = None
    others: OtherAttributes = "in_classes"

    def __post_init__(self) -> None:
        require_within("c", self.c, LEAST_C, GREATEST_C)
        require_within("l", self.l, 1, GREATEST_L)

    @property
    def _of(self) -> tuple[str | None, Others]:
        return self.attribute, self.others

    def _failing(self, judged: Judged, counts: SensitiveCounts) -> Bools:
        return ~diversity.is_recursive(counts, as_written(self.c), self.l)

    def _removed(self, judged: Judged, counts: SensitiveCounts, failing: Bools) -> Longs:
        if self.l == 1:
            return np.zeros(counts.n_classes, dtype=np.int64)
        return evening.removed_for_recursion(ranked(counts), failing, as_written(self.c), self.l)

    def attained(self, judged: Judged) -> float | None:
        """Least c with which it holds: any greater one does."""
        counts = judged.counts(*self._of)
        return float(diversity.least_c(ranked(counts), self.l).max()) if counts.n_classes else None

    def implied(self, whole: Judged) -> tuple[Criterion, ...]:
        """r_1 < c · (m − ℓ + 1) · r_1 takes more than ℓ − 1 + 1/c values."""
        if self.l == 1:
            return ()
        return at_least_values(self.l + int(1 / as_written(self.c)), self.attribute)

    def impossible(self, whole: Judged) -> str | None:
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
