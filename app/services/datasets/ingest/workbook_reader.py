"""Reads one sheet of a workbook as a table: the first row that is not empty names its columns.

The library that other programs read workbooks with takes three times as long, drops rows that are out
of order, and leaves escapes in texts; this reads the cells as they stand, and refuses what has two readings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import IO, Final

import pyarrow as pa

from app.services.datasets.ingest import faults, workbook_faults
from app.services.datasets.ingest.column_names import check_columns
from app.services.datasets.ingest.dialect import Dialect, UploadLimits
from app.services.datasets.ingest.workbook_cells import (
    PLAIN,
    NoSuchDate,
    NumberFormat,
    Shown,
    date_text,
    iso_text,
    number_text,
    unescaped,
)
from app.services.datasets.ingest.workbook_package import Handler, Package, Sheet

_ROWS_PER_STEP: Final = 4096
_MOST_COLUMNS: Final = 16_384
_MOST_ROWS: Final = 1_048_576
_DIGITS: Final = "0123456789"
_BLANKS: Final = " \t"
_HIDDEN: Final = ("1", "true")

COLUMN_OF: Final[dict[str, int]] = {}
"""Columns by their letters, as they are met."""


class WorkbookReader:
    """A workbook's table; ``sheet`` and ``notes`` say which sheet it is of and what was left aside."""

    def __init__(self, file: IO[bytes], dialect: Dialect, limits: UploadLimits, received: int) -> None:
        self._package = Package(file, limits, received)
        self._dialect, self._limits = dialect, limits
        self._chosen = _chosen(self._package.sheets, dialect.sheet)
        self.sheet = self._chosen.name
        self.notes = _notes(self._package.sheets, self._chosen)

    def tables(self, between: Callable[[], None]) -> Iterator[pa.Table]:
        """The rows as tables of text, the first without any; ``between`` is called between two steps."""
        package = self._package
        cells = _Cells(package.strings(), package.formats(), package.from_1904, self._dialect)
        rows = _Rows(cells, self._dialect, self._limits)
        is_first = True
        for _ in self._package.parse(self._chosen.part, rows.starts, rows.ends, cells.parts.append):
            between()
            if is_first and rows.names:
                is_first = False
                yield rows.none()
            if len(rows.waiting) >= _ROWS_PER_STEP:
                yield rows.taken()
        rows.refuse_faults()
        if not rows.names:
            raise faults.empty_file()
        if is_first:
            yield rows.none()
        yield rows.taken()
        self.notes += rows.notes()


def _chosen(sheets: list[Sheet], name: str | None) -> Sheet:
    visible = [sheet for sheet in sheets if sheet.is_visible]
    if name is None:
        if not visible:
            raise workbook_faults.no_sheet([sheet.name for sheet in sheets])
        if len(visible) > 1:
            raise workbook_faults.which_sheet([sheet.name for sheet in visible])
        return visible[0]
    found = next((sheet for sheet in sheets if sheet.name == name), None)
    if found is None:
        raise workbook_faults.unknown_sheet(name, [sheet.name for sheet in visible])
    return found


def _notes(sheets: list[Sheet], chosen: Sheet) -> list[str]:
    """What of the workbook was not read, and whether what was is hidden."""
    others = [sheet.name for sheet in sheets if sheet is not chosen and sheet.is_visible]
    hidden = [sheet.name for sheet in sheets if sheet is not chosen and not sheet.is_visible]
    notes = []
    if not chosen.is_visible:
        notes.append(f"The sheet {chosen.name!r} is hidden in the workbook.")
    if others:
        notes.append(f"Sheets that were not read: {workbook_faults.sheets(others)}.")
    if hidden:
        notes.append(f"Hidden sheets that were not read: {workbook_faults.sheets(hidden)}.")
    return notes


class _Places:
    """Where something is in the sheet: the first places, and how many there are."""

    def __init__(self) -> None:
        self.first: list[str] = []
        self.total = 0

    def add(self, place: str) -> None:
        """One more."""
        self.total += 1
        if len(self.first) < workbook_faults.PLACES_NAMED:
            self.first.append(place)


