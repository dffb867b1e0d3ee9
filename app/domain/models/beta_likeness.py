"""β-likeness, basic and enhanced: the relative gain of a reader on every sensitive value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.arrays import Bools, Floats, Longs
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import (
    STRICTER_DOWN,
)
from app.domain.classes.gains import (
    Gains,
    frequency_bounds,
    greatest_gains,
    greatest_losses,
    losing,
    unlike,
)
from app.domain.classes.necessary import fills_up, least_size, least_values, most_passing
from app.domain.classes.ratios import as_written
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.classes.value_groups import with_groups
from app.domain.errors import InvalidInput
from app.domain.mechanisms.reference import reference_totals
from app.domain.models.criterion import COUNTS_PERSONS, Criterion, GainBound, Merging, ValueCriterion
from app.domain.models.distinct_l_diversity import least_classes
from app.domain.models.drawn_gains import other_attribute
from app.domain.models.drawn_likeness import likeness_of_draw
from app.domain.models.entry import Example, Measure, MeasureContext, Tick
from app.domain.models.gains_found import GainsOfClasses, require_values
from app.domain.models.judged import judged_on
from app.domain.models.judging import JudgedClasses
from app.domain.models.likeness_found import (
    BetaLikenessFound,
    BetaLikenessParameters,
    BoundOfGroups,
    BoundOfLosses,
    BoundOfValues,
    GroupsOfValues,
    told_of_reference,
)
from app.domain.models.sensitive_values import (
    Attribute,
    SensitiveValues,
    cost_of_counting,
    named,
    sensitive_values,
)
from app.domain.tables.masks import shows_nothing

LEAST = 1e-9
SECONDS_BESIDE_COUNTING: Final = 2e-3
"""What the ratios take on Adult beside counting the values."""


@dataclass(frozen=True)
class BetaLikeness(ValueCriterion):
    """No value is much more likely in a class than in the whole table, relative to how likely it is there."""

    kind: ClassVar[str] = "beta_likeness"
    title: ClassVar[str] = "β-likeness: a bounded relative gain on every sensitive value"
    source: ClassVar[str] = "Cao and Karras (2012), definitions 2 and 3"
    by_persons: ClassVar[str] = COUNTS_PERSONS
    merging_by_persons: ClassVar[Merging | None] = "none"
    merging: ClassVar[Merging] = "passes_stay"

    beta: Annotated[
        float,
        Ge(LEAST),
        Le(1e6),
        STRICTER_DOWN,
        doc("Greatest relative gain: 1 means twice as likely."),
    ]
    bound: BoundOfValues = "enhanced"
    attribute: Attribute = None
    groups: GroupsOfValues = None
    values_in_groups: BoundOfGroups = "bounded"
    beta_negative: BoundOfLosses = None

    @property
    def gain_bound(self) -> GainBound | None:
        """The gain of β by its bound; None where groups or losses are bounded as well."""
        if self.groups is not None or self.beta_negative is not None:
            return None
        return GainBound(as_written(self.beta), self.bound, self.attribute)

    def failing(self, judged: JudgedClasses) -> Bools:
        """Classes in which some value or group is above its bound, or lost too much; exactly at it passes."""
        counts = self._bounded(judged)
        return unlike(counts, as_written(self.beta), self.bound) | losing(counts, self.beta_negative)

    @property
    def failing_in_words(self) -> str:
        """By how much a value is more likely."""
        return (
            f"would be in classes that raise the probability of a value of {named(self.attribute)} by "
            "more than is allowed for it"
        )

    def attained(self, judged: JudgedClasses) -> float | None:
        """The least β that the classes satisfy; ∞ if they break a cap or lost too much."""
        counts = self._bounded(judged)
        if not counts.n_classes:
            return None
        gains = Gains.of(counts)
        breaks_cap = self.bound == "enhanced" and gains.breaks_cap.any()
        if breaks_cap or losing(counts, self.beta_negative).any():
            return math.inf
        return float(greatest_gains(counts, gains).max())

    def unavoidable(self, judged: JudgedClasses) -> Longs:
        """What does not fit into any mixture of values, or of groups in their place, below their bounds."""
        counts = self._apart(judged)
        passing = most_passing(counts, self._bounds(counts.totals), 1.0)
        if self.groups is None and self.beta_negative is None:
            return np.asarray(counts.sizes - passing)
        return np.asarray(np.maximum(counts.sizes - passing, self.failing(judged)))

    def implied(self, whole: JudgedClasses) -> tuple[Criterion, ...]:
        """The least class that can be filled within the bounds (L4), and how many values it has (L6)."""
        totals = self._apart(whole).totals
        bounds = self._bounds(totals)
        # With losses bounded no value, or group, may be absent.
        values = least_values(bounds, 1.0) if self.beta_negative is None else len(totals)
        size = max(values, least_size(fills_up(totals, bounds), totals))
        return least_classes(size, values, self.attribute)

    def _bounded(self, judged: JudgedClasses) -> SensitiveCounts:
        """The counts of all that is bounded, which are of values and of groups that hold them."""
        counts, tree = judged.counts(self.attribute), judged.hierarchy(self.attribute)
        return with_groups(counts, tree, self.groups, self.values_in_groups, "/groups")

    def _apart(self, judged: JudgedClasses) -> SensitiveCounts:
        """Those of values, or of groups in their place: each record counts once."""
        return judged.counts(self.attribute) if self.values_in_groups == "bounded" else self._bounded(judged)

    def impossible(self, whole: JudgedClasses) -> str | None:
        """Nothing is gained from the whole table."""
        return None

    def _bounds(self, totals: Longs) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return frequency_bounds(totals, int(totals.sum()), as_written(self.beta), self.bound)


LARGEST_PRODUCT: Final = 2**62


def with_reference(values: SensitiveValues, reference: Mapping[CellValue, int] | None) -> SensitiveCounts:
    """The counts beside what a reader knows before: the table, or how often each value occurs elsewhere.

    Raises InvalidInput for values that the hierarchy does not have, and for a reference without records or
    with so many that gains could not be told exactly.
    """
    counts = values.counts
    if reference is None:
        return counts
    total = sum(reference.values())
    most = LARGEST_PRODUCT // max(1, int(counts.sizes.max(initial=1)))
    if not 0 < total <= most:
        raise InvalidInput.of(
            "/measure/reference",
            "reference-out-of-range",
            f"The reference has {total:,} records.",
            f"Give at least 1 and, for exact numbers, at most {most:,} in all.",
        )
    known = reference_totals(reference, values.hierarchy, values.name, "/measure/reference")
    nodes = np.union1d(counts.nodes, np.flatnonzero(known)).astype(np.int32)
    totals = known.take(nodes)
    numbers = np.searchsorted(nodes, counts.nodes)[counts.values].astype(np.int32)
    persons = None if counts.persons is None else (counts.sizes, total)
    return SensitiveCounts(counts.starts, numbers, counts.counts, totals, nodes, persons)


def _compute(context: MeasureContext, parameters: BetaLikenessParameters, tick: Tick) -> BetaLikenessFound:
    if context.drawn is not None:
        return likeness_of_draw(context, parameters, tick)
    values = sensitive_values(context, parameters, parameters.attribute, "apart")
    require_values(values)
    single = with_reference(values, parameters.reference)
    # A missing value, at the top, stands for none of the leaves.
    used = single.nodes[(single.totals > 0) & (~shows_nothing(single.nodes) | (single.n_values == 1))]
    groups, values_in_groups = parameters.groups, parameters.values_in_groups
    counts = with_groups(single, values.hierarchy, groups, values_in_groups, "/measure/groups")
    population, beta = counts.population, as_written(parameters.beta)
    bounds = frequency_bounds(counts.totals, population, beta, parameters.bound)
    listed = GainsOfClasses(values, counts, bounds)
    gains: Gains = listed.gains
    is_known = counts.totals > 0
    failing = unlike(counts, beta, parameters.bound) | losing(counts, parameters.beta_negative)
    caps = np.flatnonzero(gains.breaks_cap)
    basic = float(greatest_gains(counts, gains).max()) if values.judged.any() else None
    losses = greatest_losses(counts, gains)
    of_classes = listed.greatest(listed.one_per_class(), parameters.top)
    tick(1)
    return BetaLikenessFound(
        judged=judged_on(context.table, parameters, values.classes),
        attribute=values.name,
        **told_of_reference(
            counts.totals[is_known], population, values.hierarchy.leaves_outside(used), parameters
        ),
        records_without_value=values.without_value,
        reference="dataset" if parameters.reference is None else "given",
        values_mismatched=int(np.count_nonzero(~is_known)),
        beta_basic=basic,
        beta_enhanced=math.inf if len(caps) and basic is not None else basic,
        beta_negative=None if basic is None else float(losses.max()),
        max_absolute_gain=None if basic is None else max(0.0, float(gains.absolute.max())),
        is_met=not failing.any(),
        classes_failing=int(np.count_nonzero(failing)),
        records_failing=values.records_of(failing),
        caps_broken=len(caps),
        worst=of_classes[0] if of_classes else None,
        classes=of_classes,
        by_value=listed.greatest(listed.one_per_value(), parameters.top),
        caps=listed.greatest(caps, parameters.top),
        worst_negative=values.ref(values.worst(losses)),
        worst_absolute=values.ref(None if basic is None else _class_of_greatest(counts, gains.absolute)),
    )


def _class_of_greatest(counts: SensitiveCounts, of_entries: Floats) -> int:
    """The class of the greatest of some numbers of the entries, the first of equals."""
    return int(counts.of_entry[of_entries == of_entries.max()].min())


def _supports(context: MeasureContext, parameters: BetaLikenessParameters) -> str | None:
    if context.drawn is None:
        return None
    if parameters.groups is not None or parameters.beta_negative is not None:
        return (
            "Groups of values and bounds of losses are measured in classes, and this release was drawn. "
            "Leave groups and beta_negative out, or measure the dataset under a rule."
        )
    return other_attribute(context, parameters.attribute)


def _judged_by(own: BetaLikenessParameters, value: str) -> BetaLikeness | None:
    if own.reference is not None:
        return None
    return BetaLikeness(
        own.beta, own.bound, own.attribute, own.groups, own.values_in_groups, own.beta_negative
    )


BETA_LIKENESS: Final = Measure(
    name="beta_likeness",
    version=2,
    title="β-likeness: relative gains on sensitive values",
    source="Cao and Karras (2012), definitions 1 to 3",
    guarantee="exact",
    parameters=BetaLikenessParameters,
    result=BetaLikenessFound,
    supports=_supports,
    cost=lambda context, own: cost_of_counting(context, 1, SECONDS_BESIDE_COUNTING),
    compute=_compute,
    example=Example(
        "how much more likely does any income become?",
        "proposal-likeness",
        rule="proposal",
        parameters={"beta": 2, "top": 3},
    ),
    criteria=(BetaLikeness,),
    judges=_judged_by,
    reads=frozenset({"records", "matrix_and_prior"}),
    by_persons=COUNTS_PERSONS,
)
