"""Reads one sheet of a workbook as a table: the first row that is not empty names its columns.

The library that reads the cells says nothing of what has two readings; that is looked for and refused before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import IO, Any, Final

import pyarrow as pa
from python_calamine import CalamineWorkbook

from app.services.datasets.ingest import faults
from app.services.datasets.ingest.column_names import check_columns
from app.services.datasets.ingest.dialect import BLANKS, Dialect, UploadLimits
from app.services.datasets.ingest.workbook_faults import (
    CellFaults,
    listed,
    place_of,
    sheet_fault,
    workbook_fault,
)
from app.services.datasets.ingest.workbook_package import Package, Sheet, readable
from app.services.datasets.ingest.workbook_scan import SheetScan
from app.services.datasets.ingest.workbook_values import Inexact, NoSuchDate, NumberFormat, text_of

_ROWS_PER_STEP: Final = 4096
_AT_FAULT: Final = "?"
"""Stands for a cell for which the workbook is refused, so that its row is not taken for an empty one."""


class WorkbookReader:
    """A workbook's table; ``sheet`` and ``notes`` say which sheet it is of and what was left aside."""

    def __init__(self, file: IO[bytes], dialect: Dialect, limits: UploadLimits, received: int) -> None:
        self._file, self._dialect, self._limits, self._received = file, dialect, limits, received
        self._package = Package(file, limits, received)
        self._chosen = _chosen(self._package.sheets, dialect.sheet)
        self.sheet = self._chosen.name
        self.notes = _notes(self._package.sheets, self._chosen)

    def tables(self, between: Callable[[], None]) -> Iterator[pa.Table]:
        """The rows as tables of text, the first without any; ``between`` is called between two steps."""
        with readable():
            scan = SheetScan(self._package, self._dialect, self._limits)
            for _ in scan.run(self._chosen, self._received):
                between()
            self._file.seek(0)
            sheet = CalamineWorkbook.from_filelike(self._file).get_sheet_by_name(self.sheet)
            rows = _Rows(scan, self._dialect, self._limits)
            for number, values in enumerate(sheet.iter_rows(), start=1):
                had_names = bool(rows.names)
                rows.add(number, values)
                if rows.names and not had_names:
                    yield rows.none()
                if len(rows.waiting) >= _ROWS_PER_STEP:
                    between()
                    yield rows.taken()
            rows.refuse_faults()
        if not rows.names:
            raise faults.empty_file()
        yield rows.taken()
        hidden = [
            f"{number} {what}{'s' if number > 1 else ''}"
            for number, what in ((scan.hidden_rows, "row"), (scan.hidden_columns, "column"))
            if number
        ]
        if hidden:
            self.notes.append(f"Read although hidden in the workbook: {' and '.join(hidden)}.")


def _chosen(sheets: list[Sheet], name: str | None) -> Sheet:
    visible = [sheet for sheet in sheets if sheet.is_visible]
    if name is None:
        if not visible:
            raise sheet_fault("no-sheet", [sheet.name for sheet in sheets])
        if len(visible) > 1:
            raise sheet_fault("several-sheets", [sheet.name for sheet in visible])
        return visible[0]
    found = [sheet for sheet in sheets if sheet.name == name]
    if not found:
        raise sheet_fault("unknown-sheet", [sheet.name for sheet in visible], name)
    return found[0]


def _notes(sheets: list[Sheet], chosen: Sheet) -> list[str]:
    """What of the workbook was not read, and whether what was is hidden."""
    others = [sheet.name for sheet in sheets if sheet is not chosen and sheet.is_visible]
    hidden = [sheet.name for sheet in sheets if sheet is not chosen and not sheet.is_visible]
    notes = []
    if not chosen.is_visible:
        notes.append(f"The sheet {chosen.name!r} is hidden in the workbook.")
    if others:
        notes.append(f"Sheets that were not read: {listed(others)}.")
    if hidden:
        notes.append(f"Hidden sheets that were not read: {listed(hidden)}.")
    return notes


class _Rows:
    """Rows of texts under the names of the first one, and what speaks against reading them so."""

    def __init__(self, scan: SheetScan, dialect: Dialect, limits: UploadLimits) -> None:
        self._scan, self._dialect, self._limits = scan, dialect, limits
        self.names: tuple[str, ...] = ()
        self.waiting: list[list[str | None]] = []
        self._columns: list[int] = []
        self._last = self._rows = 0
        self._outside, self._no_dates = CellFaults("cell-outside-table"), CellFaults("no-date")
        self._inexact = CellFaults("inexact-number")
        self._zeros = CellFaults("leading-zeros", "/leading_zeros", ("keep", "drop"))

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

    def add(self, number: int, values: Sequence[Any]) -> None:
        """The next row; rows without a text are none."""
        texts = self._texts(number, values) if number >= self._scan.first else []
        if not any(texts):
            return
        if not self.names:
            self._name_columns(texts)
            self._last = number
            if self._dialect.header:
                return
        elif number > self._last + 1:
            raise workbook_fault("blank-row", row=self._last + 1, next_row=number)
        self._last = number
        self._rows += 1
        if self._rows > self._limits.max_rows:
            raise faults.too_many("rows", self._limits.max_rows)
        self.waiting.append([texts[column] or None for column in self._columns])
        if len(texts) - texts.count("") > len(self.names) - self.waiting[-1].count(None):
            for column, text in enumerate(texts):
                if text and column not in self._columns:
                    self._outside.add(place_of(number, column + 1))

    def _texts(self, row: int, values: Sequence[Any]) -> list[str]:
        formats = self._scan.formats[row - self._scan.first]
        return [
            value if type(value) is str and format_ is None else self._text(row, column, value, format_)
            for column, (value, format_) in enumerate(zip_longest(values, formats, fillvalue=None), start=1)
        ]

    def _text(self, row: int, column: int, value: Any, format_: NumberFormat | None) -> str:  # noqa: ANN401
        """The text of a cell that is no text."""
        try:
            text = text_of(value, format_) if value is not None else ""
        except NoSuchDate:
            self._no_dates.add(place_of(row, column))
            return _AT_FAULT
        except Inexact:
            self._inexact.add(place_of(row, column))
            return _AT_FAULT
        if not text:
            return self._scan.errors.get((row, column), "")
        if format_ is not None and format_.zeros and text[0] == "0" and text.isdecimal() and text != "0":
            if self._dialect.leading_zeros == "refuse":
                self._zeros.add(place_of(row, column))
            return text if self._dialect.leading_zeros == "keep" else text.lstrip("0") or "0"
        return text

    def _name_columns(self, texts: list[str]) -> None:
        """The names in the first row; without a header there are as many columns as it reaches over."""
        found = [column for column, text in enumerate(texts) if text]
        if not self._dialect.header:
            found = list(range(found[0], found[-1] + 1))
        if len(found) > self._limits.max_columns:
            raise faults.too_many("columns", self._limits.max_columns)
        names = [f"column_{number}" for number in range(1, len(found) + 1)]
        if self._dialect.header:
            names = [texts[column].strip(BLANKS) if self._dialect.trim else texts[column] for column in found]
            check_columns(names, self._limits.max_columns)
        self._columns, self.names = found, tuple(names)

    def refuse_faults(self) -> None:
        """Raise for what was found in cells; what is the more likely cause of the others comes first."""
        for found in (self._outside, self._no_dates, self._inexact, self._zeros):
            found.refuse()
