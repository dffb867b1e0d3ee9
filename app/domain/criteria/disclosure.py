"""What may be disclosed, what may not be ruled out, and how large a share may be, as criteria.

pd- and npd-recursive diversity (Machanavajjhala (2008), section 3.4), (α,k)-anonymity (Wong et al. (2006)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt, MaxLen, doc

from app.domain.catalogue_types import CellValue
from app.domain.classes import diversity, evening
from app.domain.classes.diversity import ranked
from app.domain.classes.grouping import Bools
from app.domain.classes.named_values import any_called, harmless_values, values_called
from app.domain.classes.ratios import as_written, is_below
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.criteria.anonymity import GREATEST_K, KAnonymity
from app.domain.criteria.criterion import Criterion, Judged, Others
from app.domain.criteria.diversity import (
    GREATEST_C,
    GREATEST_L,
    LEAST_C,
    Attribute,
    C,
    DiversityCriterion,
    Ell,
    OtherAttributes,
    at_least_values,
    needs_c,
)
from app.domain.criteria.ranges import require_within
from app.domain.distinct import Longs

Labels = tuple[Annotated[CellValue, Len(1, 1000)], ...]
Harmless = Annotated[
    Labels,
    MaxLen(10_000),
    doc("Values that may be disclosed, such as healthy; a group stands for all values in it."),
]


@dataclass(frozen=True)
class PdRecursiveLDiversity(DiversityCriterion):
    """Recursive (c, ℓ)-diversity of all values but the harmless ones, which may be disclosed."""

    kind: ClassVar[str] = "pd_recursive_l_diversity"
    title: ClassVar[str] = "pd-recursive (c, ℓ)-diversity: no harmful value is too frequent"

    c: C
    l: Ell  # noqa: E741
    harmless: Harmless = ()
    attribute: Attribute = None
    others: OtherAttributes = "in_classes"

    def __post_init__(self) -> None:
        require_within("c", self.c, LEAST_C, GREATEST_C)
        require_within("l", self.l, 1, GREATEST_L)

    @property
    def _of(self) -> tuple[str | None, Others]:
        return self.attribute, self.others

    def _harmless(self, judged: Judged, counts: SensitiveCounts) -> Bools:
        return harmless_values(judged.hierarchy(self.attribute), counts.nodes, self.harmless, "/harmless")

    def _failing(self, judged: Judged, counts: SensitiveCounts) -> Bools:
        harmless = self._harmless(judged, counts)
        return ~diversity.is_disclosure_recursive(counts, harmless, as_written(self.c), self.l)

    def _removed(self, judged: Judged, counts: SensitiveCounts, failing: Bools) -> Longs:
        if self.l == 1:
            return failing.astype(np.int64)
        harmless, ranks = self._harmless(judged, counts), ranked(counts)
        left, right = diversity.disclosure_terms(ranks, counts, harmless, self.l)
        short = (left > 0) & ~is_below(left, as_written(self.c), right)
        harmful = ranked(counts, ~harmless)
        removed = evening.removed_for_disclosure(harmful, short, as_written(self.c), right)
        return np.maximum(removed, failing)

    def attained(self, judged: Judged) -> float | None:
        """Least c with which it holds: any greater one does."""
        counts = judged.counts(*self._of)
        return float(self._least_c(judged, counts).max()) if counts.n_classes else None

    def _least_c(self, judged: Judged, counts: SensitiveCounts) -> diversity.Floats:
        if self.l == 1:
            return np.zeros(counts.n_classes)
        harmless = self._harmless(judged, counts)
        return diversity.least_c_of_disclosure(
            *diversity.disclosure_terms(ranked(counts), counts, harmless, self.l)
        )

    def impossible(self, whole: Judged) -> str | None:
        """No class holds with a smaller c than the whole table."""
        found = self._whole(whole)
        if found is None:
            return None
        least = float(self._least_c(whole, found[0]).max())
        return needs_c(f"Leaving the harmless values aside: {found[1]}", least, self.c, self.l)


@dataclass(frozen=True)
class NpdRecursiveLDiversity(PdRecursiveLDiversity):
    """pd-recursive, and every protected value has at least a percentage of each class."""

    kind: ClassVar[str] = "npd_recursive_l_diversity"
    title: ClassVar[str] = "npd-recursive (c, ℓ)-diversity: nor can a protected value be ruled out"

    protected: Annotated[
        Labels,
        MaxLen(10_000),
        doc("Values that nobody must be known not to have; a group stands for all values in it together."),
    ] = ()
    least_percent: Annotated[
        float, Ge(0), Lt(100), doc("Percentage of every class that each of these needs at least (c2).")
    ] = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_within("least_percent", self.least_percent, 0, 100)

    def _rare(self, judged: Judged, counts: SensitiveCounts) -> Bools:
        """(B,) blocks in which a protected value is too rare."""
        percent, rare = as_written(self.least_percent), np.zeros(counts.n_classes, dtype=bool)
        hierarchy = judged.hierarchy(self.attribute)
        for meant in values_called(hierarchy, counts.nodes, self.protected, "/protected"):
            amounts = diversity.records_with(counts, meant)
            rare |= ~diversity.has_percentage(amounts, percent, counts.sizes)
        return rare

    def _failing(self, judged: Judged, counts: SensitiveCounts) -> Bools:
        return np.asarray(super()._failing(judged, counts) | self._rare(judged, counts))

    def impossible(self, whole: Judged) -> str | None:
        """No class holds with a smaller c than the whole table, nor has more of every protected value."""
        found = self._whole(whole)
        if found is not None and self._rare(whole, found[0]).any():
            counts, what = found
            meant = values_called(whole.hierarchy(self.attribute), counts.nodes, self.protected, "/protected")
            least = min(
                float((100 * diversity.records_with(counts, own) / counts.sizes).min()) for own in meant
            )
            return (
                f"{what} have {least:.4g} percent of some protected value, {self.least_percent - least:.3g} "
                f"less than {self.least_percent:g}."
            )
        return super().impossible(whole)


@dataclass(frozen=True)
class AlphaKAnonymity(DiversityCriterion):
    """At least k records in every class, and no sensitive value with more than the share α of it."""

    kind: ClassVar[str] = "alpha_k_anonymity"
    title: ClassVar[str] = "(α,k)-anonymity: k records in every class, no value with more than a share of α"
    source: ClassVar[str] = "Wong et al. (2006)"

    alpha: Annotated[
        float, Gt(0), Le(1), doc("Greatest share of a value, taken as the decimal it is written as.")
    ]
    k: Annotated[int, Ge(1), Le(GREATEST_K), doc("Least number of records disclosed alike.")]
    values: Annotated[
        Labels | None,
        Len(1, 10_000),
        doc("Values whose share is limited, a group for all values in it; null: each value."),
    ] = None
    attribute: Attribute = None

    def __post_init__(self) -> None:
        require_within("alpha", self.alpha, 1 / GREATEST_C, 1)
        require_within("k", self.k, 1, GREATEST_K)

    @property
    def _of(self) -> tuple[str | None, Others]:
        return self.attribute, "apart"

    def _limited(self, judged: Judged, counts: SensitiveCounts) -> Bools | None:
        if self.values is None:
            return None
        return any_called(judged.hierarchy(self.attribute), counts.nodes, self.values, "/values")

    def _within(self, judged: Judged, counts: SensitiveCounts) -> Bools:
        return diversity.is_within_share(counts, self._limited(judged, counts), as_written(self.alpha))

    def _failing(self, judged: Judged, counts: SensitiveCounts) -> Bools:
        return ~self._within(judged, counts) | (judged.sizes < self.k)

    def _removed(self, judged: Judged, counts: SensitiveCounts, failing: Bools) -> Longs:
        limited = self._limited(judged, counts)
        ranks = ranked(counts, limited)
        above = ~self._within(judged, counts)
        alpha = as_written(self.alpha)
        removed = evening.removed_for_share(ranks, above, alpha, counts.sizes - ranks.sizes)
        # A class that is left with fewer than k records has to go as a whole.
        return np.where(judged.sizes - removed < self.k, judged.sizes, removed)

    def attained(self, judged: Judged) -> float | None:
        """Greatest share of a limited value."""
        counts = judged.counts(self.attribute)
        if not counts.n_classes:
            return None
        shares = diversity.most_frequent(counts, self._limited(judged, counts)) / counts.sizes
        return float(shares.max())

    def implied(self, whole: Judged) -> tuple[Criterion, ...]:
        """At least k records; and 1/α values where every share is limited."""
        least = math.ceil(1 / as_written(self.alpha)) if self.values is None else 1
        return (KAnonymity(self.k), *at_least_values(least, self.attribute))

    def impossible(self, whole: Judged) -> str | None:
        """No class has a smaller greatest share than the whole table."""
        found = self._whole(whole)
        if found is None:
            return None
        if not self._within(whole, found[0]).all():
            share = float(self.attained(whole) or 0)
            return (
                f"One value has a share of {share:.6g} of all records, {share - self.alpha:.3g} more than "
                f"{self.alpha:g}."
            )
        return KAnonymity(self.k).impossible(whole)
