"""ℓ-diversity where some values may be disclosed, and of others not even the absence."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Annotated, ClassVar, Final, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt, MaxLen, doc

from app.domain.arrays import Bools, Floats, Longs
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FAILING, HIGH, MET, PERCENTAGE, STRICTER_UP
from app.domain.classes import diversity, evening
from app.domain.classes.diversity import RankedCounts, ranked
from app.domain.classes.named_values import harmless_values, values_called
from app.domain.classes.ratios import as_written, is_below
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import ClassRef, JudgedOn, judged_on
from app.domain.models.judging import JudgedClasses, Others
from app.domain.models.recursive_l_diversity import needs_c
from app.domain.models.sensitive_values import (
    Attribute,
    C,
    DiversityCriterion,
    Ell,
    GroupingOfValues,
    Labels,
    OtherAttributes,
    SensitiveValues,
    cost_of_counting,
    sensitive_values,
)

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
    missing_sensitive: Annotated[
        Literal["own_category"], doc("A missing value is one of its own: it may be harmless or not.")
    ] = field(default="own_category", kw_only=True)
    harmless: Harmless = ()
    attribute: Attribute = None
    others: OtherAttributes = "in_classes"

    def _harmless(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        return harmless_values(judged.hierarchy(self.attribute), counts.nodes, self.harmless, "/harmless")

    def _failing(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        harmless = self._harmless(judged, counts)
        return ~diversity.is_disclosure_recursive(counts, harmless, as_written(self.c), self.l)

    def _removed(self, judged: JudgedClasses, counts: SensitiveCounts, failing: Bools) -> Longs:
        if self.l == 1:
            return failing.astype(np.int64)
        harmless, ranks = self._harmless(judged, counts), ranked(counts)
        left, right = diversity.disclosure_terms(ranks, counts, harmless, self.l)
        short = (left > 0) & ~is_below(left, as_written(self.c), right)
        harmful = ranked(counts, ~harmless)
        removed = evening.removed_for_disclosure(harmful, short, as_written(self.c), right)
        return np.maximum(removed, failing)

    def attained(self, judged: JudgedClasses) -> float | None:
        """Least c with which it holds: any greater one does."""
        counts = judged.counts(*self._of)
        return float(self._least_c(judged, counts).max()) if counts.n_classes else None

    def _least_c(self, judged: JudgedClasses, counts: SensitiveCounts) -> Floats:
        if self.l == 1:
            return np.zeros(counts.n_classes)
        harmless = self._harmless(judged, counts)
        return diversity.least_c_of_disclosure(
            *diversity.disclosure_terms(ranked(counts), counts, harmless, self.l)
        )

    def impossible(self, whole: JudgedClasses) -> str | None:
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
        float,
        Ge(0),
        Lt(100),
        STRICTER_UP,
        doc("Percentage of every class that each of these needs at least (c2)."),
    ] = 0.0

    @property
    def asks_nothing(self) -> bool:
        """Nor does it ask for a share of any protected value."""
        return super().asks_nothing and not self.least_percent

    def _rare(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        """(B,) blocks in which a protected value is too rare."""
        percent, rare = as_written(self.least_percent), np.zeros(counts.n_classes, dtype=bool)
        hierarchy = judged.hierarchy(self.attribute)
        for meant in values_called(hierarchy, counts.nodes, self.protected, "/protected"):
            amounts = diversity.records_with(counts, meant)
            rare |= ~diversity.has_percentage(amounts, percent, counts.sizes)
        return rare

    def _failing(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        return np.asarray(super()._failing(judged, counts) | self._rare(judged, counts))

    def impossible(self, whole: JudgedClasses) -> str | None:
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


SECONDS_BESIDE_COUNTING: Final = 1.5e-3
SECONDS_PER_LOOK: Final = 1e-8


@dataclass(frozen=True, kw_only=True)
class DisclosureDiversityParameters(GroupingOfValues):
    """Which values matter, and what to compare the classes with."""

    attribute: Annotated[
        str | None, Len(1, 200), doc("The sensitive attribute; null: the only one of that role.")
    ] = None
    others: Annotated[
        Others,
        doc(
            "Whether the other sensitive attributes split the classes further (`in_classes`) or are left "
            "aside (`apart`)."
        ),
    ] = "in_classes"
    harmless: Annotated[
        Labels,
        MaxLen(10_000),
        doc("Values that may be disclosed, such as healthy; a group stands for all values in it."),
    ] = ()
    protected: Annotated[
        Labels,
        MaxLen(10_000),
        doc(
            "Values that nobody must be known not to have: each needs its percentage of every class. A group "
            "stands for all values in it together."
        ),
    ] = ()
    l: Annotated[int, Ge(1), Le(100_000), doc("The ℓ asked for.")] = 2  # noqa: E741
    c: Annotated[float, Gt(0), Le(1e9), doc("The c asked for, taken as the decimal it is written as.")] = 3.0
    least_percent: Annotated[
        float, Ge(0), Lt(100), doc("Percentage of every class that each protected value needs at least (c2).")
    ] = 0.0
    deepest: Annotated[int, Ge(2), Le(50), doc("Least c is told for ℓ from 2 up to this one.")] = 5


@dataclass(frozen=True)
class DisclosureBound:
    """With which c pd-recursive (c, ℓ)-diversity holds."""

    l: Annotated[int, doc("ℓ.")]  # noqa: E741
    c_min: Annotated[
        float, doc("It holds for every c above this and for no other; 0 if only harmless values occur.")
    ]
    attainable: Annotated[
        float, doc("The same of the whole table as one class: no generalisation of all records has less.")
    ]
    endangered: Annotated[
        int, doc("Records of the worst class with its most frequent value that is not harmless.")
    ]
    tail: Annotated[
        int,
        doc("Records of the worst class with other values, but for the ℓ − 2 most frequent ones: c_min is "
            "the endangered divided by this."),
    ]  # fmt: skip
    value: Annotated[CellValue | None, doc("The endangered value of the worst class.")]
    worst: Annotated[ClassRef | None, doc("The class of the greatest c_min, the first of equals.")]


@dataclass(frozen=True)
class ProtectedShare:
    """How frequent one protected value is."""

    value: Annotated[CellValue, doc("The value or group as it was named.")]
    percent: Annotated[
        float | None, doc("Its percentage of the class where it is rarest; 0 where it is absent.")
    ]
    attainable: Annotated[
        float, doc("Its percentage of the whole table: no generalisation of all records has more.")
    ]
    worst: Annotated[ClassRef | None, doc("The class in which it is rarest, the first of equals.")]


@dataclass(frozen=True)
class DisclosureDiversity:
    """Whether no harmful value can be inferred, and no protected one be excluded."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    split_by: Annotated[
        tuple[str, ...], doc("Other sensitive attributes that are taken as known and split the classes.")
    ]
    classes: Annotated[int, doc("Classes that were judged, after the split.")]
    records_without_value: Annotated[int, doc("Records in a class whose missing value does not count.")]
    bounds: Annotated[tuple[DisclosureBound, ...], doc("Per ℓ the least c with which nothing harmful shows.")]
    protected: Annotated[tuple[ProtectedShare, ...], doc("The protected values, as they were named.")]
    least_protected_percent: Annotated[
        float,
        PERCENTAGE,
        HIGH,
        doc("Least percentage of a protected value in a class; 100 if none is protected."),
    ]
    is_pd_recursive: Annotated[bool, MET, doc("Whether every class is pd-recursively (c, ℓ)-diverse.")]
    pd_classes_failing: Annotated[int, FAILING, doc("Classes that are not.")]
    pd_records_failing: Annotated[int, FAILING, doc("Records in these.")]
    is_npd_recursive: Annotated[
        bool, MET, doc("Whether, beside that, every protected value has its percentage of every class.")
    ]
    npd_classes_failing: Annotated[int, FAILING, doc("Classes of which one of the two does not hold.")]
    npd_records_failing: Annotated[int, FAILING, doc("Records in these.")]
    harmless_classes: Annotated[
        int, doc("Classes with harmless values only: they pass whatever their size and show these values.")
    ]
    smallest_harmless_class: Annotated[
        int | None, doc("Records of the smallest of them: pd-recursive diversity implies no k-anonymity.")
    ]
    smallest_harmless: Annotated[
        ClassRef | None,
        doc("The smallest of them, the first of equals. null also: measured before it was told."),
    ] = None


