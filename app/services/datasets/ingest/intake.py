"""One upload from its first byte to its last piece, whatever its format."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import replace
from typing import Final

import pyarrow as pa

from app.domain.errors import InvalidInput
from app.services.datasets.ingest import faults
from app.services.datasets.ingest.binary_reader import Remarks, read_arrow, read_spooled, text_table
from app.services.datasets.ingest.canonical_csv import CanonicalCsv
from app.services.datasets.ingest.column_names import index_note
from app.services.datasets.ingest.columns import check_cell_lengths, check_nul, with_missing
from app.services.datasets.ingest.csv_reader import CsvReader
from app.services.datasets.ingest.decoding import Gunzip
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits
from app.services.datasets.ingest.file_kinds import HEAD_BYTES, require_kind
from app.services.datasets.ingest.found_instead import SAMPLE_BYTES, found_instead, other_encoding
from app.services.datasets.ingest.nameless_hash import NamelessHash
from app.services.datasets.ingest.pieces import Piece, PieceWriter
from app.services.datasets.ingest.processor_budget import ProcessorBudget
from app.services.datasets.ingest.rows_hash import MOST_ROWS, RowsHash
from app.services.datasets.ingest.table_hash import TableHash

_FEED_BYTES: Final = 256 * 1024


class Intake:
    """Reads one body into pieces, counting against the limits.

    ``columns``, ``rows``, ``received``, the hashes and ``remarks`` are complete when ``pieces`` has ended.
    ``table_hashes`` are those of the cells that were read, whatever file they came in: with their rows in
    this order and, unless there are too many of them, in any, with the columns' names and whatever these
    are, the ``nameless_hash``; ``column_hashes`` of each column in this one. Not ``with_names``, rows in any
    order have the nameless hash alone, which is the same wherever theirs with names is. What is not
    ``hashed`` has no hashes but that of its bytes.
    """

    def __init__(
        self,
        format: UploadFormat,
        dialect: Dialect,
        limits: UploadLimits,
        *,
        with_names: bool = True,
        hashed: bool = True,
    ) -> None:
        self._format = format
        self._dialect = dialect
        self._limits = limits.of(format)
        self._budget = ProcessorBudget(self._limits)
        self._hash, self._canonical = hashlib.sha256(), hashlib.sha256()
        self._writer: PieceWriter | None = None
        self._cells, self._rows, self._nameless = TableHash(()), RowsHash(()), NamelessHash()
        self._most_named = MOST_ROWS if with_names else 0
        self._is_hashed = hashed
        self.nameless_hash: str | None = None
        self.table_hashes: tuple[str, ...] = ()
        self.column_hashes: tuple[str, ...] = ()
        # One thread per upload: allocators keep what each thread has freed, so a pool would multiply it.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="upload")
        self.columns: tuple[str, ...] = ()
        self.rows = 0
        self.remarks = Remarks()
        self._unfolded = 0
        self._sample, self._latest = b"", b""

    @property
    def received(self) -> int:
        """How many bytes of the body have arrived."""
        return self._budget.received

    @property
    def content_sha256(self) -> str:
        """The hash of the body as it arrived."""
        return self._hash.hexdigest()

    @property
    def canonical_sha256(self) -> str | None:
        """The hash of a CSV file's canonical form; None of other formats, which have none."""
        return self._canonical.hexdigest() if self._format.is_text else None

    async def pieces(self, body: AsyncIterator[bytes]) -> AsyncGenerator[Piece]:
        """The pieces in order; raises InvalidInput or TooLarge at the first fault."""
        source = self._text(body) if self._format.is_text else self._binary(body)
        try:
            async with aclosing(source) as pieces:
                async for piece in pieces:
                    yield piece
        except InvalidInput as error:
            raise await asyncio.to_thread(self._explained, error) from None
        finally:
            self._thread.shutdown(wait=False)

    async def _counted(self, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for data in body:
            self._budget.received += len(data)
            if self.received > self._limits.max_bytes:
                raise faults.too_many("bytes", self._limits.max_bytes)
            self._hash.update(data)
            yield data

    async def _recognised(self, body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The same bytes, once their head does not say that the file is another than was declared."""
        head = b""
        async for data in body:
            if len(head) < HEAD_BYTES:
                head += data
                if len(head) < HEAD_BYTES:
                    continue
                data = head
                require_kind(head[:HEAD_BYTES], self._format)
            yield data
        if len(head) < HEAD_BYTES:
            require_kind(head, self._format)
            yield head

    async def _text(self, body: AsyncIterator[bytes]) -> AsyncGenerator[Piece]:
        reader = CsvReader(
            self._dialect, self._limits, CanonicalCsv(self._canonical.update) if self._is_hashed else None
        )
        gunzip = Gunzip(self._limits) if self._format is UploadFormat.CSV_GZ else None
        waiting = bytearray()
        async for data in self._recognised(self._counted(body)):
            waiting += data
            if len(waiting) >= _FEED_BYTES:
                async for piece in self._in_thread(self._fed(reader, gunzip, bytes(waiting))):
                    yield piece
                waiting.clear()
        async for piece in self._in_thread(self._fed(reader, gunzip, bytes(waiting))):
            yield piece
        async for piece in self._in_thread(self._finished(reader, gunzip)):
            yield piece

    def _fed(self, reader: CsvReader, gunzip: Gunzip | None, data: bytes) -> Iterator[Piece]:
        for text in [data] if gunzip is None else gunzip.feed(data):
            self._sample, self._latest = self._sample + text[: SAMPLE_BYTES - len(self._sample)], text
            for table in reader.feed(text):
                yield from self._written(table)
            self._budget.check()

    def _finished(self, reader: CsvReader, gunzip: Gunzip | None) -> Iterator[Piece]:
        if gunzip is not None:
            gunzip.finish()
        for table in reader.finish():
            yield from self._written(table)
        self._name_columns(reader.columns or ())
        if reader.index is not None:
            self.remarks.index, self.remarks.notes = reader.index, (index_note(reader.index),)
        self.remarks.notes += found_instead(self._sample, self._dialect, self.columns)
        yield from self._last()

    def _explained(self, error: InvalidInput) -> InvalidInput:
        """The error with what the beginning of a text is found to be instead of what was declared."""
        if any(own.code == "wrong-encoding" for own in error.faults):
            found = tuple(other_encoding(self._latest, self._dialect))
        else:
            found = found_instead(self._sample, self._dialect, self.columns) if self._sample else ()
        return InvalidInput([replace(own, message=" ".join((own.message, *found))) for own in error.faults])

    async def _binary(self, body: AsyncIterator[bytes]) -> AsyncGenerator[Piece]:
        content = self._recognised(self._counted(body))
        if self._format is UploadFormat.ARROW:
            frames = read_arrow(content, self._dialect, self._limits, self._budget)
        else:
            frames = read_spooled(
                content, self._format, self._dialect, self._limits, self._budget, self.remarks
            )
        async with aclosing(frames):
            async for frame in frames:
                async for piece in self._in_thread(self._checked(frame)):
                    yield piece
        async for piece in self._in_thread(self._last()):
            yield piece

    def _checked(self, frame: bytes) -> Iterator[Piece]:
        """Whatever the child let pass, only whole tables of valid text come further than this."""
        table = text_table(frame, self._format)
        self._unfolded += table.nbytes
        faults.check_unfolding(self._unfolded, self.received, self._limits)
        check_nul(table, self.rows + 1)
        check_cell_lengths(table, self._limits, self.rows + 1)
        yield from self._written(table)

    def _written(self, table: pa.Table) -> Iterator[Piece]:
        self._budget.check()
        self.rows += table.num_rows
        self._name_columns(tuple(table.column_names))
        if self._writer is not None:
            if self._is_hashed:
                is_plain = self._dialect == self._dialect.as_written
                read = table if is_plain else with_missing(table, self._dialect)
                self._cells.add(read)
                self._rows.add(read)
                self._nameless.add(read)
            yield from self._writer.add(table)

    def _last(self) -> Iterator[Piece]:
        if self._writer is not None:
            yield from self._writer.finish()
        if not self._is_hashed:
            return
        # What was noted before columns' names were left out is recognised by the hashes with them.
        self.nameless_hash = self._nameless.hexdigest()
        found = (self._cells.hexdigest(), self._rows.hexdigest(), self.nameless_hash)
        self.table_hashes = tuple(own for own in found if own is not None)
        self.column_hashes = self._cells.of_columns()

    async def _in_thread(self, pieces: Iterator[Piece]) -> AsyncIterator[Piece]:
        """Run the iterator in the upload's thread, one piece at a time."""
        loop = asyncio.get_running_loop()
        while (piece := await loop.run_in_executor(self._thread, self._next, pieces)) is not None:
            yield piece

    def _next(self, pieces: Iterator[Piece]) -> Piece | None:
        with self._budget.working():
            return next(pieces, None)

    def _name_columns(self, columns: tuple[str, ...]) -> None:
        if self._writer is None:
            self.columns = columns
            self._writer = PieceWriter(columns)
            self._cells, self._rows = TableHash(columns), RowsHash(columns, self._most_named)
