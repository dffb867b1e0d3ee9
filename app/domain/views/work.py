"""How much a decision may cost, and how much it has cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


class OutOfBudget(Exception):
    """The work allowed for one pair is used up; whoever decides answers that the pair is undecided."""


@dataclass(frozen=True)
class Budget:
    """What one pair of queries may cost."""

    nodes: int = 400_000
    """Steps of searches: rows tried for a subgoal, values tried for a variable."""
    subset_pairs: int = 2**16
    """Pairs of sets of subgoals, per relation."""


class Work:
    """Counts the work of one pair, and stops it by :class:`OutOfBudget`."""

    def __init__(self, budget: Budget, is_late: Callable[[], bool]) -> None:
        self._budget = budget
        self._is_late = is_late
        self.nodes = 0
        self.subset_pairs = 0

    def step(self) -> None:
        """Count one step of a search."""
        self.nodes += 1
        if self.nodes > self._budget.nodes or self._is_late():
            raise OutOfBudget

    def subset_pair(self, of_relation: int) -> None:
        """Count one pair of sets of subgoals, the ``of_relation``-th of its relation."""
        self.subset_pairs += 1
        if of_relation > self._budget.subset_pairs:
            raise OutOfBudget
        self.step()