class _Cells:
    """The text of one cell after another, from what its element says and holds."""

    def __init__(
        self, strings: list[str], formats: list[NumberFormat], from_1904: bool, dialect: Dialect
    ) -> None:
        self._strings, self._formats, self._from_1904 = strings, formats, from_1904
        self._missing, self._leading_zeros = frozenset(dialect.missing), dialect.leading_zeros
        self.parts: list[str] = []
        self._kind, self._style, self._place = "n", "", ""
        self._value: str | None = None
        self._runs: list[str] = []
        self._is_hint = False
        self.formulas, self.errors, self.no_dates, self.zeros = _Places(), _Places(), _Places(), _Places()

    def begin(self, attributes: Mapping[str, str], place: str) -> None:
        """A cell."""
        self._kind, self._style = attributes.get("t", "n"), attributes.get("s", "")
        self._place, self._value = place, None
        self._runs = []

    def end(self) -> str | None:
        """Its text, None if it is empty."""
        value, kind = self._value, self._kind
        if kind == "inlineStr":
            return unescaped("".join(self._runs)) if self._runs else None
        if not value:
            return None
        if kind == "s":
            number = int(value)
            if not 0 <= number < len(self._strings):
                raise workbook_faults.broken()
            return self._strings[number]
        return self._number(value) if kind == "n" else self._other(kind, value)

    def _number(self, value: str) -> str:
        format_ = self._formats[int(self._style)] if self._style and self._formats else PLAIN
        if format_.shown is Shown.NUMBER:
            text = number_text(value)
            if not format_.zeros or (shown := format_.with_zeros(text)) == text:
                return text
            if self._leading_zeros == "refuse":
                self.zeros.add(self._place)
            return shown if self._leading_zeros == "keep" else text
        try:
            return date_text(value, format_.shown, self._from_1904)
        except NoSuchDate:
            self.no_dates.add(self._place)
            return ""

    def _other(self, kind: str, value: str) -> str:
        if kind == "str":
            return unescaped(value)
        if kind == "d":
            return iso_text(value)
        if kind == "b" and value in ("0", "1"):
            return "true" if value == "1" else "false"
        if kind != "e":
            raise workbook_faults.broken()
        if value not in self._missing:
            self.errors.add(self._place)
        return value

    # Handlers of what is in a cell.

    def formula(self, _: Mapping[str, str]) -> None:
        """It is computed."""
        self.formulas.add(self._place)

    def begin_text(self, _: Mapping[str, str]) -> None:
        """A value, or a run of text."""
        self.parts.clear()

    def end_value(self) -> None:
        """Its value is complete."""
        self._value = "".join(self.parts)

    def end_run(self) -> None:
        """A run of text is complete."""
        if not self._is_hint:
            self._runs.append("".join(self.parts))

    def begin_hint(self, _: Mapping[str, str]) -> None:
        """What follows says how the text is spoken, and is no part of it."""
        self._is_hint = True

    def end_hint(self) -> None:
        """The text goes on."""
        self._is_hint = False


