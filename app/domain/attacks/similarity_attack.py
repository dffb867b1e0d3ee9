"""The similarity attack: classes whose sensitive values differ and mean nearly the same.

The belief that a person's value is in a set R, after j of the other values have been ruled out, is at most
n(R) / (n(R) + n(not R) − Σ of the j largest counts outside R). It never falls as R grows
(Machanavajjhala (2008), section 3.7).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Len, MaxLen, doc

from app.domain.arrays import Ints, Longs, firsts_of_greatest
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FAILING, FROM_ZERO, GAIN, LOW, LOW_AMOUNT, LOW_SHARE
from app.domain.classes.gains import Gains
from app.domain.classes.persons import ONE_ROW
from app.domain.classes.ratios import Quotients, as_written
from app.domain.classes.sensitive_counts import SensitiveCounts, sensitive_counts
from app.domain.classes.value_groups import TreeGroups, group_counts, groups_called, tree_groups
from app.domain.errors import InvalidInput, NotSupported
from app.domain.models.criterion import COUNTS_PERSONS
from app.domain.models.entry import Example, Measure, MeasureContext, Tick
from app.domain.models.gains_found import require_values
from app.domain.models.judged import ClassRef, JudgedOn, class_ref, judged_on
from app.domain.models.sensitive_values import (
    GroupingOfValues,
    SensitiveAttribute,
    SensitiveValues,
    cost_of_counting,
    sensitive_values,
)

SetsBy = Literal["hierarchy", "windows"]


@dataclass(frozen=True, eq=False)
class SetsInClasses:
    """Pairs of a class and a set of values that some of its records have.

    Attributes
    ----------
    of_class, first, last
        (P,) class of each pair, and its set: the values from ``first`` to ``last`` − 1.
    amounts
        (P,) records of the class with a value of the set, at least 1.
    groups
        (P,) number of the set among those that were asked for.
    """

    of_class: Longs
    first: Longs
    last: Longs
    amounts: Longs
    groups: Ints


def sets_of_tree(counts: SensitiveCounts, tree: TreeGroups) -> SetsInClasses:
    """Every group of a tree in every class that has records of it."""
    layers = [group_counts(counts, layer) for layer in tree.layers]
    none = np.zeros(0, dtype=np.int64)
    groups = np.concatenate([none, *(layer.groups for layer in layers)]).astype(np.int32)
    return SetsInClasses(
        np.concatenate([none, *(layer.of_class for layer in layers)]),
        tree.first[groups],
        tree.last[groups],
        np.concatenate([none, *(layer.amounts for layer in layers)]),
        groups,
    )


@dataclass(frozen=True, eq=False)
class Windows:
    """Ranges of numbers around each of the m values: those from ``first`` to ``last`` − 1 are in it."""

    first: Longs
    last: Longs
    widest_for: Longs
    """(m,) for each value the highest value whose window still begins at it or below."""


def windows_of(labels: Sequence[str], below: Fraction, above: Fraction) -> Windows | None:
    """The windows [x − below, x + above] around every value x; None unless the labels are rising numbers."""
    numbers = [_number(label) for label in labels]
    if any(number is None for number in numbers):
        return None
    exact = [Fraction(number) for number in numbers if number is not None]
    if any(a >= b for a, b in itertools.pairwise(exact)):
        return None
    first, last, widest = [], [], []
    start = stop = reach = 0
    for number in exact:
        while exact[start] < number - below:
            start += 1
        while stop < len(exact) and exact[stop] <= number + above:
            stop += 1
        while reach < len(exact) and exact[reach] - below <= number:
            reach += 1
        first.append(start)
        last.append(stop)
        widest.append(reach - 1)
    return Windows(*(np.array(own, dtype=np.int64) for own in (first, last, widest)))


def sets_of_windows(counts: SensitiveCounts, windows: Windows) -> SetsInClasses:
    """For every value of a class the highest window that it is in; no window tells more of the class.

    A window whose lowest value in the class is v holds no more of it than the highest window that begins at v
    or below.
    """
    groups = windows.widest_for[counts.values]
    first, last = windows.first[groups], windows.last[groups]
    running = np.concatenate(([0], np.cumsum(counts.counts)))
    keys = counts.of_entry * counts.n_values + counts.values
    from_, to = (np.searchsorted(keys, counts.of_entry * counts.n_values + edge) for edge in (first, last))
    return SetsInClasses(counts.of_entry, first, last, running[to] - running[from_], groups.astype(np.int32))


def removable(counts: SensitiveCounts, sets: SetsInClasses, negations: int) -> Longs:
    """(P,) the records of the ``negations`` most frequent values of each pair's class outside its set."""
    removed = np.zeros(len(sets.of_class), dtype=np.int64)
    if not negations:
        return removed
    order = np.lexsort((-counts.counts, counts.of_entry))
    taken = np.zeros(len(sets.of_class), dtype=np.int64)
    place, stop = counts.starts[sets.of_class].copy(), counts.starts[sets.of_class + 1]
    open_ = np.flatnonzero(place < stop)
    while len(open_):
        entry = order[place[open_]]
        value = counts.values[entry]
        outside = (value < sets.first[open_]) | (value >= sets.last[open_])
        removed[open_] += np.where(outside, counts.counts[entry], 0)
        taken[open_] += outside
        place[open_] += 1
        open_ = open_[(taken[open_] < negations) & (place[open_] < stop[open_])]
    return removed


