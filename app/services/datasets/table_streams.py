"""Tables as they leave: CSV, JSON and Parquet, made block by block while they are sent."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any, Final

import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from app.services.fingerprints import plain
from app.services.resources import DataFormat, DataStream

BLOCK_ROWS: Final = 16_384

MEDIA_TYPES: Final = {
    DataFormat.CSV: "text/csv; charset=utf-8",
    DataFormat.JSON: "application/json",
    DataFormat.PARQUET: "application/vnd.apache.parquet",
}

Columns = dict[str, npt.NDArray[Any]]


def stream_columns(columns: Columns, format: DataFormat, name: str) -> DataStream:
    """Arrays of equal length as a table; infinite numbers are "inf" in CSV and JSON."""
    match format:
        case DataFormat.CSV:
            chunks = _csv_chunks(columns)
        case DataFormat.JSON:
            chunks = _json_chunks(columns)
        case DataFormat.PARQUET:
            schema = pa.schema([(key, _arrow_type(values)) for key, values in columns.items()])
            chunks = parquet_chunks(schema, _batches(columns, schema))
    return stream(chunks, format, name)


def stream(chunks: Iterator[bytes], format: DataFormat, name: str) -> DataStream:
    """Chunks, each made in a thread of its own when it is its turn, as a download."""
    return DataStream(MEDIA_TYPES[format], f"{name}.{format.value}", in_threads(chunks))


def parquet_chunks(schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> Iterator[bytes]:
    """A Parquet file, a row group per batch."""
    sink = _Sink()
    with pq.ParquetWriter(pa.PythonFile(sink, mode="w"), schema, compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch)
            yield sink.taken()
    yield sink.taken()


def arrow_chunks(table: pa.Table) -> Iterator[bytes]:
    """The table as Arrow's stream, block by block."""
    sink = _Sink()
    with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), table.schema) as writer:
        for batch in table.to_batches(BLOCK_ROWS):
            writer.write_batch(batch)
            yield sink.taken()
    yield sink.taken()


def blocks(n_rows: int, of_rows: int = BLOCK_ROWS) -> Iterator[slice]:
    """The rows in blocks."""
    return (slice(start, min(start + of_rows, n_rows)) for start in range(0, n_rows, of_rows))


async def in_threads(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The chunks, each made in a thread of its own when it is its turn."""
    while (chunk := await asyncio.to_thread(next, chunks, None)) is not None:
        yield chunk


def _csv_chunks(columns: Columns) -> Iterator[bytes]:
    yield _csv_text([list(columns)])
    for rows in _blocks_of(columns):
        yield _csv_text(zip(*(values.tolist() for values in rows.values()), strict=True))


def _csv_text(rows: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8")


def _json_chunks(columns: Columns) -> Iterator[bytes]:
    """One array with an object per row, a row to a line."""
    opening = "["
    for rows in _blocks_of(columns):
        names = list(rows)
        lines = (
            json.dumps(plain(dict(zip(names, row, strict=True))), ensure_ascii=False, allow_nan=False)
            for row in zip(*(values.tolist() for values in rows.values()), strict=True)
        )
        yield (opening + ",\n".join(lines)).encode("utf-8")
        opening = ",\n"
    yield b"]\n" if opening != "[" else b"[]\n"


def _blocks_of(columns: Columns) -> Iterator[Columns]:
    n_rows = len(next(iter(columns.values())))
    for block in blocks(n_rows):
        yield {name: values[block] for name, values in columns.items()}


def _batches(columns: Columns, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for rows in _blocks_of(columns):
        arrays = [pa.array(values, schema.field(name).type) for name, values in rows.items()]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _arrow_type(values: npt.NDArray[Any]) -> pa.DataType:
    if values.dtype.kind in "iu":
        return pa.int64()
    return pa.float64() if values.dtype.kind == "f" else pa.string()


class _Sink(io.RawIOBase):
    """What was written since it was last taken."""

    def __init__(self) -> None:
        super().__init__()
        self._written: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # noqa: ANN401 - any buffer
        self._written.append(bytes(data))
        return len(self._written[-1])

    def taken(self) -> bytes:
        taken, self._written = b"".join(self._written), []
        return taken
