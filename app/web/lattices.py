"""Which rules of a lattice a page shows, and the way to the chosen one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

Levels = tuple[int, ...]

MOST_WHOLE: Final = 600
"""Lattices of up to so many rules are shown whole."""

MOST_NEAR: Final = 260
"""Of larger ones the rules around the chosen one, up to about so many."""


@dataclass(frozen=True)
class Part:
    """The rules shown, of how many, and at most how many steps from the chosen one (None: all)."""

    rules: tuple[Levels, ...]
    of: int
    within: int | None


def part_of(heights: Sequence[int], chosen: Levels) -> Part:
    """All rules of a small lattice; of a larger one those near the chosen rule, whole steps at a time."""
    n_rules = math.prod(height + 1 for height in heights)
    if n_rules <= MOST_WHOLE:
        return Part(tuple(itertools.product(*(range(height + 1) for height in heights))), n_rules, None)
    shown, shell, within = {chosen}, {chosen}, 0
    while True:
        shell = {other for levels in shell for other in neighbours(levels, heights)} - shown
        if not shell or (within > 0 and len(shown) + len(shell) > MOST_NEAR):
            return Part(tuple(sorted(shown)), n_rules, within)
        shown |= shell
        within += 1


def neighbours(levels: Levels, heights: Sequence[int]) -> list[Levels]:
    """The rules one level of one attribute away."""
    return [
        (*levels[:j], levels[j] + step, *levels[j + 1 :])
        for j, height in enumerate(heights)
        for step in (1, -1)
        if 0 <= levels[j] + step <= height
    ]


def way_to(chosen: Levels, risks: Mapping[Levels, float]) -> list[Levels]:
    """From the table as it is to the rule, one level at a time, each time where the risk is then least.

    Ties and unknown risks are decided by the order of the schema.
    """
    here: Levels = (0,) * len(chosen)
    way = [here]
    while here != chosen:
        ahead = [(*here[:j], here[j] + 1, *here[j + 1 :]) for j in range(len(here)) if here[j] < chosen[j]]
        here = min(ahead, key=lambda levels: risks.get(levels, math.inf))
        way.append(here)
    return way
