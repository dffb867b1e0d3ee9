"""Least loss under privacy criteria on lattices that are too large to hold in memory.

A *conflict* is a rule that cannot avoid to suppress too many records: neither can any rule below it, hence an
allowed rule has a greater level than the conflict somewhere. Conflicts are grown to be as general as they can
be, which makes few of them exclude much. First a descent and exchanges of one attribute find a good rule.
Then boxes of levels are searched, the one of least bound first: the bound of a box is the loss of its most
specific rule, raised by the cheapest ways out of conflicts that share no attribute. The least bound of the
open boxes is a lower bound of the optimum whenever the search ends.
"""

from __future__ import annotations

import heapq
import math
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.search.anonymity.checks import ROUNDING, Checks
from app.domain.search.anonymity.class_sizes import Levels
from app.domain.search.anonymity.descent import Descent, with_level
from app.domain.search.anonymity.pair_classes import pair_bounds

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int16]
Mask = npt.NDArray[np.bool_]
Box = tuple[float, Levels, Levels]

MOST_STEPS: Final = 200_000
"""Boxes and checked rules after which a search ends of itself: no memory or patience lasts for ever."""


class BoxSearch:
    """One search; after :meth:`run` ``least_open`` is the least loss that is still open, ∞ if none is."""

    def __init__(self, checks: Checks) -> None:
        self.progress = self._checks = checks
        self._top = checks.table.heights
        self._terms = [checks.floors(j) for j in range(len(self._top))]
        widest = max(self._top) + 2
        # Beyond the top there is no way out: infinitely dear.
        self._costs = np.full((len(self._top), widest), math.inf)
        for j, terms in enumerate(self._terms):
            self._costs[j, : len(terms)] = terms
        self._descent = Descent(checks, self._goes_on)
        self._conflicts = self._descent.conflicts
        lowest = tuple(0 for _ in self._top)
        self._heap: list[Box] = [(self._base(lowest), lowest, self._top)]

    @property
    def least_open(self) -> float:
        """The least loss that a rule in an open box may have, ∞ if none can be taken any more."""
        if not self._heap or self._heap[0][0] > self._checks.limit:
            return math.inf
        return self._checks.loss.of_sum(self._heap[0][0])

    def take(self, levels: Levels) -> None:
        """Check one rule and take it as a candidate if it is allowed."""
        self.progress.take(levels)

    def run(self) -> None:
        """Find a good rule, then search boxes until none is open or the budget ends."""
        self._learn_pairs()
        bound, lo, hi = self._heap[0]
        self._heap[0] = (bound + _disjoint(*self._ways_out(lo, hi, self._conflicts.rows)), lo, hi)
        self._descent.run()
        while self._heap and self._heap[0][0] <= self._checks.limit and self._goes_on():
            self._open(heapq.heappop(self._heap))

    def _goes_on(self) -> bool:
        return self._checks.visited < MOST_STEPS and self._checks.goes_on(self._heap[0][0])

    def _base(self, levels: Levels) -> float:
        return math.fsum(terms[level] for terms, level in zip(self._terms, levels, strict=True))

    def _learn_pairs(self) -> None:
        judge = self._checks.judge
        if judge.overlaps:
            # Small classes of two attributes may be like others that lack a value.
            return
        for pair in pair_bounds(judge.classes, self._top, judge.k):
            # Pairs grow with the square of the attributes: who asks for an end does not wait for them all.
            if not self._goes_on():
                return
            refuted = pair.suppressed > judge.allowed - judge.left_out
            for level in range(len(refuted)):
                highest = int(np.count_nonzero(refuted[level])) - 1
                next_ = int(np.count_nonzero(refuted[level + 1])) - 1 if level + 1 < len(refuted) else -1
                if highest > next_:
                    conflict = list(self._top)
                    conflict[pair.first], conflict[pair.second] = level, highest
                    self._conflicts.add(tuple(conflict))

    def _open(self, box: Box) -> None:
        """Close a box, raise its bound, or put its parts in its place."""
        self._checks.visited += 1
        bound, lo, hi = box
        conflicts = self._conflicts.above(lo)
        if not len(conflicts):
            self._open_free(box)
            return
        ways_out, least = self._ways_out(lo, hi, conflicts)
        if not np.isfinite(least).all():
            return
        raised = self._base(lo) + _disjoint(ways_out, least)
        if raised > bound + ROUNDING:
            self._push(raised, lo, hi)
            return
        self._branch(box, conflicts[int(np.lexsort((ways_out.sum(axis=1), -least))[0])])

    def _ways_out(self, lo: Levels, hi: Levels, conflicts: Numbers) -> tuple[Mask, Floats]:
        """In which attributes a box can leave each conflict, and what that costs at least (∞: it cannot)."""
        columns = np.arange(len(lo))
        ways_out = conflicts < np.array(hi)
        costs = self._costs[columns, conflicts + 1] - self._costs[columns, np.array(lo)]
        return ways_out, np.where(ways_out, costs, math.inf).min(axis=1, initial=math.inf)

    def _branch(self, box: Box, conflict: Numbers) -> None:
        """Cut a box into those parts that leave a conflict by a first attribute, each rule in one part."""
        bound, lo, hi = box
        for j, level in enumerate(conflict.tolist()):
            if level < hi[j]:
                raised = with_level(lo, j, level + 1)
                self._push(max(bound, self._base(raised)), raised, hi)
                hi = with_level(hi, j, level)

    def _open_free(self, box: Box) -> None:
        """Check the most specific rule of a box that no conflict excludes."""
        bound, lo, hi = box
        if self._descent.is_conflict(lo):
            # Growing adds what it finds to the conflicts.
            self._grow(lo)
            self._push(bound, lo, hi)
            return
        if self._checks.loss.is_monotone and self._descent.suppressed.get(lo) == 0:
            # Nothing above it loses less, and what ties comes after it.
            return
        for j, level in enumerate(lo):
            if level < hi[j]:
                raised = with_level(lo, j, level + 1)
                self._push(max(bound, self._base(raised)), raised, hi)
                hi = with_level(hi, j, level)

    def _push(self, bound: float, lo: Levels, hi: Levels) -> None:
        if bound <= self._checks.limit:
            heapq.heappush(self._heap, (bound, lo, hi))

    def _grow(self, levels: Levels) -> None:
        """Find a conflict above this one in which nothing can be raised, having raised the cheapest first."""
        raised = np.array(levels) + 1
        columns = np.arange(len(levels))
        order = np.argsort(
            self._costs[columns, raised] - self._costs[columns, raised - 1], kind="stable"
        ).tolist()
        while order:
            free, count = 0, len(order)
            # The most attributes, from the cheapest on, that can be withheld altogether.
            while free < count:
                middle = (free + count + 1) // 2
                if not self._descent.is_conflict(self._withheld(levels, order[:middle])):
                    count = middle - 1
                else:
                    free = middle
            levels = self._withheld(levels, order[:free])
            if free == len(order):
                break
            j = order[free]
            for level in range(self._top[j] - 1, levels[j], -1):
                if self._descent.is_conflict(with_level(levels, j, level)):
                    levels = with_level(levels, j, level)
                    break
            order = order[free + 1 :]

    def _withheld(self, levels: Levels, attributes: list[int]) -> Levels:
        found = list(levels)
        for j in attributes:
            found[j] = self._top[j]
        return tuple(found)


def _disjoint(ways_out: Mask, least: Floats) -> float:
    """Sum of the least costs of conflicts that share no way out, the dearest first."""
    total = 0.0
    while len(least):
        dearest = int(least.argmax())
        total += float(least[dearest])
        apart = ~(ways_out & ways_out[dearest]).any(axis=1)
        ways_out, least = ways_out[apart], least[apart]
    return total
