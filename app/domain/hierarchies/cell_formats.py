"""How numbers and dates may be written in a table, and what they are in the one form that a dataset has."""

from __future__ import annotations

import re
from datetime import date, time
from decimal import Decimal
from enum import StrEnum
from typing import Final


class CellFormat(StrEnum):
    """How the cells of a column write dates or numbers; named by an example or by its parts.

    Between the parts of a date, days and months may lack their leading zero, and a time of day may stand
    behind it. It is kept by the formats that name it, down to parts of a second and with the zone that is
    written; the others read the day alone. Of the separators of thousands, all or none are written. The sign
    of a currency may be missing, but be no other one.
    """

    ISO_DATE = "yyyy-mm-dd"
    DAY_FIRST_DOTS = "dd.mm.yyyy"
    DAY_FIRST_SLASHES = "dd/mm/yyyy"
    DAY_FIRST_DASHES = "dd-mm-yyyy"
    MONTH_FIRST_SLASHES = "mm/dd/yyyy"
    MONTH_FIRST_DASHES = "mm-dd-yyyy"
    YEAR_FIRST_SLASHES = "yyyy/mm/dd"
    DIGITS = "yyyymmdd"
    ISO_TIME = "yyyy-mm-dd hh:mm:ss"
    DAY_FIRST_DOTS_TIME = "dd.mm.yyyy hh:mm:ss"
    DAY_FIRST_SLASHES_TIME = "dd/mm/yyyy hh:mm:ss"
    DAY_FIRST_DASHES_TIME = "dd-mm-yyyy hh:mm:ss"
    MONTH_FIRST_SLASHES_TIME = "mm/dd/yyyy hh:mm:ss"
    MONTH_FIRST_DASHES_TIME = "mm-dd-yyyy hh:mm:ss"
    YEAR_FIRST_SLASHES_TIME = "yyyy/mm/dd hh:mm:ss"
    POINT = "1234.56"
    COMMA = "1234,56"
    DOTS_AND_COMMA = "1.234,56"
    COMMAS_AND_POINT = "1,234.56"
    APOSTROPHES_AND_POINT = "1'234.56"
    BLANKS_AND_COMMA = "1 234,56"
    DOLLARS = "$1,234.56"
    POUNDS = "£1,234.56"
    EUROS_BEFORE_COMMAS = "€1,234.56"
    EUROS_BEFORE_DOTS = "€1.234,56"
    EUROS_BEHIND_DOTS = "1.234,56 €"
    EUROS_BEHIND_BLANKS = "1 234,56 €"

    @property
    def is_of_dates(self) -> bool:
        """Whether it writes dates; the others write numbers."""
        return "yyyy" in self

    @property
    def keeps_time(self) -> bool:
        """Whether a time of day behind a date is read, too."""
        return self.endswith(_CLOCK)

    @property
    def with_time(self) -> CellFormat | None:
        """The format of the same dates that keeps the time behind them, if a time may stand there."""
        return None if self is CellFormat.DIGITS else CellFormat(f"{self.removesuffix(_CLOCK)}{_CLOCK}")


_CLOCK: Final = " hh:mm:ss"

DATE_FORMATS: Final = tuple(own for own in CellFormat if own.is_of_dates)
DAY_FORMATS: Final = tuple(own for own in DATE_FORMATS if not own.keeps_time)
NUMBER_FORMATS: Final = tuple(own for own in CellFormat if not own.is_of_dates)

_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?", re.ASCII)
_WHOLE: Final = re.compile(r"(-?\d+)(?:\.0+)?", re.ASCII)
_MOST_ZEROS: Final = 60
"""A short cell such as 1e999 must not become a long one, of which there may be millions."""
_TIME: Final = (
    r"(?:[T ](?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<part>\d+))?)?"
    r"(?P<zone>Z|[+-]\d{2}:?\d{2})?)?"
)
_PARTS: Final = {"yyyy": r"(?P<year>\d{4})", "mm": r"(?P<month>\d{1,2})", "dd": r"(?P<day>\d{1,2})"}


def _date_pattern(format_: CellFormat) -> re.Pattern[str]:
    if format_ is CellFormat.DIGITS:
        return re.compile(r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})", re.ASCII)
    pattern = re.escape(format_.removesuffix(_CLOCK))
    for part, group in _PARTS.items():
        pattern = pattern.replace(part, group)
    return re.compile(pattern + _TIME, re.ASCII)


_DATES: Final = {format_: _date_pattern(format_) for format_ in DATE_FORMATS}
_BLANKS: Final = " \u00a0\u202f"
_GROUPED: Final = {
    CellFormat.COMMA: ("", ","),
    CellFormat.DOTS_AND_COMMA: (r"\.", ","),
    CellFormat.COMMAS_AND_POINT: (",", r"\."),
    CellFormat.APOSTROPHES_AND_POINT: ("['’]", r"\."),
    CellFormat.BLANKS_AND_COMMA: (f"[{_BLANKS}]", ","),
}
"""Separator of thousands and decimal separator, as regular expressions."""
_CURRENCIES: Final = "$£€"


