"""t-closeness of a release: how far the sensitive values of classes are from those of the whole table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, get_args

import numpy as np
from annotated_types import Ge, Le, MaxLen, doc

from app.domain.catalogue_types import CellValue
from app.domain.classes.by_class import Floats
from app.domain.classes.closeness import Distance, distances, farther, has_missing
from app.domain.classes.gains import Gains
from app.domain.classes.grouping import Grouping
from app.domain.classes.ratios import as_written
from app.domain.errors import NotSupported
from app.domain.measures.entry import Cost, Measure, MeasureContext, Tick, always_supported
from app.domain.measures.judged import ClassRef, JudgedOn, judged_on
from app.domain.measures.sensitive_values import SensitiveValues, cost_of_counting, sensitive_values
from app.domain.numbers import exact_sum

DISTANCES: Final[tuple[Distance, ...]] = get_args(Distance)


@dataclass(frozen=True, kw_only=True)
class TClosenessParameters(Grouping):
    """Of what attribute, and what to compare with."""

    attribute: Annotated[
        str | None, MaxLen(200), doc("The sensitive attribute; null: the only one of that role.")
    ] = None
    t: Annotated[
        float,
        Ge(0),
        Le(1000),
        doc("Classes farther than this are counted: a share of 1, or bits if the distance is `kl` or `js`."),
    ] = 0.2
    distance: Annotated[
        Distance,
        doc(
            "Which of the distances t is compared with. Earth mover's distance with all values equally far "
            "apart (`equal`), by their order (`ordered`) or by the attribute's hierarchy (`hierarchical`); "
            "divergence of Kullback and Leibler (`kl`) or of Jensen and Shannon (`js`)."
        ),
    ] = "equal"


@dataclass(frozen=True)
class DistanceFound:
    """How far classes are from the whole table by one distance."""

    distance: Annotated[Distance, doc("The distance.")]
    unit: Annotated[str, doc("A share of 1, or bits.")]
    t: Annotated[
        float | None,
        doc(
            "Distance of the farthest class: the release is t-close for this t and all above; null without "
            "classes."
        ),
    ]
    mean_of_classes: Annotated[float | None, doc("Mean over classes, each counted once.")]
    mean_of_records: Annotated[float | None, doc("Mean over records of the distance of their class.")]
    worst: Annotated[ClassRef | None, doc("The farthest class, the first of equals.")]


@dataclass(frozen=True)
class MovedValue:
    """The value whose share of a class is most above its share of the table."""

    value: Annotated[CellValue, doc("The value.")]
    in_table: Annotated[float, doc("Its share of the whole table.")]
    in_class: Annotated[float, doc("Its share of the class.")]


@dataclass(frozen=True)
class TCloseness:
    """How close the classes are to the whole table."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    values: Annotated[int, doc("Different values of it in the whole table.")]
    records_without_value: Annotated[int, doc("Records in classes that have no value to judge.")]
    is_t_close: Annotated[bool, doc("Whether no class is farther than the t asked for; exactly at t is not.")]
    classes_farther: Annotated[int, doc("Classes that are, by the distance asked for.")]
    records_farther: Annotated[int, doc("Records in these classes.")]
    most_raised: Annotated[
        MovedValue | None, doc("What the farthest class by the distance asked for has too much of.")
    ]
    distances: Annotated[tuple[DistanceFound, ...], doc("Every distance that the data have.")]
    not_defined: Annotated[
        tuple[str, ...], doc("Why other distances are not shown, one sentence per distance.")
    ]


def _undefined(values: SensitiveValues) -> dict[Distance, str]:
    """The distances that the data do not have, and why."""
    found: dict[Distance, str] = {}
    if has_missing(values.counts):
        found["ordered"] = (
            "ordered: some values are missing or withheld, which have no place in an order; leave missing "
            "ones out with missing_sensitive."
        )
    if not values.hierarchy.is_tree:
        found["hierarchical"] = (
            "hierarchical: some value of the attribute's hierarchy has several parents; use a tree."
        )
    return found


def _distance(values: SensitiveValues, kind: Distance, of_class: Floats) -> DistanceFound:
    judged, records = values.judged, values.classes.records
    scores = of_class[judged]
    worst = values.worst(of_class)
    weighted = exact_sum(scores * records[judged])
    return DistanceFound(
        distance=kind,
        unit="bits" if kind in ("kl", "js") else "share of 1",
        t=None if worst is None else float(of_class[worst]),
        mean_of_classes=exact_sum(scores) / len(scores) if len(scores) else None,
        mean_of_records=weighted / int(records[judged].sum()) if len(scores) else None,
        worst=values.ref(worst),
    )


def _most_raised(values: SensitiveValues, of_class: Floats) -> MovedValue | None:
    worst = values.worst(of_class)
    if worst is None:
        return None
    gains = Gains.of(values.counts)
    first, last = values.counts.starts[worst : worst + 2].tolist()
    entry = first + int(np.argmax(gains.absolute[first:last]))
    return MovedValue(
        value=values.label(int(values.counts.values[entry])),
        in_table=int(gains.totals[entry]) / gains.population,
        in_class=int(gains.amounts[entry]) / int(gains.sizes[entry]),
    )


def _compute(context: MeasureContext, parameters: TClosenessParameters, tick: Tick) -> TCloseness:
    values = sensitive_values(context, parameters, parameters.attribute, "apart")
    undefined = _undefined(values)
    if parameters.distance in undefined:
        raise NotSupported(
            f"The distance asked for is not defined. {undefined[parameters.distance]}",
            "Choose another distance.",
        )
    counts, hierarchy = values.counts, values.hierarchy
    of_kind = {kind: distances(counts, kind, hierarchy) for kind in DISTANCES if kind not in undefined}
    failing = farther(counts, parameters.distance, as_written(parameters.t), hierarchy)
    tick(1)
    return TCloseness(
        judged=judged_on(context.table, parameters, values.classes),
        attribute=values.name,
        values=counts.n_values,
        records_without_value=values.without_value,
        is_t_close=not failing.any(),
        classes_farther=int(np.count_nonzero(failing)),
        records_farther=values.records_of(failing),
        most_raised=_most_raised(values, of_kind[parameters.distance]),
        distances=tuple(_distance(values, kind, found) for kind, found in of_kind.items()),
        not_defined=tuple(undefined.values()),
    )


def _cost(context: MeasureContext, parameters: TClosenessParameters) -> Cost:
    return cost_of_counting(context, 1)


T_CLOSENESS: Final = Measure(
    name="t_closeness",
    version=1,
    title="t-closeness by five distances",
    source="Li et al. (2007); Cao and Karras (2012), section 2",
    guarantee="exact",
    parameters=TClosenessParameters,
    result=TCloseness,
    needs=frozenset(),
    supports=always_supported,
    cost=_cost,
    compute=_compute,
)
