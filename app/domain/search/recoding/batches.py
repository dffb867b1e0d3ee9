"""Batches of moves between classes, undone as far as classes fail that passed before.

Where classes overlap, a class fails because of what moved from or to it or a class that it matches: if none
of these moved, it is as it was. So moves are undone there until no class fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from app.domain.distinct import Longs
from app.domain.search.recoding.cells import Bools
from app.domain.search.recoding.demands import NO_CLASS, Demands, Placed
from app.domain.search.recoding.losses import Indices


class Batch:
    """Moves of some records (r,) from their classes to the classes ``joined``.

    Parameters
    ----------
    amounts
        (d,) records of each distinct record.
    placed
        The records before the moves, in classes that pass.
    """

    def __init__(
        self, demands: Demands, amounts: Longs, rows: Indices, placed: Placed, joined: Longs
    ) -> None:
        at = placed.of
        self._placed = placed
        self._demands = demands
        self._rows = rows
        self._left = at[rows]
        self._joined = joined
        self._amounts = amounts
        self._is_left = np.zeros(placed.limit, dtype=bool)
        self._is_left[self._left] = True
        self._at = at.copy()
        if not demands.overlaps:
            touched = self._is_left.copy()
            touched[joined] = True
            # Classes that nobody leaves or joins are as they were: they pass.
            self._at = np.where(touched[at], at, NO_CLASS)
        self._at[rows] = joined

    def settled(self, *, excused: bool = False) -> Bools:
        """(r,) which moves can be made so that no class fails, but for the withheld one if it is excused."""
        ahead = self._records_ahead()
        returned = np.zeros(self._placed.limit, dtype=np.int64)
        moving = np.ones(len(self._rows), dtype=bool)
        while True:
            failing = self._demands.failing(replace(self._placed, of=self._at))
            if excused and self._placed.withheld != NO_CLASS:
                failing[self._placed.withheld] = False
            if not failing.any():
                return moving
            before = np.count_nonzero(moving)
            moving &= ~failing[self._joined]
            short = np.flatnonzero(self._like_before(failing) & self._is_left)
            returned[short] = np.maximum(2 * returned[short], self._missing(short))
            moving &= ahead >= returned[self._left]
            if np.count_nonzero(moving) == before:
                moving = self._without_all_like(failing, moving)
                if np.count_nonzero(moving) == before:
                    # Only a criterion that fails what it passed before gets here: nothing moves then.
                    return np.zeros_like(moving)
            self._at[self._rows] = np.where(moving, self._joined, self._left)

    def _without_all_like(self, failing: Bools, moving: Bools) -> Bools:
        """The moves but for all of those that can have made a class fail, where classes overlap."""
        if not self._demands.overlaps:
            return moving
        now = self._demands.likeness(replace(self._placed, of=self._at))
        return moving & ~self._like_before(failing)[self._left] & ~now(failing)[self._joined]

    @cached_property
    def _like_before(self) -> Callable[[Bools], Bools]:
        """Which classes were chosen ones before the moves or, where they overlap, matched these."""
        return self._demands.likeness(self._placed)

    def _missing(self, classes: Longs) -> Longs:
        """At least how many records have to return to each class."""
        placed = self._at >= 0
        sizes = np.bincount(self._at[placed], self._amounts[placed], self._placed.limit)[classes]
        return np.maximum(self._demands.usual - sizes.astype(np.int64), 1)

    def _records_ahead(self) -> Longs:
        """(r,) records that return to a class before each of those that left it: from large classes first."""
        placed = self._at >= 0
        sizes = np.bincount(self._at[placed], self._amounts[placed], self._placed.limit)
        order = np.lexsort((-sizes[self._joined], self._left))
        amounts = self._amounts[self._rows[order]]
        ahead = np.cumsum(amounts) - amounts
        starts = np.append(True, self._left[order][1:] != self._left[order][:-1])
        first = np.maximum.accumulate(np.where(starts, ahead, 0))
        found = np.empty(len(order), dtype=np.int64)
        found[order] = ahead - first
        return found
