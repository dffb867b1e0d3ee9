"""Lower bounds of every recoding from what each record costs, alone or with those whom its class needs.

*Alone*, each record is disclosed as cheaply as it could be. Who shares a class shares all its nodes, so a
class lies among the records under its nodes. A criterion that stays met when records join a class
(``fewer_fail``) and fails of all records under some nodes therefore fails of every class disclosed as these
nodes, in whatever recoding. So each record costs at least what the cheapest nodes above it do under which the
records meet all such criteria. Suppressed, it costs what ⊥ costs everywhere, which no nodes exceed; and if
not even all records together meet the criteria, all are suppressed. That records under the nodes may be
needed elsewhere is ignored, which is why this is a bound and not the optimum.

Of disjoint groups of attributes each adds its own bound, for the records under nodes of all attributes are
under those of a group. Fewer groups bound better and take more work.

*Prices* of records are such that no class of any recoding costs less. Let c_r(v) ≥ 0 be what record r costs
disclosed as nodes v above it, a number that never falls when nodes rise; let every class of a recoding that
is not suppressed have k records or more.

*Theorem.* Let π_r ≤ c_r(⊥) be such that for all nodes v on which a class may be, with k records or more
under them, the k greatest π_r − c_r(v) of records under v add up to 0 or less. Then no recoding costs less
than Σ_r π_r.

*Proof.* A suppressed record costs c_r(⊥) ≥ π_r. Any other is in a class C of k records or more that are
disclosed as the same v, all of them under v. Let e_1 ≥ e_2 ≥ … be the π_r − c_r(v) of its members. The first
k add up to no more than the k greatest under v, hence to 0 or less, so that e_k ≤ 0 and with it all that
follow. Thus Σ_C π_r ≤ Σ_C c_r(v), and classes and suppressed records are all records. ∎

These are prices of the linear programme that covers each record by exactly one class. With no π_r − c_r(v)
above 0 each record pays its cheapest nodes alone (as above); here it pays for others, too, who are needed
under these nodes and have cheaper ones of their own.

A class is on v only if all records under v together meet what is necessary (``ClassCriteria.necessary``):
such criteria fail of every part of records of which they fail. Records that have to be suppressed for a
missing value cost c_r(⊥) in every recoding and are in no class.

*How prices are found.* All begin at c_r(⊥). Nodes v are looked at once each, cheap levels first. Where the k
greatest add up to more than 0, all under v are cut to the greatest t with Σ min(π_r − c_r(v), t) = 0 over
those k. Prices only fall, so what holds of nodes seen before goes on to hold. Without a cut (t → ∞) the sum
is above 0 and with t = 0 it is not, hence t ≥ 0: no price ends below what its record costs alone.

Costs of some attributes are bounded likewise, and disjoint groups of attributes add up, for a class lies
under its nodes of each group.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Indices, Levels, Longs
from app.domain.models.judging import JudgedRecords
from app.domain.models.suppression import failing_any
from app.domain.search.local_recoding.cells import MOST_KEPT, Cells, Pairs, Side
from app.domain.search.local_recoding.class_criteria import NO_CLASS, ClassCriteria, numbered
from app.domain.tables.distinct import one_of_each

GoesOn = Callable[[], bool]

NEGLIGIBLE: Final = 1e-13
"""Prices that are above a cost by a smaller share count as equal to it: less than bounds are lowered by."""
SLOTS: Final = 2**16 - 1
"""Groups are marked by these bits of their keys: who shares them by chance is looked at for nothing."""


def cheapest_alone(
    cells: Cells, criteria: ClassCriteria, attributes: Sequence[int], weights: Floats, goes_on: GoesOn
) -> Floats:
    """What the cells of some attributes of each record cost more than as they are, at least.

    Parameters
    ----------
    attributes
        Numbers a of the quasi-identifiers of one group.
    weights
        (w, a) ≥ 0: what the attributes' costs count, each row for a bound of its own.
    goes_on
        Once it says no, nothing is bounded: the answer is 0.

    Returns
    -------
    (w, d) lower bounds per distinct record, up to rounding.
    """
    middle = len(attributes) // 2
    left = Side(cells, attributes[:middle], weights[:, :middle])
    right = Side(cells, attributes[middle:], weights[:, middle:])
    # If no nodes will do, the record is suppressed.
    least = left.costs(left.top)[:, left.of] + right.costs(right.top)[:, right.of]
    # The cheap ones first: they leave less to find for the others.
    for levels in sorted(left.rules(), key=lambda own: float(left.costs(own).sum())):
        if not goes_on():
            return np.zeros((len(weights), cells.size))
        paid = left.costs(levels)[:, left.of]
        cheaper = np.flatnonzero((paid < least).any(axis=0))
        if len(cheaper):
            pairs = Pairs(cells, criteria, (left, levels), right)
            found = _cheapest(pairs, right, cheaper)[:, pairs.of[cheaper]]
            least[:, cheaper] = np.minimum(least[:, cheaper], paid[:, cheaper] + found)
    return np.asarray(least)


def _cheapest(pairs: Pairs, right: Side, records: Longs) -> Floats:
    """(w, p) what the right side costs at least at levels where the records meet what is necessary.

    Only for the pairs of the given distinct records; ∞ for others.
    """
    asked = np.zeros(pairs.size, dtype=bool)
    asked[pairs.of[records]] = True
    least = np.full((right.n_weights, pairs.size), math.inf)
    enough: list[Levels] = []
    for levels in right.rules():
        if any(all(a <= b for a, b in zip(own, levels, strict=True)) for own in enough):
            # All asked meet the criteria at more specific levels, which cost no more.
            continue
        of, n_groups = pairs.groups(levels)
        fits = pairs.fit(of, n_groups)[of]
        rows = np.flatnonzero(fits & asked)
        least[:, rows] = np.minimum(least[:, rows], right.costs(levels)[:, pairs.right[rows]])
        if not (asked & ~fits).any():
            enough.append(levels)
    return least


def record_prices(
    cells: Cells,
    criteria: ClassCriteria,
    attributes: Sequence[int],
    weights: Floats,
    goes_on: GoesOn,
    logarithms: Floats | None = None,
) -> Floats:
    """Prices of what the cells of some attributes cost more than as they are.

    Parameters
    ----------
    attributes
        Numbers a of the quasi-identifiers of one group.
    weights
        (a,) ≥ 0: what the attributes' costs count.
    goes_on
        Once it says no, nothing is bounded: the answer is 0.
    logarithms
        (d,) If given, a record costs the exponential of its weighted costs and this.

    Returns
    -------
    (d,) prices of the distinct records, up to rounding.
    """
    middle = len(attributes) // 2
    left = Side(cells, attributes[:middle], weights[None, :middle])
    right = Side(cells, attributes[middle:], weights[None, middle:])
    return _Prices(cells, criteria, (left, right), logarithms).found(goes_on)


class _Prices:
    """Prices of records that cost alike, cut by the nodes of one level vector after another."""

    def __init__(
        self, cells: Cells, criteria: ClassCriteria, sides: tuple[Side, Side], logarithms: Floats | None
    ) -> None:
        left, right = sides
        pairs, size = np.arange(cells.size), cells.size
        if logarithms is None:
            pairs, size = numbered(left.of * right.size + right.of, left.size * right.size)
        # Records that have to be suppressed come last, in no class.
        kept = ~criteria.left_out
        self._of, self._size = numbered(np.where(kept, pairs, size + pairs), 2 * size)
        first = one_of_each(self._of, self._size)
        self._n_priced = len(np.unique(self._of[kept]))
        self._amounts = np.bincount(self._of, cells.amounts, self._size).astype(np.int64)[: self._n_priced]
        self._logarithms = None if logarithms is None else logarithms[first]
        self._left, self._right = (_Half(side, first) for side in sides)
        self._least = criteria.least
        self._prices = self._costs(left.top, right.top)
        self._necessary = [own for own in criteria.necessary if own.least_class_size is None]
        groups_of_rows = self._of[cells.table.reduced.inverse].astype(np.int32)
        self._records = JudgedRecords(cells.table, groups_of_rows, version=criteria.version)

    def found(self, goes_on: GoesOn) -> Floats:
        """(d,) the prices once all levels have cut them."""
        theirs = self._right.by_costs(self._amounts)
        pairs = [(a + b, one, other) for a, one in self._left.by_costs(self._amounts) for b, other in theirs]
        for place, (_, one, other) in enumerate(sorted(pairs)):
            if place % len(theirs) == 0 and not goes_on():
                return np.zeros(len(self._of))
            self._cut(one, other)
        return self._prices[self._of]

    def _costs(self, one: Levels, other: Levels) -> Floats:
        found = self._left.costs(one) + self._right.costs(other)
        return found if self._logarithms is None else np.asarray(np.exp(found + self._logarithms))

    def _cut(self, one: Levels, other: Levels) -> None:
        """Cut the prices of whoever the nodes of a level vector cost too little for."""
        prices = self._prices[: self._n_priced]
        excess = prices - self._costs(one, other)[: self._n_priced]
        dear = np.flatnonzero(excess > NEGLIGIBLE * prices)
        if not len(dear):
            return
        (ours, _), (theirs, n_theirs) = self._left.groups(one), self._right.groups(other)
        keys = ours[: self._n_priced] * n_theirs + theirs[: self._n_priced]
        slots = keys & SLOTS
        marked = np.zeros(SLOTS + 1, dtype=bool)
        marked[slots[dear]] = True
        rows = np.flatnonzero(marked[slots])
        rows = rows[np.lexsort((-excess[rows], keys[rows]))]
        ranked = _Ranked(keys[rows], excess[rows], self._amounts[rows], self._least)
        groups = ranked.above
        if self._necessary and len(groups):
            groups = groups[self._may_be_classes([rows[ranked.part(group)] for group in groups.tolist()])]
        for part, cut in ranked.cuts(groups):
            own = rows[part]
            prices[own] -= np.maximum(excess[own] - cut, 0.0)

    def _may_be_classes(self, groups: Sequence[Indices]) -> Bools:
        """Whether all records of each group together meet what is necessary."""
        of = np.full(self._size, NO_CLASS, dtype=np.int64)
        for number, rows in enumerate(groups):
            of[rows] = number
        judged = self._records.judged(of, len(groups))
        return np.asarray(~failing_any(judged, self._necessary))


class _Half:
    """A side's costs and groups of some of its distinct records (r,)."""

    def __init__(self, side: Side, records: Indices) -> None:
        self._side = side
        self._of = side.of[records]
        self._kept: dict[Levels, tuple[Floats, tuple[Longs, int]]] = {}

    def by_costs(self, amounts: Longs) -> list[tuple[float, Levels]]:
        """All levels, with what so many of the first records cost at them."""
        weights = amounts.astype(np.float64)
        return [(float(self.costs(own)[: len(weights)] @ weights), own) for own in self._side.rules()]

    def costs(self, levels: Levels) -> Floats:
        """(r,) what the records cost more at the levels than as they are."""
        return self._at(levels)[0]

    def groups(self, levels: Levels) -> tuple[Longs, int]:
        """(r,) number of what each record becomes, and how many numbers there are."""
        return self._at(levels)[1]

    def _at(self, levels: Levels) -> tuple[Floats, tuple[Longs, int]]:
        known = self._kept.get(levels)
        if known is None:
            groups, size = self._side.groups(levels)
            known = self._side.costs(levels)[0, self._of], (groups[self._of], size)
            if (len(self._kept) + 1) * len(self._of) <= MOST_KEPT // 2:
                self._kept[levels] = known
        return known


