"""(α,k)-anonymity: k records in a class, and no sensitive value with more than a share of α in it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Len, doc

from app.domain.arrays import Bools, Longs
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import (
    FAILING,
    FROM_ONE,
    HIDING,
    LOW_SHARE,
    MET,
    SHARE,
    STRICTER_DOWN,
)
from app.domain.classes import diversity, evening
from app.domain.classes.diversity import ranked
from app.domain.classes.named_values import any_called
from app.domain.classes.ratios import as_written
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.errors import InvalidInput
from app.domain.models.criterion import COUNTS_PERSONS, Criterion, Merging
from app.domain.models.distinct_l_diversity import at_least_values
from app.domain.models.entry import Example, Measure, MeasureContext, Tick
from app.domain.models.judged import ClassRef, JudgedOn, judged_on
from app.domain.models.judging import JudgedClasses
from app.domain.models.k_anonymity import KAnonymity, Records
from app.domain.models.sensitive_values import (
    LEAST_C,
    Attribute,
    DiversityCriterion,
    GroupingOfDiversity,
    Labels,
    SensitiveValues,
    cost_of_counting,
    named,
    sensitive_values,
)


@dataclass(frozen=True)
class AlphaKAnonymity(DiversityCriterion):
    """At least k records in every class, and no sensitive value with more than the share α of it."""

    kind: ClassVar[str] = "alpha_k_anonymity"
    title: ClassVar[str] = "(α,k)-anonymity: k records in every class, no value with more than a share of α"
    source: ClassVar[str] = "Wong et al. (2006)"
    by_persons: ClassVar[str] = COUNTS_PERSONS
    merging_by_persons: ClassVar[Merging | None] = "none"

    alpha: Annotated[
        float,
        Gt(0),
        Le(1),
        STRICTER_DOWN,
        doc("Greatest share of a value, taken as the decimal it is written as."),
    ]
    k: Records
    values: Annotated[
        Labels | None,
        Len(1, 10_000),
        doc("Values whose share is limited, a group for all values in it; null: each value."),
    ] = None
    attribute: Attribute = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.alpha < LEAST_C:
            raise InvalidInput.of("/alpha", "out-of-range", f"alpha must be between {LEAST_C:g} and 1.")

    @property
    def tells_apart(self) -> bool:
        """By k."""
        return True

    @property
    def of_values_alone(self) -> AlphaKAnonymity:
        """With classes of any size."""
        return replace(self, k=1)

    @property
    def asks_nothing(self) -> bool:
        """One value may fill a class of one record."""
        return self.alpha == 1 and self.k == 1

    def _limited(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools | None:
        if self.values is None:
            return None
        return any_called(judged.hierarchy(self.attribute), counts.nodes, self.values, "/values")

    def _within(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        return diversity.is_within_share(counts, self._limited(judged, counts), as_written(self.alpha))

    def _failing(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        return ~self._within(judged, counts) | (judged.sizes < self.k)

    def _removed(self, judged: JudgedClasses, counts: SensitiveCounts, failing: Bools) -> Longs:
        limited = self._limited(judged, counts)
        ranks = ranked(counts, limited)
        above = ~self._within(judged, counts)
        alpha = as_written(self.alpha)
        removed = evening.removed_for_share(ranks, above, alpha, counts.sizes - ranks.sizes)
        # A class that is left with fewer than k records has to go as a whole.
        return np.where(judged.sizes - removed < self.k, judged.sizes, removed)

    @property
    def failing_in_words(self) -> str:
        """Too few records, or one value with too great a share."""
        return (
            f"would be in classes of fewer than {self.k:,}, or of which more than a share of "
            f"{self.alpha:.6g} has the same value of {named(self.attribute)}"
        )

    def worst_in_words(self, worst: float) -> str:
        """The greatest share."""
        return f"the greatest share is {worst:.6g}"

    def attained(self, judged: JudgedClasses) -> float | None:
        """Greatest share of a limited value."""
        counts = self._counts(judged)
        if not counts.n_classes:
            return None
        shares = diversity.most_frequent(counts, self._limited(judged, counts)) / counts.sizes
        return float(shares.max())

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """At least k records; and 1/α values where every share is limited."""
        least = math.ceil(1 / as_written(self.alpha)) if self.values is None else 1
        return (KAnonymity(self.k), *at_least_values(least, self.attribute))

    def implied_by_persons(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """At least k persons."""
        return (KAnonymity(self.k),)

    def impossible(self, whole: JudgedClasses) -> str | None:
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


@dataclass(frozen=True, kw_only=True)
class AlphaKParameters(GroupingOfDiversity):
    """Which values are limited, and the α and k asked for."""

    attribute: Annotated[
        str | None, Len(1, 200), doc("The sensitive attribute; null: the only one of that role.")
    ] = None
    values: Annotated[
        Labels | None,
        Len(1, 10_000),
        doc(
            "Values whose share is limited, a group for all values in it; null: each value of the attribute."
        ),
    ] = None
    alpha: Annotated[
        float, Gt(0), Le(1), doc("Greatest share asked for, taken as the decimal it is written as.")
    ] = 0.5
    k: Annotated[int, Ge(1), Le(1_000_000), doc("Least records of a class asked for.")] = 5


@dataclass(frozen=True)
class AlphaKAnonymityFound:
    """How large classes are, and how large a share one sensitive value has in them."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    records_without_value: Annotated[int, doc("Records in a class whose missing value does not count.")]
    alpha: Annotated[
        float | None, LOW_SHARE, doc("Greatest share of a limited value in a class: all α from here hold.")
    ]
    attainable: Annotated[
        float,
        SHARE,
        doc("The same of the whole table as one class: no generalisation of all records has less."),
    ]
    frequent: Annotated[
        int, doc("Records of the worst class with this value: α is this over all its records.")
    ]
    value: Annotated[CellValue | None, doc("The value of this share.")]
    worst: Annotated[ClassRef | None, doc("The class of the greatest share, the first of equals.")]
    k: Annotated[int | None, FROM_ONE, HIDING, doc("Records of the smallest class; null if there is none.")]
    smallest: Annotated[ClassRef | None, doc("The smallest class, the first of equals.")]
    is_met: Annotated[bool, MET, doc("Whether every class has at least k records and no share above α.")]
    classes_failing: Annotated[int, FAILING, doc("Classes of which one of the two does not hold.")]
    records_failing: Annotated[int, FAILING, doc("Records in these classes.")]


