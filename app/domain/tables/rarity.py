"""How many values of an attribute are how rare, level by level: what estimates of classes rest on."""

from __future__ import annotations

from typing import Final

import numpy as np

from app.domain.arrays import Floats, Ints
from app.domain.hierarchies.hierarchy import Hierarchy

STEP: Final = 0.25
"""Logarithms of shares are told apart by so much."""


class Rarities:
    """Of one attribute of a table; a level is looked at once it is asked for.

    Levels that the hierarchy does not have, as between the ends of one that is no tree, are NotSupported.
    """

    def __init__(self, hierarchy: Hierarchy, codes: Ints) -> None:
        self._hierarchy = hierarchy
        self._records = np.bincount(codes, minlength=hierarchy.n_nodes)
        self._at: dict[int, Floats] = {}

    def at(self, level: int) -> Floats:
        """How many values of a level have a share of exp(−i · STEP) of the records, at entry i.

        A value whose share is between two such counts in part for either, so that both the number of values
        and the sum of their shares are kept.
        """
        found = self._at.get(level)
        if found is None:
            found = self._at[level] = self._counted(level)
        return found

    def _counted(self, level: int) -> Floats:
        used = np.flatnonzero(self._records)
        at_level = np.bincount(self._hierarchy.ancestors_at(level)[used], self._records[used])
        shares = at_level[at_level > 0] / self._records.sum()
        steps = np.floor(-np.log(shares) / STEP).astype(np.int64)
        more, less = np.exp(-STEP * steps), np.exp(-STEP * (steps + 1))
        in_part = np.clip((more - shares) / (more - less), 0.0, 1.0)
        size = int(steps.max()) + 2
        return np.asarray(np.bincount(steps, 1.0 - in_part, size) + np.bincount(steps + 1, in_part, size))

    def of_all_levels(self) -> list[Floats]:
        """From the values themselves to ⊥; the hierarchy is a tree."""
        return [self.at(level) for level in range(self._hierarchy.height + 1)]
