"""What only somebody who knows a table can say of it: guesses that change numbers if they are wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.hierarchies.cell_formats import is_number
from app.services.datasets.ingest.column_names import with_index
from app.services.datasets.ingest.column_types import propose_type, set_apart
from app.services.datasets.ingest.dialect import BLANKS

USUAL_MARKERS: Final = ("?", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "-")
_PLACES: Final = 5
"""How many columns a sentence names."""

Texts = Sequence[str | None]


@dataclass(frozen=True)
class Doubt:
    """A guess that would change numbers if it is wrong, in a sentence that repeats no cell.

    ``decides`` is what settles it once it is said: ``delimiter``, ``header`` or ``missing`` of the dialect,
    or the ``format`` of ``column``; ``choices`` are what may be said, where they are few.
    """

    decides: str
    sentence: str
    choices: tuple[str, ...] = ()
    column: str | None = None


def first_line(columns: Sequence[Texts]) -> tuple[bool, Doubt | None]:
    """Whether the first line names the columns: with names present, distinct, no numbers, and new in theirs.

    A line that is otherwise is a record without doubt only if texts of it, which names would not, stand
    further down in their columns. An empty name before others is that of an index.
    """
    first = [column[0] for column in columns]
    index = with_index([own or "" for own in first])[1]
    why = _against_names(first if index is None else first[1:], columns)
    if not why:
        return True, None
    texts = [place for place, cell in enumerate(first) if cell is not None and not is_number(cell)]
    again = [place for place in texts if first[place] in columns[place][1:]]
    is_record = (
        2 * len(again) >= len(texts) > 0
        and not any(_is_measured(columns[place][1:]) for place in texts)
        and tuple(first) not in zip(*(column[1:] for column in columns), strict=True)
    )
    why = f"It cannot be told whether the first line names the columns: {why}."
    return False, None if is_record else Doubt("header", why, ("true", "false"))


def _is_measured(cells: Texts) -> bool:
    return propose_type(cells).type in ("number", "date")


def _against_names(names: Texts, columns: Sequence[Texts]) -> str:
    """Why these may be no names, in part of a sentence; empty if nothing speaks against them."""
    before, head = len(columns) - len(names), names[0] or ""
    if head.startswith("sep="):
        return "it says sep=, which only tells Excel the delimiter, and is to be taken out"
    if head.startswith("#"):
        return "it begins with #, as remarks do, which are to be taken out"
    places = [(place, name) for place, name in enumerate(names, start=before + 1)]
    faults = {
        "there is no name": [place for place, name in places if name is None],
        "there is a number": [place for place, name in places if is_number(name or "")],
        "there is the name of another column": [
            place for place, name in places if names.index(name) < place - before - 1
        ],
        "there is what the column holds further down, too": [
            place for place, name in places if name in columns[place - 1][1:]
        ],
    }
    return next((f"{fault} in column {_listed(found)}" for fault, found in faults.items() if found), "")


def _listed(places: Sequence[object]) -> str:
    more = len(places) - _PLACES
    return ", ".join(map(str, places[:_PLACES])) + (f" and {more} more" if more > 0 else "")


def may_be_trimmed(cells: Texts) -> bool:
    """Whether no two values of a column become one without the blanks around them; of numbers they may."""
    distinct = {cell for cell in cells if cell is not None}
    trimmed = {cell.strip(BLANKS) for cell in distinct}
    return len(trimmed) == len(distinct) or _is_measured(list(trimmed))


def markers_of(columns: Mapping[str, Texts]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[Doubt, ...]]:
    """The usual markers that mean missing values, notes on all, and doubts; of negative codes, too.

    A marker means that where all else in a column are numbers or dates; elsewhere it is a value. It is in
    doubt where it is built like the other values of a column, such as NA among codes of countries.
    """
    places: dict[str, list[str]] = defaultdict(list)
    alike: dict[str, list[str]] = defaultdict(list)
    missing = set()
    for name, cells in columns.items():
        found = sorted({*USUAL_MARKERS}.intersection(cells))
        others = [cell for cell in cells if cell not in USUAL_MARKERS] if found else []
        built = Counter(_built(cell) for cell in {*others} if cell is not None)
        missing |= {*found} if built and _is_measured(others) else set()
        for marker in found:
            places[marker].append(name)
            if 2 * built[_built(marker)] >= built.total() > 0:
                alike[marker].append(name)
    said = {
        "Taken for missing values": [own for own in places if own in missing and own not in alike],
        "Read as values, though they often mean that one is missing": [
            own for own in places if own not in missing and own not in alike
        ],
    }
    told = {
        how: "; ".join(f"{own} (in {_listed(places[own])})" for own in markers)
        for how, markers in said.items()
    }
    apart: dict[str, list[str]] = defaultdict(list)
    for name, cells in columns.items():
        numbers = {cell for cell in cells if cell is not None and is_number(cell)}
        codes = set_apart(numbers)
        for code in codes if codes and _is_measured(cells) else ():
            apart[code].append(name)
    is_one = {
        **{own: f"looks like other values of {_listed(names)}" for own, names in alike.items()},
        **{own: f"stands apart below other numbers of {_listed(names)}" for own, names in apart.items()},
    }
    doubts = (f"{own} {so}: it may be one, or mean that one is missing." for own, so in is_one.items())
    notes = tuple(f"{how}: {markers}." for how, markers in told.items() if markers)
    return tuple(said["Taken for missing values"]), notes, tuple(Doubt("missing", own) for own in doubts)


def _built(text: str) -> str:
    """How a text is built: capitals, other letters, digits and other signs."""
    return "".join(
        "A" if sign.isupper() else "a" if sign.isalpha() else "9" if sign.isdigit() else "-" for sign in text
    )
