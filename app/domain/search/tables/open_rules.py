"""The table-level rules that may still matter to a search, with what bounds the risk of each from below.

A rule that was rated bounds every finer one; a rule is closed once its bound exceeds its cap, the risk above
which it cannot matter. Rules are held by ascending utility, so that what a good rule makes hopeless are the
first ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from app.domain.search.tables.rule_risk import Growth, RuleRisk

Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

BYTES_PER_RULE = 80
SHARE_TO_KEEP = 0.75


class OpenRules:
    """Rules of a lattice, each open or closed; closed ones are forgotten from time to time.

    Parameters
    ----------
    shape
        Levels per attribute, in the table's order.
    utility
        Of every rule, in lexicographic order of the levels.
    growth
        By how much Φ grows at least from rule to finer rule.

    Attributes
    ----------
    ids, utility, lower, cap, is_open
        Per rule held, by ascending utility: its number in lexicographic order, its utility, what its risk
        cannot be below, its cap and whether it is open.
    """

    def __init__(self, shape: Sequence[int], utility: Floats, growth: Growth) -> None:
        self._shape = tuple(shape)
        self._growth = growth
        self.ids: Longs = np.argsort(utility, kind="stable")
        self.utility = utility[self.ids]
        self.lower = np.zeros(len(utility))
        self.cap = np.full(len(utility), np.inf)
        self.is_open: Bools = np.ones(len(utility), dtype=bool)
        self._all_sizes = growth.sizes()
        self._sizes = self._all_sizes[self.ids]
        kind = np.min_scalar_type(max(self._shape))
        self._levels = [codes.astype(kind) for codes in np.unravel_index(self.ids, self._shape)]

    @property
    def n_open(self) -> int:
        """How many rules are open."""
        return int(np.count_nonzero(self.is_open))

    def rated(self, number: int, levels: Sequence[int], risk: RuleRisk) -> None:
        """Close a rule whose risk is known, and raise the bounds of the finer ones."""
        below = self.is_open.copy()
        for held, level, size in zip(self._levels, levels, self._shape, strict=True):
            if level + 1 < size:
                below &= held <= level
        at = np.flatnonzero(below)
        if not len(at):
            return
        lower = self.lower.take(at)
        if 0 < risk.slope < math.inf:
            bounds = self._growth.between(self._sizes.take(at), float(self._all_sizes[number]))
            bounds *= risk.slope
            bounds += risk.bound
            np.maximum(lower, bounds, out=lower)
        else:
            np.maximum(lower, risk.bound, out=lower)
        self.lower[at] = lower
        # A bound of +∞ leaves nothing to look for.
        closed = (lower > self.cap.take(at)) | (lower == math.inf) | (self.ids.take(at) == number)
        self.is_open[at[closed]] = False

    def lower_caps(self, caps: Floats | float, n_rules: int | None = None) -> None:
        """Lower the caps of the ``n_rules`` first rules (None: all), and close those that exceed them."""
        some = slice(0, n_rules)
        np.minimum(self.cap[some], caps, out=self.cap[some])
        self.is_open[some] &= self.lower[some] <= self.cap[some]

    def close_up_to(self, n_rules: int) -> None:
        """Close the ``n_rules`` first rules."""
        self.is_open[:n_rules] = False

    def forget_closed(self) -> None:
        """Hold open rules only, if that is much less."""
        if self.n_open > SHARE_TO_KEEP * len(self.ids):
            return
        kept = self.is_open
        self.ids, self.utility, self.lower = self.ids[kept], self.utility[kept], self.lower[kept]
        self.cap, self._sizes = self.cap[kept], self._sizes[kept]
        self._levels = [held[kept] for held in self._levels]
        self.is_open = np.ones(len(self.ids), dtype=bool)

    def open_below(self) -> npt.NDArray[np.int32]:
        """For every rule of the lattice, how many open rules are as fine or finer."""
        counts = np.zeros(int(np.prod(self._shape)), dtype=np.int32)
        counts[self.ids[self.is_open]] = 1
        lattice = counts.reshape(self._shape)
        for axis in range(len(self._shape)):
            np.cumsum(lattice, axis=axis, out=lattice)
        return counts
