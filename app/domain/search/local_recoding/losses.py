"""What recodings lose, and how much moves gain: losses that are sums over cells.

The loss of a release is what the measure ``information_loss`` says of it. Moves are chosen by estimates of
what each record gains. Where estimates of a batch cannot just be added up, the batch is judged by the loss.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np

from app.domain.arrays import Bools, Floats, Indices, Ints, Longs
from app.domain.search.local_recoding.cells import ALL, Cells, Steps

After = Callable[[Indices, Steps], float]

TINY: Final = 1e-15
"""What a step down is worth that costs as much as before, as the step after it may cost less."""


@dataclass(eq=False)
class Recoded:
    """The distinct records of a table recoded, and the classes that they make.

    Attributes
    ----------
    steps, codes
        (d, q) steps up from each cell, and disclosed nodes.
    of, n_classes
        (d,) class of each distinct record, suppressed ones included.
    """

    steps: Steps
    codes: Ints
    of: Longs
    n_classes: int


@dataclass(frozen=True, eq=False)
class Split:
    """Classes of some rows (r,), each split by one step down of the i-th quasi-identifier.

    Attributes
    ----------
    rows, of, n_classes
        Distinct records, the class of each, and how many classes there are.
    may
        (m,) places among the rows of those that can go down.
    groups, n_groups
        (m,) which of the parts they would be in.
    passes
        (m,) whether that part meets the criteria: the others stay behind.
    """

    i: int
    rows: Indices
    of: Longs
    n_classes: int
    may: Indices
    groups: Longs
    n_groups: int
    passes: Bools


GainsOfSplits = Callable[[Split], Floats]


class RecodingLoss(ABC):
    """The loss of recodings.

    Attributes
    ----------
    adds_up
        Batches of moves that gain each by estimate lower the loss.
    """

    adds_up: ClassVar[bool] = False

    @abstractmethod
    def of(self, recoded: Recoded) -> float:
        """The loss, as the measure says it."""

    def weighed(self, recoded: Recoded) -> float:
        """A number that the loss is never above, and equal for rules of the whole table: it guides moves."""
        return self.of(recoded)

    @abstractmethod
    def after(self, recoded: Recoded) -> After:
        """From here on, a number that grows with the loss once some records are given other steps."""

    @abstractmethod
    def gains_of_splits(self, recoded: Recoded) -> GainsOfSplits:
        """From here on, estimates (C,) of what each class gains by a split; a little if nothing."""

    @abstractmethod
    def gains(self, recoded: Recoded, rows: Indices, target: Steps, changed: Sequence[int]) -> Floats:
        """(r,) estimate of what each record gains by other steps (r, q) in the ``changed`` attributes.

        Rows ascend.
        """

    def gains_of_exchange(self, recoded: Recoded, rows: Indices, up: int, down: int) -> Floats:
        """(r,) the same of a step up in one attribute and one down in another."""
        return self.gains(recoded, rows, exchanged(recoded.steps[rows], up, down), (down, up))


def exchanged(steps: Steps, up: int, down: int) -> Steps:
    """(r, q) the steps with one more in an attribute and one less in another; takes the array."""
    steps[:, up] += 1
    steps[:, down] -= 1
    return steps


class CellSums(RecodingLoss):
    """A loss that is a growing function of one sum over cells per attribute.

    Gains are by the loss's tangent at the recoding, which is above it: what gains lowers the loss.
    """

    adds_up: ClassVar[bool] = True

    def __init__(self, cells: Cells) -> None:
        self._cells = cells

    def of(self, recoded: Recoded) -> float:
        """The loss from the sums over all cells."""
        return self._cells.loss_of(recoded.steps)

    def after(self, recoded: Recoded) -> After:
        """The sum of the terms, from what the changed records save alone."""
        cells, steps = self._cells, recoded.steps
        totals = [cells.total(i, steps) for i in range(cells.n_attributes)]

        def found(rows: Indices, target: Steps) -> float:
            terms = []
            for i, total in enumerate(totals):
                saved = cells.costs(i, steps[rows, i], rows) - cells.costs(i, target[:, i], rows)
                terms.append(cells.term(i, total - float(saved @ cells.amounts[rows])))
            return math.fsum(terms)

        return found

    def gains_of_splits(self, recoded: Recoded) -> GainsOfSplits:
        """Estimates by the tangent, with a little for steps that save nothing yet."""
        cells, slopes = self._cells, self._cells.slopes(recoded.steps)

        def found(split: Split) -> Floats:
            i, own = split.i, split.rows[split.may]
            steps = recoded.steps[own, i]
            saved = slopes[i] * (cells.costs(i, steps, own) - cells.costs(i, steps - 1, own)) + TINY
            per_row = saved * cells.amounts[own] * split.passes
            return np.bincount(split.of[split.may], per_row, split.n_classes).astype(np.float64)

        return found

    def gains(self, recoded: Recoded, rows: Indices, target: Steps, changed: Sequence[int]) -> Floats:
        """Estimates by the tangent, attribute by attribute."""
        cells, steps = self._cells, recoded.steps
        slopes = cells.slopes(steps)
        gain = np.zeros(len(rows))
        # Rows ascend, so that as many are all of them; looking those up takes no copy.
        at = ALL if len(rows) == cells.size else rows
        for i in changed:
            gain += slopes[i] * (cells.costs(i, steps[at, i], at) - cells.costs(i, target[:, i], at))
        return gain

    def gains_of_exchange(self, recoded: Recoded, rows: Indices, up: int, down: int) -> Floats:
        """Estimates by the tangent: what the step down saves less what the step up costs."""
        cells, raised, lowered = self._cells, recoded.steps[rows, up], recoded.steps[rows, down]
        slopes = cells.slopes(recoded.steps)
        paid = cells.costs(up, raised + 1, rows) - cells.costs(up, raised, rows)
        saved = cells.costs(down, lowered, rows) - cells.costs(down, lowered - 1, rows)
        return np.asarray(slopes[down] * saved - slopes[up] * paid)
