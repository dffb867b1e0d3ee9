"""Times, days, months, quarters and years as text, and the age of somebody born in them."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal

Unit = Literal["part of a second", "second", "minute", "hour", "day", "month", "quarter", "year"]

SECOND: Final = 10**9
"""Nanoseconds, in which times are counted."""
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR

_CLOCK: Final = (
    r" (?P<hour>[01]\d|2[0-3])(?::(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:\.(?P<part>\d+))?)?)?"
    r"(?P<zone>Z|[+-]\d{2}:\d{2})?"
)
_WRITTEN: Final = re.compile(rf"(\d{{4}})(?:-(?:Q([1-4])|(\d{{2}})(?:-(\d{{2}})(?:{_CLOCK})?)?))?", re.ASCII)


@dataclass(frozen=True)
class Period:
    """A day, month, quarter or year with its first and last day; or a time of a day.

    ``begins`` and ``ends`` are the first and the last nanosecond of a time on its day, by the clock that it
    is written by; ``zone`` is that clock's, if it is written.
    """

    unit: Unit
    first: date
    last: date
    begins: int = 0
    ends: int = DAY - 1
    zone: str = ""

    @property
    def span(self) -> tuple[int, int]:
        """Its first and its last nanosecond, in the order of all of them by their own clocks."""
        return self.first.toordinal() * DAY + self.begins, self.last.toordinal() * DAY + self.ends


def period_of(text: str) -> Period | None:
    """Read 1975-05-10, 1975-05, 1975-Q2 or 1975, or a time such as 1975-05-10 14:35; None for others."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    year, quarter, month, day = (int(part) if part else 0 for part in match.groups()[:4])
    try:
        if match[4]:
            exact = date(year, month, day)
            return Period("day", exact, exact) if match["hour"] is None else _time(exact, match)
        if match[3]:
            return Period("month", date(year, month, 1), date(year, month, monthrange(year, month)[1]))
        if match[2]:
            last = 3 * quarter
            return Period("quarter", date(year, last - 2, 1), date(year, last, monthrange(year, last)[1]))
        return Period("year", date(year, 1, 1), date(year, 12, 31))
    except ValueError:
        return None


def _time(day: date, match: re.Match[str]) -> Period:
    minutes = 60 * int(match["hour"]) + int(match["minute"] or 0)
    begins = minutes * MINUTE + int(match["second"] or 0) * SECOND
    begins += int((match["part"] or "0").ljust(9, "0")[:9])
    unit, length = next((unit, length) for part, unit, length in _CLOCKS if match[part])
    return Period(unit, day, day, begins, begins + length - 1, match["zone"] or "")


_CLOCKS: Final[tuple[tuple[str, Unit, int], ...]] = (
    ("part", "part of a second", 1), ("second", "second", SECOND), ("minute", "minute", MINUTE),
    ("hour", "hour", HOUR),
)  # fmt: skip


def age_at(birth: date, reference: date) -> int:
    """Completed years; somebody born on 29 February has the birthday on 1 March in other years."""
    return reference.year - birth.year - ((reference.month, reference.day) < (birth.month, birth.day))
