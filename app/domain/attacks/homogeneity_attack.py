"""Classes whose records nearly all have the same sensitive value: whoever finds a class knows the value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, doc

from app.domain.arrays import Bools, Ints, Longs, greatest_first
from app.domain.catalogue.catalogue_types import ADDED_LATER, CellValue
from app.domain.catalogue.meanings import ASKED, FROM_ZERO, LOW, LOW_SHARE
from app.domain.classes.diversity import most_frequent
from app.domain.classes.grouping import EquivalenceClasses, SensitiveName
from app.domain.classes.ratios import as_written, is_below
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.criterion import COUNTS_PERSONS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import ClassRef, JudgedOn, class_ref, judged_on
from app.domain.models.sensitive_values import GroupingOfValues
from app.domain.tables.numbers import exact_sum

SECONDS_PER_ATTACK: Final = 1.5e-3
SECONDS_PER_CELL: Final = 2e-9
SECONDS_PER_LISTED_RECORD: Final = 1e-9


def leading_values(counts: SensitiveCounts) -> Ints:
    """(G,) number of the most frequent value of each class, the least one of equals.

    −1 for classes none of whose records has a value.
    """
    values = np.full(counts.n_classes, -1, dtype=np.int32)
    tops = np.flatnonzero(counts.counts == most_frequent(counts)[counts.of_entry])
    # Written last to first, so that the first of equals stays.
    values[counts.of_entry[tops[::-1]]] = counts.values[tops[::-1]]
    return values


def homogeneous(counts: SensitiveCounts, theta: float) -> Bools:
    """(G,) classes in which one value has at least the share θ, which is inclusive: 19 of 20 are 0.95."""
    return ~is_below(most_frequent(counts), as_written(theta), counts.sizes) & (counts.sizes > 0)


def expected_if_independent(counts: SensitiveCounts, records: Longs) -> tuple[float | None, float | None]:
    """Classes with a single value, and their records, to expect if values had nothing to do with classes.

    Every record draws its value from the whole table's distribution: Σ over classes of Σ_v p_v^size, where
    the size counts whatever has a value and may be of the class, and ``records`` (G,) are the class's own.
    None where persons are counted: their values are not drawn one by one.
    """
    if counts.persons is not None:
        return None, None
    judged = counts.sizes > 0
    sizes, of_class, classes = np.unique(counts.sizes[judged], return_inverse=True, return_counts=True)
    owned = np.bincount(of_class.reshape(-1), records[judged], len(sizes))
    shares = counts.totals / int(counts.totals.sum())
    chances = [math.fsum(np.power(shares, size).tolist()) for size in sizes.tolist()]
    return exact_sum(classes * chances), exact_sum(owned * chances)


@dataclass(frozen=True, kw_only=True)
class HomogeneityParameters(GroupingOfValues):
    """Of what attribute, and how alike a class must be."""

    attribute: SensitiveName = None
    theta: Annotated[
        float,
        Gt(0),
        Le(1),
        doc("A class is nearly homogeneous if one value has at least this share of it, as it is written."),
    ] = 0.95
    top: Annotated[int, Ge(1), Le(200), doc("Most classes to list.")] = 10
    top_values: Annotated[
        int | None, ADDED_LATER, Ge(1), Le(1_000), doc("Most values to list; null: all that are given away.")
    ] = None


@dataclass(frozen=True)
class HomogeneousClasses:
    """Classes in which one value has at least some share."""

    theta: Annotated[float, ASKED, doc("The share, inclusive.")]
    classes: Annotated[int, LOW, doc("How many classes there are.")]
    records: Annotated[
        int,
        LOW,
        doc(
            "Records in them, those with another value included: whoever looks for these takes them to have "
            "the value of the others."
        ),
    ]
    share_of_classes: Annotated[float, LOW_SHARE, doc("Their share of all classes.")]
    share_of_records: Annotated[float, LOW_SHARE, doc("Their records' share of all judged records.")]


@dataclass(frozen=True)
class GivenAway:
    """What is found out in nearly homogeneous classes."""

    value: Annotated[CellValue, doc("The value that nearly all records of the classes have.")]
    classes: Annotated[int, doc("How many classes it is the most frequent value of.")]
    records: Annotated[int, doc("Records in them.")]


@dataclass(frozen=True)
class HomogeneousClass:
    """One class, and what it gives away."""

    exposed: Annotated[ClassRef, doc("Its records.")]
    value: Annotated[CellValue, doc("Its most frequent value; of equally frequent ones the first.")]
    with_value: Annotated[int, doc("How many records show this value.")]
    share: Annotated[float, doc("Their share of the records that show a value.")]


@dataclass(frozen=True)
class HomogeneityAttack:
    """Who is exposed by what the records of a class have in common."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    complete: Annotated[HomogeneousClasses, doc("Classes with a single value.")]
    near: Annotated[HomogeneousClasses, doc("Classes in which one value has at least the share asked for.")]
    single_records: Annotated[
        int, LOW, doc("Of the classes with a single value, those of one record: it is singled out besides.")
    ]
    expected_classes: Annotated[
        float | None,
        FROM_ZERO,
        doc(
            "Classes with a single value to expect if the attribute had nothing to do with classes, given "
            "how large these are: more than that means that the quasi-identifiers tell the value. null where "
            "persons are counted, who may have several values."
        ),
    ]
    expected_records: Annotated[
        float | None, FROM_ZERO, doc("Records to expect in them; null where persons are counted.")
    ]
    by_value: Annotated[
        tuple[GivenAway, ...],
        doc("What the nearly homogeneous classes give away, most records first, at most `top_values`."),
    ]
    worst: Annotated[tuple[HomogeneousClass, ...], doc("Nearly homogeneous classes, the largest first.")]
    values_given_away: Annotated[
        int, LOW, doc("How many values there are of which `by_value` lists the first.")
    ] = 0


