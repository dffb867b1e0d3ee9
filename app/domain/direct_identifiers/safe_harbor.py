"""Which texts say more than HIPAA's Safe Harbor lets leave of dates, ages and postal codes.

45 CFR 164.514(b)(2)(i)(B) and (C): of dates the year; of ages, and of years that tell them, those above 89 in
one class; of ZIP codes three digits, unless no more than 20,000 people live where codes begin so.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

OLDEST_AGE: Final = 89
"""The greatest age that may be told apart from those above it."""
ENDLESS_AGE: Final = 120
"""Who is in a range that ends here or later may be of any age from its beginning on."""
DIGITS_OF_ZIP: Final = 3

RESTRICTED_ZIP_CODES: Final = (
    "036", "059", "063", "102", "203", "556", "692", "790", "821", "823", "830", "831", "878", "879", "884",
    "890", "893",
)  # fmt: skip
"""Three digits shared by at most 20,000 people in the census of 2000, as HHS (2012) lists them."""

_YEAR: Final = r"(?:1[89]|20)\d\d"
_MONTH: Final = r"(?:0?[1-9]|1[0-2])"
_DAY: Final = r"(?:0?[1-9]|[12]\d|3[01])"
_NAMED: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DATES: Final = re.compile(
    rf"(?<!\d)(?:{_YEAR}-(?:0[1-9]|1[0-2]|Q[1-4]|W\d\d)(?!\d)"
    rf"|{_YEAR}/{_MONTH}(?!\d)|{_YEAR}\.{_MONTH}\.{_DAY}(?!\d)|{_YEAR}-{_MONTH}-{_DAY}(?!\d)"
    rf"|{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?!\d)"
    rf"|(?:{_DAY}/{_MONTH}|{_MONTH}/{_DAY})/(?:\d\d)?\d\d(?!\d)"
    rf"|(?:{_DAY}[.-]{_MONTH}|{_MONTH}[.-]{_DAY})[.-]{_YEAR}(?!\d)"
    rf"|{_MONTH}/{_YEAR}(?!\d))"
    rf"|\b{_NAMED},?[\s-]*(?:{_DAY}(?:st|nd|rd|th)?,?\s+)?{_YEAR}\b"
    rf"|\b{_DAY}(?:st|nd|rd|th)?[\s-]*(?:of\s+)?{_NAMED}(?![a-z])",
    re.IGNORECASE,
)
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")
_ALONE: Final = re.compile(rf"(?<!\d){_YEAR}(?!\d)")
_UPWARDS: Final = re.compile(
    r"[+≥∞>]|\binf\b|\b(?:or|and) (?:more|older|over|above|up)\b|\bplus\b|\b(?:over|above)\b", re.IGNORECASE
)
_BEYOND: Final = re.compile(r">(?!=)|(?<!or )(?<!and )\b(?:over|above)\b", re.IGNORECASE)
_DOWNWARDS: Final = re.compile(
    r"[<≤]|\b(?:below|before|under)\b|\b(?:or|and) (?:less|younger|earlier|before)\b", re.IGNORECASE
)
_SHORT_OF: Final = re.compile(r"<(?!=)|(?<!or )(?<!and )\b(?:below|before|under)\b", re.IGNORECASE)
_END_OUTSIDE: Final = re.compile(r"[\[)]\s*$")


def is_finer_than_a_year(text: str) -> bool:
    """Whether the text holds a day, a week, a month or a quarter of a year."""
    return _DATES.search(text) is not None


def tells_ages_above_89(text: str) -> bool:
    """Whether the text, an age or a range of them, tells somebody above 89 from others above 89."""
    numbers = [float(own) for own in _NUMBER.findall(text)]
    if not numbers:
        return False
    least, greatest = min(numbers), max(numbers)
    if len(numbers) == 1:
        if _UPWARDS.search(text):
            return least + bool(_BEYOND.search(text)) > OLDEST_AGE + 1
        return greatest > OLDEST_AGE + bool(_SHORT_OF.search(text))
    if greatest >= ENDLESS_AGE:
        return least > OLDEST_AGE + 1
    return greatest > OLDEST_AGE + bool(_END_OUTSIDE.search(text))


def tells_years_of_ages_above_89(text: str, as_of: int) -> bool:
    """Whether the text holds a year in which somebody was born who is above 89 in the year ``as_of``.

    One class of all who were born before some year may leave, if it holds everybody above 89.
    """
    ages = [as_of - int(own) for own in _ALONE.findall(text)]
    if len(ages) == 1 and _DOWNWARDS.search(text):
        return ages[0] > OLDEST_AGE + 1
    return max(ages, default=0) > OLDEST_AGE


def is_finer_than_three_digits(text: str, restricted: Collection[str]) -> bool:
    """Whether the text holds more digits of a ZIP code than three, or three that few people share."""
    runs = re.findall(r"\d+", text)
    return any(len(own) > DIGITS_OF_ZIP or own in restricted for own in runs)