def _bound(values: SensitiveValues, ranks: RankedCounts, harmless: Bools, ell: int) -> DisclosureBound:
    counts, single = values.counts, values.in_one_class()
    left, right = diversity.disclosure_terms(ranks, counts, harmless, ell)
    whole = diversity.disclosure_terms(ranked(single), single, harmless, ell)
    least = diversity.least_c_of_disclosure(left, right)
    worst = values.worst(least)
    entry = None if worst is None else values.most_frequent_entry(worst, ~harmless)
    return DisclosureBound(
        l=ell,
        c_min=0.0 if worst is None else float(least[worst]),
        attainable=float(diversity.least_c_of_disclosure(*whole)[0]),
        endangered=0 if worst is None else int(left[worst]),
        tail=0 if worst is None else int(right[worst]),
        value=None if entry is None else values.label(int(counts.values[entry])),
        worst=values.ref(worst),
    )


def _shown(
    values: SensitiveValues, labels: tuple[str, ...], percent: Fraction
) -> tuple[Bools, list[ProtectedShare]]:
    """(G,) which classes have too little of some protected value or group, and where each is rarest."""
    sizes, n = values.counts.sizes, int(values.counts.totals.sum())
    too_rare, shares = np.zeros(len(sizes), dtype=bool), []
    named = values_called(values.hierarchy, values.counts.nodes, labels, "/measure/protected")
    for label, is_it in zip(labels, named, strict=True):
        amount = diversity.records_with(values.counts, is_it)
        worst = values.worst(-amount / np.maximum(sizes, 1))
        too_rare |= values.judged & ~diversity.has_percentage(amount, percent, sizes)
        shares.append(
            ProtectedShare(
                value=CellValue(label),
                percent=None if worst is None else 100 * int(amount[worst]) / int(sizes[worst]),
                attainable=100 * int(values.counts.totals[is_it].sum()) / max(1, n),
                worst=values.ref(worst),
            )
        )
    return too_rare, shares