def worst_beliefs(counts: SensitiveCounts, sets: SetsInClasses, negations: int) -> Quotients:
    """(P,) what an attacker who rules out so many values outside a set believes of it at most."""
    return Quotients(sets.amounts, counts.sizes[sets.of_class] - removable(counts, sets, negations))


def _number(label: str) -> Decimal | None:
    try:
        number = Decimal(label)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


@dataclass(frozen=True, kw_only=True)
class SimilarityParameters(GroupingOfValues):
    """Which values mean nearly the same, and what an attacker can rule out."""

    attribute: SensitiveAttribute = None
    sets: Annotated[
        SetsBy,
        doc(
            "Whether values are alike that have a group of the attribute's hierarchy in common (`hierarchy`) "
            "or that are near each other as numbers (`windows`)."
        ),
    ] = "hierarchy"
    groups: Annotated[
        tuple[Annotated[CellValue, MaxLen(500)], ...] | None,
        Len(1, 1000),
        doc(
            "Groups of the hierarchy that must not be told, by their labels; null: all that put at least two "
            "values together."
        ),
    ] = None
    below: Annotated[
        float, Ge(0), Le(1e12), doc("With windows: how far below a value others are near it, inclusive.")
    ] = 0.0
    above: Annotated[
        float, Ge(0), Le(1e12), doc("With windows: how far above a value others are near it, inclusive.")
    ] = 0.0
    negations: Annotated[
        int, Ge(0), Le(20), doc("Values outside a set that the attacker can rule out of a person.")
    ] = 0
    confidence: Annotated[
        float, Gt(0), Le(1), doc("Records are exposed if a set is believed with at least this.")
    ] = 0.9
    top: Annotated[int, Ge(1), Le(200), doc("Most classes to list.")] = 10


@dataclass(frozen=True)
class SetFound:
    """What one class tells of one set of values."""

    exposed: Annotated[ClassRef, doc("The class.")]
    group: Annotated[CellValue | None, doc("The group of the hierarchy; null for a window.")]
    lowest: Annotated[CellValue, doc("First value of the set in the hierarchy's order.")]
    highest: Annotated[CellValue, doc("Its last value.")]
    values: Annotated[int, doc("Values of the whole table in the set.")]
    with_value: Annotated[int, doc("Records, or persons, of the class with a value of the set.")]
    in_table: Annotated[float, doc("p(S): the set's share of the whole table.")]
    in_class: Annotated[float, doc("q(S): its share of the class.")]
    belief: Annotated[float, doc("The same after the negations that serve the attacker best.")]
    gain: Annotated[float, doc("(q(S) − p(S)) / p(S), before negations.")]


@dataclass(frozen=True)
class GroupLikeness:
    """β-likeness on groups of values beside that on single values."""

    beta_basic: Annotated[
        float, FROM_ZERO, GAIN, doc("Greatest relative gain on a group: never above that of single values.")
    ]
    beta_enhanced: Annotated[
        float,
        LOW_AMOUNT,
        doc("The same, infinite where some q(S) is above f(p(S)) for every β: single values do not say."),
    ]
    of_values: Annotated[float, GAIN, doc("Greatest relative gain on a single value.")]
    of_values_enhanced: Annotated[float, LOW, doc("The same, infinite where a single value breaks its cap.")]
    caps_broken: Annotated[int, LOW, doc("Pairs of a class and a group with a gain above −ln p(S).")]


