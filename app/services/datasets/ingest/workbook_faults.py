"""The faults that workbooks can have beside those of every table, worded once.

Places are called as the workbook calls them (B7 is the second cell of the seventh row). No message repeats
a cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.domain.errors import InvalidInput
from app.services.datasets.ingest.faults import content_fault, damaged

PLACES_NAMED: Final = 10
_SHEETS_NAMED: Final = 20


def in_cells(places: Sequence[str], total: int) -> str:
    """Words for a list of cells: "in the cell B7", "in the cells B7, C9 and 118 more"."""
    shown = ", ".join(places[:PLACES_NAMED])
    if total == 1:
        return f"in the cell {shown}"
    more = total - min(len(places), PLACES_NAMED)
    return f"in the cells {shown}" + (f" and {more} more" if more else "")


def sheets(names: Sequence[str]) -> str:
    """The names of sheets as they are listed to somebody."""
    listed = ", ".join(map(repr, names[:_SHEETS_NAMED]))
    return listed + (f" and {len(names) - _SHEETS_NAMED} more" if len(names) > _SHEETS_NAMED else "")


def broken() -> InvalidInput:
    """Not a workbook that could be read to its end."""
    return damaged("xlsx")


def other_archive(what: str, remedy: str) -> InvalidInput:
    """A file that is packed as workbooks are, and is none."""
    return content_fault("other-file", f"The content is not an Excel workbook (.xlsx): it is {what}.", remedy)


def has_password() -> InvalidInput:
    """Encrypted as a whole, or in its parts."""
    return content_fault(
        "protected-file",
        "The workbook is protected by a password.",
        "Open it, remove the password (File, Info, Protect Workbook), and save it again.",
    )


def has_macros() -> InvalidInput:
    """With programs in it."""
    return content_fault(
        "macros", "The workbook holds macros.", "Save it as an Excel workbook without macros (.xlsx)."
    )


def has_doctype() -> InvalidInput:
    """A document type, by which XML is told to unfold."""
    return content_fault(
        "document-type",
        "The workbook declares a document type in its XML, which workbooks do not do.",
        "Open it in a spreadsheet, and save it again.",
    )


def no_sheet(hidden: Sequence[str]) -> InvalidInput:
    """Nothing but charts, or hidden sheets."""
    return content_fault(
        "no-sheet",
        "The workbook has no visible sheet of cells.",
        "Show the sheet that holds the table, or name it as sheet.",
        "/sheet",
        hidden,
    )


def which_sheet(visible: Sequence[str]) -> InvalidInput:
    """Several, of which none was named."""
    return content_fault(
        "several-sheets",
        f"The workbook has {len(visible)} visible sheets: {sheets(visible)}.",
        "Name the one that holds the table as sheet.",
        "/sheet",
        visible,
    )


def unknown_sheet(name: str, visible: Sequence[str]) -> InvalidInput:
    """A sheet that the workbook does not have."""
    return content_fault(
        "unknown-sheet",
        f"The workbook has no sheet {name!r}.",
        f"Its visible sheets are: {sheets(visible)}.",
        "/sheet",
        visible,
    )


def formulas(places: Sequence[str], total: int) -> InvalidInput:
    """Cells that are computed: what is kept of their values may be old, and they may name other data."""
    return content_fault(
        "formula",
        f"There {_are(total, 'formula')} {in_cells(places, total)}.",
        "Copy the table, paste it as values, and send that: the value that is kept of a formula may be old.",
    )


def errors(places: Sequence[str], total: int) -> InvalidInput:
    """Cells like #N/A that were not declared to mean a missing value."""
    return content_fault(
        "error-cell",
        f"There {_are(total, 'error value')} (like #N/A) {in_cells(places, total)}.",
        "Correct or empty them, or declare those that mean a missing value, for example missing=#N/A.",
    )


def no_dates(places: Sequence[str], total: int) -> InvalidInput:
    """Numbers that are formatted as dates and stand for none, such as the 0th or the 60th day of 1900."""
    return content_fault(
        "no-date",
        f"There {_are(total, 'number')} formatted as a date that stands for none {in_cells(places, total)}.",
        "Correct or empty them, or format them as numbers.",
    )


def leading_zeros(places: Sequence[str], total: int) -> InvalidInput:
    """Numbers that are shown with zeros, such as codes, of which nobody said whether the zeros are read."""
    numbers, cells = _are(total, "number"), in_cells(places, total)
    return content_fault(
        "leading-zeros",
        f"There {numbers} with zeros in front that only the format shows, {cells}.",
        "Declare leading_zeros=keep to read the zeros, as of codes, or leading_zeros=drop to leave them out.",
        "/leading_zeros",
        ("keep", "drop"),
    )


def outside(places: Sequence[str], total: int) -> InvalidInput:
    """Cells in columns that the first row does not name."""
    return content_fault(
        "cell-outside-table",
        f"The first row does not name the columns of {total} cells, {in_cells(places, total)}.",
        "Let the first row name every column: delete titles above it and notes beside the table.",
    )


def blank_row(row: int, next_row: int) -> InvalidInput:
    """An empty row that is not at an end of the table."""
    return content_fault(
        "blank-row",
        f"Row {row} of the sheet is empty, but there are cells in row {next_row}.",
        "Delete empty rows within the table, and what is below it.",
    )


def merged(ranges: Sequence[str], total: int) -> InvalidInput:
    """Cells that were merged, of which all but the first are empty."""
    shown = ", ".join(ranges[:PLACES_NAMED]) + (" and more" if total > PLACES_NAMED else "")
    return content_fault(
        "merged-cells",
        f"There {_are(total, 'range')} of merged cells: {shown}.",
        "Unmerge them, and fill in every cell: merged ones are empty but for the first.",
    )


def _are(number: int, what: str) -> str:
    return f"is 1 {what}" if number == 1 else f"are {number} {what}s"
