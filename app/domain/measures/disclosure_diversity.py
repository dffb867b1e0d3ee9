"""ℓ-diversity where some values may be disclosed, and of others not even the absence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt, MaxLen, doc

from app.domain.catalogue_types import CellValue
from app.domain.classes import diversity
from app.domain.classes.diversity import RankedCounts, ranked
from app.domain.classes.grouping import Bools, Grouping
from app.domain.classes.named_values import harmless_values, values_called
from app.domain.classes.ratios import as_written
from app.domain.criteria.criterion import Others
from app.domain.distinct import Longs
from app.domain.measures.entry import Cost, Measure, MeasureContext, Tick, always_supported
from app.domain.measures.judged import ClassRef, JudgedOn, judged_on
from app.domain.measures.sensitive_values import (
    SensitiveValues,
    cost_of_counting,
    sensitive_values,
)

SECONDS_PER_LOOK: Final = 1e-8

Label = Annotated[CellValue, Len(1, 1000)]


@dataclass(frozen=True, kw_only=True)
class DisclosureDiversityParameters(Grouping):
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
        tuple[Label, ...],
        MaxLen(10_000),
        doc("Values that may be disclosed, such as healthy; a group stands for all values in it."),
    ] = ()
    protected: Annotated[
        tuple[Label, ...],
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
        float, doc("Least percentage of a protected value in a class; 100 if none is protected.")
    ]
    is_pd_recursive: Annotated[bool, doc("Whether every class is pd-recursively (c, ℓ)-diverse.")]
    pd_classes_failing: Annotated[int, doc("Classes that are not.")]
    pd_records_failing: Annotated[int, doc("Records in these.")]
    is_npd_recursive: Annotated[
        bool, doc("Whether, beside that, every protected value has its percentage of every class.")
    ]
    npd_classes_failing: Annotated[int, doc("Classes of which one of the two does not hold.")]
    npd_records_failing: Annotated[int, doc("Records in these.")]
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
    cost = cost_of_counting(context, 1)
    looks = context.table.n_records * len(parameters.protected)
    return replace(cost, seconds=cost.seconds + looks * SECONDS_PER_LOOK)


DISCLOSURE_DIVERSITY: Final = Measure(
    name="disclosure_diversity",
    version=1,
    title="ℓ-diversity with harmless and protected values",
    source="Machanavajjhala et al. (2007); Machanavajjhala (2008), definitions 3.9, 3.10",
    guarantee="exact",
    parameters=DisclosureDiversityParameters,
    result=DisclosureDiversity,
    needs=frozenset(),
    supports=always_supported,
    cost=_cost,
    compute=_compute,
)
