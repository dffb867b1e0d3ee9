"""Recodings whose disclosed records share their levels, single records being withheld.

δ-presence compares tuples of the population with those of the release, which it has only under one rule: so
its recodings are levels for the table with whatever records are withheld. Of a class that fails not all
records need be: they are withheld one after another, of frequent sensitive values first, until the others
pass. Levels are all tried if they are few, else those next to the best ones.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from app.domain.distinct import Longs
from app.domain.search.recoding.cells import Bools
from app.domain.search.recoding.demands import NO_CLASS, Placed
from app.domain.search.recoding.recoding import Recoding
from app.domain.search.recoding.rounds import Round

Levels = tuple[int, ...]
GoesOn = Callable[[], bool]

MOST_TRIED: Final = 500_000
"""Rules times distinct records up to which all levels are tried."""
SHARE_AT_ONCE: Final = 16
"""Of so many records of a failing class one is withheld at a time, at least one."""


def best_levels(
    begun: Recoding | None, start: Levels | None, everything: Recoding, goes_on: GoesOn
) -> Recoding | None:
    """The best such recoding found.

    Parameters
    ----------
    begun, start
        What is known, and levels to begin with, if there are any.
    everything
        Withholds all records.
    """
    heights = _heights(everything)
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
    """Disclose records at the levels of the rule that withholds them, where that lowers the loss."""
    more = at_levels(begun, levels)
    rows = np.flatnonzero(begun.cells.is_withheld(begun.steps) & ~begun.cells.is_withheld(more.steps))
    moved = begun.move_if_lower(rows, more.steps[rows])
    return [Round(levels, int(begun.cells.amounts[moved].sum()))] if len(moved) else []


def at_levels(everything: Recoding, levels: Levels) -> Recoding:
    """The records at some levels, as few withheld as found so that no class fails."""
    cells, demands = everything.cells, everything.demands
    steps = cells.at_levels(levels)
    shown = Recoding(cells, demands, everything.losses, steps)
    placed = shown.placed
    kept = shown.movable & (placed.of != placed.withheld)
    last_first = _last_first(shown)
    while True:
        at = np.where(kept, placed.of, NO_CLASS)
        failing = demands.failing(Placed(at, placed.limit, placed.codes_of))
        if not failing.any():
            break
        kept[_next_withheld(at, failing, last_first)] = False
    steps[~kept] = cells.most[~kept]
    return Recoding(cells, demands, everything.losses, steps)


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


def _next_withheld(at: Longs, failing: Bools, last_first: Longs) -> Longs:
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


def _heights(recoding: Recoding) -> Levels:
    return tuple(recoding.cells.table.heights[j] for j in recoding.cells.attributes)


def _next_to(levels: Levels, heights: Levels) -> Iterator[Levels]:
    for i, height in enumerate(heights):
        for level in (levels[i] - 1, levels[i] + 1):
            if 0 <= level <= height:
                yield (*levels[:i], level, *levels[i + 1 :])