class _Rows:
    """Rows of texts under the names of the first one, and what speaks against reading them so."""

    def __init__(self, cells: _Cells, dialect: Dialect, limits: UploadLimits) -> None:
        self._cells, self._dialect, self._limits = cells, dialect, limits
        self.names: tuple[str, ...] = ()
        self.waiting: list[list[str | None]] = []
        self._position: dict[int, int] = {}
        self._row = self._column = self._last = self._rows = 0
        self._current: dict[int, str] = {}
        self._hidden_rows = self._hidden_columns = 0
        self._outside, self._merged = _Places(), _Places()
        self.starts: dict[str, Handler] = {
            "row": self._begin_row, "c": self._begin_cell, "v": cells.begin_text, "t": cells.begin_text,
            "f": cells.formula, "rPh": cells.begin_hint, "mergeCell": self._merge, "col": self._columns,
        }  # fmt: skip
        self.ends = {
            "row": self._end_row, "c": self._end_cell, "v": cells.end_value, "t": cells.end_run,
            "rPh": cells.end_hint,
        }  # fmt: skip

    def none(self) -> pa.Table:
        """The table without its rows."""
        return pa.table({name: pa.array([], pa.string()) for name in self.names})

    def taken(self) -> pa.Table:
        """The rows that wait."""
        rows, self.waiting = self.waiting, []
        if not rows:
            return self.none()
        columns = zip(*rows, strict=True)
        return pa.Table.from_arrays([pa.array(own, pa.string()) for own in columns], list(self.names))

    def refuse_faults(self) -> None:
        """Raise for what was found in cells; what is the more likely cause of the others comes first."""
        for places, fault in (
            (self._cells.formulas, workbook_faults.formulas),
            (self._merged, workbook_faults.merged),
            (self._outside, workbook_faults.outside),
            (self._cells.errors, workbook_faults.errors),
            (self._cells.no_dates, workbook_faults.no_dates),
            (self._cells.zeros, workbook_faults.leading_zeros),
        ):
            if places.total:
                raise fault(places.first, places.total)

    def notes(self) -> list[str]:
        """What was read although it is hidden in the workbook."""
        hidden = [
            f"{number} {what}{'s' if number > 1 else ''}"
            for number, what in ((self._hidden_rows, "row"), (self._hidden_columns, "column"))
            if number
        ]
        return [f"Read although hidden in the workbook: {' and '.join(hidden)}."] if hidden else []

    def _begin_row(self, attributes: Mapping[str, str]) -> None:
        number = int(attributes["r"]) if "r" in attributes else self._row + 1
        if not self._row < number <= _MOST_ROWS:
            raise workbook_faults.broken()
        self._row, self._column = number, 0
        self._hidden_rows += attributes.get("hidden") in _HIDDEN

    def _begin_cell(self, attributes: Mapping[str, str]) -> None:
        place = attributes.get("r")
        if place is None:
            column = self._column + 1
            place = f"R{self._row}C{column}"
        else:
            letters = place.rstrip(_DIGITS)
            if int(place[len(letters) :]) != self._row:
                raise workbook_faults.broken()
            column = COLUMN_OF.get(letters) or _column_of(letters)
        if not self._column < column <= _MOST_COLUMNS:
            raise workbook_faults.broken()
        self._column = column
        self._cells.begin(attributes, place)

    def _end_cell(self) -> None:
        text = self._cells.end()
        if text:
            self._current[self._column] = text

    def _end_row(self) -> None:
        found, self._current = self._current, {}
        if not found:
            return
        if not self.names:
            self._name_columns(found)
            if self._dialect.header:
                return
        elif self._row > self._last + 1:
            raise workbook_faults.blank_row(self._last + 1, self._row)
        self._last = self._row
        self._rows += 1
        if self._rows > self._limits.max_rows:
            raise faults.too_many("rows", self._limits.max_rows)
        cells: list[str | None] = [None] * len(self.names)
        for column, text in found.items():
            position = self._position.get(column)
            if position is None:
                self._outside.add(f"{_letters_of(column)}{self._row}")
            else:
                cells[position] = text
        self.waiting.append(cells)

    def _name_columns(self, found: Mapping[int, str]) -> None:
        """The names in the first row; without a header there are as many columns as it reaches over."""
        self._last = self._row
        if len(found) > self._limits.max_columns:
            raise faults.too_many("columns", self._limits.max_columns)
        if self._dialect.header:
            names = [text.strip(_BLANKS) if self._dialect.trim else text for text in found.values()]
            check_columns(names, self._limits.max_columns)
            self._position = {column: position for position, column in enumerate(found)}
            self.names = tuple(names)
            return
        first, last = min(found), max(found)
        if last - first >= self._limits.max_columns:
            raise faults.too_many("columns", self._limits.max_columns)
        self._position = {column: column - first for column in range(first, last + 1)}
        self.names = tuple(f"column_{number}" for number in range(1, last - first + 2))

    def _merge(self, attributes: Mapping[str, str]) -> None:
        self._merged.add(attributes.get("ref", "")[:20])

    def _columns(self, attributes: Mapping[str, str]) -> None:
        if attributes.get("hidden") in _HIDDEN:
            first, last = int(attributes["min"]), int(attributes["max"])
            # Those to the right of every table are often hidden as one.
            self._hidden_columns += last - first + 1 if last < _MOST_COLUMNS else 0


def _column_of(letters: str) -> int:
    if not 1 <= len(letters) <= 3 or not (letters.isascii() and letters.isalpha() and letters.isupper()):
        raise workbook_faults.broken()
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    COLUMN_OF[letters] = number
    return number


def _letters_of(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters
