"""A released table that was drawn: kept as one Parquet file, and read back as that file or as CSV."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from app.services.datasets.csv_text import csv_fields, csv_header, csv_lines
from app.services.datasets.table_streams import BLOCK_ROWS

_SENT_AT_ONCE = 1024**2


def parquet_chunks(parquet: bytes) -> Iterator[bytes]:
    """The file as it is."""
    return (parquet[start : start + _SENT_AT_ONCE] for start in range(0, len(parquet), _SENT_AT_ONCE))


def csv_chunks(parquet: bytes, *, neutralise_formulas: bool) -> Iterator[bytes]:
    """The table of the file as CSV, byte for byte as a :class:`ReleasedTable` writes it."""
    source = pa.BufferReader(parquet)
    columns = pq.read_schema(source).names
    yield csv_header(columns, neutralise_formulas=neutralise_formulas)
    for batch in pq.ParquetFile(source, read_dictionary=columns).iter_batches(BLOCK_ROWS):
        texts = [own.dictionary for own in batch.columns]
        fields = csv_fields(texts, neutralise_formulas=neutralise_formulas)
        yield csv_lines([own.take(cells.indices) for own, cells in zip(fields, batch.columns, strict=True)])
