"""δ-disclosure privacy: every sensitive value about as likely in a class as in the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Ge, Gt, Le, doc

from app.domain.arrays import Bools, Longs
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FAILING, LOW, LOW_AMOUNT, MET, SHARE, STRICTER_DOWN
from app.domain.classes.gains import Gains, LogBase, delta_factor, disclosing, greatest_ratios, lacks_values
from app.domain.classes.necessary import SAFE, fills_between, least_size, most_passing
from app.domain.classes.ratios import as_written
from app.domain.classes.sensitive_counts import least_by_class
from app.domain.models.beta_likeness import LEAST
from app.domain.models.criterion import COUNTS_PERSONS, Criterion, Merging, ValueCriterion
from app.domain.models.distinct_l_diversity import least_classes
from app.domain.models.entry import Example, Measure, MeasureContext, Tick
from app.domain.models.judged import ClassRef, JudgedOn, judged_on
from app.domain.models.judging import JudgedClasses
from app.domain.models.sensitive_values import (
    Attribute,
    GroupingOfValues,
    SensitiveAttribute,
    SensitiveValues,
    cost_of_counting,
    named,
    sensitive_values,
)


@dataclass(frozen=True)
class DeltaDisclosure(ValueCriterion):
    """No value is much more or less likely in a class than in the whole table, and none is absent."""

    kind: ClassVar[str] = "delta_disclosure"
    title: ClassVar[str] = "δ-disclosure privacy: every sensitive value about as likely as in the whole table"
    source: ClassVar[str] = "Brickell and Shmatikov (2008)"
    by_persons: ClassVar[str] = COUNTS_PERSONS
    merging_by_persons: ClassVar[Merging | None] = "none"
    merging: ClassVar[Merging] = "passes_stay"

    delta: Annotated[
        float,
        Ge(LEAST),
        Le(100.0),
        STRICTER_DOWN,
        doc("|log(q / p)| stays strictly below it, for every value."),
    ]
    base: Annotated[LogBase, doc("Base of the logarithm: natural (`e`) or binary (`2`).")] = "e"
    attribute: Attribute = None

    def failing(self, judged: JudgedClasses) -> Bools:
        """Classes in which the share of some value is too high or too low, or which lack a value."""
        return disclosing(judged.counts(self.attribute), as_written(self.delta), self.base)

    @property
    def failing_in_words(self) -> str:
        """That a value is more or less likely."""
        return (
            f"would be in classes in which a value of {named(self.attribute)} is much more or much less "
            "likely than in the whole table"
        )

    def attained(self, judged: JudgedClasses) -> float | None:
        """The greatest |log(q / p)|: ∞ if some class lacks a value."""
        counts = judged.counts(self.attribute)
        if not counts.n_classes:
            return None
        greatest = float(greatest_ratios(counts, Gains.of(counts)).max())
        return greatest / float(np.log(2)) if self.base == "2" else greatest

    def unavoidable(self, judged: JudgedClasses) -> Longs:
        """What does not fit into any mixture with all values between their bounds."""
        counts, factor = judged.counts(self.attribute), self._factor
        shares = np.minimum(counts.totals / counts.totals.sum() * factor, 1.0)
        # Of a value with n records no more than n · e^δ / p records can be its class's.
        limits = counts.counts * factor * (counts.totals.sum() / counts.totals[counts.values])
        most = np.floor(least_by_class(counts, limits, np.inf) * (1 + SAFE) + SAFE)
        most = np.minimum(most_passing(counts, shares, 1.0), most)
        at_most = np.where(lacks_values(counts), 0, most).astype(np.int64)
        return np.asarray(np.maximum(counts.sizes - at_most, self.failing(judged)))

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """All values, and the least class that can have them in about their shares."""
        totals = whole.counts(self.attribute).totals
        size = least_size(fills_between(totals, self._factor), totals)
        return least_classes(size, len(totals), self.attribute)

    def impossible(self, whole: JudgedClasses) -> str | None:
        """The whole table is like itself."""
        return None

    @property
    def _factor(self) -> float:
        return float(delta_factor(as_written(self.delta), self.base))


LOG_2: Final = math.log(2)


@dataclass(frozen=True, kw_only=True)
class DeltaDisclosureParameters(GroupingOfValues):
    """Of what attribute, and which δ to compare with."""

    attribute: SensitiveAttribute = None
    delta: Annotated[
        float, Gt(0), Le(100), doc("Classes with |log(q / p)| of at least this for some value are counted.")
    ] = 1.0
    base: Annotated[LogBase, doc("Base of the logarithm of this δ: natural (`e`) or binary (`2`).")] = "e"


@dataclass(frozen=True)
class DeltaReading:
    """The same δ with both logarithms in use."""

    natural: Annotated[float | None, LOW_AMOUNT, doc("With the natural logarithm; null without classes.")]
    binary: Annotated[float | None, LOW_AMOUNT, doc("With the binary logarithm: natural / ln 2.")]


@dataclass(frozen=True)
class UnlikelyValue:
    """The value that is most over- or under-represented in a class among those present."""

    value: Annotated[CellValue, doc("The value.")]
    in_table: Annotated[float, SHARE, doc("p: its share of the whole table.")]
    in_class: Annotated[float, SHARE, doc("q: its share of the class.")]


@dataclass(frozen=True)
class DeltaDisclosureFound:
    """How much more or less likely values are in classes than in the whole table."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    values: Annotated[int, doc("Different values of it in the whole table.")]
    records_without_value: Annotated[int, doc("Records in classes that have no value to judge.")]
    delta: Annotated[
        DeltaReading,
        doc(
            "Greatest |log(q / p)|: the model holds for every δ above it; infinite if a class lacks a value."
        ),
    ]
    delta_of_present: Annotated[
        DeltaReading,
        doc(
            "The same over the values present in each class, as tools report that skip absent values: no "
            "guarantee, for an absent value is ruled out for certain."
        ),
    ]
    is_met: Annotated[bool, MET, doc("Whether every class stays strictly below the δ asked for.")]
    classes_failing: Annotated[int, FAILING, doc("Classes that do not.")]
    records_failing: Annotated[int, FAILING, doc("Records in these classes.")]
    classes_lacking: Annotated[int, LOW, doc("Classes in which some value of the table is absent.")]
    records_lacking: Annotated[
        int, LOW, doc("Records in these classes: of each of them a value is ruled out.")
    ]
    worst: Annotated[ClassRef | None, doc("The class of the greatest ratio, the first of equals.")]
    worst_lacks: Annotated[int, LOW, doc("How many values of the table are absent from it.")]
    worst_of_present: Annotated[
        ClassRef | None, doc("The class of the greatest ratio among present values, the first of equals.")
    ]
    value: Annotated[UnlikelyValue | None, doc("The value of that ratio.")]