@dataclass(frozen=True)
class SimilarityAttack:
    """Who is exposed although the values of a class differ."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    sets: Annotated[int, doc("Different sets of values that were looked at.")]
    worst_belief: Annotated[
        float | None, LOW_SHARE, doc("Greatest belief in a set; null if no record is in any.")
    ]
    classes_exposed: Annotated[int, FAILING, doc("Classes that tell a set with the confidence asked for.")]
    records_exposed: Annotated[int, FAILING, doc("Records in these classes.")]
    records_of_several_values: Annotated[
        int,
        LOW,
        doc("Of these the records of classes with at least two different values: diversity hides them not."),
    ]
    likeness: Annotated[GroupLikeness | None, doc("Gains on groups of the hierarchy; null for windows.")]
    worst: Annotated[
        tuple[SetFound, ...],
        doc("Exposed classes, each with the set that it tells best: greatest belief, then gain, first."),
    ]


def _persons_with(
    context: MeasureContext, parameters: SimilarityParameters, values: SensitiveValues, tree: TreeGroups
) -> tuple[SetsInClasses, Longs]:
    """Every group of a tree in every class of which persons have it, and (P,) who has it in the whole table.

    A person who has several values of a group has the group once, so that counts of values do not sum up.
    """
    n_nodes, parts, totals = values.hierarchy.n_nodes, [], []
    for layer in tree.layers:
        group_of = np.full(n_nodes + 1, -1, dtype=np.int32)
        group_of[values.counts.nodes] = layer
        shown, reference = (group_of[own] for own in context.release.values(parameters, values.name))
        found = sensitive_counts(values.classes, shown, reference, n_nodes, context.table.persons)
        groups = found.nodes[found.values]
        parts.append((found.of_entry, tree.first[groups], tree.last[groups], found.counts, groups))
        totals.append(found.totals[found.values])
    none = np.zeros(0, dtype=np.int64)
    of_class, first, last, amounts, groups = (
        np.concatenate([none, *(part[i] for part in parts)]) for i in range(5)
    )
    sets = SetsInClasses(of_class, first, last, amounts, groups.astype(np.int32))
    return sets, np.concatenate([none, *totals])


def _sets(
    context: MeasureContext, values: SensitiveValues, parameters: SimilarityParameters
) -> tuple[SetsInClasses, Longs, Longs | None, int]:
    """The sets in classes, and who has each in the whole table (P,).

    Then the node of each set asked for (None: windows), and how many sets there are.
    """
    counts, hierarchy = values.counts, values.hierarchy
    if parameters.sets == "windows":
        labels = [hierarchy.labels[node] for node in counts.nodes.tolist()]
        windows = windows_of(labels, as_written(parameters.below), as_written(parameters.above))
        if windows is None:
            raise NotSupported(
                f"The values of {values.name!r} that occur are not all numbers in rising order.",
                "Leave missing values out with missing_sensitive, or use the groups of the hierarchy.",
            )
        pairs = np.stack([windows.first, windows.last], axis=1)
        if counts.n_values > 1 and (windows.last - windows.first == counts.n_values).any():
            raise InvalidInput.of(
                "/measure/above",
                "window-too-wide",
                "A window holds all values that occur: whoever knows it knows nothing.",
                "Make below and above smaller.",
            )
        found = sets_of_windows(counts, windows)
        return found, _totals(counts, found), None, len(np.unique(pairs, axis=0))
    wanted = None
    if parameters.groups is not None:
        wanted = frozenset(groups_called(hierarchy, parameters.groups, "/measure/groups").tolist())
    tree = tree_groups(hierarchy, counts.nodes, wanted)
    nodes = tree.nodes.astype(np.int64)
    if counts.persons is not None:
        return *_persons_with(context, parameters, values, tree), nodes, len(nodes)
    found = sets_of_tree(counts, tree)
    return found, _totals(counts, found), nodes, len(nodes)


def _totals(counts: SensitiveCounts, sets: SetsInClasses) -> Longs:
    """(P,) records of the whole table with a value of each set."""
    up_to = np.concatenate(([0], np.cumsum(counts.totals)))
    return np.asarray(up_to[sets.last] - up_to[sets.first])


def _likeness(values: SensitiveValues, of_sets: Gains) -> GroupLikeness:
    of_values = Gains.of(values.counts)
    greatest, single = (max(0.0, float(found.relative.max(initial=0.0))) for found in (of_sets, of_values))
    broken = int(np.count_nonzero(of_sets.breaks_cap))
    return GroupLikeness(
        beta_basic=greatest,
        beta_enhanced=math.inf if broken else greatest,
        of_values=single,
        of_values_enhanced=math.inf if of_values.breaks_cap.any() else single,
        caps_broken=broken,
    )


def _compute(context: MeasureContext, parameters: SimilarityParameters, tick: Tick) -> SimilarityAttack:
    values = sensitive_values(context, parameters, parameters.attribute, "apart")
    require_values(values)
    counts = values.counts
    sets, totals, nodes, number = _sets(context, values, parameters)
    gains = Gains(sets.amounts, counts.sizes[sets.of_class], totals, counts.population)
    beliefs = worst_beliefs(counts, sets, parameters.negations)
    reaching = ~beliefs.below(as_written(parameters.confidence))
    exposed = np.zeros(counts.n_classes, dtype=bool)
    exposed[sets.of_class[reaching]] = True
    belief = beliefs.floats
    # The set that each class tells best, then the classes that tell most.
    best = firsts_of_greatest(sets.of_class, counts.n_classes, belief, gains.relative)
    best = best[reaching[best]]
    best = best[np.lexsort((-gains.relative[best], -belief[best]))][: parameters.top]
    tick(1)
    return SimilarityAttack(
        judged=judged_on(context.table, parameters, values.classes),
        attribute=values.name,
        sets=number,
        worst_belief=float(belief.max()) if len(belief) else None,
        classes_exposed=int(np.count_nonzero(exposed)),
        records_exposed=values.records_of(exposed),
        records_of_several_values=values.records_of(exposed & (counts.distinct > 1)),
        likeness=None if nodes is None else _likeness(values, gains),
        worst=tuple(_found(values, sets, nodes, gains, pair, belief[pair]) for pair in best.tolist()),
    )


def _supports(context: MeasureContext, parameters: SimilarityParameters) -> str | None:
    if context.table.persons is None or (parameters.sets == "hierarchy" and not parameters.negations):
        return None
    return (
        "Where a person may have several records, groups of the hierarchy are measured, and nothing is ruled "
        "out. Leave sets and negations out, or ask for it of a table with " + ONE_ROW + "."
    )


def _found(
    values: SensitiveValues, sets: SetsInClasses, nodes: Longs | None, gains: Gains, pair: int, belief: float
) -> SetFound:
    first, last = int(sets.first[pair]), int(sets.last[pair])
    group = None if nodes is None else values.hierarchy.labels[int(nodes[sets.groups[pair]])]
    return SetFound(
        exposed=class_ref(values.classes, int(sets.of_class[pair])),
        group=None if group is None else CellValue(group),
        lowest=values.label(first),
        highest=values.label(last - 1),
        values=last - first,
        with_value=int(sets.amounts[pair]),
        in_table=int(gains.totals[pair]) / gains.population,
        in_class=int(gains.amounts[pair]) / int(gains.sizes[pair]),
        belief=float(belief),
        gain=float(gains.relative[pair]),
    )


SIMILARITY_ATTACK: Final = Measure(
    name="similarity_attack",
    version=2,
    title="Similarity attack: different sensitive values that mean nearly the same",
    source="Machanavajjhala (2008), section 3.7; Li et al. (2007), section 3; Cao and Karras (2012)",
    guarantee="exact",
    parameters=SimilarityParameters,
    result=SimilarityAttack,
    cost=lambda context, own: cost_of_counting(context, 1),
    supports=_supports,
    compute=_compute,
    by_persons=COUNTS_PERSONS,
    example=Example(
        "who is known to earn little, whatever the exact income?",
        "proposal-similarity",
        rule="proposal",
        parameters={"groups": ["[0, 100000["], "confidence": 0.9, "top": 3},
    ),
)
