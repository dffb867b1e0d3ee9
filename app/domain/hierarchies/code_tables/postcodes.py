"""How the postcodes of countries are made: what each leading part of one stands for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, Literal

Country = Literal["AT", "BE", "CA", "CH", "DE", "DK", "ES", "FR", "GB", "IT", "NL", "NO", "PL", "SE", "US"]

_FOUR_DIGITS: Final = r"((\d)\d)\d\d"

_PATTERNS: Final[Mapping[Country, str]] = {
    "AT": _FOUR_DIGITS,
    "BE": _FOUR_DIGITS,
    "CA": r"(([ABCEGHJ-NPRSTVXY])\d[ABCEGHJ-NPRSTV-Z])\d[ABCEGHJ-NPRSTV-Z]\d",
    "CH": _FOUR_DIGITS,
    "DE": r"(((\d)\d)\d)\d\d",
    "DK": _FOUR_DIGITS,
    "ES": r"((\d\d)\d)\d\d",
    # Departments: two digits, three overseas. Corsica's two share theirs in postcodes.
    "FR": r"(?=\d{5}$)(9[78]\d|\d\d)\d+",
    "GB": r"(([A-Z]{1,2})\d[A-Z\d]?)\d[A-Z]{2}",
    "IT": r"(((\d)\d)\d)\d\d",
    "NL": r"((\d\d)\d\d)[A-Z]{2}",
    "NO": _FOUR_DIGITS,
    "PL": r"((\d)\d)-?\d{3}",
    "SE": r"((\d)\d)\d{3}",
    "US": r"(((\d)\d\d)\d\d)(?:-?\d{4})?",
}

POSTCODES: Final[Mapping[Country, re.Pattern[str]]] = {
    country: re.compile(pattern, re.ASCII) for country, pattern in _PATTERNS.items()
}
"""Country → its postcodes, in capitals and without blanks; the groups are the areas, smallest first."""
