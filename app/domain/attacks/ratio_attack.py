"""Ratio attack: shares of values in groups, from noisy counts that keep differential privacy.

Who asks how many records a group has, and how many of these have a value, divides the two noisy answers
(Wang et al. (2012), example 2 and section 6.3). Differential privacy bounds what one record changes, not what
a large group tells of each of its members.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, doc

from app.domain.attacks.shown_groups import (
    KnownAttributes,
    ShownGroups,
    generalised_values,
    shown_groups,
)
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FROM_ZERO, LOW, LOW_SHARE, SHARE
from app.domain.classes.grouping import SensitiveName
from app.domain.classes.noisy_ratios import tails_of_quotients
from app.domain.classes.sensitive_counts import greatest_by_class
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.tables.numbers import lowest_accepted

SECONDS_PER_CELL: Final = 2e-8
SECONDS_PER_GROUP: Final = 2e-7


@dataclass(frozen=True, kw_only=True)
class RatioParameters:
    """How noisy the counts are, and how good quotients may be."""

    quasi_identifiers: KnownAttributes = None
    attribute: SensitiveName = None
    rate: Annotated[
        float,
        Ge(1e-6),
        Le(1e3),
        doc(
            "λ: every count is answered with Laplace noise of the scale 1/λ, which keeps λ-differential "
            "privacy for one answer."
        ),
    ]
    epsilon: Annotated[
        float, Gt(0), Lt(1), doc("ε: from which error on, as a part of the share, a quotient counts as bad.")
    ] = 0.3
    delta: Annotated[
        float,
        Ge(0),
        Le(1),
        doc("δ: quotients are to be too low, and too high, with at least this probability."),
    ] = 0.3
    least_records: Annotated[int, Ge(1), Le(10**9), doc("Groups of fewer records are not looked at.")] = 1
    top: Annotated[int, Ge(1), Le(200), doc("Most groups to list.")] = 10


@dataclass(frozen=True)
class QuotientTold:
    """What the quotient of two noisy counts tells of the most frequent value of a group."""

    shows: Annotated[
        tuple[CellValue, ...], doc("What its records show, in the order of `quasi_identifiers`.")
    ]
    records: Annotated[int, doc("o1: its records.")]
    value: Annotated[CellValue, doc("Its most frequent value.")]
    with_value: Annotated[int, doc("o2: records that have it.")]
    in_group: Annotated[float, SHARE, doc("f: its share of the group, which the quotient is of.")]
    in_table: Annotated[float, SHARE, doc("Its share of all records.")]
    lift: Annotated[float, FROM_ZERO, doc("How many times as frequent it is in the group.")]
    too_low: Annotated[float, SHARE, doc("The probability that the quotient is below f·(1 − ε).")]
    too_high: Annotated[float, SHARE, doc("The probability that it is above f·(1 + ε).")]
    confidence: Annotated[float, SHARE, doc("The probability that it is within ε of the share.")]


@dataclass(frozen=True)
class RatioAttack:
    """How well shares in groups are told by noisy counts."""

    attribute: Annotated[str, doc("The sensitive attribute.")]
    quasi_identifiers: Annotated[tuple[str, ...], doc("Attributes that records were grouped by.")]
    budget: Annotated[
        float,
        FROM_ZERO,
        doc("2λ: the differential privacy of both answers about a group together; each has λ."),
    ]
    groups: Annotated[int, doc("Groups looked at.")]
    records: Annotated[int, doc("Their records.")]
    groups_told: Annotated[
        int, LOW, doc("Groups of which the quotient is too low, or too high, with less than δ.")
    ]
    records_told: Annotated[int, LOW, doc("Their records.")]
    greatest_confidence: Annotated[
        float | None, LOW_SHARE, doc("Of the group of which most is told; null without a group.")
    ]
    worst: Annotated[tuple[QuotientTold, ...], doc("The groups of greatest confidence, the greatest first.")]


def _compute(context: MeasureContext, parameters: RatioParameters, tick: Tick) -> RatioAttack:
    own, shown = parameters, shown_groups(context, parameters.attribute, parameters.quasi_identifiers)
    sizes, tops = shown.counts.sizes, greatest_by_class(shown.counts, shown.counts.counts, 0)
    groups = np.flatnonzero(sizes >= own.least_records)
    tails = tails_of_quotients(tops[groups], sizes[groups], own.rate, own.epsilon)
    confidence = np.clip(1.0 - tails.total, 0.0, 1.0)
    told = groups[tails.least < lowest_accepted(own.delta)]
    order = np.lexsort((-sizes[groups], -confidence))[: own.top]
    tick(1)
    return RatioAttack(
        attribute=shown.name,
        quasi_identifiers=shown.names,
        budget=2 * own.rate,
        groups=len(groups),
        records=int(sizes[groups].sum()),
        groups_told=len(told),
        records_told=int(sizes[told].sum()),
        greatest_confidence=float(confidence.max()) if len(groups) else None,
        worst=tuple(
            _quotient(shown, int(groups[i]), float(tails.low[i]), float(tails.high[i]), float(confidence[i]))
            for i in order.tolist()
        ),
    )


def _quotient(shown: ShownGroups, group: int, low: float, high: float, confidence: float) -> QuotientTold:
    counts = shown.counts
    entries = slice(*counts.starts[group : group + 2].tolist())
    first = entries.start + int(np.argmax(counts.counts[entries]))
    value, amount, size = int(counts.values[first]), int(counts.counts[first]), int(counts.sizes[group])
    in_table = int(counts.totals[value]) / int(counts.totals.sum())
    return QuotientTold(
        shows=shown.shows(group),
        records=size,
        value=shown.labels[value],
        with_value=amount,
        in_group=amount / size,
        in_table=in_table,
        lift=amount / size / in_table,
        too_low=low,
        too_high=high,
        confidence=confidence,
    )


def _supports(context: MeasureContext, parameters: RatioParameters) -> str | None:
    return generalised_values(context, parameters.attribute)


def _cost(context: MeasureContext, parameters: RatioParameters) -> Cost:
    table = context.table
    seconds = SECONDS_PER_CELL * table.n_records * (table.n_attributes + 4)
    return Cost(seconds + SECONDS_PER_GROUP * table.reduced.size, 60 * table.n_records, 1, "classes")


RATIO_ATTACK: Final = Measure(
    name="ratio_attack",
    title="Ratio attack: shares in groups from noisy counts",
    source="Wang et al. (2012), example 2 and section 6.3, with exact probabilities",
    guarantee="exact",
    parameters=RatioParameters,
    result=RatioAttack,
    cost=_cost,
    compute=_compute,
    supports=_supports,
    example=Example(
        "which incomes would noisy counts tell of a group?",
        "proposal-quotients",
        parameters={"rate": 0.5, "quasi_identifiers": ("race",), "top": 3},
    ),
    protects=False,
)
