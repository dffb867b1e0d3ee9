"""What a column's cells are written like: type, format, and the few cells that are otherwise."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import Final

from app.domain.hierarchies.cell_formats import (
    DAY_FORMATS,
    CellFormat,
    is_date,
    is_number,
    read_cell,
)

LEAST_SHARE: Final = 0.95
"""Share of the present cells from which a column is proposed as dates or as numbers.

Typing mistakes and words for "unknown" stay well below one cell in twenty. Where more cells are of another
kind, the column usually holds codes, some of which look like numbers: of diagnoses in ICD-9, about one in
ten begins with a letter.
"""

_MANY_VALUES: Final = 2_500
"""Distinct values in the sample from which a column is called text instead of categorical."""

_LEADING_ZERO: Final = re.compile(r"[+-]?0\d")
_GROUPS_OF_THREE: Final = re.compile(r"[+-]?[$£€]? ?[+-]?[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})* ?€?")
_MISSING_CODE: Final = re.compile(r"-(?:(\d)\1*|9+[78])")
_MOST_CODES: Final = 4
_FEWEST_NUMBERS: Final = 5
_TRIED: Final = 100
_SHAPES: Final = 3
_LONGEST_SHAPE: Final = 20
_ROWS: Final = 10
_YEARS: Final = range(1850, 2101)
"""Years that numbers of eight digits must begin with to be taken for dates."""

_NUMBERS_BY_PREFERENCE: Final = (
    CellFormat.POINT,
    CellFormat.COMMAS_AND_POINT,
    CellFormat.COMMA,
    CellFormat.DOTS_AND_COMMA,
    CellFormat.APOSTROPHES_AND_POINT,
    CellFormat.BLANKS_AND_COMMA,
    CellFormat.DOLLARS,
    CellFormat.POUNDS,
    CellFormat.EUROS_BEHIND_DOTS,
    CellFormat.EUROS_BEFORE_COMMAS,
    CellFormat.EUROS_BEFORE_DOTS,
    CellFormat.EUROS_BEHIND_BLANKS,
)
"""Of formats that read equally many cells the first is proposed: the one that allows the least beside."""

_DAY_OR_MONTH: Final = {
    CellFormat.DAY_FIRST_SLASHES: CellFormat.MONTH_FIRST_SLASHES,
    CellFormat.DAY_FIRST_DASHES: CellFormat.MONTH_FIRST_DASHES,
    CellFormat.MONTH_FIRST_SLASHES: CellFormat.DAY_FIRST_SLASHES,
    CellFormat.MONTH_FIRST_DASHES: CellFormat.DAY_FIRST_DASHES,
}


_SEVERAL_ZONES: Final = (
    "Its times are written by clocks of several zones: each is taken as it is written, so that one moment "
    "may be several values. Bring them to one zone where moments are meant."
)


@dataclass(frozen=True)
class TypeProposal:
    """How a column may be declared.

    Attributes
    ----------
    type, format
        The type, and the format where cells are not written as datasets have them.
    unreadable, unreadable_rows, unreadable_shapes
        Present cells that are of another type: how many, the first rows from 1, and how they are built, with
        9 for every digit and a for letters in a row.
    note
        What cannot be told from the cells, in a sentence, or empty.
    readings
        Formats of dates that fit all cells alike, where there are two.
    """

    type: str
    format: CellFormat | None = None
    unreadable: int = 0
    unreadable_rows: tuple[int, ...] = ()
    unreadable_shapes: tuple[str, ...] = ()
    note: str = ""
    readings: tuple[CellFormat, ...] = ()


def propose_type(cells: Sequence[str | None]) -> TypeProposal:
    """The type that at least :data:`LEAST_SHARE` of the present cells have, with its exceptions."""
    counts = Counter(cell for cell in cells if cell is not None)
    date_format = _best(counts, DAY_FORMATS)
    if date_format is not None:
        return _of_dates(cells, counts, date_format)
    # A cell with a leading zero makes codes of all, for the zeros of codes count.
    is_code = any(_LEADING_ZERO.match(text) for text in counts)
    number_format = None if is_code else _best(counts, _NUMBERS_BY_PREFERENCE)
    if number_format is not None:
        return _of_numbers(cells, counts, number_format)
    return TypeProposal("text" if len(counts) > _MANY_VALUES else "categorical")


def _best(counts: Counter[str], formats: Iterable[CellFormat]) -> CellFormat | None:
    """The first of the formats that read the most cells, if that are enough.

    Formats that read less than half of the first texts are not tried on the others.
    """
    first, present = list(islice(counts, _TRIED)), counts.total()
    best, most = None, 0
    for format_ in formats:
        if most < present and 2 * sum(is_read(text, format_) for text in first) >= len(first):
            read = _enough_read(counts, format_, present)
            best, most = (format_, read) if read > most else (best, most)
    return best


def _enough_read(counts: Mapping[str, int], format_: CellFormat, present: int) -> int:
    """Cells that are written so; 0, as soon as it is certain, if they are less than :data:`LEAST_SHARE`."""
    read = present
    for text, n in counts.items():
        if not is_read(text, format_):
            read -= n
            if read < LEAST_SHARE * present:
                return 0
    return read


def _n_read(counts: Mapping[str, int], format_: CellFormat) -> int:
    """Cells that are written so."""
    return sum(n for text, n in counts.items() if is_read(text, format_))


def is_read(text: str, format_: CellFormat) -> bool:
    """Whether a cell is written so."""
    if format_ is CellFormat.POINT:
        return is_number(text)
    value = read_cell(text, format_)
    if value is None:
        return False
    return format_ is not CellFormat.DIGITS or int(value[:4]) in _YEARS


def _of_dates(cells: Sequence[str | None], counts: Mapping[str, int], chosen: CellFormat) -> TypeProposal:
    other = _DAY_OR_MONTH.get(chosen)
    note, readings = "", tuple[CellFormat, ...]()
    if other is not None and any(is_read(text, other) and not is_read(text, chosen) for text in counts):
        note = f"Some cells can only be {other.value}: where both readings fit, a date may be read wrongly."
    elif other is not None and _n_read(counts, other) == _n_read(counts, chosen):
        note = f"No day is above 12, so that it may as well be {other.value}: look which comes first."
        readings = (chosen, other)
    timed = chosen.with_time
    times = [] if timed is None else [read_cell(text, timed) or "" for text in counts if ":" in text]
    if any(times):
        zones = {own[len("yyyy-mm-dd hh:mm:ss") :].lstrip(".0123456789") for own in times if own}
        if len(zones) > 1:
            note += f" {_SEVERAL_ZONES}" if note else _SEVERAL_ZONES
        found = _with_exceptions("date", cells, timed or chosen, timed, note)
        return replace(found, readings=tuple(own.with_time or own for own in readings))
    is_usual = chosen is CellFormat.ISO_DATE and not any(
        read_cell(text, chosen) is not None and not is_date(text) for text in counts
    )
    found = _with_exceptions("date", cells, chosen, None if is_usual else chosen, note)
    return replace(found, readings=readings)


def _of_numbers(cells: Sequence[str | None], counts: Mapping[str, int], chosen: CellFormat) -> TypeProposal:
    separated = [text for text in counts if "." in text or "," in text]
    note = ""
    if separated and all(_GROUPS_OF_THREE.fullmatch(text) for text in separated):
        note = "Its point or comma may separate thousands or decimals: look which of them it does."
    apart = set_apart({read_cell(text, chosen) for text in counts})
    if apart:
        one = len(apart) == 1
        note += (
            f"{' ' if note else ''}{', '.join(apart)} {'stands' if one else 'stand'} apart below its other "
            f"numbers: {'it' if one else 'they'} may mean that a value is missing."
        )
    is_usual = chosen is CellFormat.POINT and not (separated and _merges(counts))
    return _with_exceptions("number", cells, chosen, None if is_usual else chosen, note)


def set_apart(numbers: Collection[str | None]) -> tuple[str, ...]:
    """Negative numbers that may mean missing values: few, one digit repeated, a gap below all the others."""
    below = sorted((own for own in numbers if own is not None and own.startswith("-")), key=Decimal)
    others = [Decimal(own) for own in numbers if own is not None and own not in below]
    are_codes = all(_MISSING_CODE.fullmatch(own) for own in below)
    if not 0 < len(below) <= _MOST_CODES or len(others) < _FEWEST_NUMBERS or not are_codes:
        return ()
    return () if min(others) - Decimal(below[-1]) <= 1 else tuple(below)


def _merges(counts: Mapping[str, int]) -> bool:
    """Whether a number is written in two ways, such as 17100 and 17100.0."""
    numbers = [text for text in counts if is_number(text)]
    return len({read_cell(text, CellFormat.POINT) for text in numbers}) < len(numbers)


def _with_exceptions(
    type_: str, cells: Sequence[str | None], read_by: CellFormat, format_: CellFormat | None, note: str
) -> TypeProposal:
    unreadable = {
        text for text in set(cells) - {None} if text is not None and read_cell(text, read_by) is None
    }
    rows = [row for row, cell in enumerate(cells, start=1) if cell in unreadable] if unreadable else []
    shapes = sorted({shape_of(text) for text in unreadable})
    return TypeProposal(type_, format_, len(rows), tuple(rows[:_ROWS]), tuple(shapes[:_SHAPES]), note)


def shape_of(text: str) -> str:
    """How a text is built: every digit a 9, letters in a row one a, other signs as they are; cut if long."""
    shape = re.sub(r"[^\W\d_]+", "a", re.sub(r"\d", "9", text))
    return shape if len(shape) <= _LONGEST_SHAPE else shape[:_LONGEST_SHAPE] + "…"