class _Ranked:
    """Rows in groups of ascending keys, those of the greatest excess first.

    Attributes
    ----------
    above
        Groups of ``least`` records or more of which the greatest so many excesses add up to more than 0.
    """

    def __init__(self, keys: Longs, excess: Floats, amounts: Longs, least: int) -> None:
        starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        self._bounds = np.append(starts, len(keys))
        self._excess = excess
        records = np.append(0, np.cumsum(amounts))
        ahead = records[:-1] - np.repeat(records[starts], np.diff(self._bounds))
        # How many records of each row are among the greatest of its group.
        self._counted = np.clip(least - ahead, 0, amounts)
        sums = np.add.reduceat(self._counted * excess, starts)
        self.above: Longs = np.flatnonzero((sums > 0) & (np.diff(records[self._bounds]) >= least))

    def part(self, group: int) -> slice:
        """Where the rows of a group are."""
        return slice(self._bounds[group], self._bounds[group + 1])

    def cuts(self, groups: Longs) -> Iterator[tuple[slice, float]]:
        """Where the rows of each group are, and what excess they may have at most."""
        for group in groups.tolist():
            part = self.part(group)
            last = int(np.count_nonzero(self._counted[part]))
            excess, counted = self._excess[part][:last], self._counted[part][:last]
            # If the first rows are cut to one excess, it has to balance those after them.
            after = np.append((excess * counted)[:0:-1].cumsum()[::-1], 0.0)
            level = -after / counted.cumsum()
            next_excess = np.append(excess[1:], 0.0)
            yield part, max(0.0, float(level[np.argmax(level >= next_excess)]))
