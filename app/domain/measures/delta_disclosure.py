"""δ-disclosure privacy of a release: every sensitive value about as likely in a class as in the table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Gt, Le, MaxLen, doc

from app.domain.catalogue_types import CellValue
from app.domain.classes.gains import Gains, LogBase, disclosing, greatest_ratios, lacks_values
from app.domain.classes.grouping import Grouping
from app.domain.classes.ratios import as_written
from app.domain.measures.entry import Cost, Measure, MeasureContext, Tick, always_supported
from app.domain.measures.judged import ClassRef, JudgedOn, judged_on
from app.domain.measures.sensitive_values import SensitiveValues, cost_of_counting, sensitive_values

LOG_2: Final = math.log(2)


@dataclass(frozen=True, kw_only=True)
class DeltaDisclosureParameters(Grouping):
    """Of what attribute, and which δ to compare with."""

    attribute: Annotated[
        str | None, MaxLen(200), doc("The sensitive attribute; null: the only one of that role.")
    ] = None
    delta: Annotated[
        float, Gt(0), Le(100), doc("Classes with |log(q / p)| of at least this for some value are counted.")
    ] = 1.0
    base: Annotated[LogBase, doc("Base of the logarithm of this δ: natural (`e`) or binary (`2`).")] = "e"


@dataclass(frozen=True)
class DeltaReading:
    """The same δ with both logarithms in use."""

    natural: Annotated[float | None, doc("With the natural logarithm; null without classes.")]
    binary: Annotated[float | None, doc("With the binary logarithm: natural / ln 2.")]


@dataclass(frozen=True)
class UnlikelyValue:
    """The value that is most over- or under-represented in a class among those present."""

    value: Annotated[CellValue, doc("The value.")]
    in_table: Annotated[float, doc("p: its share of the whole table.")]
    in_class: Annotated[float, doc("q: its share of the class.")]


@dataclass(frozen=True)
class DeltaDisclosure:
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
    is_met: Annotated[bool, doc("Whether every class stays strictly below the δ asked for.")]
    classes_failing: Annotated[int, doc("Classes that do not.")]
    records_failing: Annotated[int, doc("Records in these classes.")]
    classes_lacking: Annotated[int, doc("Classes in which some value of the table is absent.")]
    records_lacking: Annotated[int, doc("Records in these classes: of each of them a value is ruled out.")]
    worst: Annotated[ClassRef | None, doc("The class of the greatest ratio, the first of equals.")]
    worst_lacks: Annotated[int, doc("How many values of the table are absent from it.")]
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


def _compute(context: MeasureContext, parameters: DeltaDisclosureParameters, tick: Tick) -> DeltaDisclosure:
    values = sensitive_values(context, parameters, parameters.attribute, "apart")
    counts, gains = values.counts, Gains.of(values.counts)
    ratios, present = (greatest_ratios(counts, gains, absent) for absent in (True, False))
    worst, worst_of_present = values.worst(ratios), values.worst(present)
    failing = disclosing(counts, as_written(parameters.delta), parameters.base)
    lacking = lacks_values(counts)
    tick(1)
    return DeltaDisclosure(
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


def _cost(context: MeasureContext, parameters: DeltaDisclosureParameters) -> Cost:
    return cost_of_counting(context, 1)


DELTA_DISCLOSURE: Final = Measure(
    name="delta_disclosure",
    version=1,
    title="δ-disclosure privacy with both logarithms",
    source="Brickell and Shmatikov (2008); Cao and Karras (2012), section 3",
    guarantee="exact",
    parameters=DeltaDisclosureParameters,
    result=DeltaDisclosure,
    needs=frozenset(),
    supports=always_supported,
    cost=_cost,
    compute=_compute,
)