def _reading(natural: float | None) -> DeltaReading:
    return DeltaReading(natural, None if natural is None else natural / LOG_2)


def _value(values: SensitiveValues, gains: Gains, class_: int | None) -> UnlikelyValue | None:
    if class_ is None:
        return None
    first, last = values.counts.starts[class_ : class_ + 2].tolist()
    entry = first + int(np.argmax(np.abs(gains.logarithms[first:last])))
    return UnlikelyValue(
        value=values.label(int(values.counts.values[entry])),
        in_table=int(gains.totals[entry]) / gains.population,
        in_class=int(gains.amounts[entry]) / int(gains.sizes[entry]),
    )


def _compute(
    context: MeasureContext, parameters: DeltaDisclosureParameters, tick: Tick
) -> DeltaDisclosureFound:
    values = sensitive_values(context, parameters, parameters.attribute, "apart")
    counts, gains = values.counts, Gains.of(values.counts)
    ratios, present = (greatest_ratios(counts, gains, absent) for absent in (True, False))
    worst, worst_of_present = values.worst(ratios), values.worst(present)
    failing = disclosing(counts, as_written(parameters.delta), parameters.base)
    lacking = lacks_values(counts)
    tick(1)
    return DeltaDisclosureFound(
        judged=judged_on(context.table, parameters, values.classes),
        attribute=values.name,
        values=counts.n_values,
        records_without_value=values.without_value,
        delta=_reading(None if worst is None else float(ratios[worst])),
        delta_of_present=_reading(None if worst_of_present is None else float(present[worst_of_present])),
        is_met=not failing.any(),
        classes_failing=int(np.count_nonzero(failing)),
        records_failing=values.records_of(failing),
        classes_lacking=int(np.count_nonzero(lacking)),
        records_lacking=values.records_of(lacking),
        worst=values.ref(worst),
        worst_lacks=0 if worst is None else counts.n_values - int(counts.distinct[worst]),
        worst_of_present=values.ref(worst_of_present),
        value=_value(values, gains, worst_of_present),
    )


DELTA_DISCLOSURE: Final = Measure(
    name="delta_disclosure",
    version=2,
    title="δ-disclosure privacy with both logarithms",
    source="Brickell and Shmatikov (2008); Cao and Karras (2012), section 3",
    guarantee="exact",
    parameters=DeltaDisclosureParameters,
    result=DeltaDisclosureFound,
    cost=lambda context, own: cost_of_counting(context, 1),
    compute=_compute,
    example=Example(
        "does a class make some income much more or less likely?",
        "proposal-delta",
        rule="proposal",
        parameters={"delta": 1.5, "base": "2"},
    ),
    criteria=(DeltaDisclosure,),
    judges=lambda own, value: DeltaDisclosure(own.delta, own.base, own.attribute),
    by_persons=COUNTS_PERSONS,
)
