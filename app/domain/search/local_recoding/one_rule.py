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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import numpy as np

from app.domain.arrays import Indices, Levels
from app.domain.search.local_recoding.cells import Steps
from app.domain.search.local_recoding.class_criteria import NO_CLASS, Placed, codes_by_row
from app.domain.search.local_recoding.class_losses import Height
from app.domain.search.local_recoding.course import Course
from app.domain.search.local_recoding.losses import After
from app.domain.search.local_recoding.moves import join_above
from app.domain.search.local_recoding.recoding import Recoding

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


def recode_suppressed(recoding: Recoding, course: Course) -> list[Round]:
    """Give levels to suppressed records, round after round, while that lowers the loss."""
    rounds: list[Round] = []
    while len(rounds) < MOST_ROUNDS and course.goes_on():
        search = RoundSearch(recoding, course)
        if not course.of(search.n_rows):
            break
        levels = search.best()
        moved = course.of(partial(_moved, recoding, search, levels))
        if not moved:
            break
        rounds.append(Round(levels, moved))
    course.of(lambda: join_above(recoding))
    return rounds


def _moved(recoding: Recoding, search: RoundSearch, levels: Levels) -> int:
    """Give the records the levels; how many took them."""
    moved = recoding.move_if_lower(*search.recoded(levels))
    return int(recoding.cells.amounts[moved].sum())


class RoundSearch:
    """The best levels for the suppressed records, from the most general ones (``top``) down."""

    def __init__(self, recoding: Recoding, course: Course, top: Levels | None = None) -> None:
        self._recoding = recoding
        self._cells = recoding.cells
        self._course = course
        self._top = self._cells.heights if top is None else top
        self._checked: dict[Levels, float] = {}

    def n_rows(self) -> int:
        """Distinct records that are searched for."""
        return len(self._rows)

    # What is read of the recoding is read by a step of the course.
    @cached_property
    def _rows(self) -> Indices:
        return np.flatnonzero(self._cells.is_suppressed(self._recoding.steps) & self._recoding.movable)

    @cached_property
    def _after(self) -> After:
        return self._recoding.losses.after(self._recoding)

    def best(self) -> Levels:
        """Down from the top, always by the level that saves most, while that saves."""
        levels = self._top
        while self._course.goes_on():
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
            self._checked[levels] = self._course.of(lambda: self._loss_at(levels))
        return self._checked[levels]

    def _loss_at(self, levels: Levels) -> float:
        if levels == self._top:
            nobody = np.empty(0, dtype=np.int64)
            return self._after(nobody, self._recoding.steps[nobody])
        return self._after(*self.recoded(levels))


def lowest(begun: Recoding | None, everything: Recoding, losses: Height, course: Course) -> Recoding | None:
    """The lowest recoding found; ``everything`` suppresses all records."""
    highest = within(everything, everything.cells.heights, course)
    candidates = [own for own in (begun, everything, highest) if own is not None]
    course.hold(*candidates)
    best, least = least_valid(candidates, course)
    course.hold(*(() if best is None else (best,)))
    lowered = best is not None
    while lowered and best is not None and course.goes_on():
        caps = course.of(partial(losses.caps, best))
        lowered = False
        for i, cap in enumerate(caps):
            if cap and course.goes_on():
                lower = within(everything, (*caps[:i], cap - 1, *caps[i + 1 :]), course)
                with course.holding(lower):
                    loss = course.of(partial(_loss_if_valid, lower))
                if loss < least:
                    best, least, lowered = lower, loss, True
                    course.hold(best)
                    break
    return best


def least_valid(recodings: Sequence[Recoding], course: Course) -> tuple[Recoding | None, float]:
    """The first valid one of those that lose least, and what it loses; ∞ if none is valid."""
    best, least = None, math.inf
    for own in recodings:
        loss = course.of(partial(_loss_if_valid, own))
        if loss < least:
            best, least = own, loss
    return best, least


def _loss_if_valid(recoding: Recoding) -> float:
    return recoding.loss if recoding.is_valid else math.inf


def within(everything: Recoding, levels: Levels, course: Course) -> Recoding:
    """A recoding of no record beyond the levels; not valid if none was found."""
    cells, criteria = everything.cells, everything.criteria
    found = Recoding.of_rule(cells, criteria, everything.losses, tuple(levels))
    with course.holding(found):
        while course.of(lambda: found.suppressed_records > criteria.allowed) and course.goes_on():
            search = RoundSearch(found, course, levels)
            at = search.best()
            if not course.of(partial(_moved_within, found, search, at)):
                break
    return found