def _number_pattern(format_: CellFormat) -> re.Pattern[str]:
    plain = CellFormat(format_.strip(f"{_CURRENCIES} "))
    thousands, decimal = _GROUPED[plain]
    signs = (re.escape(own.strip()) for own in format_.split(plain))
    before, behind = (own and rf"(?:[{_BLANKS}]?{own}[{_BLANKS}]?)?" for own in signs)
    whole = rf"(?:\d{{1,3}}(?:{thousands}\d{{3}})+|\d+)" if thousands else r"\d+"
    return re.compile(rf"([+-]?){before}([+-]?{whole})(?:{decimal}(\d+))?{behind}", re.ASCII)


_NUMBERS: Final = {own: _number_pattern(own) for own in NUMBER_FORMATS if own is not CellFormat.POINT}


def is_number(text: str) -> bool:
    """Whether a text is a number like 1200, 0.5 or 1e6."""
    return _NUMBER.fullmatch(text) is not None


def spelled_otherwise(text: str) -> tuple[str, ...]:
    """Other spellings of a whole number: of 17100.0 it is 17100, and the other way round; else none.

    Programs that have no missing whole numbers write all of a column as decimals once one is missing.
    """
    found = _WHOLE.fullmatch(text)
    if found is None:
        return ()
    return tuple(own for own in (found[1], f"{found[1]}.0") if own != text)


def is_date(text: str) -> bool:
    """Whether a text is a date like 1975-05-10."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def read_cell(text: str, format_: CellFormat) -> str | None:
    """The date as yyyy-mm-dd, with a time that is kept as 2024-05-01 08:07:00, or the number as one text.

    None if the text is not written so. Numbers that are equal become one text: 17100.0, 17100,00 and 17.100
    are 17100. So do equal times of one zone, 8:07, 08:07:00 and 08:07:00.000, and midnight is the day alone,
    which is how programs write days in columns of times.
    """
    return _read_date(text, format_) if format_.is_of_dates else _read_number(text, format_)


def _read_date(text: str, format_: CellFormat) -> str | None:
    found = _DATES[format_].fullmatch(text)
    if found is None:
        return None
    try:
        day = date(int(found["year"]), int(found["month"]), int(found["day"])).isoformat()
        if not format_.keeps_time or found["hour"] is None:
            return day
        clock = time(int(found["hour"]), int(found["minute"]), int(found["second"] or 0)).isoformat()
    except ValueError:
        return None
    part, zone = (found["part"] or "").rstrip("0"), (found["zone"] or "").replace(":", "")
    if not (part or zone) and clock == "00:00:00":
        return day
    shown = "Z" if zone[1:] == "0000" else f"{zone[:3]}:{zone[3:]}" if len(zone) > 1 else zone
    return f"{day} {clock}{'.' if part else ''}{part}{shown}"


def _read_number(text: str, format_: CellFormat) -> str | None:
    if format_ is CellFormat.POINT:
        return _plain(text) if is_number(text) else None
    found = _NUMBERS[format_].fullmatch(text)
    if found is None:
        return None
    if found[1] and found[2][0] in "+-":
        return None
    sign = "-" if text.startswith("-") or found[2].startswith("-") else ""
    digits = found[2].removeprefix("-").removeprefix("+")
    if not digits.isdecimal():
        digits = "".join(character for character in digits if character.isdecimal())
    return _plain(f"{sign}{digits}.{found[3] or '0'}")


def _plain(text: str) -> str:
    """The number without plus and zeros that say nothing; with an exponent instead of very many zeros."""
    if len(text) <= _MOST_ZEROS and "e" not in text and "E" not in text:
        whole, _, part = text.lstrip("+-").partition(".")
        written = f"{whole.lstrip('0') or '0'}.{part}".rstrip("0").rstrip(".")
        return f"-{written}" if text.startswith("-") and written != "0" else written
    number = Decimal(text)
    if len(text) > _MOST_ZEROS or "e" in text or "E" in text:
        sign, digits, power = number.as_tuple()
        coefficient = "".join(map(str, digits)).rstrip("0")
        exponent = int(power) + len(digits) - len(coefficient)
        if coefficient and (
            _MOST_ZEROS < exponent < 1000 or -1000 < exponent < -_MOST_ZEROS - len(coefficient)
        ):
            return f"{'-' if sign else ''}{coefficient}e{exponent}"
    written = format(number, "f")
    if "." in written:
        written = written.rstrip("0").rstrip(".")
    return "0" if written in ("-0", "") else written
