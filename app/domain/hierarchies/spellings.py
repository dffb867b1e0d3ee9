"""Which texts a person reads as one: spellings of one value."""

from __future__ import annotations

import unicodedata
from typing import Final

from app.domain.hierarchies.cell_formats import CellFormat, read_cell

_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zl", "Zp"})
_SHOWN_CONTROLS: Final = frozenset("\t\n\r")
_IGNORABLE: Final = (
    (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2800, 0x2800),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Letters, marks and signs that show nothing either: Default_Ignorable_Code_Point, and the empty Braille."""

_LOOK_ALIKE: Final = str.maketrans(
    "авекмнорстухіјѕһԁԛԝӏѵүԍαβεζηικνορτυχϲϳıɑɡ", "abekmhopctyxijshdqwlvygabeznikvoptuxcjiag"
)
"""Small letters → the Latin one that looks like them, or whose capital looks like theirs (Unicode Technical
Standard 39), but for µ: 5 µg is not 5 mg."""


def appearance(text: str) -> str:
    """The text as a reader may see it: compatible letters, case, blanks and what is invisible made equal."""
    if text.isascii() and text.isprintable():
        return " ".join(text.lower().split())
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join("".join(letter for letter in folded if not is_invisible(letter)).split())


def is_invisible(letter: str) -> bool:
    """Whether a reader sees nothing of it, but for blanks and ends of lines."""
    if letter in _SHOWN_CONTROLS:
        return False
    if unicodedata.category(letter) in _INVISIBLE_CATEGORIES:
        return True
    return any(first <= ord(letter) <= last for first, last in _IGNORABLE)


def common_reading(text: str) -> str:
    """What all spellings of one number (1000, 1000.0, 01000 and 1e3), or of one :func:`appearance`, share."""
    seen = appearance(text)
    return read_cell(seen, CellFormat.POINT) or seen


def reading(text: str) -> str:
    """What a person reads: all texts of one :func:`common_reading` but for letters that look alike."""
    return common_reading(text).translate(_LOOK_ALIKE)
