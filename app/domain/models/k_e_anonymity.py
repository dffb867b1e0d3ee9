"""(k, e)-anonymity: in every class at least k different numbers, at least e apart (Zhang et al. (2007)).

The numbers are those of the leaves of the sensitive attribute's hierarchy. A more general node is a value of
its own, as for ℓ-diversity, and may be any number from the least to the greatest under it. A class has the
range that it has whichever they are: from the least of the greatest ends to the greatest of the least ones.
So a missing value, which may be any number, adds nothing to the range.

*Lemma.* Neither the different values nor the range of a class fall when it is put together with another.

*Proof.* The values of the two are those of either and perhaps more. With more of them the greatest of the
least ends can only rise, and the least of the greatest ends only fall. ∎

Hence records that fail at a rule fail at every more specific one, and no part of a class that fails passes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.arrays import Bools, Longs
from app.domain.catalogue.meanings import FAILING, FROM_ONE, FROM_ZERO, HIDING, HIGH, MET, STRICTER_UP
from app.domain.classes.ratios import as_written
from app.domain.classes.sensitive_counts import SensitiveCounts, greatest_by_class, least_by_class
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.hierarchies.numbers import GREATEST_SUM, ends, whole_numbers
from app.domain.models.criterion import Criterion
from app.domain.models.distinct_l_diversity import at_least_values
from app.domain.models.entry import Example, Measure, MeasureContext, Tick
from app.domain.models.judged import ClassRef, JudgedOn, judged_on
from app.domain.models.judging import JudgedClasses
from app.domain.models.sensitive_values import (
    GREATEST_L,
    Attribute,
    GroupingOfDiversity,
    OtherAttributes,
    SensitiveAttribute,
    WholeBlockCriterion,
    cost_of_counting,
    named,
    sensitive_values,
)
from app.domain.tables.numbers import exact_sum

GREATEST_E: Final = 1e15


@dataclass(frozen=True, eq=False)
class _Numbers:
    """The numbers of G classes: (G,) how many are different, and their range in parts of 1 / ``unit``."""

    distinct: Longs
    widths: Longs
    unit: int

    @property
    def ranges(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """(G,) greatest less least number, rounded once."""
        return np.asarray(self.widths / self.unit)

    def failing(self, k: int, e: float) -> Bools:
        """(G,) fewer than k different numbers, or a range below e as it is written."""
        least = min(math.ceil(as_written(e) * self.unit), 2 * GREATEST_SUM - 1)
        return np.asarray((self.distinct < k) | (self.widths < least))


def _numbers(counts: SensitiveCounts, hierarchy: Hierarchy, name: str, pointer: str) -> _Numbers:
    """Raises InvalidInput at the pointer for an attribute whose values are no numbers."""
    leaves, unit = whole_numbers(name, hierarchy, 1, pointer)
    low, high = ends(hierarchy, leaves, np.arange(hierarchy.n_leaves))
    low, high = low[counts.nodes], high[counts.nodes]
    # A number that is written in two ways is one value.
    value = np.unique(np.stack([low, high]), axis=1, return_inverse=True)[1].reshape(-1)
    found = np.unique(counts.of_entry * max(1, counts.n_values) + value[counts.values])
    distinct = np.bincount(found // max(1, counts.n_values), minlength=counts.n_classes)
    highest = greatest_by_class(counts, low[counts.values], -GREATEST_SUM)
    lowest = least_by_class(counts, high[counts.values], GREATEST_SUM)
    return _Numbers(distinct.astype(np.int64), np.maximum(highest - lowest, 0), unit)


@dataclass(frozen=True)
class KEAnonymity(WholeBlockCriterion):
    """Every class has at least k different sensitive numbers, the greatest at least e above the least."""

    kind: ClassVar[str] = "k_e_anonymity"
    title: ClassVar[str] = "(k, e)-anonymity: k different numbers in every class, with a range of at least e"
    source: ClassVar[str] = "Zhang et al. (2007)"

    k: Annotated[int, Ge(1), Le(GREATEST_L), STRICTER_UP, doc("Least number of different values.")]
    e: Annotated[
        float,
        Ge(0),
        Le(GREATEST_E),
        STRICTER_UP,
        doc("Least range: greatest less least value, taken as the decimal it is written as."),
    ]
    attribute: Attribute = None
    others: OtherAttributes = "in_classes"

    @property
    def asks_nothing(self) -> bool:
        """Any one value is enough."""
        return self.k == 1 and self.e == 0

    def _numbers(self, judged: JudgedClasses, counts: SensitiveCounts) -> _Numbers:
        name = self.attribute or "the sensitive attribute"
        return _numbers(counts, judged.hierarchy(self.attribute), name, "/attribute")

    def _failing(self, judged: JudgedClasses, counts: SensitiveCounts) -> Bools:
        return self._numbers(judged, counts).failing(self.k, self.e)

    @property
    def failing_in_words(self) -> str:
        """Too few numbers, or too close together."""
        return (
            f"would be in classes with fewer than {self.k:,} different numbers of {named(self.attribute)}, "
            f"or a range below {self.e:.6g}"
        )

    def worst_in_words(self, worst: float) -> str:
        """The least range."""
        return f"the smallest range is {worst:.6g}"

    def attained(self, judged: JudgedClasses) -> float | None:
        """Least range."""
        counts = self._counts(judged)
        return float(self._numbers(judged, counts).ranges.min()) if counts.n_classes else None

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """The same of the attribute apart; k different values and records, and two for any range."""
        own: tuple[Criterion, ...] = ()
        if self.others == "in_classes":
            own = (replace(self, others="apart"),)
        return (*own, *at_least_values(max(self.k, 2 if self.e else 1), self.attribute))

    def impossible(self, whole: JudgedClasses) -> str | None:
        """There are too few values, or they are too close together."""
        found = self._whole(whole)
        if found is None:
            return None
        numbers = self._numbers(whole, found[0])
        least = int(numbers.distinct.min())
        if least < self.k:
            return (
                f"{found[1]} have {least} different sensitive values, {self.k - least} fewer than {self.k}."
            )
        width = float(numbers.ranges.min())
        return f"{found[1]} have values in a range of {width:g}, {self.e - width:.3g} less than {self.e:g}."


@dataclass(frozen=True, kw_only=True)
class KEAnonymityParameters(GroupingOfDiversity):
    """Of what attribute, and the k and e asked for."""

    attribute: SensitiveAttribute = None
    others: OtherAttributes = "in_classes"
    k: Annotated[int, Ge(1), Le(GREATEST_L), doc("Least number of different values asked for.")] = 2
    e: Annotated[
        float, Ge(0), Le(GREATEST_E), doc("Least range asked for, taken as the decimal it is written as.")
    ] = 0.0


@dataclass(frozen=True)
class KEAnonymityFound:
    """How many different numbers classes have, and how far apart they are."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    split_by: Annotated[
        tuple[str, ...], doc("Other sensitive attributes that are taken as known and split the classes.")
    ]
    classes: Annotated[int, doc("Classes that were judged, after the split.")]
    records_without_value: Annotated[int, doc("Records in a class whose missing value does not count.")]
    distinct: Annotated[
        int | None,
        FROM_ONE,
        HIDING,
        doc("Least number of different values in a class; null without classes."),
    ]
    distinct_attainable: Annotated[
        int, doc("The same of the whole table as one class: no generalisation of all records has more.")
    ]
    range: Annotated[
        float | None, FROM_ZERO, HIGH, doc("Least range of a class: all e up to here hold; null as above.")
    ]
    range_mean: Annotated[
        float | None,
        FROM_ZERO,
        HIGH,
        doc("Mean of the range over classes, each counted once; null as above."),
    ]
    range_attainable: Annotated[
        float, doc("Range of the whole table as one class: no generalisation of all records has more.")
    ]
    worst: Annotated[ClassRef | None, doc("The class of the least range, the first of equals.")]
    fewest: Annotated[ClassRef | None, doc("The class of the fewest different values, the first of equals.")]
    is_met: Annotated[bool, MET, doc("Whether every class has k different values and a range of e.")]
    classes_failing: Annotated[int, FAILING, doc("Classes of which one of the two does not hold.")]
    records_failing: Annotated[int, FAILING, doc("Records in these classes.")]


