"""What a search for a change chooses among."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from app.domain.criteria.class_suppression import ClassSuppression
from app.domain.rules.rule import Rule
from app.domain.search.changes.change import Levels
from app.domain.search.changes.raising import Raising
from app.domain.search.changes.vectors import Vector


@dataclass(eq=False)
class RaisedRule:
    """A rule raised to levels, with failing classes withheld or not."""

    raising: Raising
    levels: Levels
    suppression: ClassSuppression | None = None

    @property
    def withholds(self) -> bool:
        """Whether records are withheld beside the levels."""
        return self.suppression is not None

    @cached_property
    def rule(self) -> Rule:
        """The rule, made when it is first asked for."""
        if self.suppression is None:
            return self.raising.raised(self.levels)
        return self.raising.withholding(self.levels, self.suppression)[0]


@dataclass(frozen=True, order=True)
class Option:
    """A vector that could be the answer; options are ordered by what is taken first."""

    less: float
    suppressed: int
    total: int
    levels: Levels
    vector: Vector = field(compare=False)

    @property
    def rank(self) -> tuple[int, int, Levels]:
        """What decides among those that are worth the same."""
        return self.suppressed, self.total, self.levels

    @property
    def utility(self) -> float:
        """What it is worth."""
        return -self.less
