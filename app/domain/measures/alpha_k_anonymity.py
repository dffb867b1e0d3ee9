"""(α,k)-anonymity: k records in a class, and no sensitive value with more than a share of α in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Len, doc

from app.domain.catalogue_types import CellValue
from app.domain.classes import diversity
from app.domain.classes.grouping import Bools, Grouping
from app.domain.classes.named_values import any_called
from app.domain.classes.ratios import as_written
from app.domain.measures.entry import Cost, Measure, MeasureContext, Tick, always_supported
from app.domain.measures.judged import ClassRef, JudgedOn, judged_on
from app.domain.measures.sensitive_values import (
    SensitiveValues,
    cost_of_counting,
    sensitive_values,
)


@dataclass(frozen=True, kw_only=True)
class AlphaKParameters(Grouping):
    """Which values are limited, and the α and k asked for."""

    attribute: Annotated[
        str | None, Len(1, 200), doc("The sensitive attribute; null: the only one of that role.")
    ] = None
    values: Annotated[
        tuple[Annotated[CellValue, Len(1, 1000)], ...] | None,
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
class AlphaKAnonymity:
    """How large classes are, and how large a share one sensitive value has in them."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    records_without_value: Annotated[int, doc("Records in a class whose missing value does not count.")]
    alpha: Annotated[float | None, doc("Greatest share of a limited value in a class: all α from here hold.")]
    attainable: Annotated[
        float, doc("The same of the whole table as one class: no generalisation of all records has less.")
    ]
    frequent: Annotated[
        int, doc("Records of the worst class with this value: α is this over all its records.")
    ]
    value: Annotated[CellValue | None, doc("The value of this share.")]
    worst: Annotated[ClassRef | None, doc("The class of the greatest share, the first of equals.")]
    k: Annotated[int | None, doc("Records of the smallest class; null if there is none.")]
    smallest: Annotated[ClassRef | None, doc("The smallest class, the first of equals.")]
    is_met: Annotated[bool, doc("Whether every class has at least k records and no share above α.")]
    classes_failing: Annotated[int, doc("Classes of which one of the two does not hold.")]
    records_failing: Annotated[int, doc("Records in these classes.")]


def _limited(values: SensitiveValues, labels: tuple[str, ...] | None) -> Bools:
    """(m,) which values have a limited share."""
    if labels is None:
        return np.ones(values.counts.n_values, dtype=bool)
    return any_called(values.hierarchy, values.counts.nodes, labels, "/measure/values")


def _compute(context: MeasureContext, parameters: AlphaKParameters, tick: Tick) -> AlphaKAnonymity:
    values = sensitive_values(context, parameters, parameters.attribute, "apart")
    classes, counts = values.classes, values.counts
    limited = _limited(values, parameters.values)
    shares = diversity.most_frequent(counts, limited) / np.maximum(counts.sizes, 1)
    worst = values.worst(shares)
    entry = None if worst is None else values.most_frequent_entry(worst, limited)
    smallest = int(np.argmin(classes.sizes)) if classes.n_classes else None
    within = diversity.is_within_share(counts, limited, as_written(parameters.alpha))
    failing = ~within | (classes.sizes < parameters.k)
    result = AlphaKAnonymity(
        judged=judged_on(context.table, parameters, context.release.classes(parameters)),
        attribute=values.name,
        records_without_value=values.without_value,
        alpha=None if worst is None else float(shares[worst]),
        attainable=int(counts.totals[limited].max(initial=0)) / max(1, int(counts.totals.sum())),
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


def _cost(context: MeasureContext, parameters: AlphaKParameters) -> Cost:
    return cost_of_counting(context, 1)


ALPHA_K_ANONYMITY: Final = Measure(
    name="alpha_k_anonymity",
    version=1,
    title="(α,k)-anonymity: class sizes and the share of one value",
    source="Wong et al. (2006)",
    guarantee="exact",
    parameters=AlphaKParameters,
    result=AlphaKAnonymity,
    needs=frozenset(),
    supports=always_supported,
    cost=_cost,
    compute=_compute,
)
