"""Where the records of a block of CSV text begin and end, and whether each is well formed.

A strict reading of RFC 4180 on which every CSV parser agrees: quotes enclose whole cells, quotes
within them are doubled, lines end in LF or CRLF. Whatever parsers would read differently is refused
here, so that the parser behind (pyarrow's) never has to guess. Vectorised: no Python loop over rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.services.datasets.ingest import faults

Positions = npt.NDArray[np.int64]

_LF, _CR, _NUL = 10, 13, 0


@dataclass(frozen=True, eq=False)
class RecordBlock:
    """Complete records.

    Attributes
    ----------
    text
        Their bytes, the last record with its line end.
    ends
        (n,) position of each record's LF.
    delimiters
        Positions of the delimiters outside quotes.
    has_quotes
        Whether the block holds a quote character at all.
    """

    text: bytes
    ends: Positions
    delimiters: Positions
    has_quotes: bool

    def rows_of(self, positions: Positions) -> tuple[list[int], int]:
        """Index of the record of each position, without repetitions: the first few, and how many."""
        records = np.unique(np.searchsorted(self.ends, positions))
        return [int(record) for record in records[: faults.ROWS_NAMED]], len(records)

    def cell_counts(self) -> Positions:
        """(n,) number of cells of each record."""
        upto = np.searchsorted(self.delimiters, self.ends)
        counts: Positions = np.diff(upto, prepend=0) + 1
        return counts

    def is_regular(self, columns: int) -> bool:
        """Whether every record has this many cells, without counting them one by one."""
        per_record = columns - 1
        if len(self.delimiters) != per_record * len(self.ends):
            return False
        if per_record == 0:
            return True
        grid = self.delimiters.reshape(-1, per_record)
        return bool((grid[:, -1] < self.ends).all() and (grid[1:, 0] > self.ends[:-1]).all())

    def blank(self) -> npt.NDArray[np.bool_]:
        """(n,) whether the record is an empty line."""
        array = np.frombuffer(self.text, dtype=np.uint8)
        starts = np.concatenate(([0], self.ends[:-1] + 1))
        length = self.ends - starts
        ends_in_cr = (length == 1) & (array[starts] == _CR)
        result: npt.NDArray[np.bool_] = (length == 0) | ends_in_cr
        return result

    def head(self, records: int) -> bytes:
        """The text of the first records."""
        return self.text[: int(self.ends[records - 1]) + 1] if records else b""

    def first_cells(self, quote: str | None) -> list[str]:
        """The cells of the first record, without their quotes."""
        end = int(self.ends[0])
        if self.text[end - 1 : end] == b"\r":
            end -= 1
        inner = self.delimiters[: np.searchsorted(self.delimiters, end)].tolist()
        bounds = zip([0, *(place + 1 for place in inner)], [*inner, end], strict=True)
        cells = [self.text[start:stop].decode("utf-8") for start, stop in bounds]
        if quote is None:
            return cells
        return [cell[1:-1].replace(quote * 2, quote) if cell.startswith(quote) else cell for cell in cells]

    def without_head(self, records: int) -> RecordBlock:
        """The block without its first records."""
        if records == 0:
            return self
        cut = int(self.ends[records - 1]) + 1
        return RecordBlock(
            self.text[cut:],
            self.ends[records:] - cut,
            self.delimiters[self.delimiters >= cut] - cut,
            self.has_quotes,
        )


@dataclass(frozen=True)
class PlainLines:
    """``n`` records, one a line, that end at the position ``stop``."""

    n: int
    stop: int


def plain_lines(text: bytes, quote: str | None, columns: int) -> PlainLines | None:
    """The lines that are complete, if every one is a record in which no character needs to be looked at.

    That is so in UTF-8 text without quotes and NUL, and without empty lines unless there is but one column.
    Cells are not counted, and carriage returns not looked for within lines: a parser that ends lines at them
    finds more than ``n``. None if it is not so.
    """
    stop = text.rfind(b"\n") + 1
    if not stop or b"\0" in text or (quote is not None and quote.encode() in text):
        return None
    array = np.frombuffer(text, dtype=np.uint8, count=stop)
    is_end = array == _LF
    if columns > 1:
        begins_empty = is_end | (array == _CR) if b"\r" in text else is_end
        if begins_empty[0] or (is_end[:-1] & begins_empty[1:]).any():
            return None
    if not text.isascii():
        try:
            text[:stop].decode("utf-8")
        except UnicodeDecodeError:
            return None
    return PlainLines(int(np.count_nonzero(is_end)), stop)


def split(text: bytes, delimiter: str, quote: str | None, first_row: int) -> tuple[RecordBlock | None, bytes]:
    """The complete records at the head of ``text``, and the rest.

    Parameters
    ----------
    text
        Bytes that begin at the start of a record.
    delimiter, quote
        One ASCII character each; no quote character if None.
    first_row
        Row number of the first record, for messages.
    """
    array = np.frombuffer(text, dtype=np.uint8)
    has_quotes = quote is not None and quote.encode() in text
    quotes = np.flatnonzero(array == ord(quote)) if quote is not None and has_quotes else None
    ends = _outside(np.flatnonzero(array == _LF), quotes)
    if not len(ends):
        return None, text
    cut = int(ends[-1]) + 1
    array = array[:cut]
    if quotes is not None:
        quotes = quotes[: np.searchsorted(quotes, cut)]
        has_quotes = len(quotes) > 0
    delimiters = _outside(np.flatnonzero(array == ord(delimiter)), quotes)
    block = RecordBlock(text[:cut], ends, delimiters, has_quotes)
    _check_characters(block, array, quotes, first_row)
    if quotes is not None and has_quotes:
        _check_quotes(block, array, quotes, delimiter, first_row)
    return block, text[cut:]


def ends_in_quotes(text: bytes, quote: str | None) -> bool:
    """Whether text that begins at the start of a record breaks off inside a quoted cell."""
    return quote is not None and text.count(quote.encode()) % 2 == 1


def _outside(positions: Positions, quotes: Positions | None) -> Positions:
    if quotes is None:
        return positions
    outside: Positions = positions[np.searchsorted(quotes, positions) % 2 == 0]
    return outside


def _check_characters(
    block: RecordBlock, array: npt.NDArray[np.uint8], quotes: Positions | None, first_row: int
) -> None:
    if b"\0" in block.text:
        rows, total = block.rows_of(np.flatnonzero(array == _NUL))
        raise faults.nul_byte([row + first_row for row in rows], total)
    if block.text.count(b"\r") != block.text.count(b"\r\n"):
        returns = _outside(np.flatnonzero(array == _CR), quotes)
        bare = returns[array[returns + 1] != _LF]
        if len(bare):
            rows, total = block.rows_of(bare)
            wrong = [row + first_row for row in rows]
            raise faults.bare_carriage_return(wrong, total, has_lines=len(block.ends) > 1)


def _check_quotes(
    block: RecordBlock, array: npt.NDArray[np.uint8], quotes: Positions, delimiter: str, first_row: int
) -> None:
    """Opening quotes begin a cell, closing ones end it; a doubled quote is a closing and an opening one."""
    opening, closing = quotes[0::2], quotes[1::2]
    mark = array[quotes[0]]
    before = array[np.maximum(opening - 1, 0)]
    after = array[closing + 1]
    begins = (opening == 0) | (before == ord(delimiter)) | (before == _LF)
    begins[1:] |= opening[1:] == closing[:-1] + 1
    ends = (after == ord(delimiter)) | (after == _LF) | (after == _CR) | (after == mark)
    stray = np.concatenate((opening[~begins], closing[~ends]))
    if len(stray):
        rows, total = block.rows_of(stray)
        raise faults.stray_quote([row + first_row for row in rows], total)
