"""The hash of a table's rows whatever its columns are called, in any order, constant columns left out."""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from app.services.datasets.ingest.rows_hash import MOST_ROWS

_STEP_BYTES: Final = 2 * 1024**2
_BASE: Final = np.uint64(0x9E3779B97F4A7C15)
_MIXED_BY: Final = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))

_Hashes = npt.NDArray[np.uint64]


class NamelessHash:
    """Hashes which cells stand in a row together, and which in a column, and nothing else of a table.

    Each cell has a hash of 64 bits; what is kept of a row, and of a column, is the sum over its cells. A
    column in which all cells are alike tells nothing of anybody and is left out, unless all are. Two tables
    that differ in names, order and constant columns alone have the same hash. Others have it by an accident
    of these sums, or where cells were exchanged between columns so that no sum changes: to take two tables
    for one by mistake counts too much, never too little.
    """

    def __init__(self, most_rows: int = MOST_ROWS) -> None:
        self._left = most_rows
        self._rows: list[_Hashes] = []
        self._columns: dict[str, int] = {}
        self._constant: dict[str, np.uint64 | None] = {}

    def add(self, table: pa.Table) -> None:
        """Take the next rows: columns of text, with nulls for missing cells."""
        self._left -= table.num_rows
        if self._left < 0:
            self._rows = []
            return
        step = max(1, table.num_rows * _STEP_BYTES // max(table.nbytes, 1))
        for start in range(0, table.num_rows, step):
            part = table.slice(start, step)
            rows = np.zeros(part.num_rows, dtype=np.uint64)
            for name in table.column_names:
                cells = _hashes(part.column(name))
                rows += cells
                self._columns[name] = (self._columns.get(name, 0) + int(_mixed(cells).sum())) % 2**64
                first = self._constant.setdefault(name, cells[0])
                if first is not None and (cells != first).any():
                    self._constant[name] = None
            self._rows.append(rows)

    def hexdigest(self) -> str | None:
        """The hash of all that was taken, which ends it; None if those were too many rows, or none."""
        if not self._rows:
            return None
        rows = np.concatenate(self._rows)
        self._rows = []
        constant = {name: own for name, own in self._constant.items() if own is not None}
        if len(constant) == len(self._columns):
            constant = {}
        for own in constant.values():
            rows -= own
        rows.sort()
        columns = sorted(own for name, own in self._columns.items() if name not in constant)
        whole = hashlib.sha256(b"privacy-risk nameless rows 1")
        whole.update(np.array([len(columns), *columns], dtype=np.uint64).tobytes() + rows.tobytes())
        return whole.hexdigest()


def _hashes(column: pa.ChunkedArray) -> _Hashes:
    """Of each cell, by its length and its bytes; missing ones have a length of their own."""
    told = column.cast(pa.large_binary()).combine_chunks().dictionary_encode("encode")
    texts = told.dictionary
    lengths = pc.fill_null(pc.binary_length(texts), -1).to_numpy(zero_copy_only=False)
    _, offsets, data = pc.fill_null(texts, b"").buffers()
    ends = np.frombuffer(offsets, np.int64)[: len(texts) + 1]
    taken = np.frombuffer(data or b"", np.uint8)[: ends[-1]].astype(np.uint64) + np.uint64(1)
    within = np.arange(len(taken)) - np.repeat(ends[:-1], np.diff(ends))
    powers = np.full(int(lengths.max(initial=0)) + 1, _BASE)
    sums = np.zeros(len(taken) + 1, dtype=np.uint64)
    np.cumsum(taken * np.cumprod(powers)[within], out=sums[1:])
    found: _Hashes = _mixed(sums[ends[1:]] - sums[ends[:-1]] + _BASE * lengths.astype(np.uint64))
    places: npt.NDArray[np.int32] = told.indices.to_numpy(zero_copy_only=False)
    return found[places]


def _mixed(own: _Hashes) -> _Hashes:
    """Each number in another one, in which every bit depends on all of its bits (splitmix64)."""
    for shift, factor in _MIXED_BY:
        own = (own ^ (own >> np.uint64(shift))) * np.uint64(factor)
    return own ^ (own >> np.uint64(31))
