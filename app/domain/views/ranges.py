"""What a column may hold, and what a variable that stands in several columns may be."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

Value = str | int | Fraction
"""A constant: a text or an exact number; a text never equals a number."""
Cell = Value | None
"""What a row holds in a column; None is NULL."""
Kind = Literal["any", "number", "integer"]
_NARROWNESS: Final[dict[Kind, int]] = {"any": 0, "number": 1, "integer": 2}


def exact(number: int | float | str | Fraction) -> int | Fraction:
    """The number as it is written: 0.1 is a tenth, 1.0 is 1."""
    fraction = Fraction(str(number) if isinstance(number, float) else number)
    return fraction.numerator if fraction.denominator == 1 else fraction


@dataclass(frozen=True)
class Range:
    """A set of values: all of a kind, or those that are listed."""

    kind: Kind = "any"
    """``any`` knows only equality; ``number`` is ordered and dense, ``integer`` ordered and discrete."""
    values: frozenset[Value] | None = None
    """The members of a finite range; None: all of the kind."""

    def __contains__(self, value: Value) -> bool:
        if self.values is not None:
            return value in self.values
        match self.kind:
            case "any":
                return True
            case "number":
                return not isinstance(value, str)
            case "integer":
                return isinstance(value, int)

    def meet(self, other: Range) -> Range:
        """The values that are in both."""
        if self.values is not None:
            return Range("any", frozenset(value for value in self.values if value in other))
        if other.values is not None:
            return other.meet(self)
        return max(self, other, key=lambda own: _NARROWNESS[own.kind])

    @property
    def is_empty(self) -> bool:
        """Whether nothing is in it."""
        return self.values is not None and not self.values

    @property
    def is_ordered(self) -> bool:
        """Whether all of its values are numbers, which can be compared by order."""
        if self.values is None:
            return self.kind != "any"
        return not any(isinstance(value, str) for value in self.values)
