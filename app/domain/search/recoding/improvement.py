"""Improving a recoding by sweeps of moves until they no longer help."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from app.domain.search.recoding.moves import exchange, join, join_above, levels_in_use, specialise
from app.domain.search.recoding.recoding import Recoding

GoesOn = Callable[[], bool]

MOST_JOINS: Final = 60
"""Rules whose classes records are offered in one sweep: those of most records."""
LEAST_IMPROVEMENT: Final = 1e-3
"""A sweep that lowers the loss by a smaller share is the last one."""


def improve(recoding: Recoding, suffices: Callable[[float], bool], goes_on: GoesOn) -> None:
    """Sweeps of all kinds of moves, until a loss suffices; each move lowers the loss or is not made."""
    before, after = math.inf, recoding.loss
    while before - after > LEAST_IMPROVEMENT * after and not suffices(after) and goes_on():
        before = after
        _sweep(recoding, goes_on)
        after = recoding.loss


def _sweep(recoding: Recoding, goes_on: GoesOn) -> None:
    q = range(recoding.cells.n_attributes)
    for up in q:
        for down in q:
            if up != down and goes_on():
                exchange(recoding, up, down)
    specialise(recoding, goes_on)
    join_above(recoding)
    for levels in list(levels_in_use(recoding))[:MOST_JOINS]:
        if not goes_on():
            return
        join(recoding, levels)
    specialise(recoding, goes_on)
