"""The hash of a table's cells: the same for every file that is read as the same table."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_MISSING: Final = -1


class TableHash:
    """Hashes names of columns and cells as text, whatever file, encoding or compression they came in.

    The order of rows counts, that of columns does not. It is the same however the rows are cut into tables:
    per column the lengths of cells in bytes, with -1 for a missing one, and their bytes are hashed apart,
    which together say where each cell ends.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = {name: (hashlib.sha256(), hashlib.sha256()) for name in columns}

    def add(self, table: pa.Table) -> None:
        """Take the next rows: columns of text, with nulls for missing cells."""
        for name, (lengths, texts) in self._columns.items():
            for chunk in table.column(name).chunks:
                own = chunk.cast(pa.string())
                measured = pc.fill_null(pc.binary_length(own), _MISSING)
                lengths.update(measured.to_numpy(zero_copy_only=False).astype("<i4").tobytes())
                texts.update(_bytes_of(pc.fill_null(own, "") if own.null_count else own))

    def hexdigest(self) -> str:
        """The hash of all that was taken."""
        return hashlib.sha256(b"".join([b"privacy-risk table 1", *self._told()])).hexdigest()

    def of_columns(self) -> tuple[str, ...]:
        """The hash of each column by itself, which is the same in every table that has it in these rows."""
        return tuple(hashlib.sha256(b"privacy-risk column 1" + own).hexdigest() for own in self._told())

    def _told(self) -> Iterator[bytes]:
        for name, parts in sorted(self._columns.items()):
            yield hashlib.sha256(name.encode()).digest() + b"".join(part.digest() for part in parts)


def _bytes_of(texts: pa.StringArray) -> memoryview | bytes:
    """The bytes of all cells in a row, without copying them."""
    if not len(texts):
        return b""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return b"" if data is None else memoryview(data)[int(ends[0]) : int(ends[-1])]
