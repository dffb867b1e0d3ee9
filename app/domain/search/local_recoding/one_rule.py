"""Recodings made of table-level rules: round by round, of least height, or one rule for all.

*Rounds*: the records that a table-level rule suppresses get a rule of their own, and so on. Each round
descends to levels at which the records still suppressed make classes that meet the criteria and lower the
loss; those of other classes stay suppressed and are searched again. Whoever is left at the end joins the
class of other records that discloses most of it, where that class still meets the criteria then.

*Least generalisation height*: the greatest levels that any disclosed record has. Only levels that no record
exceeds count, so the search is for these: the records are put at the levels, those of classes that fail are
suppressed, and as many of them as may not be are searched again at lower levels. From the best table-level
rule on, levels are lowered one by one while that succeeds.

*One rule*, with single records suppressed: δ-presence compares tuples of the population with those of the
release, which it has only under one rule: so its recodings are levels for the whole table, with any records
suppressed. Of a class that fails not all records need be: they are suppressed one after another, of frequent
sensitive values first, until the others pass. Levels are all tried if they are few, else those next to the
best ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Indices, Levels, Longs
from app.domain.search.local_recoding.cells import Steps
from app.domain.search.local_recoding.class_criteria import NO_CLASS, Placed, codes_by_row
from app.domain.search.local_recoding.class_losses import Height
from app.domain.search.local_recoding.moves import join_above
from app.domain.search.local_recoding.recoding import Recoding
from app.domain.search.local_recoding.record_costs import GoesOn

MOST_ROUNDS: Final = 1_000
LEAST_SAVED: Final = 1e-12
"""Rounds that save less, of what the loss says of moves, are none."""

MOST_TRIED: Final = 500_000
"""Rules times distinct records up to which all levels are tried."""
SHARE_AT_ONCE: Final = 16
"""Of so many records of a failing class one is suppressed at a time, at least one."""


@dataclass(frozen=True)
class Round:
    """Levels of the quasi-identifiers, and how many records were given them."""

    levels: Levels
    records: int


def recode_suppressed(recoding: Recoding, goes_on: GoesOn) -> list[Round]:
    """Give levels to suppressed records, round after round, while that lowers the loss."""
    cells = recoding.cells
    rounds: list[Round] = []
    while len(rounds) < MOST_ROUNDS and goes_on():
        rows = np.flatnonzero(cells.is_suppressed(recoding.steps) & recoding.movable)
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
    """The best levels for some suppressed records, from the most general ones (``top``) down."""

    def __init__(self, recoding: Recoding, rows: Indices, goes_on: GoesOn, top: Levels | None = None) -> None:
        self._recoding = recoding
        self._cells = recoding.cells
        self._rows = rows
        self._goes_on = goes_on
        self._top = self._cells.heights if top is None else top
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
        passes = ~self._recoding.criteria.failing(placed)[classes]
        return self._rows[passes], target[passes]

    def _lost_after(self, levels: Levels) -> float:
        """What the loss says once the records are recoded by the levels."""
        if levels not in self._checked:
            self._checked[levels] = self._after(*self.recoded(levels))
        return self._checked[levels]


def lowest(begun: Recoding | None, everything: Recoding, losses: Height, goes_on: GoesOn) -> Recoding | None:
    """The lowest recoding found; ``everything`` suppresses all records."""
    highest = within(everything, everything.cells.heights, goes_on)
    candidates = [own for own in (begun, everything, highest) if own is not None and own.is_valid]
    best = min(candidates, key=lambda own: own.loss, default=None)
    lowered = best is not None
    while lowered and best is not None and goes_on():
        caps = losses.caps(best)
        lowered = False
        for i, cap in enumerate(caps):
            if cap and goes_on():
                lower = within(everything, (*caps[:i], cap - 1, *caps[i + 1 :]), goes_on)
                if lower.is_valid and lower.loss < best.loss:
                    best, lowered = lower, True
                    break
    return best


def within(everything: Recoding, levels: Levels, goes_on: GoesOn) -> Recoding:
    """A recoding of no record beyond the levels; not valid if none was found."""
    cells, criteria = everything.cells, everything.criteria
    found = Recoding.of_rule(cells, criteria, everything.losses, levels)
    while found.suppressed_records > criteria.allowed and goes_on():
        rows = np.flatnonzero(cells.is_suppressed(found.steps) & found.movable)
        search = RoundSearch(found, rows, goes_on, levels)
        if not len(found.move(*search.recoded(search.best()))):
            break
    return found


def best_levels(
    begun: Recoding | None, start: Levels | None, everything: Recoding, goes_on: GoesOn
) -> Recoding | None:
    """The best such recoding found.

    Parameters
    ----------
    begun, start
        What is known, and levels to begin with, if there are any.
    everything
        Suppresses all records.
    """
    heights = everything.cells.heights
    candidates = [own for own in (begun, everything) if own is not None and own.is_valid]
    best = min(candidates, key=lambda own: own.loss, default=None)
    rules = math.prod(height + 1 for height in heights)
    if rules * everything.cells.size <= MOST_TRIED:
        for levels in itertools.product(*(range(height + 1) for height in heights)):
            if not goes_on():
                break
            best = _better(best, at_levels(everything, levels))
        return best
    beginnings = {heights} if start is None else {start, heights}
    seen = set(beginnings)
    for levels in sorted(beginnings):
        best = _better(best, at_levels(everything, levels))
        at, improved = levels, True
        while improved and goes_on():
            improved = False
            for other in _next_to(at, heights):
                if other not in seen and goes_on():
                    seen.add(other)
                    found = at_levels(everything, other)
                    if _better(best, found) is found:
                        best, at, improved = found, other, True
    return best


def disclose_more(begun: Recoding, levels: Levels) -> list[Round]:
    """Disclose records at the levels of the rule that suppresses them, where that lowers the loss."""
    more = at_levels(begun, levels)
    rows = np.flatnonzero(begun.cells.is_suppressed(begun.steps) & ~begun.cells.is_suppressed(more.steps))
    moved = begun.move_if_lower(rows, more.steps[rows])
    return [Round(levels, int(begun.cells.amounts[moved].sum()))] if len(moved) else []


def at_levels(everything: Recoding, levels: Levels) -> Recoding:
    """The records at some levels, as few suppressed as found so that no class fails."""
    cells, criteria = everything.cells, everything.criteria
    steps = cells.at_levels(levels)
    shown = Recoding(cells, criteria, everything.losses, steps)
    placed = shown.placed
    kept = shown.movable & (placed.of != placed.suppressed_class)
    last_first = _last_first(shown)
    while True:
        at = np.where(kept, placed.of, NO_CLASS)
        failing = criteria.failing(Placed(at, placed.limit, placed.codes_of))
        if not failing.any():
            break
        kept[_next_suppressed(at, failing, last_first)] = False
    steps[~kept] = cells.most[~kept]
    return Recoding(cells, criteria, everything.losses, steps)


def _last_first(shown: Recoding) -> Longs:
    """Distinct records in the order in which they leave their classes: those of frequent values first."""
    table = shown.cells.table
    sensitive = [table.position(name) for name in sorted(table.sensitive)]
    values = np.zeros(shown.cells.size, dtype=np.int64)
    if sensitive:
        values = np.unique(table.reduced.codes[:, sensitive], axis=0, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((values, shown.of))
    starts = np.append(True, (np.diff(shown.of[order]) != 0) | (np.diff(values[order]) != 0))
    places = np.arange(len(order))
    turn = np.empty(len(order), dtype=np.int64)
    turn[order] = places - np.maximum.accumulate(np.where(starts, places, 0))
    return np.lexsort((-turn, shown.of))


def _next_suppressed(at: Longs, failing: Bools, last_first: Longs) -> Longs:
    """The next records to leave each failing class."""
    rows = last_first[(at[last_first] >= 0) & failing[at[last_first]]]
    sizes = np.bincount(at[rows], minlength=len(failing))
    starts = np.append(True, np.diff(at[rows]) != 0)
    places = np.arange(len(rows))
    turn = places - np.maximum.accumulate(np.where(starts, places, 0))
    return rows[turn < np.maximum(1, sizes[at[rows]] // SHARE_AT_ONCE)]


def _better(best: Recoding | None, found: Recoding) -> Recoding | None:
    if not found.is_valid or (best is not None and found.loss >= best.loss):
        return best
    return found


def _next_to(levels: Levels, heights: Levels) -> Iterator[Levels]:
    for i, height in enumerate(heights):
        for level in (levels[i] - 1, levels[i] + 1):
            if 0 <= level <= height:
                yield (*levels[:i], level, *levels[i + 1 :])
