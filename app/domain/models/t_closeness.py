"""t-closeness: how far the sensitive values of classes are from those of the whole table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final, get_args

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.arrays import Bools, Floats, Longs
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FAILING, MET, SHARE, STRICTER_DOWN
from app.domain.classes.closeness import (
    NO_ORDER,
    Distance,
    cuts,
    distances,
    farther,
    has_missing,
    lacks_order,
    whole_numbers,
)
from app.domain.classes.gains import lacks_values
from app.domain.classes.necessary import (
    greatest_shift,
    least_mass,
    least_size,
    least_values,
    most_passing,
    rounds_equally,
    rounds_in_order,
)
from app.domain.classes.ratios import as_written
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.classes.value_groups import in_groups
from app.domain.errors import NotSupported
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
from app.domain.tables.numbers import exact_sum, highest_accepted


@dataclass(frozen=True)
class TCloseness(ValueCriterion):
    """In every class the sensitive values are distributed nearly as in the whole table."""

    kind: ClassVar[str] = "t_closeness"
    title: ClassVar[str] = "t-closeness: sensitive values distributed nearly as in the whole table"
    source: ClassVar[str] = "Li et al. (2007)"
    merging: ClassVar[Merging] = "passes_stay"
    by_persons: ClassVar[str] = COUNTS_PERSONS

    t: Annotated[
        float,
        Ge(0),
        Le(1000.0),
        STRICTER_DOWN,
        doc("Greatest distance of a class from the whole table: a share of 1, or bits for `kl` and `js`."),
    ]
    distance: Annotated[
        Distance,
        doc(
            "Earth mover's distance with all values equally far apart (`equal`), by their order (`ordered`) "
            "or by the sensitive attribute's hierarchy (`hierarchical`), or the divergence of Kullback and "
            "Leibler (`kl`) or Jensen and Shannon (`js`) in bits."
        ),
    ] = "equal"
    attribute: Attribute = None

    @property
    def asks_nothing(self) -> bool:
        """All distances but the divergence of Kullback and Leibler are at most 1."""
        return self.distance != "kl" and self.t >= 1

    def failing(self, judged: JudgedClasses) -> Bools:
        """Classes that are farther than t; exactly at t passes."""
        counts = self._counts(judged)
        return farther(counts, self.distance, as_written(self.t), judged.hierarchy(self.attribute))

    @property
    def failing_in_words(self) -> str:
        """That their values are distributed otherwise."""
        return (
            f"would be in classes whose values of {named(self.attribute)} are distributed otherwise than in "
            f"the whole table, at a distance above {self.t:.6g}"
        )

    def worst_in_words(self, worst: float) -> str:
        """The distance of their class."""
        return f"the worst-off are at {worst:.6g}"

    def attained(self, judged: JudgedClasses) -> float | None:
        """Distance of the farthest class."""
        counts = self._counts(judged)
        found = distances(counts, self.distance, judged.hierarchy(self.attribute))
        return float(found.max()) if len(found) else None

    def _counts(self, judged: JudgedClasses) -> SensitiveCounts:
        counts = judged.distributions(self.attribute)
        ordered = self.distance == "ordered" and self.version > 1
        if ordered and lacks_order(counts, judged.hierarchy(self.attribute)):
            raise NotSupported.because(NO_ORDER)
        return counts

    def unavoidable(self, judged: JudgedClasses) -> Longs:
        """What does not fit into any mixture of values, or of groups of them, near the whole table's."""
        counts = judged.distributions(self.attribute)
        most = counts.sizes
        for own, shift in self._shifts(judged):
            shares = own.totals / own.totals.sum()
            most = np.minimum(most, most_passing(own, shares, 1 - shift))
        if self.distance == "kl":
            most = np.where(lacks_values(counts), 0, most)
        return np.asarray(np.maximum(counts.sizes - most, self.failing(judged)))

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """The least class that can be as close, and how many values it has."""
        totals = whole.distributions(self.attribute).totals
        size, values = 1, len(totals) if self.distance == "kl" else 1
        for own, shift in self._shifts(whole):
            values = max(values, least_values(own.totals / own.totals.sum(), 1 - shift))
            size = max(size, least_size(rounds_equally(own.totals, shift), own.totals))
        if self.distance == "ordered":
            size = max(size, least_size(rounds_in_order(totals, self.t), totals))
        if self.distance == "js":
            values = max(values, least_values(totals / totals.sum(), least_mass(self.t)))
        return least_classes(size, values, self.attribute)

    def _shifts(self, judged: JudgedClasses) -> list[tuple[SensitiveCounts, float]]:
        """Counts of values or of groups of them, and the mass of those that may be elsewhere at most."""
        counts = judged.distributions(self.attribute)
        if self.distance == "hierarchical":
            tree = judged.hierarchy(self.attribute)
            found = [(part, self.t * tree.height / max(1, above)) for part, above in cuts(tree, counts.nodes)]
            return [(in_groups(counts, part), shift) for part, shift in found if shift < 1]
        shift = {
            "equal": self.t,
            "ordered": self.t * max(1, counts.n_values - 1),
            # Pinsker's inequality: a divergence is at least 2 v² nats.
            "kl": math.sqrt(highest_accepted(self.t) * math.log(2) / 2),
            "js": greatest_shift(self.t),
        }[self.distance]
        return [(counts, shift)] if shift < 1 else []

    def impossible(self, whole: JudgedClasses) -> str | None:
        """The whole table is at distance 0 from itself, if the distance is defined."""
        if self.distance == "ordered" and has_missing(whole.distributions(self.attribute)):
            return "Some records lack the sensitive value, and a missing value has no place in an order."
        return None


