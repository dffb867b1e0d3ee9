"""Strict median cuts from the whole table on, as long as both halves pass (Cao and Karras (2012), section 6).

Classes are cut across the quasi-identifier that is widest in them, as a share of its domain, at the median;
where a half fails, across the next widest one. Of criteria whose classes pass together a cut that is
rejected stays rejected whatever is cut further: LMondrian, DMondrian and tMondrian are this search under
β-likeness, δ-disclosure privacy and t-closeness, Mondrian itself is it under k-anonymity.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.hierarchies.cell_formats import is_number
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.distinct import sort_with_positions

Passes = Callable[[Longs, int], Bools]
"""Which of so many classes pass, from the class (d,) of each distinct record, −1 for none."""


@dataclass(frozen=True, eq=False)
class Axis:
    """Where records are on one axis: numbers by their size, other values in the order of their leaves.

    The rank (n,) of each one's place among the ``places`` (r,) that occur, and the ends of the domain.
    """

    ranks: Longs
    places: Floats
    low: float
    high: float

    @classmethod
    def of(cls, hierarchy: Hierarchy, codes: Ints) -> Axis:
        """The places of nodes (n,) of a tree; a node that is no leaf is where its first leaf is."""
        labels = [hierarchy.labels[leaf] for leaf in hierarchy.leaves.tolist()]
        by_leaf = np.arange(len(labels), dtype=np.float64)
        if all(map(is_number, labels)):
            by_leaf = np.array(labels, dtype=np.float64)
        used = np.flatnonzero(np.bincount(codes, minlength=hierarchy.n_nodes))
        places, of_used = np.unique(by_leaf[hierarchy.leaf_lo[used]], return_inverse=True)
        ranks = np.zeros(hierarchy.n_nodes, dtype=np.int64)
        ranks[used] = of_used.reshape(-1)
        return cls(ranks[codes], places, float(by_leaf.min()), float(by_leaf.max()))

    @property
    def span(self) -> float:
        """How wide the domain is, 1 if it has one place."""
        return (self.high - self.low) or 1.0

    @property
    def relative(self) -> Floats:
        """(r,) the places as shares of the way from one end of the domain to the other."""
        return (self.places - self.low) / self.span


def median_cuts(
    axes: Sequence[Axis], amounts: Longs, passes: Passes, tick: Callable[[int], None] = lambda _: None
) -> Longs:
    """(d,) class of each distinct record, left halves first; ``tick`` takes how many there are so far.

    ``amounts`` (d,) are records of each distinct one. All together have to pass.
    """
    ranks = np.stack([axis.ranks for axis in axes]).astype(np.int32)
    found = np.zeros(len(amounts), dtype=np.int64)
    n_classes, open_ = 1, np.ones(1, dtype=bool)
    while open_.any():
        tick(n_classes)
        number = np.where(open_, np.cumsum(open_) - 1, -1)[found]
        rows = np.flatnonzero(number >= 0)
        number, order = sort_with_positions(number[rows], int(np.count_nonzero(open_)))
        is_right = _cut(axes, ranks, amounts, rows[order], number, passes)
        is_cut = np.zeros(n_classes, dtype=bool)
        is_cut[found[is_right]] = True
        before = np.cumsum(1 + is_cut) - (1 + is_cut)
        open_ = np.repeat(is_cut, 1 + is_cut)
        found = before[found] + is_right
        n_classes = len(open_)
    return found


def _cut(
    axes: Sequence[Axis], ranks: Ints, amounts: Longs, rows: Longs, number: Longs, passes: Passes
) -> Bools:
    """(d,) the distinct records that go to the right halves of their classes, ``number`` of ``rows``."""
    starts = np.searchsorted(number, np.arange(int(number[-1]) + 1))
    shown = ranks[:, rows]
    low, high = np.minimum.reduceat(shown, starts, axis=1), np.maximum.reduceat(shown, starts, axis=1)
    ends = zip(axes, low, high, strict=True)
    widths = np.stack([(own.places[b] - own.places[a]) / own.span for own, a, b in ends])
    turns = np.argsort(-widths, axis=0, kind="stable")
    is_right = np.zeros(len(amounts), dtype=bool)
    undecided = np.ones(len(starts), dtype=bool)
    for turn in turns:
        undecided &= np.take_along_axis(widths, turn[None], axis=0)[0] > 0
        classes = np.flatnonzero(undecided)
        if not len(classes):
            break
        inside = np.flatnonzero(undecided[number])
        at = (np.cumsum(undecided) - 1)[number[inside]]
        values, taken = shown[turn[number[inside]], inside], rows[inside]
        within = low[turn[classes], classes], high[turn[classes], classes]
        beyond = values > _medians(values, amounts[taken], at, *within)[at]
        halves = np.full(len(amounts), -1, dtype=np.int64)
        halves[taken] = 2 * at + beyond
        both = passes(halves, 2 * len(classes)).reshape(-1, 2).all(axis=1)
        is_right[taken] = both[at] & beyond
        undecided[classes[both]] = False
    return is_right


def _medians(values: Ints, amounts: Longs, number: Longs, low: Ints, high: Ints) -> Ints:
    """(c,) the last value of each class's left half: its lower median, or less if that is the greatest."""
    starts = np.searchsorted(number, np.arange(len(low)))
    half = (np.add.reduceat(amounts, starts) + 1) // 2
    greatest = high
    while (low < high).any():
        middle = (low + high) // 2
        reached = np.add.reduceat(np.where(values <= middle[number], amounts, 0), starts) >= half
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    return np.minimum(low, greatest - 1)
