"""Checking rules for k-anonymity with suppression, and what the checked ones say of the others.

Generalising never makes a class smaller. Hence if the classes of a rule x leave too many records to be
suppressed, so do those of every rule with no greater level anywhere ("below x"); and whoever is suppressed by
x is suppressed by all of them, so that their loss is at least that of their levels with these records
suppressed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from app.domain.information_loss import DomainLoss, Longs
from app.domain.numbers import tie_margin
from app.domain.search.anonymity.class_sizes import ClassSizes, Levels
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.search.budget import Budget, Halted, never
from app.domain.tables import Table

ROUNDING: Final = 1e-11
"""More than sums of an attribute's terms in different orders differ by: bounds prune only beyond it."""


class Checks:
    """Rules that were checked, the best of them, and whether the search may go on.

    Attributes
    ----------
    limit
        Sums of terms above it belong to rules that are neither better than the best nor tie with it.
    allowed
        Records that may be suppressed.
    counted, evaluated, visited
        Rules whose classes were counted; those of them whose loss was computed; steps of the budget.
    """

    def __init__(
        self,
        table: Table,
        problem: AnonymityProblem,
        budget: Budget,
        tick: Callable[[int], None],
        halted: Halted = never,
    ) -> None:
        self.table = table
        self.k = problem.k
        self.loss = DomainLoss(table, problem.loss)
        self.classes = ClassSizes(table)
        self.allowed = problem.suppression_allowed(table.n_records)
        self.limit = float("inf")
        self.best = float("inf")
        self.counted = self.evaluated = self.visited = 0
        self.halted = False
        self._budget = budget
        self._tick = tick
        self._is_halted = halted
        self._good: dict[Levels, tuple[float, int]] = {}

    def suppressed(self, levels: Levels) -> int:
        """Records that a rule suppresses."""
        self.counted += 1
        self.visited += 1
        self._tick(self.counted)
        return self.classes.below(levels, self.k)

    def evaluate(self, levels: Levels, suppressed: int) -> list[Longs]:
        """Take an allowed rule as a candidate; what its suppression adds (``DomainLoss.added``)."""
        self.evaluated += 1
        added = self.loss.added(self.classes.values_below(levels, self.k))
        loss = self.loss.of(levels, added)
        if loss < self.best:
            self.best = loss
            self.limit = self.loss.sum_of(loss + tie_margin(loss)) + ROUNDING
            accepted = loss + tie_margin(loss)
            self._good = {rule: found for rule, found in self._good.items() if found[0] <= accepted}
        if loss <= self.best + tie_margin(self.best):
            self._good[levels] = (loss, suppressed)
        return added

    def found(self) -> tuple[Levels, float, int] | None:
        """The best rule so far, the lexicographically smallest of ties, its loss and suppression."""
        if not self._good:
            return None
        levels = min(self._good)
        return levels, *self._good[levels]

    def goes_on(self, least_sum: float) -> bool:
        """Whether time, nodes and gap allow another step; ``least_sum`` bounds the sums of what is open."""
        self.halted = self.halted or self._is_halted()
        if self.halted or (self._budget.max_nodes is not None and self.visited >= self._budget.max_nodes):
            return False
        return not self._budget.suffices(self.best, min(self.best, self.loss.of_sum(least_sum)))
