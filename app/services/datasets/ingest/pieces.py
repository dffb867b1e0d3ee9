"""Cuts a stream of tables into Parquet pieces of equal numbers of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import pyarrow as pa
import pyarrow.parquet as pq
from annotated_types import Ge, MaxLen

from app.domain.catalogue.catalogue_types import Example
from app.services.datasets.ingest.dialect import Dialect

ROWS_PER_PIECE: Final = 100_000


@dataclass(frozen=True)
class Piece:
    """One Parquet file (zstd, dictionary-encoded text columns) of consecutive rows."""

    number: int
    rows: int
    payload: bytes


@dataclass(frozen=True)
class Preview:
    """The first rows as they were read."""

    columns: Annotated[tuple[str, ...], MaxLen(10_000), Example(["city"])]
    """Names of the columns."""
    rows: Annotated[tuple[tuple[str | None, ...], ...], MaxLen(200), Example([["Lafayette"]])]
    """Cells, row by row; null is missing."""
    total_rows: Annotated[int, Ge(0), Example(12)]
    """Rows of the whole table."""


class PieceWriter:
    """Encodes rows as they come and answers the pieces that are full.

    Rows are written to the open piece at once, so that only their encoded form waits in memory.
    """

    def __init__(self, columns: tuple[str, ...]) -> None:
        self._schema = pa.schema([(name, pa.string()) for name in columns])
        self._open: _OpenPiece | None = None
        self._next = 0

    def add(self, table: pa.Table) -> Iterator[Piece]:
        """Take rows; yield each piece that they complete."""
        for batch in table.to_batches():
            while batch.num_rows:
                piece = self._opened()
                head = batch.slice(0, ROWS_PER_PIECE - piece.rows)
                piece.write(head)
                batch = batch.slice(head.num_rows)
                if piece.rows == ROWS_PER_PIECE:
                    yield self._closed(piece)

    def finish(self) -> Iterator[Piece]:
        """The last piece; also one without rows if there were none at all, so that columns are kept."""
        if self._open is not None or self._next == 0:
            yield self._closed(self._opened())

    def _opened(self) -> _OpenPiece:
        if self._open is None:
            self._open = _OpenPiece(self._schema)
        return self._open

    def _closed(self, piece: _OpenPiece) -> Piece:
        self._open = None
        self._next += 1
        return Piece(self._next - 1, piece.rows, piece.close())


class _OpenPiece:
    def __init__(self, schema: pa.Schema) -> None:
        self.rows = 0
        self._sink = pa.BufferOutputStream()
        self._writer = pq.ParquetWriter(
            self._sink,
            schema,
            compression="zstd",
            use_dictionary=True,
            write_statistics=False,
            store_schema=False,
        )

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)
        self.rows += batch.num_rows

    def close(self) -> bytes:
        self._writer.close()
        payload: bytes = self._sink.getvalue().to_pybytes()
        return payload


def read_piece(payload: bytes, columns: tuple[str, ...] | None = None) -> pa.Table:
    """The rows of a piece, every column (or those named, in their order) as dictionary-encoded text."""
    source = pa.BufferReader(payload)
    names = list(columns) if columns is not None else pq.read_schema(source).names
    source.seek(0)
    table = pq.ParquetFile(source, read_dictionary=names).read(columns=names)
    return table.select(names)


def first_rows(
    payload: bytes, columns: tuple[str, ...], limit: int, dialect: Dialect
) -> tuple[tuple[str | None, ...], ...]:
    """The texts of a piece's first rows as they are read, in the order of the columns named."""
    table = read_piece(payload, columns).slice(0, limit)
    cells = (column.to_pylist() for column in table.columns)
    read = ([own if own is None else dialect.meaning_of(own) for own in column] for column in cells)
    return tuple(zip(*read, strict=True))
