"""A recoding of single records, changed by batches of moves that leave every criterion met.

A batch gives records other steps. What it would break is undone: records return from classes that fail, and
to classes that too many have left, until nothing fails. Criteria need no property for that, since the
recoding before the batch met them. Records that are withheld altogether need not meet any while they are no
more than allowed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from app.domain.distinct import Ints, Longs
from app.domain.hierarchies import TOP
from app.domain.search.recoding.cells import Bools, Cells, Steps
from app.domain.search.recoding.demands import NO_CLASS, Demands, dense

Indices = npt.NDArray[np.intp]


class Recoding:
    """The steps of every distinct record, and the classes that they make.

    Attributes
    ----------
    steps, codes
        (d, q) steps up and disclosed nodes.
    of, n_classes
        (d,) class of each distinct record, withheld ones included.
    movable
        (d,) records that may be given other steps; the others stay withheld.
    """

    def __init__(self, cells: Cells, demands: Demands, steps: Steps) -> None:
        self.cells = cells
        self.demands = demands
        self.movable = ~demands.left_out
        self.steps: Steps = np.array(steps, dtype=np.int16, order="F")
        self.steps[demands.left_out] = cells.most[demands.left_out]
        self.codes: Ints = cells.codes(self.steps)
        found, self.n_classes = cells.classes(self.codes)
        self.of: Longs = found.astype(np.int64)

    @property
    def loss(self) -> float:
        return self.cells.loss_of(self.steps)

    @property
    def withheld_records(self) -> int:
        return int(self.cells.amounts[self.cells.is_withheld(self.steps)].sum())

    @property
    def is_valid(self) -> bool:
        """Whether every criterion is met and no more records are withheld than allowed."""
        withheld = withheld_class(self.codes, self.of)
        return (
            self.withheld_records <= self.demands.allowed
            and not self.demands.failing(self.of, self.n_classes, withheld).any()
            and self.demands.met_together(self.of, self.n_classes, withheld)
        )

    def move(self, rows: Indices, target: Steps) -> Indices:
        """Give records other steps (r, q), as far as all criteria stay met; those that were given them.

        What is given withholds nobody: targets that are ⊥ altogether are left out.
        """
        shown = self.cells.codes(target, rows)
        discloses = (shown != TOP).any(axis=1) & self.movable[rows]
        rows, target, shown = rows[discloses], target[discloses], shown[discloses]
        if not len(rows):
            return rows
        both = np.concatenate([self.codes, shown])
        numbers = self.cells.classes(both)[0].astype(np.int64)
        limit, withheld = int(numbers.max()) + 1, withheld_class(both, numbers)
        at, joined = numbers[: len(self.of)], numbers[len(self.of) :]
        moved = _Batch(self, rows, at, joined, limit, withheld).settled()
        at[rows[moved]] = joined[moved]
        if not moved.any() or not self.demands.met_together(at, limit, withheld):
            return rows[:0]
        rows = rows[moved]
        self.steps[rows] = target[moved]
        self.codes[rows] = shown[moved]
        self.of, self.n_classes = dense(at, limit)
        return rows


class _Batch:
    """Moves of some records (r,) from the classes ``left`` to the classes ``joined``."""

    def __init__(
        self, recoding: Recoding, rows: Indices, at: Longs, joined: Longs, limit: int, withheld: int
    ) -> None:
        self._demands = recoding.demands
        self._rows = rows
        self._left = at[rows]
        self._joined = joined
        self._limit = limit
        self._withheld = withheld
        self._amounts = recoding.cells.amounts
        self._is_left = np.zeros(limit, dtype=bool)
        self._is_left[self._left] = True
        touched = self._is_left.copy()
        touched[joined] = True
        # Classes that nobody leaves or joins are as they were: they pass.
        self._at = np.where(touched[at], at, NO_CLASS)
        self._at[rows] = joined

    def settled(self) -> Bools:
        """(r,) which moves can be made so that no class fails."""
        ahead = self._records_ahead()
        returned = np.zeros(self._limit, dtype=np.int64)
        moving = np.ones(len(self._rows), dtype=bool)
        while True:
            failing = self._demands.failing(self._at, self._limit, self._withheld)
            if not failing.any():
                return moving
            before = np.count_nonzero(moving)
            moving &= ~failing[self._joined]
            short = np.flatnonzero(failing & self._is_left)
            returned[short] = np.maximum(2 * returned[short], self._missing(short))
            moving &= ahead >= returned[self._left]
            if np.count_nonzero(moving) == before:
                # Only a criterion that fails what it passed before gets here: nothing moves then.
                return np.zeros_like(moving)
            self._at[self._rows] = np.where(moving, self._joined, self._left)

    def _missing(self, classes: Longs) -> Longs:
        """At least how many records have to return to each class."""
        placed = self._at >= 0
        sizes = np.bincount(self._at[placed], self._amounts[placed], self._limit)[classes]
        return np.maximum(self._demands.least - sizes.astype(np.int64), 1)

    def _records_ahead(self) -> Longs:
        """(r,) records that return to a class before each of those that left it: from large classes first."""
        placed = self._at >= 0
        sizes = np.bincount(self._at[placed], self._amounts[placed], self._limit)
        order = np.lexsort((-sizes[self._joined], self._left))
        amounts = self._amounts[self._rows[order]]
        ahead = np.cumsum(amounts) - amounts
        starts = np.append(True, self._left[order][1:] != self._left[order][:-1])
        first = np.maximum.accumulate(np.where(starts, ahead, 0))
        found = np.empty(len(order), dtype=np.int64)
        found[order] = ahead - first
        return found


def withheld_class(codes: Ints, of: Longs) -> int:
    """The class whose records are ⊥ in all of their codes; −1 if there is none."""
    rows = np.flatnonzero((codes == TOP).all(axis=1))
    return int(of[rows[0]]) if len(rows) else NO_CLASS