DISTANCES: Final[tuple[Distance, ...]] = get_args(Distance)


@dataclass(frozen=True, kw_only=True)
class TClosenessParameters(GroupingOfValues):
    """Of what attribute, and what to compare with."""

    attribute: SensitiveAttribute = None
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
    in_table: Annotated[float, SHARE, doc("Its share of the whole table.")]
    in_class: Annotated[float, SHARE, doc("Its share of the class.")]


@dataclass(frozen=True)
class TClosenessFound:
    """How close the classes are to the whole table."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    values: Annotated[int, doc("Different values of it in the whole table.")]
    records_without_value: Annotated[int, doc("Records in classes that have no value to judge.")]
    is_t_close: Annotated[
        bool, MET, doc("Whether no class is farther than the t asked for; exactly at t is not.")
    ]
    classes_farther: Annotated[int, FAILING, doc("Classes that are, by the distance asked for.")]
    records_farther: Annotated[int, FAILING, doc("Records in these classes.")]
    most_raised: Annotated[
        MovedValue | None, doc("What the farthest class by the distance asked for has too much of.")
    ]
    distances: Annotated[tuple[DistanceFound, ...], doc("Every distance that the data have.")]
    not_defined: Annotated[
        tuple[str, ...], doc("Why other distances are not shown, one sentence per distance.")
    ]


def _undefined(values: SensitiveValues, *, folds: bool) -> dict[Distance, str]:
    """The distances that the data do not have, and why."""
    found: dict[Distance, str] = {}
    if has_missing(values.counts):
        found["ordered"] = (
            "ordered: some values are missing or suppressed, which have no place in an order; leave missing "
            "ones out with missing_sensitive."
        )
    elif folds and lacks_order(values.counts, values.hierarchy):
        found["ordered"] = f"ordered: {NO_ORDER}"
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
    amounts, totals, sizes, population = whole_numbers(values.counts)
    entries = slice(*values.counts.starts[worst : worst + 2].tolist())
    numbers, size = values.counts.values[entries], sizes[worst]
    raised = int(np.argmax(amounts[entries] * population - size * totals[numbers]))
    return MovedValue(
        value=values.label(int(numbers[raised])),
        in_table=int(totals[numbers[raised]]) / population,
        in_class=int(amounts[entries][raised]) / int(size),
    )


def _compute(context: MeasureContext, parameters: TClosenessParameters, tick: Tick) -> TClosenessFound:
    values = sensitive_values(context, parameters, parameters.attribute, "apart", weighed=True)
    undefined = _undefined(values, folds=parameters.folds)
    if parameters.distance in undefined:
        raise NotSupported(
            f"The distance asked for is not defined. {undefined[parameters.distance]}",
            "Choose another distance.",
        )
    counts, hierarchy = values.counts, values.hierarchy
    of_kind = {kind: distances(counts, kind, hierarchy) for kind in DISTANCES if kind not in undefined}
    failing = farther(counts, parameters.distance, as_written(parameters.t), hierarchy)
    tick(1)
    return TClosenessFound(
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


SECONDS_BESIDE_COUNTING: Final = 1.5e-3
"""What the distances take on Adult beside counting the values."""

T_CLOSENESS: Final = Measure(
    name="t_closeness",
    version=2,
    title="t-closeness by five distances",
    source="Li et al. (2007); Cao and Karras (2012), section 2",
    guarantee="exact",
    parameters=TClosenessParameters,
    result=TClosenessFound,
    cost=lambda context, own: cost_of_counting(context, 1, SECONDS_BESIDE_COUNTING),
    compute=_compute,
    example=Example(
        "are incomes spread within each class as among all members?",
        "proposal-closeness",
        rule="proposal",
        parameters={"t": 0.3, "distance": "ordered", "missing_sensitive": "excluded"},
    ),
    criteria=(TCloseness,),
    by_persons=COUNTS_PERSONS,
    judges=lambda own, value: TCloseness(own.t, own.distance, own.attribute),
)
