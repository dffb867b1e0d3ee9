"""How much a decision may cost, and how much it has cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace


class OutOfBudget(Exception):
    """The work allowed for one pair is used up; whoever decides answers that the pair is undecided."""


@dataclass(frozen=True)
class Budget:
    """What one pair of queries may cost."""

    steps: int = 400_000
    """Steps of searches: a row tried for a subgoal, a value tried for a variable, a set of subgoals or a pair
    of them looked at.
    """
    subset_pairs: int = 2**16
    """Pairs of sets of subgoals, per relation."""


class Work:
    """Counts the work of one pair, and stops it by :class:`OutOfBudget`.

    Loops that may be exponential count each round by ``step``, so that the verdict is the same on every
    machine. Those that are only long look at the clock by ``check``.
    """

    def __init__(self, budget: Budget, is_late: Callable[[], bool], whole: Work | None = None) -> None:
        self._budget = budget
        self._is_late = is_late
        self._whole = whole
        self.steps = 0
        self.subset_pairs = 0

    def step(self) -> None:
        """Count one step of a search."""
        self.steps += 1
        if self.steps > self._budget.steps:
            raise OutOfBudget
        if self._whole is not None:
            self._whole.step()
        elif self._is_late():
            raise OutOfBudget

    def check(self) -> None:
        """Stop if no time is left."""
        if self._is_late():
            raise OutOfBudget

    def subset_pair(self, of_relation: int) -> None:
        """Count one pair of sets of subgoals, the ``of_relation``-th of its relation."""
        self.subset_pairs += 1
        if of_relation > self._budget.subset_pairs:
            raise OutOfBudget
        self.step()

    def part(self, steps: int) -> Work:
        """Work of at most so many steps, each of which counts here as well."""
        return Work(replace(self._budget, steps=steps), self._is_late, self)
