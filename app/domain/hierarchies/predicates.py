"""Predicates of COUNT queries: a set of values of an attribute, or an interval of an order that it has.

A node of the hierarchy fulfils a predicate by the share of its leaves that do, as if what it may stand for
were evenly spread over them (Cao and Karras (2012), section 6.2). Intervals include both ends. Numbers are
compared by value and exactly; a date lies in an interval if all of the time, day, month, quarter or year that
it writes does, and a bound of a month is its first day below and its last day above.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.errors import Fault, InvalidInput
from app.domain.hierarchies.cell_formats import is_number
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.hierarchies.periods import period_of

Bound = int | float | str
"""An end of an interval: a number, a date, or a value of an attribute whose values are listed in an order."""

Order = Literal["number", "date", "listed"]
"""By what the leaves of an attribute are ordered: value, calendar, or their place in the hierarchy."""

OUTSIDE: Final = -1
"""The place of a leaf that has none in the order: it lies in no interval."""

FAULTS_SHOWN: Final = 50
"""So many are told of a request, however many values it has."""

_Key = int | Decimal

_WRONG_BOUNDS: Final = {
    "number": ("not-a-number", "A bound of numbers is no number.", "Write it like 1200 or 0.5."),
    "date": (
        "not-a-date",
        "A bound of dates is no date.",
        "Write days 1975-05-10, months 1975-05, quarters 1975-Q2, years 1975, as texts.",
    ),
    "listed": (
        "unknown-value",
        "A bound is none of the values in their order.",
        "Name the first and the last value, leaves of the hierarchy, as texts.",
    ),
}
_KNOWN_VALUES: Final = "Name values of the hierarchy, leaves or what stands above them."


@dataclass(frozen=True)
class Predicate:
    """What is asked of one attribute: ``values``, or an interval from ``low`` to ``high``, both included.

    Values are leaves or inner nodes of the hierarchy by their labels. Of an interval one end may be left out.
    """

    attribute: str
    values: tuple[str, ...] | None = None
    low: Bound | None = None
    high: Bound | None = None

    @property
    def is_interval(self) -> bool:
        """Whether an end is given."""
        return self.low is not None or self.high is not None


@dataclass(frozen=True, eq=False)
class Selection:
    """A predicate that was read: nodes, or the places in the order from ``first`` to before ``after``."""

    nodes: Ints | None
    first: int = 0
    after: int = 0


class AskedAttribute:
    """An attribute that queries have predicates on.

    Parameters
    ----------
    name, hierarchy
        The attribute.
    order
        None if no interval can be asked for.
    top_is_missing
        Whether ⊥ is known to be a missing value, which fulfils no predicate. Otherwise it may be any value.
    """

    def __init__(self, name: str, hierarchy: Hierarchy, order: Order | None, *, top_is_missing: bool) -> None:
        self.name, self._hierarchy, self._order = name, hierarchy, order
        self._top_is_missing = top_is_missing and hierarchy.n_nodes > 1

    @property
    def numbers_per_query(self) -> int:
        """How many numbers are made for each selection whose shares are asked for."""
        h = self._hierarchy
        return h.n_nodes + h.n_leaves if h.is_tree else len(h.leaf_ancestors[0])

    def read(self, predicate: Predicate, pointer: str) -> Selection:
        """What the predicate selects; InvalidInput, below the pointer, with the first that it cannot mean."""
        if predicate.is_interval == (predicate.values is not None):
            raise InvalidInput.of(
                pointer,
                "values-or-interval",
                f"The predicate on {self.name!r} has "
                + ("both values and an interval." if predicate.is_interval else "no values and no interval."),
                "Give values, or an interval by low, high or both.",
            )
        if predicate.values is None:
            return self._interval(predicate, pointer)
        faults, nodes = [], set()
        for i, value in enumerate(predicate.values):
            node = self._node_of(value)
            if isinstance(node, str):
                faults.append(Fault(f"{pointer}/values/{i}", "unknown-value", node, _KNOWN_VALUES))
                if len(faults) == FAULTS_SHOWN:
                    break
            else:
                nodes.add(node)
        if faults or not nodes:
            raise InvalidInput(faults or [Fault(f"{pointer}/values", "empty", "The set of values is empty.")])
        return Selection(np.array(sorted(nodes), dtype=np.int32))

    def is_one_value(self, shares: Floats) -> bool:
        """Whether what is asked for by these shares (nodes,) is a single leaf."""
        return bool(np.count_nonzero(shares[self._hierarchy.leaves]) == 1)

    def shares(self, selections: Sequence[Selection]) -> Floats:
        """(selections, nodes) the share of the leaves below each node that are selected."""
        h, selected = self._hierarchy, self._leaves(selections)
        if h.is_tree:
            before = np.zeros((len(selected), h.n_leaves + 1), dtype=np.int32)
            np.cumsum(selected, axis=1, out=before[:, 1:])
            found = (before.take(h.leaf_hi, axis=1) - before.take(h.leaf_lo, axis=1)) / h.leaf_count
        else:
            leaves, nodes = h.leaf_ancestors
            below = [np.bincount(nodes[own[leaves]], minlength=h.n_nodes) for own in selected]
            found = np.array(below) / h.leaf_count
        if self._top_is_missing:
            found[:, TOP] = 0.0
        return np.asarray(found)

    def _leaves(self, selections: Sequence[Selection]) -> Bools:
        """(selections, leaves) which are selected."""
        selected: Bools = np.zeros((len(selections), self._hierarchy.n_leaves), dtype=bool)
        intervals = [i for i, own in enumerate(selections) if own.nodes is None]
        if intervals:
            first, after = np.array([(selections[i].first, selections[i].after) for i in intervals]).T
            ordered = self._ordered
            begin_inside = np.greater_equal.outer(ordered.first_of, first)
            selected[intervals] = (begin_inside & np.less.outer(ordered.last_of, after)).T
        for i, own in enumerate(selections):
            if own.nodes is not None:
                selected[i] = self._below(own.nodes)
        return selected

    def _below(self, nodes: Ints) -> Bools:
        """(leaves,) which are below some of the nodes, in a tree in time and memory of no more than both."""
        h = self._hierarchy
        if h.is_tree:
            steps = np.bincount(h.leaf_lo[nodes], minlength=h.n_leaves + 1)
            steps -= np.bincount(h.leaf_hi[nodes], minlength=h.n_leaves + 1)
            return np.asarray(steps[:-1].cumsum() > 0)
        found: Bools = np.zeros(h.n_leaves, dtype=bool)
        found[h.leaves_below(nodes)[1]] = True
        return found

    def _node_of(self, label: str) -> int | str:
        """The node of a label: a leaf, else the highest of those below one another; else what is wrong."""
        node = self._hierarchy.node_of(label)
        if node is not None:
            return node
        several = self._inner.get(label, [])
        if several and all(self._hierarchy.is_above(several[0], other) for other in several[1:]):
            return several[0]
        if several:
            return f"Several values in the hierarchy of {self.name!r} are called {label!r}."
        return f"The hierarchy of {self.name!r} has no value {label!r}."

    @cached_property
    def _inner(self) -> Mapping[str, list[int]]:
        """Inner nodes by label, ascending."""
        found: dict[str, list[int]] = {}
        for node in np.flatnonzero(~self._hierarchy.is_leaf).tolist():
            found.setdefault(self._hierarchy.labels[node], []).append(node)
        return found

    def _interval(self, predicate: Predicate, pointer: str) -> Selection:
        if self._order is None or not self._ordered.firsts:
            raise InvalidInput.of(
                f"{pointer}/{'high' if predicate.low is None else 'low'}",
                "without-order",
                f"The values of {self.name!r} have no order in which there could be an interval.",
                "Name values. Intervals are for numbers, dates, and attributes whose hierarchy was made of "
                "groups in an order.",
            )
        low = None if predicate.low is None else self._place(predicate.low, f"{pointer}/low")[0]
        high = None if predicate.high is None else self._place(predicate.high, f"{pointer}/high")[1]
        if low is not None and high is not None and low > high:
            raise InvalidInput.of(
                f"{pointer}/low",
                "empty-interval",
                f"The interval of {self.name!r} ends before it begins.",
                "low must be at most high; both are included.",
            )
        ordered = self._ordered
        return Selection(
            None,
            0 if low is None else bisect_left(ordered.firsts, low),
            len(ordered.lasts) if high is None else bisect_right(ordered.lasts, high),
        )

    def _place(self, bound: Bound, pointer: str) -> tuple[_Key, _Key]:
        """The least and the greatest that a bound stands for."""
        found = self._keys_of(bound)
        if found is None:
            raise InvalidInput.of(pointer, *_WRONG_BOUNDS[self._order or "listed"])
        return found

    def _keys_of(self, written: Bound) -> tuple[_Key, _Key] | None:
        """Where a value begins and ends in the order; None if it has no place there."""
        if self._order == "number":
            number = written if isinstance(written, int) else _number(str(written).strip())
            return None if number is None else (number, number)
        if not isinstance(written, str):
            return None
        if self._order == "date":
            period = period_of(written)
            return None if period is None else period.span
        node = self._hierarchy.node_of(written)
        if node is None or not self._hierarchy.is_leaf[node]:
            return None
        place = int(np.searchsorted(self._hierarchy.leaves, node))
        return place, place

    @cached_property
    def _ordered(self) -> _Ordered:
        """The leaves in their order; an attribute without one has none."""
        if self._order == "listed":
            places = np.arange(self._hierarchy.n_leaves)
            return _Ordered(range(len(places)), range(len(places)), places, places)
        keys = [self._keys_of(self._hierarchy.labels[node]) for node in self._hierarchy.leaves.tolist()]
        firsts, lasts = (sorted({own[side] for own in keys if own is not None}) for side in (0, 1))
        return _Ordered(firsts, lasts, _places(keys, firsts, 0), _places(keys, lasts, 1))


@dataclass(frozen=True, eq=False)
class _Ordered:
    """Where leaves begin and end: the distinct keys, ascending, and per leaf its places among them."""

    firsts: Sequence[_Key]
    lasts: Sequence[_Key]
    first_of: Longs
    last_of: Longs


def _number(text: str) -> int | Decimal | None:
    """The number that a text writes, exactly; None if it is none."""
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    return Decimal(text) if is_number(text) else None


def _places(keys: Sequence[tuple[_Key, _Key] | None], ordered: Sequence[_Key], side: int) -> Longs:
    place = {key: i for i, key in enumerate(ordered)}
    return np.array([OUTSIDE if own is None else place[own[side]] for own in keys], dtype=np.int64)
