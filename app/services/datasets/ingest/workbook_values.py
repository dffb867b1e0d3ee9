"""The texts of a workbook's values: numbers written plainly, dates and times in the form of ISO 8601.

A workbook keeps a date as the number of days since its epoch, and only the number's format says that it is
one. What is shown by a format is not what is read: a number is read in full, and so is a time below a date.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import Enum, auto
from typing import Any, Final

from app.domain.hierarchies.cell_formats import CellFormat, read_cell

_MOST_EXACT: Final = 2**53
"""Whole numbers from here on share the binary numbers of 64 bits that workbooks hold."""

_MILLISECONDS: Final = 86_400_000
_MOST_DAYS: Final = 999_999_999
_LEAP_DAY_OF_1900: Final = 60
"""A day that the epoch of 1900 counts and that never was."""

_MIDNIGHT: Final = " 00:00:00"


class Shown(Enum):
    """What a cell that is no text holds, by its type and the format of its number."""

    NUMBER = auto()
    DATE = auto()
    TIME = auto()
    DATE_AND_TIME = auto()
    ELAPSED = auto()
    """A time that counts more than 24 hours."""
    WRITTEN_DATE = auto()
    """A date that is kept as text."""
    ERROR = auto()


@dataclass(frozen=True, eq=False)
class NumberFormat:
    """What a number format shows; ``zeros``: of numbers up to each bound at least so many digits.

    Cells share it, millions of them, so it is equal to itself only.
    """

    shown: Shown
    zeros: tuple[tuple[float, int], ...] = ()

    def digits(self, value: float) -> int:
        """How many digits of a number before its point are shown at least."""
        return next((digits for bound, digits in self.zeros if value <= bound), 0)


PLAIN: Final = NumberFormat(Shown.NUMBER)
"""Of numbers of which no more is shown than they are."""


class NoSuchDate(ValueError):
    """A number that is formatted as a date and stands for none."""


class Inexact(ValueError):
    """A whole number of so many digits that workbooks do not hold them all."""


_BUILT_IN: Final = {
    **dict.fromkeys((*range(14, 18), *range(27, 32), 36, *range(50, 55), *range(57, 59)), Shown.DATE),
    **dict.fromkeys((18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 55, 56), Shown.TIME),
    22: Shown.DATE_AND_TIME,
    46: Shown.ELAPSED,
}
"""Number formats that a workbook does not write out (18.8.30 of ECMA-376, those of East Asia included)."""

_UNREAD: Final = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE | re.DOTALL)
"""Parts of a format that stand for themselves, and colours, conditions and languages."""

_ELAPSED: Final = re.compile(r"\[[hms]+\]")
_UP_TO: Final = re.compile(r"\[<=?([0-9]+)\]")
_BEHIND: Final = re.compile(r"[.eE/].*", re.DOTALL)
"""What stands behind the whole part of a number."""


def format_of(number: int, code: str | None) -> NumberFormat:
    """What the format with this number, and this code if the workbook writes one, shows."""
    if code is None:
        return NumberFormat(_BUILT_IN[number]) if number in _BUILT_IN else PLAIN
    first, _, second = code.partition(";")
    signs = _UNREAD.sub("", first).lower()
    if _ELAPSED.search(signs):
        return NumberFormat(Shown.ELAPSED)
    times = "h" in signs or "s" in signs
    dates = "y" in signs or "d" in signs or ("m" in signs and not times)
    if dates and times:
        return NumberFormat(Shown.DATE_AND_TIME)
    if dates or times:
        return NumberFormat(Shown.DATE if dates else Shown.TIME)
    # As in [<=99999]00000;00000-0000, by which ZIP codes of five and of nine digits are shown.
    condition = _UP_TO.search(first)
    sections = [(float(condition[1]), first), (math.inf, second)] if condition else [(math.inf, first)]
    zeros = tuple((bound, _BEHIND.sub("", _UNREAD.sub("", own)).count("0")) for bound, own in sections)
    return NumberFormat(Shown.NUMBER, zeros) if any(digits > 1 for _, digits in zeros) else PLAIN


def is_date(written: str, shown: Shown, from_1904: bool) -> bool:
    """Whether a number of days stands for a date or a time; ValueError if it is no number.

    What is before the first day stands for none, nor does the leap day of 1900, which never was.
    """
    value = float(written)
    if not math.isfinite(value):
        raise ValueError("not a number")
    day = round(value * _MILLISECONDS) // _MILLISECONDS
    if from_1904 or shown is Shown.ELAPSED:
        return 0 <= day <= _MOST_DAYS
    return (day > 0 and day != _LEAP_DAY_OF_1900) or (day == 0 and shown is Shown.TIME)


def text_of(value: Any, format_: NumberFormat | None) -> str:  # noqa: ANN401 - what a cell may hold
    """The text of a cell, of a number with the zeros that its format shows; ``format_``: None of a text.

    ValueError if the cell does not hold what that says.
    """
    if isinstance(value, float) and format_ is not None:
        if format_.shown is not Shown.NUMBER:
            raise NoSuchDate
        if value.is_integer():
            if abs(value) >= _MOST_EXACT:
                raise Inexact
            text = str(int(value))
            return text.zfill(format_.digits(value)) if format_.zeros and value >= 0 else text
        if not math.isfinite(value):
            raise ValueError("not a number")
        text = repr(value)
        return text if "e" not in text else read_cell(text, CellFormat.POINT) or text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and (not value or format_ is None or format_.shown is Shown.WRITTEN_DATE):
        return value if format_ is None else value.replace("T", " ").removesuffix("Z").removesuffix(_MIDNIGHT)
    if isinstance(value, str) or format_ is None:
        raise ValueError("not of its type")
    if format_.shown is Shown.NUMBER:
        raise NoSuchDate
    return _date_text(value, format_.shown)


def _date_text(value: date | time | timedelta, shown: Shown) -> str:
    """The date, the time or both; a date whose number has a part of a day keeps its time."""
    if isinstance(value, timedelta):
        minutes, rest = divmod(value, timedelta(minutes=1))
        parts = f".{rest.microseconds // 1000:03}" if rest.microseconds else ""
        return f"{minutes // 60:02}:{minutes % 60:02}:{rest.seconds:02}{parts}"
    if isinstance(value, time) and shown in (Shown.DATE, Shown.DATE_AND_TIME):
        # The epoch of 1904 has a first day, numbered 0; that of 1900 begins with day 1.
        value = datetime.combine(date(1904, 1, 1), value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, time())
    precision = "milliseconds" if value.microsecond else "seconds"
    if isinstance(value, time):
        return value.isoformat(precision)
    text = value.isoformat(" ", precision)
    return text.removesuffix(_MIDNIGHT) if shown in (Shown.DATE, Shown.WRITTEN_DATE) else text
