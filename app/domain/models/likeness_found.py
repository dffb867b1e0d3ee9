"""What the measure of β-likeness takes and tells, whatever it is told of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt, doc

from app.domain.arrays import Floats, Longs
from app.domain.catalogue.catalogue_types import ADDED_LATER, CellValue
from app.domain.catalogue.meanings import (
    FAILING,
    FROM_ONE,
    FROM_ZERO,
    GAIN,
    LOW,
    LOW_AMOUNT,
    LOW_SHARE,
    MET,
    STRICTER_DOWN,
)
from app.domain.classes.gains import (
    LikenessBound,
    always_within,
    frequency_bounds,
    implied_delta,
    surprisals,
)
from app.domain.classes.necessary import fills_up, least_size, least_values
from app.domain.classes.ratios import as_written
from app.domain.classes.value_groups import ValuesInGroups
from app.domain.models.gains_found import GainFound
from app.domain.models.judged import ClassRef, JudgedOn
from app.domain.models.sensitive_values import (
    GroupingOfValues,
    SensitiveAttribute,
)

BoundOfValues = Annotated[
    LikenessBound,
    doc(
        "Whether frequent values have the tighter bound −ln p, so that none may fill a class "
        "(`enhanced`), or all the same (`basic`)."
    ),
]
GroupsOfValues = Annotated[
    tuple[Annotated[CellValue, Len(1, 1000)], ...] | None,
    Len(1, 1000),
    doc(
        "Groups of the sensitive attribute's hierarchy, by their labels, that are bounded as values are, "
        "none in another; null: none. A value that is shown more generally than a group is in none."
    ),
]
BoundOfGroups = Annotated[
    ValuesInGroups,
    doc("Whether values in groups are bounded as well (`bounded`), or these in their place (`free`)."),
]
BoundOfLosses = Annotated[
    float | None,
    Ge(0),
    Lt(1),
    STRICTER_DOWN,
    doc(
        "Greatest relative loss (p − q) / p: 0.5 means at least half as likely, so that no value may be "
        "absent; null: any."
    ),
]


@dataclass(frozen=True, kw_only=True)
class BetaLikenessParameters(GroupingOfValues):
    """Of what attribute, which β to compare with, and what a reader knows before."""

    attribute: SensitiveAttribute = None
    beta: Annotated[
        float, Gt(0), Le(1e6), doc("Classes with a greater relative gain are counted: 1 is twice as likely.")
    ] = 1.0
    bound: BoundOfValues = "enhanced"
    reference: Annotated[
        Mapping[CellValue, Annotated[int, Ge(0), Le(10**12)]] | None,
        Len(1, 100_000),
        doc(
            "How often each value occurs in what a reader knows before, such as public statistics; null: in "
            "the whole dataset, or as often as a release that was drawn says itself."
        ),
    ] = None
    groups: Annotated[GroupsOfValues, ADDED_LATER] = None
    values_in_groups: Annotated[BoundOfGroups, ADDED_LATER] = "bounded"
    beta_negative: Annotated[BoundOfLosses, ADDED_LATER] = None
    top: Annotated[int, Ge(1), Le(200), doc("Most classes, values and broken caps to list.")] = 10


@dataclass(frozen=True)
class LikenessImplies:
    """What follows for every class that satisfies the β asked for."""

    least_records: Annotated[
        int, doc("It has at least so many records, or persons; an exact bound up to 4,096.")
    ]
    least_values: Annotated[int, doc("It has at least so many different values.")]
    least_frequency_l: Annotated[
        float, FROM_ONE, doc("Its most frequent value has at most this part: 1 / f(p_max).")
    ]
    enough_records: Annotated[int, doc("Every class of at least so many records, or persons, satisfies it.")]
    delta: Annotated[float, doc("δ-disclosure privacy (natural) that implies enhanced β-likeness.")]


@dataclass(frozen=True)
class BetaLikenessFound:
    """The relative gain of a reader, on every value and in every class."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    values: Annotated[int, doc("Different values in the reference, and groups that were asked for.")]
    records_without_value: Annotated[int, doc("Records in classes that have no value to judge.")]
    reference: Annotated[
        Literal["dataset", "given", "published"],
        doc("What a reader is taken to know before; `published`: the prior of a release that was drawn."),
    ]
    values_unused: Annotated[
        int, doc("Leaves of the hierarchy that no value of the reference stands for: they take no part.")
    ]
    values_mismatched: Annotated[
        int, doc("Values of the release that the reference lacks: then every β is infinite.")
    ]
    beta_basic: Annotated[
        float | None,
        FROM_ZERO,
        GAIN,
        doc("Least β with which basic β-likeness holds; 0: all classes are like the reference."),
    ]
    beta_enhanced: Annotated[
        float | None,
        LOW_AMOUNT,
        doc("The same of the enhanced one; infinite if it holds for no β: a cap is broken."),
    ]
    beta_negative: Annotated[
        float | None, LOW_SHARE, doc("Greatest relative loss (p − q) / p: 1 if some class lacks a value.")
    ]
    beta_saturation: Annotated[
        float,
        FROM_ZERO,
        doc("−ln of the least p: for larger β enhanced β-likeness is the same as for this one."),
    ]
    max_absolute_gain: Annotated[float | None, LOW_SHARE, doc("Greatest q − p.")]
    values_frequent: Annotated[int, doc("Values bounded by −ln p rather than by the β asked for.")]
    is_met: Annotated[
        bool,
        MET,
        doc("Whether every class satisfies the β, and bound of losses, asked for; exactly at it, it does."),
    ]
    classes_failing: Annotated[int, FAILING, doc("Classes that do not.")]
    records_failing: Annotated[int, FAILING, doc("Records in these classes.")]
    caps_broken: Annotated[int, LOW, doc("Pairs of a class and a value with a gain above −ln p.")]
    worst: Annotated[GainFound | None, doc("The greatest gain of all, the first of equals.")]
    classes: Annotated[
        tuple[GainFound, ...], doc("Classes of greatest gain, each with the value of it, highest first.")
    ]
    by_value: Annotated[
        tuple[GainFound, ...], doc("Values of greatest gain, each with its worst class, highest first.")
    ]
    caps: Annotated[tuple[GainFound, ...], doc("Broken caps of greatest gain, highest first.")]
    implies: Annotated[LikenessImplies, doc("What follows for every class that satisfies the β asked for.")]
    worst_negative: Annotated[
        ClassRef | None,
        doc("The class of beta_negative, the first of equals. null also: measured before it was told."),
    ] = None
    worst_absolute: Annotated[
        ClassRef | None, doc("The class of max_absolute_gain, the first of equals; null as above.")
    ] = None


def told_of_reference(
    totals: Longs | Floats, population: float, unused: int, parameters: BetaLikenessParameters
) -> Mapping[str, Any]:
    """What a result tells of the reference alone: of its counts (m,), all above 0, of the values in it.

    Counts are shares of the ``population``, whole or not, and sum to more where persons have several values:
    what is implied holds of persons, too. ``unused`` are the leaves of the hierarchy that no value of the
    reference stands for.
    """
    surprising, beta = surprisals(totals, population), as_written(parameters.beta)
    bounds = frequency_bounds(totals, population, beta, parameters.bound)
    values = least_values(bounds, 1.0)
    return {
        "values": len(totals),
        "values_unused": unused,
        "beta_saturation": float(surprising.max()),
        "values_frequent": int(np.count_nonzero(surprising < parameters.beta)),
        "implies": LikenessImplies(
            least_records=max(values, least_size(fills_up(totals, bounds), totals)),
            least_values=values,
            least_frequency_l=1 / float(bounds.max()),
            enough_records=always_within(totals, parameters.beta, parameters.bound, population),
            delta=implied_delta(totals, parameters.beta, population),
        ),
    }
