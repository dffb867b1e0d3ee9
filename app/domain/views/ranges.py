"""What a column may hold, and what a variable that stands in several columns may be."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Final, Literal, TypeVar

Value = str | int | Fraction
"""A constant: a text or an exact number; a text never equals a number."""
Cell = Value | None
"""What a row holds in a column; None is NULL."""
Kind = Literal["any", "number", "integer"]
Limits = tuple[int | Fraction, int | Fraction, int | Fraction]
"""The least and the greatest number, and what all are multiples of."""
T = TypeVar("T", bound=Hashable)
MOST_DIGITS: Final = 60
"""Of a number, before and after the point."""
_NARROWNESS: Final[dict[Kind, int]] = {"any": 0, "number": 1, "integer": 2}


def exact(number: int | float | str | Fraction) -> int | Fraction:
    """The number as it is written: 0.1 is a tenth, 1.0 is 1."""
    fraction = Fraction(str(number) if isinstance(number, float) else number)
    return fraction.numerator if fraction.denominator == 1 else fraction


def is_multiple(number: int | Fraction, of: int | Fraction) -> bool:
    """Whether the number is a multiple; reckoned in whole numbers, which takes a fraction of the time."""
    return number.numerator * of.denominator % (number.denominator * of.numerator) == 0


def digits_of(written: str) -> int:
    """How many digits a number is written with."""
    return sum(map(str.isdigit, written))


def is_short(number: int | float) -> bool:
    """Whether the number can be written with at most MOST_DIGITS digits and no exponent."""
    if isinstance(number, int):
        most: int = 10**MOST_DIGITS
        return -most < number < most
    return digits_of(format(Decimal(str(number)), "f")) <= MOST_DIGITS


def in_digits(number: int | Fraction) -> str:
    """The number exactly: as a decimal number if it is one, else as a fraction such as 1/3."""
    rest, places = number.denominator, 0
    for factor in (2, 5):
        times = 0
        while rest % factor == 0:
            rest, times = rest // factor, times + 1
        places = max(places, times)
    if rest != 1:
        return str(number)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return ("-" if number < 0 else "") + whole + ("." + part if part else "")


@dataclass(frozen=True)
class Range:
    """A set of values: all of a kind, or those that are listed."""

    kind: Kind = "any"
    """``any`` knows only equality; ``number`` is ordered and dense, ``integer`` ordered and discrete."""
    values: frozenset[Value] | None = None
    """The members of a finite range; None: all of the kind."""
    limits: Limits | None = None
    """Of numbers that are not listed; None: there are none."""

    def __contains__(self, value: Cell) -> bool:
        if self.values is not None:
            return value in self.values
        match self.kind:
            case "any":
                return value is not None
            case "number":
                return isinstance(value, int | Fraction) and self._is_within_limits(value)
            case "integer":
                return isinstance(value, int) and self._is_within_limits(value)

    def _is_within_limits(self, number: int | Fraction) -> bool:
        limits = self.limits
        return limits is None or (limits[0] <= number <= limits[1] and is_multiple(number, limits[2]))

    def meet(self, other: Range) -> Range:
        """The values that are in both."""
        if self.values is None:
            if other.values is not None:
                return other.meet(self)
            narrower = max(self, other, key=lambda own: _NARROWNESS[own.kind])
            limits = min(filter(None, (self.limits, other.limits)), key=lambda own: own[1], default=None)
            return Range(narrower.kind, limits=limits)
        if other.values is not None:
            return Range("any", self.values & other.values)
        if other.kind == "any":
            return self
        return Range("any", frozenset(value for value in self.values if value in other))

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


def common(ranges: Iterable[tuple[T, Range]]) -> dict[T, Range]:
    """What each term may be that stands where all of its ranges apply."""
    every: dict[T, dict[Range, None]] = {}
    for term, range_ in ranges:
        every.setdefault(term, {})[range_] = None
    return {term: reduce(Range.meet, own, Range()) for term, own in every.items()}
