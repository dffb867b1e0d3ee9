"""Values that mean nearly the same: what a class tells of such sets (Machanavajjhala (2008), section 3.7).

The belief that a person's value is in a set R, after j of the other values have been ruled out, is at most
n(R) / (n(R) + n(not R) − Σ of the j largest counts outside R). It never falls as R grows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.classes.ratios import Quotients
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.classes.value_groups import TreeGroups, group_counts


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
    order = np.lexsort((-counts.counts, counts.of_entry))
    removed = np.zeros(len(sets.of_class), dtype=np.int64)
    taken = np.zeros(len(sets.of_class), dtype=np.int64)
    place, stop = counts.starts[sets.of_class].copy(), counts.starts[sets.of_class + 1]
    open_ = np.flatnonzero((place < stop) & (negations > 0))
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