def _found(classes: EquivalenceClasses, are: Bools, theta: float) -> HomogeneousClasses:
    number, records = int(np.count_nonzero(are)), int(classes.records[are].sum())
    return HomogeneousClasses(
        theta=theta,
        classes=number,
        records=records,
        share_of_classes=number / classes.n_classes if classes.n_classes else 0.0,
        share_of_records=records / classes.n_judged if classes.n_judged else 0.0,
    )


def _worst(
    hierarchy: Hierarchy, classes: EquivalenceClasses, counts: SensitiveCounts, near: Bools, top: int
) -> tuple[HomogeneousClass, ...]:
    places = np.flatnonzero(near)
    places = places[greatest_first(classes.records[places], top)]
    values, largest, sizes = leading_values(counts), most_frequent(counts), counts.sizes
    return tuple(
        HomogeneousClass(
            exposed=class_ref(classes, g),
            value=CellValue(hierarchy.labels[int(counts.nodes[values[g]])]),
            with_value=int(largest[g]),
            share=int(largest[g]) / int(sizes[g]),
        )
        for g in places.tolist()
    )


def _compute(context: MeasureContext, parameters: HomogeneityParameters, tick: Tick) -> HomogeneityAttack:
    table, release = context.table, context.release
    name = release.sensitive(parameters.attribute)
    classes, counts = release.classes(parameters), release.counts(parameters, name)
    hierarchy = table.hierarchies[table.position(name)]
    near, complete = homogeneous(counts, parameters.theta), homogeneous(counts, 1.0)
    expected_classes, expected_records = expected_if_independent(counts, classes.records)
    values = leading_values(counts)[near]
    number = np.bincount(values, minlength=counts.n_values)
    records = np.bincount(values, classes.records[near], counts.n_values).astype(np.int64)
    values_given_away = int(np.count_nonzero(number))
    top = parameters.top_values
    listed = values_given_away if top is None else min(top, values_given_away)
    order = greatest_first(records, listed)
    found = zip(counts.nodes[order].tolist(), number[order].tolist(), records[order].tolist(), strict=True)
    by_value = tuple(GivenAway(CellValue(hierarchy.labels[node]), times, own) for node, times, own in found)
    tick(1)
    return HomogeneityAttack(
        judged=judged_on(table, parameters, classes),
        attribute=name,
        complete=_found(classes, complete, 1.0),
        near=_found(classes, near, parameters.theta),
        single_records=int(np.count_nonzero(complete & (classes.sizes == 1))),
        expected_classes=expected_classes,
        expected_records=expected_records,
        by_value=by_value,
        worst=_worst(hierarchy, classes, counts, near, parameters.top),
        values_given_away=values_given_away,
    )


def _cost(context: MeasureContext, parameters: HomogeneityParameters) -> Cost:
    n, m = context.table.n_records, context.table.n_attributes
    seconds = SECONDS_PER_ATTACK + n * (m + 6) * SECONDS_PER_CELL
    seconds += n * parameters.top * SECONDS_PER_LISTED_RECORD
    return Cost(seconds, 8 * n * (m + 8), 1, "classes")


HOMOGENEITY_ATTACK: Final = Measure(
    name="homogeneity_attack",
    version=2,
    title="Classes that give a sensitive value away",
    source="Machanavajjhala (2008), sections 3.1.1 and 3.6",
    guarantee="exact",
    parameters=HomogeneityParameters,
    result=HomogeneityAttack,
    cost=_cost,
    compute=_compute,
    example=Example(
        "whose income is given away by their equivalence class?",
        "proposal-homogeneity",
        rule="proposal",
        parameters={"theta": 0.75},
    ),
    by_persons=COUNTS_PERSONS,
)
