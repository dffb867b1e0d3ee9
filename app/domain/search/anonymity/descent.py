"""A good allowed rule: down from an allowed one, and exchanges of single attributes.

A *conflict* is a rule that cannot avoid to suppress too many records: neither can any rule below it, hence an
allowed rule has a greater level than the conflict somewhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from app.domain.search.anonymity.checks import Checks
from app.domain.search.anonymity.class_sizes import Levels

Numbers = npt.NDArray[np.int16]


class Conflicts:
    """Rules below which none is allowed, none below another when they are added."""

    def __init__(self, n_attributes: int) -> None:
        self._rows: Numbers = np.empty((64, n_attributes), dtype=np.int16)
        self._size = 0

    @property
    def rows(self) -> Numbers:
        """(conflicts, attributes) levels of the rules."""
        return self._rows[: self._size]

    def add(self, levels: Levels) -> None:
        """Keep a rule, and drop those that are below it."""
        kept = self.rows[~(self.rows <= np.array(levels)).all(axis=1)]
        self._size = len(kept) + 1
        if self._size > len(self._rows):
            self._rows = np.empty((2 * self._size, kept.shape[1]), dtype=np.int16)
        self._rows[: len(kept)] = kept
        self._rows[len(kept)] = levels

    def above(self, levels: Levels) -> Numbers:
        """The conflicts that exclude a rule."""
        return self.rows[(self.rows >= np.array(levels)).all(axis=1)]


class Descent:
    """Rules checked one after another on the way to a good one; what they teach is kept."""

    def __init__(self, checks: Checks, goes_on: Callable[[], bool]) -> None:
        self._checks = checks
        self._goes_on = goes_on
        self._terms = [checks.loss.terms(j) for j in range(checks.loss.n_attributes)]
        self.conflicts = Conflicts(len(self._terms))
        self.suppressed: dict[Levels, int] = {}
        self._refused: set[Levels] = set()

    def run(self) -> None:
        """Descend from the most general rule allowed, then exchange; stops early if it may not go on."""
        top = self._checks.table.heights
        start = next(filter(self.is_allowed, self._checks.judge.most_general), None)
        if start is not None:
            self._improve(self._descend(start), top)

    def is_allowed(self, levels: Levels) -> bool:
        """Whether a rule is allowed; one that is becomes a candidate."""
        return levels in self.suppressed or (not self.is_conflict(levels) and levels in self.suppressed)

    def is_conflict(self, levels: Levels) -> bool:
        """Whether neither a rule nor any below it is allowed."""
        if levels in self.suppressed or levels in self._refused:
            return False
        if len(self.conflicts.above(levels)):
            return True
        verdict = self._checks.check(levels)
        if verdict.unavoidable > self._checks.allowed:
            self.conflicts.add(levels)
            return True
        if verdict.allowed:
            self._checks.evaluate(levels, verdict)
            self.suppressed[levels] = verdict.suppressed
        else:
            self._refused.add(levels)
        return False

    def _descend(self, levels: Levels, fixed: int = -1) -> Levels:
        """Lower levels while that is allowed, the dearest first, from an allowed rule."""
        # Who may not be lowered now may not be lowered later: classes only get smaller.
        open_ = {j for j in range(len(levels)) if j != fixed and levels[j]}
        while open_ and self._goes_on():
            dearest = max(open_, key=lambda j: (self._saved(levels, j), -j))
            lower = with_level(levels, dearest, levels[dearest] - 1)
            if self.is_allowed(lower):
                levels = lower
            if not (levels is lower and levels[dearest]):
                open_.remove(dearest)
        return levels

    def _saved(self, levels: Levels, j: int) -> float:
        return float(self._terms[j][levels[j]] - self._terms[j][levels[j] - 1])

    def _improve(self, levels: Levels, top: Levels) -> None:
        """Raise one attribute by a level and descend from there, until no attribute helps."""
        improved = True
        while improved:
            improved = False
            for j, height in enumerate(top):
                if levels[j] == height:
                    continue
                if not self._goes_on():
                    return
                before = self._checks.best
                other = self._descend(with_level(levels, j, levels[j] + 1), j)
                if self._checks.best < before:
                    levels, improved = other, True


def with_level(levels: Levels, j: int, level: int) -> Levels:
    """The levels with that of the j-th attribute replaced."""
    return (*levels[:j], level, *levels[j + 1 :])