def _limited(values: SensitiveValues, labels: tuple[str, ...] | None) -> Bools:
    """(m,) which values have a limited share."""
    if labels is None:
        return np.ones(values.counts.n_values, dtype=bool)
    return any_called(values.hierarchy, values.counts.nodes, labels, "/measure/values")


def _compute(context: MeasureContext, parameters: AlphaKParameters, tick: Tick) -> AlphaKAnonymityFound:
    values = sensitive_values(context, parameters, parameters.attribute, "apart")
    classes, counts = values.classes, values.counts
    limited = _limited(values, parameters.values)
    shares = diversity.most_frequent(counts, limited) / np.maximum(counts.sizes, 1)
    worst = values.worst(shares)
    entry = None if worst is None else values.most_frequent_entry(worst, limited)
    smallest = int(np.argmin(classes.sizes)) if classes.n_classes else None
    within = diversity.is_within_share(counts, limited, as_written(parameters.alpha))
    failing = ~within | (classes.sizes < parameters.k)
    result = AlphaKAnonymityFound(
        judged=judged_on(context.table, parameters, context.release.classes(parameters)),
        attribute=values.name,
        records_without_value=values.without_value,
        alpha=None if worst is None else float(shares[worst]),
        attainable=int(counts.totals[limited].max(initial=0)) / max(1, counts.population),
        frequent=0 if entry is None else int(counts.counts[entry]),
        value=None if entry is None else values.label(int(counts.values[entry])),
        worst=values.ref(worst),
        k=None if smallest is None else int(classes.sizes[smallest]),
        smallest=values.ref(smallest),
        is_met=not failing.any(),
        classes_failing=int(np.count_nonzero(failing)),
        records_failing=values.records_of(failing),
    )
    tick(1)
    return result


ALPHA_K_ANONYMITY: Final = Measure(
    name="alpha_k_anonymity",
    version=2,
    title="(α,k)-anonymity: class sizes and the share of one value",
    source="Wong et al. (2006)",
    guarantee="exact",
    parameters=AlphaKParameters,
    result=AlphaKAnonymityFound,
    cost=lambda context, own: cost_of_counting(context, 1),
    compute=_compute,
    example=Example(
        "does one income dominate an equivalence class?",
        "proposal-alpha-k",
        rule="proposal",
        parameters={"alpha": 0.5, "k": 2},
    ),
    criteria=(AlphaKAnonymity,),
    judges=lambda own, value: AlphaKAnonymity(own.alpha, own.k, own.values, own.attribute),
    by_persons=COUNTS_PERSONS,
)
