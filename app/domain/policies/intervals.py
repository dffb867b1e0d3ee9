"""The numbers that keep a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass

from app.domain.policies.comparison import Comparison, Value


@dataclass(frozen=True)
class Interval:
    """The numbers that keep a threshold; an end may be open."""

    least: float
    greatest: float
    least_open: bool = False
    greatest_open: bool = False

    @classmethod
    def of(cls, comparison: Comparison, threshold: Value, *, whole: bool) -> Interval:
        """The numbers, or the whole numbers, that keep it; false is 0 and true is 1."""
        number = float(threshold)
        stepped = whole and math.isfinite(number)
        match comparison:
            case "at_least":
                return cls(math.ceil(number) if stepped else number, math.inf)
            case "above":
                return cls(math.floor(number) + 1, math.inf) if stepped else cls(number, math.inf, True)
            case "at_most":
                return cls(-math.inf, math.floor(number) if stepped else number)
            case "below":
                least = -math.inf
                return cls(least, math.ceil(number) - 1) if stepped else cls(least, number, False, True)
            case "equals":
                return cls(number, number)

    def within(self, other: Interval) -> bool:
        """Whether every number of this one is in the other."""
        above = (self.least, self.least_open) >= (other.least, other.least_open)
        below = (self.greatest, not self.greatest_open) <= (other.greatest, not other.greatest_open)
        return above and below

    def both(self, other: Interval) -> Interval:
        """The numbers that are in both, maybe none."""
        least, least_open = max((self.least, self.least_open), (other.least, other.least_open))
        greatest, closed = min(
            (self.greatest, not self.greatest_open), (other.greatest, not other.greatest_open)
        )
        return Interval(least, greatest, least_open, not closed)

    @property
    def is_empty(self) -> bool:
        """Whether no number is in it."""
        is_open = self.least_open or self.greatest_open
        return self.least > self.greatest or (self.least == self.greatest and is_open)

    def meets(self, other: Interval) -> bool:
        """Whether some number is in both."""
        return not self.both(other).is_empty
