"""The recoding of least generalisation height: the greatest levels that any disclosed record has.

Only levels that no record exceeds count, so the search is for these: the records are put at the levels, those
of classes that fail are withheld, and as many of them as may not be are searched again at lower levels. From
the best rule for the table levels are lowered one by one while that succeeds.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from app.domain.search.recoding.class_losses import Height
from app.domain.search.recoding.recoding import Recoding
from app.domain.search.recoding.rounds import Levels, RoundSearch

GoesOn = Callable[[], bool]


def lowest(begun: Recoding | None, everything: Recoding, losses: Height, goes_on: GoesOn) -> Recoding | None:
    """The lowest recoding found; ``everything`` withholds all records."""
    cells = everything.cells
    highest = within(everything, tuple(cells.table.heights[j] for j in cells.attributes), goes_on)
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
    cells, demands = everything.cells, everything.demands
    steps = cells.at_levels(levels)
    gone = demands.to_withhold(Recoding(cells, demands, everything.losses, steps).placed)
    steps[gone] = cells.most[gone]
    found = Recoding(cells, demands, everything.losses, steps)
    while found.withheld_records > demands.allowed and goes_on():
        rows = np.flatnonzero(cells.is_withheld(found.steps) & found.movable)
        search = RoundSearch(found, rows, goes_on, levels)
        if not len(found.move(*search.recoded(search.best()))):
            break
    return found