def _compute(context: MeasureContext, parameters: KEAnonymityParameters, tick: Tick) -> KEAnonymityFound:
    values = sensitive_values(context, parameters, parameters.attribute, parameters.others)
    found, whole = (
        _numbers(own, values.hierarchy, values.name, "/measure/attribute")
        for own in (values.counts, values.in_one_class())
    )
    narrowest, fewest = values.worst(-found.ranges), values.worst(-found.distinct.astype(np.float64))
    failing = values.judged & found.failing(parameters.k, parameters.e)
    n_classes = int(np.count_nonzero(values.judged))
    tick(1)
    return KEAnonymityFound(
        judged=judged_on(context.table, parameters, context.release.classes(parameters)),
        attribute=values.name,
        split_by=values.others,
        classes=n_classes,
        records_without_value=values.without_value,
        distinct=None if fewest is None else int(found.distinct[fewest]),
        distinct_attainable=int(whole.distinct[0]),
        range=None if narrowest is None else float(found.ranges[narrowest]),
        range_mean=exact_sum(found.ranges[values.judged]) / n_classes if n_classes else None,
        range_attainable=float(whole.ranges[0]),
        worst=values.ref(narrowest),
        fewest=values.ref(fewest),
        is_met=not failing.any(),
        classes_failing=int(np.count_nonzero(failing)),
        records_failing=values.records_of(failing),
    )


K_E_ANONYMITY: Final = Measure(
    name="k_e_anonymity",
    version=2,
    title="(k, e)-anonymity: different numbers of a class, and how far apart they are",
    source="Zhang et al. (2007)",
    guarantee="exact",
    parameters=KEAnonymityParameters,
    result=KEAnonymityFound,
    cost=lambda context, own: cost_of_counting(context, 1),
    compute=_compute,
    example=Example(
        "are the incomes of members who look alike far enough apart?",
        "proposal-income-range",
        rule="proposal",
        parameters={"k": 2, "e": 20_000.0},
    ),
    criteria=(KEAnonymity,),
    judges=lambda own, value: KEAnonymity(own.k, own.e, own.attribute, own.others),
)
