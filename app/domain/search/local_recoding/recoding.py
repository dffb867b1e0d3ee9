"""A recoding of single records, changed by batches of moves that leave every criterion met.

A batch gives records other steps. What it would break is undone: records return from classes that fail, and
to classes that too many have left, until nothing fails. Criteria need no property for that, since the
recoding before the batch met them. Records that are suppressed altogether need not meet any while they are no
more than allowed. Where classes overlap, a class fails because of what moved from or to it or a class that it
matches: if none of these moved, it is as it was. So moves are undone there until no class fails.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Indices, Ints, Levels, Longs
from app.domain.search.answers import Arrays
from app.domain.search.local_recoding.cells import Cells, Steps
from app.domain.search.local_recoding.class_criteria import (
    NO_CLASS,
    ClassCriteria,
    CodesOf,
    Placed,
    class_of_suppressed,
    codes_by_row,
    dense,
)
from app.domain.search.local_recoding.losses import Recoded, RecodingLoss
from app.domain.tables.masks import rows_without_values

HALVINGS: Final = 2
"""So often a batch that raises the loss is cut into halves."""
LEAST_LOWERED: Final = 1e-12
"""What lowers the loss by a smaller share leaves it as it is."""


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
        self, criteria: ClassCriteria, amounts: Longs, rows: Indices, placed: Placed, joined: Longs
    ) -> None:
        at = placed.of
        self._placed = placed
        self._criteria = criteria
        self._rows = rows
        self._left = at[rows]
        self._joined = joined
        self._amounts = amounts
        self._is_left = np.zeros(placed.limit, dtype=bool)
        self._is_left[self._left] = True
        self._at = at.copy()
        if not criteria.overlaps:
            touched = self._is_left.copy()
            touched[joined] = True
            # Classes that nobody leaves or joins are as they were: they pass.
            self._at = np.where(touched[at], at, NO_CLASS)
        self._at[rows] = joined

    def settled(self, *, excused: bool = False) -> Bools:
        """(r,) which moves leave no class failing, except that of suppressed records if it is excused."""
        # (r,) records that return to a class before each of those that left it: from large classes
        # first
        held = self._at >= 0
        class_sizes = np.bincount(self._at[held], self._amounts[held], self._placed.limit)
        order = np.lexsort((-class_sizes[self._joined], self._left))
        amounts = self._amounts[self._rows[order]]
        ahead = np.cumsum(amounts) - amounts
        starts = np.append(True, self._left[order][1:] != self._left[order][:-1])
        first = np.maximum.accumulate(np.where(starts, ahead, 0))
        found = np.empty(len(order), dtype=np.int64)
        found[order] = ahead - first
        ahead = found
        returned = np.zeros(self._placed.limit, dtype=np.int64)
        moving = np.ones(len(self._rows), dtype=bool)
        while True:
            failing = self._criteria.failing(replace(self._placed, of=self._at))
            if excused and self._placed.suppressed_class != NO_CLASS:
                failing[self._placed.suppressed_class] = False
            if not failing.any():
                return moving
            before = np.count_nonzero(moving)
            moving &= ~failing[self._joined]
            short = np.flatnonzero(self._like_before(failing) & self._is_left)
            placed = self._at >= 0
            sizes = np.bincount(self._at[placed], self._amounts[placed], self._placed.limit)[short]
            missing = np.maximum(self._criteria.usual - sizes.astype(np.int64), 1)
            returned[short] = np.maximum(2 * returned[short], missing)
            moving &= ahead >= returned[self._left]
            if np.count_nonzero(moving) == before:
                if self._criteria.overlaps:
                    # All go back of those that can have made a class fail.
                    now = self._criteria.likeness(replace(self._placed, of=self._at))
                    moving &= ~self._like_before(failing)[self._left] & ~now(failing)[self._joined]
                if np.count_nonzero(moving) == before:
                    # Only a criterion that fails what it passed before gets here: nothing moves then.
                    return np.zeros_like(moving)
            self._at[self._rows] = np.where(moving, self._joined, self._left)

    @cached_property
    def _like_before(self) -> Callable[[Bools], Bools]:
        """Which classes were chosen ones before the moves or, where they overlap, matched these."""
        return self._criteria.likeness(self._placed)


class Recoding(Recoded):
    """The steps of every distinct record, and the classes that they make.

    Attributes
    ----------
    movable
        (d,) records that may be given other steps; the others stay suppressed.
    """

    def __init__(self, cells: Cells, criteria: ClassCriteria, losses: RecodingLoss, steps: Steps) -> None:
        self.cells = cells
        self.criteria = criteria
        self.losses = losses
        self.movable = ~criteria.left_out
        self.steps: Steps = np.array(steps, dtype=np.int16, order="F")
        self.steps[criteria.left_out] = cells.most[criteria.left_out]
        self.codes: Ints = cells.codes(self.steps)
        found, self.n_classes = cells.classes(self.codes)
        self.of: Longs = found.astype(np.int64)
        self._loss: float | None = None
        self._suppressed_fail: bool | None = None

    @classmethod
    def of_rule(cls, cells: Cells, criteria: ClassCriteria, losses: RecodingLoss, levels: Levels) -> Recoding:
        """That of a table-level rule, whose failing classes are suppressed."""
        steps = cells.at_levels(levels)
        gone = criteria.to_suppress(cls(cells, criteria, losses, steps).placed)
        steps[gone] = cells.most[gone]
        return cls(cells, criteria, losses, steps)

    def kept(self) -> Arrays:
        """What moves go on from."""
        fails = -1 if self._suppressed_fail is None else int(self._suppressed_fail)
        numbers = np.array([self.n_classes, fails], dtype=np.int64)
        return {"steps": self.steps, "of": self.of.astype(np.int32), "numbers": numbers}

    def restore(self, kept: Arrays) -> None:
        """Be as the recoding was when that was kept."""
        self.steps = np.array(kept["steps"], dtype=np.int16, order="F")
        self.codes = self.cells.codes(self.steps)
        self.of = kept["of"].astype(np.int64)
        self.n_classes, fails = map(int, kept["numbers"])
        self._loss, self._suppressed_fail = None, None if fails < 0 else bool(fails)

    @property
    def loss(self) -> float:
        """What moves have to lower: the loss, or a number that it is never above."""
        if self._loss is None:
            self._loss = self.losses.weighed(self)
        return self._loss

    @property
    def suppressed_records(self) -> int:
        """Records all of whose quasi-identifiers are ⊥."""
        return int(self.cells.amounts[self.cells.is_suppressed(self.steps)].sum())

    @property
    def placed(self) -> Placed:
        """The records in their classes."""
        codes_of = codes_by_row(self.of, self.n_classes, self.codes)
        return Placed(self.of, self.n_classes, codes_of, class_of_suppressed(self.codes, self.of))

    def placed_apart(self, rows: Indices, groups: Longs, n_groups: int, codes_of: CodesOf) -> Placed:
        """Some records in groups (r,) that disclose something else, the others in no class.

        Where classes overlap, the others are in classes of greater numbers: who is in a group may lean on
        them.
        """
        if not self.criteria.overlaps:
            at = np.full(self.cells.size, NO_CLASS, dtype=np.int64)
            at[rows] = groups
            return Placed(at, n_groups, codes_of)
        at, placed = self.of + n_groups, self.placed
        at[rows] = groups

        def found(numbers: Longs) -> Ints:
            """The codes that classes show: the new ones by their codes, the others as before."""
            shown = np.empty((len(numbers), self.cells.n_attributes), dtype=np.int32)
            new = numbers < n_groups
            shown[new] = codes_of(numbers[new])
            shown[~new] = placed.codes_of(numbers[~new] - n_groups)
            return shown

        suppressed = NO_CLASS if placed.suppressed_class == NO_CLASS else placed.suppressed_class + n_groups
        return Placed(at, n_groups + self.n_classes, found, suppressed)

    @property
    def is_valid(self) -> bool:
        """Whether every criterion is met and no more records are suppressed than allowed."""
        placed = self.placed
        return (
            self.suppressed_records <= self.criteria.allowed
            and not self.criteria.failing(placed).any()
            and self.criteria.met_together(placed, self.codes)
        )

    def move(self, rows: Indices, target: Steps) -> Indices:
        """Give records other steps (r, q), as far as all criteria stay met; those that were given them.

        No record is suppressed by it: targets that are ⊥ altogether are left out.
        """
        shown = self.cells.codes(target, rows)
        discloses = ~rows_without_values(shown) & self.movable[rows]
        rows, target, shown = rows[discloses], target[discloses], shown[discloses]
        if not len(rows):
            return rows
        both = np.concatenate([self.codes, shown])
        whose = np.concatenate([np.arange(len(self.of)), rows])
        numbers = self.cells.classes(both, whose)[0].astype(np.int64)
        limit, suppressed = int(numbers.max()) + 1, class_of_suppressed(both, numbers)
        at, joined = numbers[: len(self.of)].copy(), numbers[len(self.of) :]
        placed = Placed(at, limit, codes_by_row(numbers, limit, both), suppressed)
        # Whether the suppressed records fail as a class, being too many to be left out: then they
        # may. Whoever leaves them cannot break that, and in the end they have to be few enough or
        # pass
        if self._suppressed_fail is None:
            held = self.placed
            fails = self.criteria.failing(held)
            self._suppressed_fail = held.suppressed_class != NO_CLASS and bool(fails[held.suppressed_class])
        excused = self._suppressed_fail
        moved = Batch(self.criteria, self.cells.amounts, rows, placed, joined).settled(excused=excused)
        if not moved.any():
            return rows[:0]
        at[rows[moved]] = joined[moved]
        rows, target, shown = rows[moved], target[moved], shown[moved]
        before = self.codes[rows]
        self.codes[rows] = shown
        if not self.criteria.met_together(placed, self.codes):
            self.codes[rows] = before
            return rows[:0]
        self.steps[rows] = target
        self.of, self.n_classes = dense(at, limit)
        self._loss = None
        self._suppressed_fail = None if excused else False
        return rows

    def move_if_lower(self, rows: Indices, target: Steps, *, strictly: bool = True) -> Indices:
        """:meth:`move`, unless that raises the loss; halves of the batch are tried then.

        ``strictly`` also undoes what leaves the loss as it is.
        """
        return self._move_lower(rows, target, strictly, 1 if self.losses.adds_up else HALVINGS)

    def _move_lower(self, rows: Indices, target: Steps, strictly: bool, tries: int) -> Indices:
        if self.losses.adds_up:
            return self.move(rows, target)
        steps, codes = self.steps.copy(order="F"), self.codes.copy(order="F")
        of, n_classes, loss, suppressed_fail = self.of, self.n_classes, self.loss, self._suppressed_fail
        moved = self.move(rows, target)
        lowered, margin = loss - self.loss, LEAST_LOWERED * abs(loss)
        if not len(moved) or (lowered > margin if strictly else lowered >= -margin):
            return moved
        self.steps, self.codes = steps, codes
        self.of, self.n_classes, self._loss, self._suppressed_fail = of, n_classes, loss, suppressed_fail
        if not tries or len(rows) == 1:
            return rows[:0]
        middle = len(rows) // 2
        parts = [
            self._move_lower(rows[part], target[part], strictly, tries - 1)
            for part in (slice(None, middle), slice(middle, None))
        ]
        return np.concatenate(parts)
