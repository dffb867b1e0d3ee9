"""How many records of a class must go before the rest can be diverse: bounds for searches that suppress.

Whatever a class is split into, the parts that pass make a class that passes (Thms 3.3, 3.4), and it is what
is left of the class after the others went. Of all ways to take s records away, the most even rest is that of
lowering the greatest counts to one cap. So the greatest cap with which the rest passes says how many records
fail at least.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from app.domain.arrays import Bools, Longs
from app.domain.classes.diversity import ENTROPY_TOLERANCE, RankedCounts
from app.domain.classes.ratios import is_at_most, is_below

Passes = Callable[[Longs, Longs], Bools]
"""Whether the classes pass once their counts are lowered to caps ≥ 1, of which so many are above."""


class _Capped:
    """Some (G,) classes, the counts of which are lowered to a cap per class."""

    def __init__(self, ranks: RankedCounts, chosen: Bools) -> None:
        self.ranks = ranks
        self.classes = np.flatnonzero(chosen)
        self.base = int(ranks.ordered.max(initial=0)) + 1
        self._keys = ranks.of_entry * self.base + (self.base - 1 - ranks.ordered)

    def above(self, caps: Longs) -> Longs:
        """How many counts are above the cap."""
        places = np.searchsorted(self._keys, self.classes * self.base + (self.base - 1 - caps))
        return np.asarray(places - self.ranks.starts[:-1][self.classes])

    def first(self, ranks: Longs) -> Longs:
        """Sum of the first counts."""
        whole = np.zeros(self.ranks.n_classes, dtype=np.int64)
        whole[self.classes] = ranks
        return self.ranks.of_first(whole)[self.classes]

    def rest(self, ranks: Longs) -> Longs:
        """Sum of the counts but for the first."""
        return self.ranks.sizes[self.classes] - self.first(ranks)

    def removed(self, caps: Longs, more: int = 0) -> Longs:
        """(G,) how many records the caps take away from each of the classes, and so many more."""
        above, found = self.above(caps), np.zeros(self.ranks.n_classes, dtype=np.int64)
        found[self.classes] = self.first(above) - above * caps + more
        return found

    def greatest(self, passes: Passes) -> Longs:
        """The greatest cap that passes, 0 if none does; with a cap every lower one passes."""
        low, high = np.zeros_like(self.classes), self.ranks.first[self.classes]
        while (low < high).any():
            middle = (low + high + 1) // 2
            passing = passes(middle, self.above(middle))
            low, high = np.where(passing, middle, low), np.where(passing, high, middle - 1)
        return low


def removed_for_recursion(ranks: RankedCounts, failing: Bools, c: Fraction, ell: int) -> Longs:
    """(G,) least records of each failing class without which it can be recursively (c, ℓ)-diverse, ℓ ≥ 2."""
    capped = _Capped(ranks, failing)

    def passes(caps: Longs, above: Longs) -> Bools:
        tail = np.maximum(above - ell + 1, 0) * caps + capped.rest(np.maximum(above, ell - 1))
        return is_below(caps, c, tail)

    return capped.removed(capped.greatest(passes))


def removed_for_entropy(ranks: RankedCounts, failing: Bools, ell: float) -> Longs:
    """(G,) least records of each failing class without which its entropy can be ln ℓ."""
    capped = _Capped(ranks, failing)
    terms = np.zeros(len(ranks.ordered) + 1)
    np.cumsum(ranks.ordered * np.log(ranks.ordered), out=terms[1:])
    first, last = ranks.starts[:-1][capped.classes], ranks.starts[1:][capped.classes]
    # Sums of all classes lose digits against one class's: the bound stays one with as much room.
    least = math.log(ell) - ENTROPY_TOLERANCE - 1e-9 - 1e-15 * float(terms[-1])

    def passes(caps: Longs, above: Longs) -> Bools:
        size = above * caps + capped.rest(above)
        summed = above * caps * np.log(np.maximum(caps, 1)) + terms[last] - terms[first + above]
        return np.asarray(np.log(np.maximum(size, 1)) - summed / np.maximum(size, 1) >= least)

    greatest = capped.greatest(passes)
    # The most even rest may have a cap that is no whole number: below the next, which takes fewer records.
    return capped.removed(greatest + 1, more=1)


def removed_for_share(ranks: RankedCounts, failing: Bools, alpha: Fraction, others: Longs) -> Longs:
    """(G,) least records of each failing class without which no ranked value has more than the share α.

    ``others`` (G,) are the records with values that are not ranked.
    """
    capped = _Capped(ranks, failing)

    def passes(caps: Longs, above: Longs) -> Bools:
        return is_at_most(caps, alpha, above * caps + capped.rest(above) + others[capped.classes])

    return capped.removed(capped.greatest(passes))


def removed_for_disclosure(ranks: RankedCounts, failing: Bools, c: Fraction, right: Longs) -> Longs:
    """(G,) least records of each failing class without which it can be pd-recursively (c, ℓ)-diverse.

    ``ranks`` are of the values that may not be disclosed, ``right`` (G,) the other side of the condition, of
    which taking records away only leaves less.
    """
    capped = _Capped(ranks, failing)

    def passes(caps: Longs, above: Longs) -> Bools:
        return is_below(caps, c, right[capped.classes])

    return capped.removed(capped.greatest(passes))
