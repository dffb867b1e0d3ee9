"""The faults that uploaded content can have, worded once.

Rows count from 1 without the header. No message repeats a cell.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from app.domain.errors import Fault, InvalidInput, TooCostly, TooLarge
from app.services.datasets.ingest.dialect import UploadLimits

ROWS_NAMED: Final = 10
"""How many row numbers a message lists."""


def in_rows(rows: Sequence[int], total: int | None = None) -> str:
    """Words for a list of row numbers: "in row 7", "in rows 2, 5, 9 and 118 more"."""
    total = len(rows) if total is None else total
    shown = ", ".join(str(row) for row in rows[:ROWS_NAMED])
    more = total - min(len(rows), ROWS_NAMED)
    if total == 1:
        return f"in row {shown}"
    return f"in rows {shown}" + (f" and {more} more" if more else "")


def content_fault(
    code: str, message: str, remedy: str, pointer: str = "/body", choices: Sequence[str] = ()
) -> InvalidInput:
    """One fault of the uploaded content."""
    return InvalidInput([Fault(pointer, code, message, remedy, tuple(choices))])


def empty_file() -> InvalidInput:
    """Nothing in it."""
    return content_fault(
        "empty-file", "The file is empty.", "Send a table with a header and at least one column."
    )


def only_a_header() -> InvalidInput:
    """No records."""
    message = "The table has no rows: the file is a line of names alone."
    remedy = "Send records; if the first line is one, declare that there is no header."
    return content_fault("no-records", message, remedy)


def compressed_twice() -> InvalidInput:
    """What gzip gives back is gzip again."""
    message = "The file is compressed by gzip twice."
    return content_fault("compressed-twice", message, "Unpack it once, and send what that gives.")


def ragged_rows(expected: int, rows: Sequence[int], total: int, note: str = "") -> InvalidInput:
    """Rows with another number of cells than the header, and what that may be due to."""
    columns = "1 column" if expected == 1 else f"{expected} columns"
    return content_fault(
        "ragged-rows",
        f"The table has {columns}, but there are more or fewer cells {in_rows(rows, total)}."
        + (f" {note}" if note else ""),
        "Check the delimiter and the quote that were declared, and quote cells that hold the delimiter.",
    )


def stray_quote(rows: Sequence[int], total: int) -> InvalidInput:
    """A quote inside an unquoted cell, or text after a closing quote."""
    return content_fault(
        "stray-quote",
        f"There is a quote in the middle of a cell {in_rows(rows, total)}.",
        "Quote the whole cell and double the quotes in it, or declare that the file has no quote character.",
    )


def unterminated_quote(row: int) -> InvalidInput:
    """A quoted cell without an end."""
    return content_fault(
        "unterminated-quote",
        f"A quoted cell that begins {in_rows([row])} never ends.",
        "Close the quote, double quotes inside cells, or declare that the file has no quote character.",
    )


def bare_carriage_return(rows: Sequence[int], total: int, *, has_lines: bool) -> InvalidInput:
    """A carriage return that is not part of a line end, or is one where the text has no other."""
    return content_fault(
        "bare-carriage-return",
        f"There is a carriage return without a line feed {in_rows(rows, total)}."
        if has_lines
        else "The lines end in a carriage return alone, as old programs for the Macintosh write them.",
        "End lines with LF or CRLF, and quote cells that hold a carriage return.",
    )


def nul_byte(rows: Sequence[int], total: int) -> InvalidInput:
    """A NUL character."""
    return content_fault(
        "nul-byte",
        f"There is a NUL character {in_rows(rows, total)}.",
        "Remove it; if the file is UTF-16, declare that encoding.",
    )


def wrong_encoding(encoding: str, row: int) -> InvalidInput:
    """Bytes that are no text in the declared encoding."""
    return content_fault(
        "wrong-encoding",
        f"The bytes {in_rows([row])} are not valid {encoding}.",
        "Declare the encoding that the file was written in, for example latin-1, cp1252 or utf-16.",
        "/encoding",
    )


def damaged(format: str) -> InvalidInput:
    """Not a file of the declared format, or cut short."""
    return content_fault(
        "damaged-file",
        f"The content is not a complete file of the format {format}.",
        "Check the format that was declared, and that the transfer was complete.",
    )


def cell_too_long(limit: int, rows: Sequence[int], total: int) -> TooLarge:
    """A cell above the limit."""
    return TooLarge(
        f"A cell is longer than {limit} bytes {in_rows(rows, total)}.",
        "Shorten it, or check the quote that was declared.",
        limit,
    )


def too_many(what: str, limit: int) -> TooLarge:
    """More bytes, rows or columns than an upload may have."""
    return TooLarge(
        f"The upload has more than {limit} {what}.", "Send less, or ask for a higher limit.", limit
    )


def unfolds_too_far(limit: int, received: int) -> TooLarge:
    """Compressed so well that what arrived is out of proportion to what it stands for."""
    return TooLarge(
        f"The {received} bytes received so far unfold to more than the {limit} bytes that they may.",
        "Send the table as CSV without compression, or in parts.",
        limit,
    )


def too_costly(seconds: float, received: int) -> TooCostly:
    """More processor time than the size of the upload allows."""
    return TooCostly(
        f"Reading the {received} bytes received so far takes more than the {seconds:.1f} s of processor time "
        "that they may cost.",
        "Send the table as CSV without compression, or in parts.",
        math.ceil(seconds),
    )


def needs_too_much_memory(limit: int) -> TooLarge:
    """A binary file whose parts unfold to more than a child process may hold."""
    return TooLarge(
        f"Reading the file takes more than {limit} bytes of memory.",
        "Write it with smaller row groups or batches, or send it as CSV.",
        limit,
    )


def check_unfolding(unfolded: int, received: int, limits: UploadLimits) -> None:
    """Raise TooLarge if so many bytes are too many at all, or too many for what was received."""
    if unfolded > limits.max_decompressed_bytes:
        raise too_many("bytes after decompression", limits.max_decompressed_bytes)
    if unfolded > (limit := limits.unfolded_bytes_for(received)):
        raise unfolds_too_far(limit, received)
