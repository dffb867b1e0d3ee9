"""The hash of a table's rows in no order: the same for every file that has these rows, each as often."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MOST_ROWS: Final = 10_000_000
"""Of more rows no hash is made: 32 bytes of each are held until the last has come."""

_DIGEST_BYTES: Final = 32
_STEP_ROWS: Final = 65_536
_STEP_BYTES: Final = 16 * 1024**2
_MISSING: Final = -1


class RowsHash:
    """Hashes names of columns and the multiset of rows of text, whatever order either comes in.

    Each row is hashed by SHA-256, as the lengths of its cells, -1 for a missing one, and their bytes, by
    column in the order of names; the hashes are sorted and hashed together with the names. Two tables that
    are not the same have the same hash only if SHA-256 has a collision. (A sum of hashes, which would need
    no memory, has none of that: short integer relations make tables with equal sums.)
    """

    def __init__(self, columns: Sequence[str], most_rows: int = MOST_ROWS) -> None:
        self._columns = sorted(columns)
        self._most_bytes = most_rows * _DIGEST_BYTES
        self._digests: bytearray | None = bytearray()

    def add(self, table: pa.Table) -> None:
        """Take the next rows: columns of text, with nulls for missing cells."""
        if self._digests is None:
            return
        if len(self._digests) + table.num_rows * _DIGEST_BYTES > self._most_bytes:
            self._digests = None
            return
        own = table.select(self._columns)
        step = _STEP_ROWS
        if own.nbytes:
            step = max(1, min(step, own.num_rows * _STEP_BYTES // own.nbytes))
        for batch in own.to_batches(max_chunksize=step):
            self._digests += b"".join([hashlib.sha256(row).digest() for row in _rows(batch)])

    def hexdigest(self) -> str | None:
        """The hash of all that was taken, which ends it; None if those were too many rows."""
        if self._digests is None:
            return None
        whole = hashlib.sha256(b"privacy-risk rows 1")
        for name in self._columns:
            whole.update(hashlib.sha256(name.encode()).digest())
        # Sorted in its place, all bytes of each compared.
        np.frombuffer(self._digests, f"S{_DIGEST_BYTES}").sort()
        whole.update(self._digests)
        self._digests = None
        return whole.hexdigest()


def _rows(batch: pa.RecordBatch) -> Iterator[bytes]:
    """Each row as bytes that say where each of its cells ends."""
    parts: list[pa.Array] = []
    for column in batch.columns:
        texts = column.cast(pa.large_binary())
        lengths = pc.fill_null(pc.binary_length(texts), _MISSING).to_numpy(zero_copy_only=False)
        told = pa.py_buffer(lengths.astype("<i4").tobytes())
        parts.append(pa.FixedSizeBinaryArray.from_buffers(pa.binary(4), len(texts), [None, told]))
        parts.append(pc.fill_null(texts, b""))
    if not parts:
        return iter([b""] * batch.num_rows)
    whole = [part.cast(pa.large_binary()) for part in parts]
    joined = pc.binary_join_element_wise(*whole, pa.scalar(b"", pa.large_binary()))
    return iter(joined.to_pylist())
