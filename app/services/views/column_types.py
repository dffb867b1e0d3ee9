"""How the values of columns compare in SQL.

Dates are counted in days, and times of day as fractions of them, so that they have an order; what is shown of
a witness is turned back.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from math import floor
from typing import Final, Literal

from app.domain.views.ranges import Cell, Limits, Range, Value, exact, in_digits

Family = Literal["untyped", "number", "text", "boolean", "date", "time", "timestamp", "opaque", "unknown"]
"""Columns of an opaque type are compared with others of it only, those of an unknown one with nothing."""
SECONDS_OF_A_DAY: Final = 86_400
_MICROSECOND: Final = Fraction(1, SECONDS_OF_A_DAY * 10**6)
_FIRST_DAY: Final = -1_721_425  # In 4714 BC, the first that PostgreSQL knows.
_LAST_DAY: Final = 2_147_483_493 + _FIRST_DAY
_LIMITS: Final[dict[str, Limits]] = {
    **{name: (-(2**n), 2**n - 1, 1) for name, n in (("smallint", 15), ("integer", 31), ("bigint", 63))},
    "date": (_FIRST_DAY, _LAST_DAY, 1),
    "timestamp": (_FIRST_DAY, 109_203_528 + _FIRST_DAY - _MICROSECOND, _MICROSECOND),
    "time": (0, 1, _MICROSECOND),
}
_DAYS_OF_400_YEARS: Final = 146_097
PADDED: Final = "char"
"""The name of the opaque type of padded texts."""


@dataclass(frozen=True)
class ColumnType:
    """How the values of a column compare."""

    family: Family = "untyped"
    values: frozenset[Value] | None = None
    """All values, where they are listed."""
    name: str = ""
    """Of an opaque type."""
    size: int | None = None
    """How many digits all its numbers show behind the point, or how many characters its padded texts have;
    None: that is not known.
    """
    declared: str = ""
    """What PostgreSQL calls it, with its size in parentheses; empty: that is not known."""

    @property
    def limits(self) -> Limits | None:
        """Between which numbers all its own are, but for infinity and NaN, and of what they are multiples."""
        name, _, written = self.declared.rstrip(")").partition("(")
        size = [int(own) for own in written.split(",") if own.isdecimal()]
        if name == "numeric" and size:
            step = Fraction(1, 10 ** (size[1] if size[1:] else 0))
            return (1 - 10 ** size[0]) * step, (10 ** size[0] - 1) * step, step
        found = _LIMITS.get(name)
        return found and (*found[:2], Fraction(1, SECONDS_OF_A_DAY * 10 ** size[0]) if size else found[2])

    def has(self, value: Value) -> bool:
        """Whether a column of the type can hold the value."""
        if self.values is not None:
            return value in self.values
        if isinstance(value, str):
            name, _, size = self.declared.rstrip(")").partition("(")
            return name != "varchar" or not size.isdecimal() or len(value) <= int(size)
        return value in Range("number", limits=self.limits)

    @property
    def is_ordered(self) -> bool:
        """Whether its values have an order that is the same in every database."""
        return self.family in ("number", "date", "time", "timestamp")

    @property
    def words(self) -> str:
        """What it holds, for a message."""
        others: dict[Family, str] = {
            "opaque": "another type",
            "unknown": "another type",
            "untyped": "no declared type",
        }
        return others.get(self.family, self.family)

    def compares_with(self, other: ColumnType) -> bool:
        """Whether values of both are equal exactly if they are one value here."""
        if "unknown" in (self.family, other.family):
            return False
        if {self.family, other.family} == {"date", "timestamp"}:
            return True
        return (self.family, self.name) == (other.family, other.name)

    def is_shown_as(self, other: ColumnType) -> bool:
        """Whether equal values of both look alike; compared with itself, whether its own do.

        1 and 1.00 are one number, and a text that CHAR pads is equal to one that is padded further: which of
        them a DISTINCT or a UNION keeps depends on rows that add nothing to the set.
        """
        if self.family == "number" or (self.family == "opaque" and self.name == PADDED):
            return self.size is not None and self.size == other.size
        return True

    def beside(self, other: ColumnType) -> ColumnType:
        """The type of a column that holds values of both."""
        if {self.family, other.family} == {"date", "timestamp"}:
            return ColumnType("timestamp")
        both = replace(self, values=self.values if self.values == other.values else None)
        return both if self.is_shown_as(other) else replace(both, size=None)


UNTYPED: Final = ColumnType()


def type_of(range_: Range) -> ColumnType:
    """The type of a column that is declared by what it may hold: equal values are one, and look alike."""
    if range_.values is None:
        return UNTYPED if range_.kind == "any" else ColumnType("number", size=0)
    if range_.is_ordered:
        return ColumnType("number", range_.values, size=0)
    if all(isinstance(value, str) for value in range_.values):
        return ColumnType("text", range_.values)
    return ColumnType("untyped", range_.values)


def shown(cell: Cell, of: ColumnType) -> Cell:
    """A value as SQL shows it: dates and times in words, and what is none that there is as any value."""
    if cell is None or isinstance(cell, str) or of.family not in ("date", "time", "timestamp"):
        return cell
    day = floor(cell)
    if of.family == "time":
        return _time_of_day(Fraction(cell)) if day == 0 else f"#{in_digits(cell)}"
    if not _FIRST_DAY <= day <= _LAST_DAY:
        return f"#{in_digits(cell)}"
    cycles, rest = divmod(day - 1, _DAYS_OF_400_YEARS)
    like = date.fromordinal(rest + 1)
    year = like.year + 400 * cycles
    # A column of dates may have been joined with one of moments.
    time = "" if of.family == "date" and cell == day else f" {_time_of_day(Fraction(cell - day))}"
    return f"{max(year, 1 - year):04}{like.isoformat()[4:]}{time}{'' if year > 0 else ' BC'}"


def _time_of_day(share: Fraction) -> str:
    """The time at which so much of a day is over."""
    seconds, rest = divmod(share * SECONDS_OF_A_DAY, 1)
    fraction = f"{floor(rest * 10**12):012}".rstrip("0")
    return f"{timedelta(seconds=int(seconds))!s:0>8}{f'.{fraction}' if fraction else ''}"


def cell_in_json(cell: Cell) -> str | int | float | None:
    """The cell; a number that a double would round as a text of its digits."""
    if cell is None or isinstance(cell, str):
        return cell
    number = float(cell)
    if exact(number) != cell:
        return in_digits(cell)
    return cell if isinstance(cell, int) else number
