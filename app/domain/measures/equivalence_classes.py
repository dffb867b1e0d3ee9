"""k-anonymity by the quasi-identifiers alone: how large the classes of a release are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.classes.grouping import EquivalenceClasses, Grouping, seconds_of_grouping
from app.domain.measures.entry import Cost, Measure, MeasureContext, Tick, always_supported
from app.domain.measures.judged import ClassRef, JudgedOn, judged_on, worst_class

BYTES_PER_CELL: Final = 16


@dataclass(frozen=True, kw_only=True)
class EquivalenceClassesParameters(Grouping):
    """Which k to compare with."""

    k: Annotated[int, Ge(1), Le(1_000_000), doc("Smaller classes are counted as failing; any k ≥ 1.")] = 5


@dataclass(frozen=True)
class SizeOfClasses:
    """Classes of one size."""

    size: Annotated[int, doc("Records that cannot be told apart.")]
    classes: Annotated[int, doc("How many classes are of this size.")]
    records: Annotated[int, doc("Records in these classes.")]


@dataclass(frozen=True)
class EquivalenceClassesFound:
    """The classes that the quasi-identifiers make.

    The size of a class is the number of records that cannot be told from its own: as many as it has, and more
    where missing values match everything.
    """

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    k: Annotated[int | None, doc("Size of the smallest class; null if no record was judged.")]
    largest: Annotated[int | None, doc("Size of the largest class; null if no record was judged.")]
    is_k_anonymous: Annotated[bool, doc("Whether no class is smaller than the k asked for.")]
    classes_below_k: Annotated[int, doc("Classes that are.")]
    records_below_k: Annotated[int, doc("Records in these classes.")]
    unique_records: Annotated[int, doc("Records in a class of size 1: nobody is like them.")]
    unique_share: Annotated[float, doc("The same in parts of the records judged; 0 if there are none.")]
    mean_size: Annotated[float | None, doc("Mean size over classes, each counted once.")]
    mean_size_of_records: Annotated[float | None, doc("Mean over records of the size of their class.")]
    sizes: Annotated[tuple[SizeOfClasses, ...], doc("How many classes there are of each size, ascending.")]
    worst: Annotated[ClassRef | None, doc("The smallest class, the first of equals.")]


def _sizes(classes: EquivalenceClasses) -> tuple[SizeOfClasses, ...]:
    sizes, of_class = np.unique(classes.sizes, return_inverse=True)
    numbers = np.bincount(of_class, minlength=len(sizes))
    # Sums of whole numbers below 2⁵³ are exact.
    records = np.bincount(of_class, classes.records, len(sizes)).astype(np.int64)
    columns = (sizes.tolist(), numbers.tolist(), records.tolist())
    return tuple(SizeOfClasses(*own) for own in zip(*columns, strict=True))


def _compute(
    context: MeasureContext, parameters: EquivalenceClassesParameters, tick: Tick
) -> EquivalenceClassesFound:
    classes = context.release.classes(parameters)
    sizes = _sizes(classes)
    below = [own for own in sizes if own.size < parameters.k]
    unique = sum(own.records for own in sizes if own.size == 1)
    n_classes, n_records = classes.n_classes, classes.n_judged
    tick(1)
    return EquivalenceClassesFound(
        judged=judged_on(context.table, parameters, classes),
        k=sizes[0].size if sizes else None,
        largest=sizes[-1].size if sizes else None,
        is_k_anonymous=not below,
        classes_below_k=sum(own.classes for own in below),
        records_below_k=sum(own.records for own in below),
        unique_records=unique,
        unique_share=unique / n_records if n_records else 0.0,
        mean_size=sum(own.size * own.classes for own in sizes) / n_classes if n_classes else None,
        mean_size_of_records=sum(own.size * own.records for own in sizes) / n_records if n_records else None,
        sizes=sizes,
        worst=worst_class(classes, -classes.sizes.astype(np.float64)),
    )


def _cost(context: MeasureContext, parameters: EquivalenceClassesParameters) -> Cost:
    size = context.table.n_records * (context.table.n_attributes + 4) * BYTES_PER_CELL
    return Cost(seconds_of_grouping(context.table, parameters), size, 1, "classes")


EQUIVALENCE_CLASSES: Final = Measure(
    name="equivalence_classes",
    version=1,
    title="k-anonymity by the quasi-identifiers, and how large the classes are",
    source="Samarati and Sweeney (1998); Machanavajjhala (2008), definition 3.2",
    guarantee="exact",
    parameters=EquivalenceClassesParameters,
    result=EquivalenceClassesFound,
    needs=frozenset(),
    supports=always_supported,
    cost=_cost,
    compute=_compute,
)
