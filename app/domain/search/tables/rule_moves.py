"""A good rule of a lattice too large to hold: greedy from ⊥, then exchanges of levels until none helps.

Proves nothing; its rule is the incumbent of a search that does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

from app.domain.numbers import highest_accepted, lowest_accepted
from app.domain.search.boxes import Lattice, Levels
from app.domain.search.budget import Halted
from app.domain.search.problem import Problem

Tick = Callable[[int], None]
Key = tuple[float, float]

NO_RULE: Key = (math.inf, math.inf)


class _EndedError(Exception):
    """No more ratings."""


class GreedyRule:
    """The search and what it found: ``best`` levels, None without a feasible rule, and ``n_ratings``."""

    def __init__(
        self, lattice: Lattice, problem: Problem, most_ratings: int, tick: Tick | None, halted: Halted
    ) -> None:
        self._lattice = lattice
        self._problem = problem
        self._most = most_ratings
        self._tick = tick
        self._halted = halted
        self._risks: dict[Levels, float] = {}
        self.best: Levels | None = None
        self._key: Key = NO_RULE

    @property
    def n_ratings(self) -> int:
        """Rules that were rated."""
        return len(self._risks)

    @property
    def key(self) -> Key:
        """Objective, to be minimised, and second criterion of the best rule."""
        return self._key

    def run(self) -> None:
        """Search until no move helps, the ratings are spent or it is halted."""
        try:
            self._look_at(tuple(0 for _ in self._lattice.heights), always=True)
            self._descend()
            while self._improve():
                pass
        except _EndedError:
            return

    def _risk(self, levels: Levels) -> float:
        if levels not in self._risks:
            if len(self._risks) >= self._most or self._halted():
                raise _EndedError
            self._risks[levels] = self._lattice.risks(levels)[0]
            if self._tick is not None:
                self._tick(1)
        return self._risks[levels]

    def _rated(self, levels: Levels) -> Key:
        """Objective and second criterion; infinite if the rule is not feasible."""
        problem, utility = self._problem, self._lattice.utility(levels)
        if problem.objective == "min_risk" and utility < lowest_accepted(problem.threshold):
            return NO_RULE
        risk = self._risk(levels)
        if problem.objective == "min_risk":
            return risk, -utility
        if problem.objective == "max_utility":
            return NO_RULE if risk > highest_accepted(problem.threshold) else (-utility, risk)
        return risk - problem.threshold * utility, -utility

    def _look_at(self, levels: Levels, always: bool = False) -> bool:
        """Take a rule if it is better; one that its utility alone rules out is not rated."""
        if not always and self._least(levels) > self._key[0]:
            return False
        key = self._rated(levels)
        if math.isinf(key[0]) or key >= self._key:
            return False
        self.best, self._key = levels, key
        return True

    def _least(self, levels: Levels) -> float:
        problem, utility = self._problem, self._lattice.utility(levels)
        if problem.objective == "max_utility":
            return -utility
        if problem.objective == "min_risk":
            return -math.inf
        return -problem.threshold * utility if math.isfinite(self._key[0]) else -math.inf

    def _descend(self) -> None:
        """From ⊥ to finer rules, each time where utility costs the least risk, past feasible rules."""
        levels = self._lattice.heights
        self._look_at(levels)
        while True:
            utility, risk = self._lattice.utility(levels), self._risk(levels)
            if self._is_done(utility, risk):
                return
            prices = []
            for j, level in enumerate(levels):
                if level:
                    finer = (*levels[:j], level - 1, *levels[j + 1 :])
                    gain = max(self._lattice.utility(finer) - utility, 1e-300)
                    prices.append(((self._risk(finer) - risk) / gain, self._risk(finer), finer))
                    self._look_at(finer)
            if not prices:
                return
            levels = min(prices)[2]

    def _is_done(self, utility: float, risk: float) -> bool:
        if self._problem.objective == "min_risk":
            return utility >= lowest_accepted(self._problem.threshold)
        if self._problem.objective == "max_utility":
            return risk > highest_accepted(self._problem.threshold)
        return False

    def _improve(self) -> bool:
        """Take the first better neighbour of the best rule; False if there is none."""
        best = self.best
        return best is not None and any(self._look_at(levels) for levels in self._neighbours(best))

    def _neighbours(self, levels: Levels) -> Iterator[Levels]:
        heights = self._lattice.heights
        single = [
            (j, step) for j, level in enumerate(levels) for step in (1, -1) if 0 <= level + step <= heights[j]
        ]
        for j, step in single:
            yield (*levels[:j], levels[j] + step, *levels[j + 1 :])
        for j, up in single:
            for k, down in single:
                if up == 1 and down == -1 and j != k:
                    moved = list(levels)
                    moved[j] += 1
                    moved[k] -= 1
                    yield tuple(moved)
