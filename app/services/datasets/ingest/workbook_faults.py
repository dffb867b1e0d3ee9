"""The faults that workbooks can have beside those of every table, worded once.

Places are called as the workbook calls them (B7 is the second cell of the seventh row). No message repeats
a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Final

from app.domain.errors import InvalidInput
from app.services.datasets.ingest.faults import content_fault, damaged

_PLACES_NAMED: Final = 10
_SHEETS_NAMED: Final = 20
_WORDS: Final = {
    "other-file": ("The content is not an Excel workbook (.xlsx): it is {what}.", "{remedy}"),
    "protected-file": (
        "The workbook is protected by a password.",
        "Open it, remove the password (File, Info, Protect Workbook), and save it again.",
    ),
    "macros": ("The workbook holds macros.", "Save it as an Excel workbook without macros (.xlsx)."),
    "document-type": (
        "The workbook declares a document type in its XML, which workbooks do not do.",
        "Open it in a spreadsheet, and save it again.",
    ),
    "main-part": (
        "The main part of the workbook is not called workbook.xml, by which it is looked for.",
        "Open it in a spreadsheet, and save it again.",
    ),
    "no-sheet": (
        "The workbook has no visible sheet of cells.",
        "Show the sheet that holds the table, or name it as sheet.",
    ),
    "several-sheets": (
        "The workbook has {total} visible sheets: {sheets}.",
        "Name the one that holds the table as sheet.",
    ),
    "unknown-sheet": ("The workbook has no sheet {name!r}.", "Its visible sheets are: {sheets}."),
    "blank-row": (
        "Row {row} of the sheet is empty, but there are cells in row {next_row}.",
        "Delete empty rows within the table, and what is below it.",
    ),
    "formula": (
        "There {are} formula{s} {in_cells}.",
        "Copy the table, paste it as values, and send that: the value that is kept of a formula may be old.",
    ),
    "merged-cells": (
        "There {are} range{s} of merged cells: {places}.",
        "Unmerge them, and fill in every cell: merged ones are empty but for the first.",
    ),
    "cell-outside-table": (
        "The first row does not name the columns of {total} cells, {in_cells}.",
        "Let the first row name every column: delete titles above it and notes beside the table.",
    ),
    "error-cell": (
        "There {are} error value{s} (like #N/A) {in_cells}.",
        "Correct or empty them, or declare those that mean a missing value, for example missing=#N/A.",
    ),
    "no-date": (
        "There {are} number{s} formatted as a date that stands for none {in_cells}.",
        "Correct or empty them, or format them as numbers.",
    ),
    "inexact-number": (
        "There {are} whole number{s} above 9007199254740991, of which workbooks lose digits, {in_cells}.",
        "Keep codes of so many digits as text.",
    ),
    "leading-zeros": (
        "There {are} number{s} with zeros in front that only the format shows, {in_cells}.",
        "Declare leading_zeros=keep to read the zeros, as of codes, or leading_zeros=drop to leave them out.",
    ),
}
"""Message and remedy by the code of a fault."""


def workbook_fault(code: str, **words: object) -> InvalidInput:
    """The fault with these words."""
    message, remedy = _WORDS[code]
    return content_fault(code, message.format(**words), remedy.format(**words))


def sheet_fault(code: str, names: Sequence[str], name: str = "") -> InvalidInput:
    """One that is mended by naming a sheet; ``name``: the one that was named."""
    message, remedy = _WORDS[code]
    words = {"total": len(names), "sheets": listed(names), "name": name}
    return content_fault(code, message.format(**words), remedy.format(**words), "/sheet", names)


def listed(names: Sequence[str]) -> str:
    """The names of sheets as they are listed to somebody."""
    shown = ", ".join(map(repr, names[:_SHEETS_NAMED]))
    return shown + (f" and {len(names) - _SHEETS_NAMED} more" if len(names) > _SHEETS_NAMED else "")


def broken() -> InvalidInput:
    """Not a workbook that could be read to its end."""
    return damaged("xlsx")


class CellFaults:
    """Cells that have one fault: the first places, and how many there are."""

    def __init__(self, code: str, pointer: str = "/body", choices: Sequence[str] = ()) -> None:
        self._code, self._pointer, self._choices = code, pointer, choices
        self._places: list[str] = []
        self._total = 0

    def add(self, place: str) -> None:
        """One more."""
        self._total += 1
        if len(self._places) < _PLACES_NAMED:
            self._places.append(place)

    def refuse(self) -> None:
        """Raise InvalidInput if there is one."""
        if not self._total:
            return
        is_one, more = self._total == 1, self._total - len(self._places)
        places = ", ".join(self._places) + (f" and {more} more" if more else "")
        message, remedy = _WORDS[self._code]
        message = message.format(
            are="is 1" if is_one else f"are {self._total}",
            s="" if is_one else "s",
            total=self._total,
            places=places,
            in_cells=f"in the cell{'' if is_one else 's'} {places}",
        )
        raise content_fault(self._code, message, remedy, self._pointer, self._choices)


@cache
def column_of(letters: str) -> int:
    """The number of a column, from 1; InvalidInput if there is none that is called so."""
    if not 1 <= len(letters) <= 3 or not (letters.isascii() and letters.isalpha() and letters.isupper()):
        raise broken()
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


def place_of(row: int, column: int) -> str:
    """A cell as the workbook calls it, by numbers from 1."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row}"
