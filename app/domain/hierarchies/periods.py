"""Days, months, quarters and years as text, and the age of somebody born in them."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from typing import Literal

Unit = Literal["day", "month", "quarter", "year"]

_WRITTEN = re.compile(r"(\d{4})(?:-(?:Q([1-4])|(\d{2})(?:-(\d{2}))?))?", re.ASCII)


@dataclass(frozen=True)
class Period:
    """A day, month, quarter or year with its first and last day."""

    unit: Unit
    first: date
    last: date


def period_of(text: str) -> Period | None:
    """Read 1975-05-10, 1975-05, 1975-Q2 or 1975; None for anything else."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        return None
    year, quarter, month, day = (int(part) if part else 0 for part in match.groups())
    try:
        if match[4]:
            exact = date(year, month, day)
            return Period("day", exact, exact)
        if match[3]:
            return Period("month", date(year, month, 1), date(year, month, monthrange(year, month)[1]))
        if match[2]:
            last = 3 * quarter
            return Period("quarter", date(year, last - 2, 1), date(year, last, monthrange(year, last)[1]))
        return Period("year", date(year, 1, 1), date(year, 12, 31))
    except ValueError:
        return None


def age_at(birth: date, reference: date) -> int:
    """Completed years; somebody born on 29 February has the birthday on 1 March in other years."""
    return reference.year - birth.year - ((reference.month, reference.day) < (birth.month, birth.day))
