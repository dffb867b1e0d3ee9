"""Local recoding: the records that a rule for the table withholds get a rule of their own, and so on.

Each round descends to levels at which the records still withheld make classes that meet the criteria and
lower the loss; those of other classes stay withheld and are searched again. Whoever is left at the end joins
the class of other records that discloses most of it, where that class still meets the criteria then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.search.recoding.cells import Steps
from app.domain.search.recoding.demands import codes_by_row
from app.domain.search.recoding.losses import Indices
from app.domain.search.recoding.moves import join_above
from app.domain.search.recoding.recoding import Recoding

Levels = tuple[int, ...]
GoesOn = Callable[[], bool]

MOST_ROUNDS: Final = 1_000
LEAST_SAVED: Final = 1e-12
"""Rounds that save less, of what the loss says of moves, are none."""


@dataclass(frozen=True)
class Round:
    """Levels of the quasi-identifiers, and how many records were given them."""

    levels: Levels
    records: int


def recode_withheld(recoding: Recoding, goes_on: GoesOn) -> list[Round]:
    """Give levels to withheld records, round after round, while that lowers the loss."""
    cells = recoding.cells
    rounds: list[Round] = []
    while len(rounds) < MOST_ROUNDS and goes_on():
        rows = np.flatnonzero(cells.is_withheld(recoding.steps) & recoding.movable)
        if not len(rows):
            break
        search = RoundSearch(recoding, rows, goes_on)
        levels = search.best()
        moved = recoding.move_if_lower(*search.recoded(levels))
        if not len(moved):
            break
        rounds.append(Round(levels, int(cells.amounts[moved].sum())))
    join_above(recoding)
    return rounds


class RoundSearch:
    """The best levels for some withheld records, from the most general ones (``top``) down."""

    def __init__(self, recoding: Recoding, rows: Indices, goes_on: GoesOn, top: Levels | None = None) -> None:
        self._recoding = recoding
        self._cells = recoding.cells
        self._rows = rows
        self._goes_on = goes_on
        highest: Levels = tuple(self._cells.table.heights[j] for j in self._cells.attributes)
        self._top = highest if top is None else top
        self._after = recoding.losses.after(recoding)
        nobody = np.empty(0, dtype=np.int64)
        self._checked: dict[Levels, float] = {self._top: self._after(nobody, recoding.steps[nobody])}

    def best(self) -> Levels:
        """Down from the top, always by the level that saves most, while that saves."""
        levels = self._top
        while self._goes_on():
            lower = [(*levels[:i], level - 1, *levels[i + 1 :]) for i, level in enumerate(levels) if level]
            best = min(lower, key=lambda own: (self._lost_after(own), own), default=levels)
            if self._lost_after(best) >= self._lost_after(levels) - LEAST_SAVED:
                break
            levels = best
        return levels

    def recoded(self, levels: Levels) -> tuple[Indices, Steps]:
        """The records whose classes meet the criteria at the levels, and their steps."""
        target = self._cells.at_levels(levels, self._rows)
        codes = self._cells.codes(target, self._rows)
        numbers, n_classes = self._cells.classes(codes, self._rows)
        classes = numbers.astype(np.int64)
        codes_of = codes_by_row(classes, n_classes, codes)
        placed = self._recoding.placed_apart(self._rows, classes, n_classes, codes_of)
        passes = ~self._recoding.demands.failing(placed)[classes]
        return self._rows[passes], target[passes]

    def _lost_after(self, levels: Levels) -> float:
        """What the loss says once the records are recoded by the levels."""
        if levels not in self._checked:
            self._checked[levels] = self._after(*self.recoded(levels))
        return self._checked[levels]