def _smallest(sizes: Longs, among: Bools) -> int | None:
    """The smallest of some classes, the first of equals; None if there are none."""
    return int(np.argmin(np.where(among, sizes, np.iinfo(np.int64).max))) if among.any() else None


def _compute(
    context: MeasureContext, parameters: DisclosureDiversityParameters, tick: Tick
) -> DisclosureDiversity:
    values = sensitive_values(context, parameters, parameters.attribute, parameters.others)
    counts = values.counts
    ranks = ranked(counts)
    harmless = harmless_values(values.hierarchy, counts.nodes, parameters.harmless, "/measure/harmless")
    too_rare, protected = _shown(values, parameters.protected, as_written(parameters.least_percent))
    pd_failing = values.judged & ~diversity.is_disclosure_recursive(
        counts, harmless, as_written(parameters.c), parameters.l
    )
    npd_failing = pd_failing | too_rare
    only_harmless = values.judged & (diversity.records_with(counts, harmless) == counts.sizes)
    result = DisclosureDiversity(
        judged=judged_on(context.table, parameters, context.release.classes(parameters)),
        attribute=values.name,
        split_by=values.others,
        classes=int(np.count_nonzero(values.judged)),
        records_without_value=values.without_value,
        bounds=tuple(_bound(values, ranks, harmless, ell) for ell in range(2, parameters.deepest + 1)),
        protected=tuple(protected),
        least_protected_percent=min(
            (own.percent for own in protected if own.percent is not None), default=100.0
        ),
        is_pd_recursive=not pd_failing.any(),
        pd_classes_failing=int(np.count_nonzero(pd_failing)),
        pd_records_failing=values.records_of(pd_failing),
        is_npd_recursive=not npd_failing.any(),
        npd_classes_failing=int(np.count_nonzero(npd_failing)),
        npd_records_failing=values.records_of(npd_failing),
        harmless_classes=int(np.count_nonzero(only_harmless)),
        smallest_harmless_class=(
            int(values.classes.sizes[only_harmless].min()) if only_harmless.any() else None
        ),
        smallest_harmless=values.ref(_smallest(values.classes.sizes, only_harmless)),
    )
    tick(1)
    return result


def _cost(context: MeasureContext, parameters: DisclosureDiversityParameters) -> Cost:
    cost = cost_of_counting(context, 1, SECONDS_BESIDE_COUNTING)
    looks = context.table.n_records * len(parameters.protected)
    return replace(cost, seconds=cost.seconds + looks * SECONDS_PER_LOOK)


def _judged_by(own: DisclosureDiversityParameters, value: str) -> PdRecursiveLDiversity:
    pd = own.c, own.l, own.harmless, own.attribute, own.others
    if value.startswith(("is_pd_", "pd_")):
        return PdRecursiveLDiversity(*pd)
    return NpdRecursiveLDiversity(*pd, own.protected, own.least_percent)


DISCLOSURE_DIVERSITY: Final = Measure(
    name="disclosure_diversity",
    version=2,
    title="ℓ-diversity with harmless and protected values",
    source="Machanavajjhala et al. (2007); Machanavajjhala (2008), definitions 3.9, 3.10",
    guarantee="exact",
    parameters=DisclosureDiversityParameters,
    result=DisclosureDiversity,
    cost=_cost,
    compute=_compute,
    example=Example(
        "can a low income be inferred, or a high one be ruled out?",
        "proposal-disclosure",
        rule="proposal",
        parameters={"harmless": ["[60000, 80000["], "protected": ["[100000, 200000["], "least_percent": 5.0},
    ),
    criteria=(PdRecursiveLDiversity, NpdRecursiveLDiversity),
    judges=_judged_by,
)
