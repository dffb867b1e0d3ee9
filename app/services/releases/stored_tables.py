"""A released table that was drawn: kept as one Parquet file, and read back as that file or as CSV."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from app.services.datasets.table_streams import BLOCK_ROWS
from app.services.releases.released_tables import csv_fields, csv_lines

_SENT_AT_ONCE = 1024**2


def parquet_chunks(parquet: bytes) -> Iterator[bytes]:
    """The file as it is."""
    return (parquet[start : start + _SENT_AT_ONCE] for start in range(0, len(parquet), _SENT_AT_ONCE))


def csv_chunks(parquet: bytes, *, neutralise_formulas: bool) -> Iterator[bytes]:
    """The table of the file as CSV, byte for byte as a :class:`ReleasedTable` writes it."""
    source = pa.BufferReader(parquet)
    columns = pq.read_schema(source).names
    field = csv_fields(columns, neutralise_formulas=neutralise_formulas)
    yield (",".join(field(name) for name in columns) + "\n").encode("utf-8")
    for batch in pq.ParquetFile(source, read_dictionary=columns).iter_batches(BLOCK_ROWS):
        # A text is made fit to be written once; a cell is then one look-up.
        yield csv_lines([_texts(own, field) for own in batch.columns])


def _texts(column: pa.DictionaryArray, field: Callable[[str], str]) -> list[str]:
    """The cells of a column as fields."""
    labels = np.array([field(text) for text in column.dictionary.to_pylist()], dtype=object)
    cells: list[str] = labels[column.indices.to_numpy()].tolist()
    return cells
