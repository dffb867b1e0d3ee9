"""The one form of a CSV file: UTF-8 without a mark, commas, line feeds, quotes only where they must be.

Two files that hold the same cells in the same order have the same canonical form, however they are written:
quotes that could be left out, line ends, a byte order mark, a compression and its header are no part of it.
It is what pandas writes on Linux with ``index=False``. A first cell that begins with a byte order mark is
quoted, for it would be read as the file's own.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from app.services.datasets.csv_text import csv_fields, csv_header, csv_lines

_FIRST_CELL: Final = re.compile(rb"[^,\n]*")
_NEED_QUOTES: Final = np.isin(np.arange(256), list(b',"\r\n'))
"""(256,) whether a cell that holds the byte is quoted."""


class CanonicalCsv:
    """Writes records in canonical form to ``sink``, such as a digest's ``update``, as they are read."""

    def __init__(self, sink: Callable[[bytes], object]) -> None:
        self._sink = sink
        self._is_begun = False

    def header(self, cells: Sequence[str]) -> None:
        """The names of the columns, as they are spelled."""
        self._write(csv_header(cells, neutralise_formulas=False))

    def lines(self, text: bytes, delimiter: str, columns: int) -> bool:
        """Well-formed records, with the usual quotes if any; False if cells may need quotes that they lack.

        Nothing is written then. Most files are written so, or nearly: their bytes are taken as they are.
        """
        if columns == 1 or (delimiter != "," and (b'"' in text or b"," in text)):
            return False
        if b'"' in text:
            text = _without_needless(text)
        elif b"\r" in text:
            text = text.replace(b"\r\n", b"\n")
        self._write(text if delimiter == "," else text.replace(delimiter.encode(), b","))
        return True

    def cells(self, table: pa.Table) -> None:
        """Rows of text without nulls."""
        for batch in table.to_batches():
            self._write(csv_lines(csv_fields(batch.columns, neutralise_formulas=False)))

    def _write(self, text: bytes) -> None:
        if not self._is_begun and text.startswith(codecs.BOM_UTF8):
            text = _FIRST_CELL.sub(rb'"\g<0>"', text, count=1)
        self._is_begun |= bool(text)
        self._sink(text)


def _without_needless(text: bytes) -> bytes:
    """Records between commas without the quotes around cells that need none, and without returns at ends."""
    array = np.frombuffer(text, dtype=np.uint8)
    quotes = np.flatnonzero(array == ord('"'))
    opening, closing = quotes[0::2], quotes[1::2]
    # A doubled quote closes and opens at once: what it is in goes on.
    goes_on = opening[1:] == closing[:-1] + 1
    first, last = opening[np.append(True, ~goes_on)], closing[np.append(~goes_on, True)]
    upto = np.cumsum(_NEED_QUOTES[array], dtype=np.int32)
    needless = upto[last] == upto[first] + 1
    if needless.all():
        return text.replace(b'"', b"").replace(b"\r\n", b"\n")
    kept = np.ones(len(array), dtype=bool)
    kept[first[needless]] = kept[last[needless]] = False
    returns = np.flatnonzero(array[:-1] == ord("\r"))
    returns = returns[array[returns + 1] == ord("\n")]
    kept[returns[np.searchsorted(quotes, returns) % 2 == 0]] = False
    return array[kept].tobytes()
