"""The texts of a workbook's cells: numbers written plainly, dates and times in the form of ISO 8601.

A workbook keeps a date as the number of days since its epoch, and only the number's format says that it is
one. What is shown by a format is not what is read: a number is read in full, and so is a time below a date.
Zeros that a format shows before a number are read if the dialect says so.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import Enum, auto
from typing import Final

from app.domain.hierarchies.cell_formats import CellFormat, read_cell


class Shown(Enum):
    """What a number format shows of a number."""

    NUMBER = auto()
    DATE = auto()
    TIME = auto()
    DATE_AND_TIME = auto()
    ELAPSED = auto()
    """A time that counts more than 24 hours."""


Zeros = tuple[tuple[Callable[[float, float], bool], float, int], ...]
"""By a comparison and its bound, how many digits are shown at least before the point; the first applies."""


@dataclass(frozen=True)
class NumberFormat:
    """What a number format shows; ``zeros`` is empty if it shows none before any number."""

    shown: Shown
    zeros: Zeros = ()

    def with_zeros(self, text: str) -> str:
        """The text of a number with the zeros that are shown before it, if it is whole and not negative."""
        if not text.isdecimal():
            return text
        value = float(text)
        return text.zfill(next((digits for holds, bound, digits in self.zeros if holds(value, bound)), 0))


PLAIN: Final = NumberFormat(Shown.NUMBER)
"""Shows no zeros before a number."""


class NoSuchDate(ValueError):
    """A number that is formatted as a date and stands for none."""


_BUILT_IN: Final = {
    **dict.fromkeys((*range(14, 18), *range(27, 32), 36, *range(50, 55), *range(57, 59)), Shown.DATE),
    **dict.fromkeys((18, 19, 20, 21, 32, 33, 34, 35, 45, 47, 55, 56), Shown.TIME),
    22: Shown.DATE_AND_TIME,
    46: Shown.ELAPSED,
}
"""Number formats that a workbook does not write out (18.8.30 of ECMA-376, those of East Asia included)."""

_LITERAL: Final = re.compile(r'"[^"]*"|\\.|_.|\*.', re.DOTALL)
"""Parts of a format that stand for themselves."""

_UNREAD: Final = re.compile(r"\[(?!h+\]|m+\]|s+\])[^\]]*\]", re.IGNORECASE)
"""Colours, conditions and languages."""

_ELAPSED: Final = re.compile(r"\[[hms]+\]")
_CONDITION: Final = re.compile(r"\[(<=|>=|<>|<|>|=)(-?[0-9]+(?:\.[0-9]*)?)\]")
_HOLDS: Final = {
    "<=": operator.le, ">=": operator.ge, "<>": operator.ne,
    "<": operator.lt, ">": operator.gt, "=": operator.eq,
}  # fmt: skip
_BEHIND: Final = re.compile(r"[.e].*", re.DOTALL)
"""What stands behind the whole part of a number."""

_OF_ANOTHER: Final = re.compile(r"[%/]|,(?![0#?])")
"""Signs by which a format shows percents, fractions or thousands of a number, and not its digits."""

_WHOLE: Final = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ESCAPE: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_MILLISECONDS: Final = 86_400_000
_LEAP_DAY_OF_1900: Final = 60
"""A day that the epoch of 1900 counts and that never was."""


def format_of(number: int, code: str | None) -> NumberFormat:
    """What the format with this number, and this code if the workbook writes one, shows."""
    if code is None:
        return NumberFormat(_BUILT_IN.get(number, Shown.NUMBER))
    sections = _LITERAL.sub("", code).lower().split(";")
    signs = _UNREAD.sub("", sections[0])
    if _ELAPSED.search(signs):
        return NumberFormat(Shown.ELAPSED)
    if signs.strip() in ("general", "@"):
        return PLAIN
    times = "h" in signs or "s" in signs
    dates = "y" in signs or "d" in signs or ("m" in signs and not times)
    if dates and times:
        return NumberFormat(Shown.DATE_AND_TIME)
    if dates or times:
        return NumberFormat(Shown.DATE if dates else Shown.TIME)
    return NumberFormat(Shown.NUMBER, _zeros(sections))


def _zeros(sections: list[str]) -> Zeros:
    """How many digits the sections of a format show at least, each of the numbers that it is for.

    Conditions are as in [<=99999]00000;00000-0000, by which ZIP codes of five and of nine digits are shown.
    Without them the first section is for positive numbers, the second for negative ones, the third for 0; the
    last is for all that no other is for. Sections with @ are for texts. Source: ECMA-376, part 1, 18.8.31.
    """
    sections = [section for section in sections if "@" not in section][:3]
    zeros = []
    for position, section in enumerate(sections):
        condition = _CONDITION.search(section)
        if condition is not None:
            holds, bound = _HOLDS[condition[1]], float(condition[2])
        elif position == len(sections) - 1:
            holds, bound = operator.ge, -math.inf
        else:
            holds, bound = (operator.gt if len(sections) > 2 else operator.ge, operator.lt)[position], 0.0
        signs = _UNREAD.sub("", section)
        digits = 0 if _OF_ANOTHER.search(signs) else _BEHIND.sub("", signs).count("0")
        zeros.append((holds, bound, digits))
    return tuple(zeros) if any(digits > 1 for _, _, digits in zeros) else ()


def number_text(written: str) -> str:
    """The number plainly: whole ones without a point, others by the fewest digits that are that number."""
    if _WHOLE.fullmatch(written):
        return "0" if written == "-0" else written
    if not _NUMBER.fullmatch(written) or not math.isfinite(value := float(written)):
        raise ValueError("not a number")
    if value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    text = repr(value)
    return text if "e" not in text else read_cell(text, CellFormat.POINT) or text


def date_text(written: str, shown: Shown, from_1904: bool) -> str:
    """The date, the time or both that a number of days stands for; NoSuchDate if it stands for none.

    A date whose number has a part of a day keeps its time, whatever the format shows.
    """
    days, milliseconds = divmod(round(float(number_text(written)) * _MILLISECONDS), _MILLISECONDS)
    if days < 0:
        raise NoSuchDate
    if shown is Shown.ELAPSED:
        return _time(days * _MILLISECONDS + milliseconds)
    if days == 0 and shown is Shown.TIME:
        return _time(milliseconds)
    day = _day(days, from_1904).isoformat()
    if milliseconds or shown is not Shown.DATE:
        return f"{day} {_time(milliseconds)}"
    return day


def _day(days: int, from_1904: bool) -> date:
    if not from_1904 and days in (0, _LEAP_DAY_OF_1900):
        raise NoSuchDate
    if not from_1904 and days < _LEAP_DAY_OF_1900:
        days += 1
    try:
        return (date(1904, 1, 1) if from_1904 else date(1899, 12, 30)) + timedelta(days)
    except OverflowError:
        raise NoSuchDate from None


def _time(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour:02}:{minute:02}:{second:02}" + (f".{rest:03}" if rest else "")


def iso_text(written: str) -> str:
    """A date that is kept as text, in the form that other dates are read in."""
    return written.replace("T", " ").removesuffix("Z").removesuffix(" 00:00:00")


def unescaped(text: str) -> str:
    """A text without the escapes that stand for characters which XML cannot hold."""
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "_x" in text else text
