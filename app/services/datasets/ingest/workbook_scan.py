"""What the library that reads workbooks does not say of a sheet, found in one pass before it reads it.

Formulas, merged cells, error values, what formats show, what is hidden, and cells that other readers could
take for others. Of most cells no more is kept than their format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from app.services.datasets.ingest import faults
from app.services.datasets.ingest.dialect import Dialect, UploadLimits
from app.services.datasets.ingest.workbook_faults import (
    CellFaults,
    broken,
    column_of,
    place_of,
    workbook_fault,
)
from app.services.datasets.ingest.workbook_package import TRUE, Package, Sheet, new_parser
from app.services.datasets.ingest.workbook_values import PLAIN, NumberFormat, Shown, is_date

Formats = tuple[NumberFormat | None, ...]

_LOCAL: Final = {
    f"http://{space}/main {local}": local
    for space in ("schemas.openxmlformats.org/spreadsheetml/2006", "purl.oclc.org/ooxml/spreadsheetml")
    for local in ("c", "v", "is", "row", "f", "mergeCell", "col")
}
"""Elements, as Excel writes them, and as it does on the wish for Strict Open XML."""

_MOST_COLUMNS: Final = 16_384
_MOST_ROWS: Final = 1_048_576
_CELL_BYTES: Final = 32
"""What the library takes in memory for a cell, those that are empty included."""

_NO_NUMBERS: Final = {"d": NumberFormat(Shown.WRITTEN_DATE), "e": NumberFormat(Shown.ERROR)}
_UNREAD: Final = (Shown.NUMBER, Shown.WRITTEN_DATE)


class SheetScan:
    """One pass over a sheet: ``formats`` by column, None of texts, of its rows with values from ``first`` on.

    ``errors`` are the error values that mean missing ones, by row and column.
    """

    def __init__(self, package: Package, dialect: Dialect, limits: UploadLimits) -> None:
        self._package, self._missing, self._limits = package, frozenset(dialect.missing), limits
        self._styles = package.formats()
        self._known: dict[tuple[str | None, str], NumberFormat | None] = {}
        self._equal: dict[Formats, Formats] = {}
        self._row = self._column = self._width = self._place_end = 0
        self._row_text, self._is_reading = "", False
        self._format: NumberFormat | None = None
        self._current: list[NumberFormat | None] = []
        self._parts: list[str] = []
        self._parser = new_parser()
        self._formulas, self._merged = CellFaults("formula"), CellFaults("merged-cells")
        self._errors, self._no_dates = CellFaults("error-cell"), CellFaults("no-date")
        self.hidden_rows = self.hidden_columns = self.first = 0
        self.formats: list[Formats] = []
        self.errors: dict[tuple[int, int], str] = {}

    def run(self, sheet: Sheet, received: int) -> Iterator[None]:
        """Scan, yielding between two steps; InvalidInput or TooLarge for what cannot be read."""
        self._parser.StartElementHandler = self._start
        yield from self._package.texts()
        yield from self._package.parsed(sheet.part, self._parser)
        self._end_row()
        for found in (self._formulas, self._merged, self._errors, self._no_dates):
            found.refuse()
        allowed = self._limits.child_bytes_for(received)
        if (self.first + len(self.formats)) * self._width * _CELL_BYTES > allowed:
            raise faults.needs_too_much_memory(allowed)

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        """An element; there are millions of cells and values, so that they are read here."""
        local = _LOCAL.get(name)
        if local == "c":
            if self._is_reading:
                self._end_text()
            place, column = attributes.get("r"), self._column + 1
            if place is not None:
                column = column_of(place[: self._place_end])
                if not place.endswith(self._row_text):
                    raise broken()
            if not self._column < column <= _MOST_COLUMNS:
                raise broken()
            self._column = column
            key = attributes.get("s"), attributes.get("t", "n")
            if key not in self._known:
                self._known[key] = self._format_of(*key)
            self._format = self._known[key]
        elif local == "v" or local == "is":
            self._current += [None] * (self._column - len(self._current) - 1)
            if len(self._current) < self._column:
                self._current.append(self._format)
            if self._format is not None and self._format.shown not in _UNREAD:
                self._is_reading, self._parser.CharacterDataHandler = True, self._parts.append
        elif local == "row":
            self._end_row()
            row = int(attributes.get("r", self._row + 1))
            if not self._row < row <= _MOST_ROWS:
                raise broken()
            self._row, self._row_text, self._column = row, str(row), 0
            self._place_end = -len(self._row_text)
            self.hidden_rows += attributes.get("hidden") in TRUE
        elif local == "f":
            self._formulas.add(place_of(self._row, self._column))
        elif local == "mergeCell":
            self._merged.add(attributes.get("ref", "")[:20])
        elif local == "col" and attributes.get("hidden") in TRUE:
            first, last = int(attributes["min"]), int(attributes["max"])
            # Those to the right of every table are often hidden as one.
            self.hidden_columns += last - first + 1 if last < _MOST_COLUMNS else 0

    def _format_of(self, style: str | None, kind: str) -> NumberFormat | None:
        if kind != "n":
            return _NO_NUMBERS.get(kind)
        return self._styles[int(style)] if style and self._styles else PLAIN

    def _end_row(self) -> None:
        if self._is_reading:
            self._end_text()
        if not self._current:
            return
        last = self.first + len(self.formats) - 1
        if not self.formats:
            self.first = self._row
        elif self._row > last + 1:
            raise workbook_fault("blank-row", row=last + 1, next_row=self._row)
        elif len(self.formats) > self._limits.max_rows:
            raise faults.too_many("rows", self._limits.max_rows)
        formats = tuple(self._current)
        self.formats.append(self._equal.setdefault(formats, formats))
        self._width = max(self._width, len(formats))
        self._current.clear()

    def _end_text(self) -> None:
        """What a date or an error is: all text since it began, blanks apart."""
        self._is_reading, self._parser.CharacterDataHandler = False, None
        text, shown = "".join(self._parts).strip(), self._format.shown if self._format else None
        self._parts.clear()
        if shown is Shown.ERROR and text in self._missing:
            self.errors[self._row, self._column] = text
        elif shown is Shown.ERROR and text:
            self._errors.add(place_of(self._row, self._column))
        elif text and shown is not None and not is_date(text, shown, self._package.from_1904):
            self._no_dates.add(place_of(self._row, self._column))