def _moved_within(found: Recoding, search: RoundSearch, levels: Levels) -> int:
    return len(found.move(*search.recoded(levels)))


def best_levels(
    begun: Recoding | None, start: Levels | None, everything: Recoding, course: Course
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
    known, least = least_valid([own for own in (begun, everything) if own is not None], course)
    best: Levels | None = None

    def is_better(levels: Levels) -> bool:
        nonlocal best, least
        loss = course.of(lambda: _loss_if_valid(at_levels(everything, levels)))
        if loss >= least:
            return False
        best, least = levels, loss
        return True

    rules = math.prod(height + 1 for height in heights)
    if rules * everything.cells.size <= MOST_TRIED:
        for levels in itertools.product(*(range(height + 1) for height in heights)):
            if not course.goes_on():
                break
            is_better(levels)
    else:
        _try_next_to({heights} if start is None else {start, heights}, heights, is_better, course)
    return known if best is None else at_levels(everything, best)


def _try_next_to(
    beginnings: set[Levels], heights: Levels, is_better: Callable[[Levels], bool], course: Course
) -> None:
    """Try levels next to the best ones, from each beginning until none is better."""
    seen = set(beginnings)
    for levels in sorted(beginnings):
        is_better(levels)
        at, improved = levels, True
        while improved and course.goes_on():
            improved = False
            for other in _next_to(at, heights):
                if other not in seen and course.goes_on():
                    seen.add(other)
                    if is_better(other):
                        at, improved = other, True


def disclose_more(begun: Recoding, levels: Levels, course: Course) -> list[Round]:
    """Disclose records at the levels of the rule that suppresses them, where that lowers the loss."""
    moved = course.of(lambda: _disclosed(begun, levels))
    return [Round(levels, moved)] if moved else []


def _disclosed(begun: Recoding, levels: Levels) -> int:
    more = at_levels(begun, levels)
    rows = np.flatnonzero(begun.cells.is_suppressed(begun.steps) & ~begun.cells.is_suppressed(more.steps))
    moved = begun.move_if_lower(rows, more.steps[rows])
    return int(begun.cells.amounts[moved].sum())


def at_levels(everything: Recoding, levels: Levels) -> Recoding:
    """The records at some levels, as few suppressed as found so that no class fails."""
    cells, criteria = everything.cells, everything.criteria
    steps = cells.at_levels(levels)
    shown = Recoding(cells, criteria, everything.losses, steps)
    placed = shown.placed
    kept = shown.movable & (placed.of != placed.suppressed_class)
    # Distinct records in the order in which they leave their classes: those of frequent values first
    table = shown.cells.table
    sensitive = [table.position(name) for name in sorted(table.sensitive)]
    values = np.zeros(shown.cells.size, dtype=np.int64)
    if sensitive:
        values = np.unique(table.reduced.codes[:, sensitive], axis=0, return_inverse=True)[1].reshape(-1)
    order = np.lexsort((values, shown.of))
    begins = np.append(True, (np.diff(shown.of[order]) != 0) | (np.diff(values[order]) != 0))
    positions = np.arange(len(order))
    turns = np.empty(len(order), dtype=np.int64)
    turns[order] = positions - np.maximum.accumulate(np.where(begins, positions, 0))
    last_first = np.lexsort((-turns, shown.of))
    while True:
        at = np.where(kept, placed.of, NO_CLASS)
        failing = criteria.failing(Placed(at, placed.limit, placed.codes_of))
        if not failing.any():
            break
        # The next records to leave each failing class
        rows = last_first[(at[last_first] >= 0) & failing[at[last_first]]]
        sizes = np.bincount(at[rows], minlength=len(failing))
        starts = np.append(True, np.diff(at[rows]) != 0)
        places = np.arange(len(rows))
        turn = places - np.maximum.accumulate(np.where(starts, places, 0))
        kept[rows[turn < np.maximum(1, sizes[at[rows]] // SHARE_AT_ONCE)]] = False
    steps[~kept] = cells.most[~kept]
    return Recoding(cells, criteria, everything.losses, steps)


def _next_to(levels: Levels, heights: Levels) -> Iterator[Levels]:
    for i, height in enumerate(heights):
        for level in (levels[i] - 1, levels[i] + 1):
            if 0 <= level <= height:
                yield (*levels[:i], level, *levels[i + 1 :])
