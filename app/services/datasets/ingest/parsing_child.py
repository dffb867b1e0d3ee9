"""The child process that parses Parquet, Arrow and workbooks, so that a hostile file can harm nothing but it.

``python -m app.services.datasets.ingest.parsing_child`` reads one line of JSON with the job from standard
input (followed, for Arrow, by the stream itself) and writes frames to standard output: one byte of kind, the
milliseconds of processor time spent so far and the length in four bytes each, and the body. Kinds: ``T`` a
batch of text columns as an Arrow stream, ``E`` the end with remarks as JSON, ``F`` a fault as JSON.

Its memory and processor time are limited before the first byte of the file is looked at: by itself between
two batches, so that it can say so, and by the kernel (``RLIMIT_AS``, ``RLIMIT_CPU``) within one.
"""

from __future__ import annotations

import base64
import json
import os
import resource
import struct
import sys
import time
from collections.abc import Iterator
from itertools import chain
from typing import IO, Any, Final, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from app.domain.errors import Fault, InvalidInput, TooLarge
from app.services.datasets.ingest import faults
from app.services.datasets.ingest.column_names import check_columns
from app.services.datasets.ingest.columns import check_cell_lengths, check_nul, with_missing
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits
from app.services.datasets.ingest.processor_budget import ProcessorBudget
from app.services.datasets.ingest.spool import SpoolReader
from app.services.datasets.ingest.workbook_reader import WorkbookReader


def check_array(array: Any) -> None:  # noqa: ANN401 - an array of pyarrow
    """Raise ArrowInvalid unless offsets lie within the data and texts are UTF-8."""
    array.validate(full=True)


class DictionaryChecks:
    """Checks dictionary-encoded arrays; a dictionary that batches share is checked with the first of them.

    Otherwise a large dictionary and many small batches would cost their product.
    """

    def __init__(self) -> None:
        self._checked: dict[int, tuple[Any, int]] = {}

    def check(self, column: int, array: Any) -> int:  # noqa: ANN401 - an array of pyarrow
        """Bytes of the longest text in the dictionary, 0 if it holds none.

        Raises ArrowInvalid unless the values are whole and every index points to one of them.
        """
        dictionary, indices = array.dictionary, array.indices
        known = self._checked.get(column)
        if known is None or _place(dictionary) != _place(known[0]):
            check_array(dictionary)
            # Kept alive, so that its place in memory is not taken by another.
            known = self._checked[column] = (dictionary, _widest(dictionary))
        check_array(indices)
        bounds = pc.min_max(indices).as_py()
        if bounds["min"] is not None and not 0 <= bounds["min"] <= bounds["max"] < len(dictionary):
            raise pa.ArrowInvalid("an index points outside the dictionary")
        return known[1]


def _place(array: Any) -> tuple[Any, ...]:  # noqa: ANN401 - an array of pyarrow
    buffers = tuple(0 if buffer is None else buffer.address for buffer in array.buffers())
    return (len(array), array.offset, buffers)


def _widest(dictionary: Any) -> int:  # noqa: ANN401 - an array of pyarrow
    kind = dictionary.type
    if pa.types.is_string_view(kind):
        dictionary = dictionary.cast(pa.large_string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return 0
    return int(pc.max(pc.binary_length(dictionary)).as_py() or 0)


TABLE: Final = b"T"
END: Final = b"E"
FAULT: Final = b"F"
HEAD: Final = struct.Struct(">cII")
"""How a frame begins: kind, milliseconds of processor time, length."""

_NICENESS: Final = 5
"""Where processors are scarce, those who ask the service come first."""

_ARROW_MESSAGE: Final = b"\xff\xff\xff\xff"
_CELLS_PER_BATCH: Final = 2**18
_LONGEST_TYPE: Final = 100
_FRAME_BYTES: Final = 2 * 1024**2
_STEP_BYTES: Final = 16 * 1024**2
_FRAME_ROWS: Final = 8192


def main() -> None:
    """Do the job on standard input; every outcome is a frame."""
    os.nice(_NICENESS)
    job = json.loads(sys.stdin.buffer.readline())
    limits = UploadLimits(**job["limits"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    budget = _LimitedBudget(limits)
    budget.receive(job.get("size", 0))
    try:
        dialect = Dialect(**job["dialect"] | {"missing": tuple(job["dialect"]["missing"])})
        remarks: dict[str, Any] = {}
        with budget.working():
            source = _source(job, dialect, limits, budget, remarks)
            for table in _framed(_tables(source, limits, budget), dialect, limits):
                _send(TABLE, _serialised(table))
        _send(END, json.dumps(remarks).encode())
    except InvalidInput as error:
        _send(FAULT, json.dumps({"faults": [vars(fault) for fault in error.faults]}).encode())
    except TooLarge as error:
        _send_too_large(error)
    except (MemoryError, pa.ArrowMemoryError):
        _send_too_large(faults.needs_too_much_memory(limits.child_bytes_for(budget.received)))
    except (pa.ArrowException, OSError, ValueError):
        # Their messages may repeat what is in the file.
        damaged = faults.damaged(job["format"])
        _send(FAULT, json.dumps({"faults": [vars(fault) for fault in damaged.faults]}).encode())


class _LimitedBudget(ProcessorBudget):
    """Has the kernel stop what takes more time or memory before it comes back to ``check``."""

    def __init__(self, limits: UploadLimits) -> None:
        super().__init__(limits, time.process_time)
        self._limits = limits
        self._before = time.process_time()
        with open("/proc/self/statm", "rb") as statm:
            self._own_bytes = int(statm.read().split()[0]) * resource.getpagesize()

    def receive(self, length: int) -> None:
        """Count bytes that arrived, and allow for what they may cost."""
        self.received += length
        seconds = self._before + self._limits.processor_seconds_for(self.received)
        _lower(resource.RLIMIT_CPU, int(seconds) + 2)
        _lower(resource.RLIMIT_AS, self._own_bytes + self._limits.child_bytes_for(self.received))


def _lower(kind: int, allowed: int) -> None:
    """Set the limit that is in force; the hardest one stays, so that it can grow with what arrives."""
    _, most = resource.getrlimit(kind)
    resource.setrlimit(kind, (allowed if most == resource.RLIM_INFINITY else min(allowed, most), most))


class _CountedInput:
    """Standard input behind the job, every byte counted for the budget."""

    closed = False

    def __init__(self, budget: _LimitedBudget) -> None:
        self._budget = budget
        self._input: Any = sys.stdin.buffer

    def read(self, size: int = -1) -> bytes:
        """Up to ``size`` bytes, fewer only at the end; memory is taken as they come, not as declared."""
        parts = []
        while size and (data := self._input.read1(min(size, 2**20) if size > 0 else 2**20)):
            self._budget.receive(len(data))
            parts.append(data)
            size -= len(data) if size > 0 else 0
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def close(self) -> None:
        """Nothing is to be done."""


def _source(
    job: dict[str, Any],
    dialect: Dialect,
    limits: UploadLimits,
    budget: _LimitedBudget,
    remarks: dict[str, Any],
) -> Iterator[pa.Table]:
    """Tables of text columns, the first of which has no rows; what is to be said of them at the end."""
    match UploadFormat(job["format"]):
        case UploadFormat.PARQUET:
            return _parquet(_spooled(job), limits, budget)
        case UploadFormat.XLSX:
            return _workbook(_spooled(job), dialect, limits, budget, remarks)
        case _:
            return _arrow(limits, budget)


def _spooled(job: dict[str, Any]) -> SpoolReader:
    return SpoolReader(job["fileno"], base64.b64decode(job["key"]), job["size"])


def _tables(source: Iterator[pa.Table], limits: UploadLimits, budget: _LimitedBudget) -> Iterator[pa.Table]:
    """The tables, counted against the limits."""
    pa.set_cpu_count(1)
    rows = unfolded = 0
    for table in source:
        budget.check()
        rows += table.num_rows
        unfolded += table.nbytes
        if rows > limits.max_rows:
            raise faults.too_many("rows", limits.max_rows)
        faults.check_unfolding(unfolded, budget.received, limits)
        yield table


def _framed(tables: Iterator[pa.Table], dialect: Dialect, limits: UploadLimits) -> Iterator[pa.Table]:
    """The same rows, checked, in tables of a moderate size: neither many small nor few huge ones."""
    waiting: list[pa.Table] = []
    rows = size = first = 0
    yield next(tables)
    first = 1
    for table in chain(tables, (None,)):
        if table is not None:
            waiting.append(table)
            rows, size = rows + table.num_rows, size + table.nbytes
            if rows < _FRAME_ROWS and size < _FRAME_BYTES and len(waiting) < _FRAME_ROWS:
                continue
        if waiting:
            whole = pa.concat_tables(waiting)
            check_nul(whole, first)
            check_cell_lengths(whole, limits, first)
            yield from _cut(with_missing(whole, dialect.as_written), size)
            first += rows
        waiting, rows, size = [], 0, 0


def _cut(table: pa.Table, size: int) -> Iterator[pa.Table]:
    step = max(1, table.num_rows * _FRAME_BYTES // max(size, _FRAME_BYTES))
    for start in range(0, table.num_rows, step):
        yield table.slice(start, step).combine_chunks()


def _workbook(
    reader: SpoolReader,
    dialect: Dialect,
    limits: UploadLimits,
    budget: _LimitedBudget,
    remarks: dict[str, Any],
) -> Iterator[pa.Table]:
    workbook = WorkbookReader(cast(IO[bytes], reader), dialect, limits, budget.received)
    yield from workbook.tables(budget.check)
    remarks |= {"sheet": workbook.sheet, "notes": workbook.notes}


def _parquet(reader: SpoolReader, limits: UploadLimits, budget: _LimitedBudget) -> Iterator[pa.Table]:
    file = pq.ParquetFile(pa.PythonFile(reader, mode="r"), buffer_size=2**20, pre_buffer=False)
    schema = file.schema_arrow
    _check_schema(schema, limits)
    yield _as_text([], schema)
    batches = file.iter_batches(batch_size=_rows_per_step(schema), use_threads=False)
    yield from _steps(batches, schema, budget)


def _rows_per_step(schema: pa.Schema) -> int:
    return max(1, min(_FRAME_ROWS, _CELLS_PER_BATCH // len(schema)))


def _arrow(limits: UploadLimits, budget: _LimitedBudget) -> Iterator[pa.Table]:
    # Anything else would be read as the length of a message, and refused for its size.
    stream: Any = sys.stdin.buffer
    if stream.peek(4)[:4] != _ARROW_MESSAGE:
        raise ValueError("not an Arrow IPC stream")
    reader = pyarrow.ipc.open_stream(pa.PythonFile(_CountedInput(budget), mode="r"))
    schema = reader.schema
    _check_schema(schema, limits)
    yield _as_text([], schema)
    yield from _steps(reader, schema, budget)


def _steps(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, budget: _LimitedBudget
) -> Iterator[pa.Table]:
    """The batches as text, some rows at a time: neither reader checks what it reads by itself."""
    dictionaries = DictionaryChecks()
    for batch in batches:
        budget.check()
        widest = 0
        for index, column in enumerate(batch.columns):
            if pa.types.is_dictionary(column.type):
                widest += dictionaries.check(index, column)
            else:
                check_array(column)
        step = max(1, min(_rows_per_step(schema), _STEP_BYTES // max(widest, 1)))
        for start in range(0, batch.num_rows, step):
            yield _as_text([batch.slice(start, step)], schema)


def _check_schema(schema: pa.Schema, limits: UploadLimits) -> None:
    if not len(schema):
        raise faults.empty_file()
    check_columns(schema.names, limits.max_columns)
    wrong = [
        Fault(
            f"/columns/{index}",
            "unsupported-type",
            f"Column {field.name!r} has the type {_name(field.type)}, which is no single value.",
            "Send text, numbers, booleans, dates or times.",
        )
        for index, field in enumerate(schema)
        if not _is_supported(field.type)
    ]
    if wrong:
        raise InvalidInput(wrong)


def _name(type_: pa.DataType) -> str:
    text = str(type_)
    return text if len(text) <= _LONGEST_TYPE else text[: _LONGEST_TYPE - 1] + "…"


def _is_supported(type_: pa.DataType) -> bool:
    if pa.types.is_dictionary(type_):
        return _is_supported(type_.value_type)
    return bool(
        pa.types.is_string(type_)
        or pa.types.is_large_string(type_)
        or pa.types.is_string_view(type_)
        or pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_decimal(type_)
        or pa.types.is_boolean(type_)
        or pa.types.is_date(type_)
        or pa.types.is_time(type_)
        or pa.types.is_timestamp(type_)
        or pa.types.is_duration(type_)
        or pa.types.is_null(type_)
    )


def _as_text(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """Every column as text; a float that is not a number is missing."""
    table = pa.Table.from_batches(batches, schema)
    columns: list[Any] = []
    column: Any
    for column in table.columns:
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_floating(column.type):
            if pa.types.is_float16(column.type):
                column = column.cast(pa.float32())
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        columns.append(column.cast(pa.string()))
    return pa.Table.from_arrays(columns, names=schema.names)


def _serialised(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    serialised: bytes = sink.getvalue().to_pybytes()
    return serialised


def _send_too_large(error: TooLarge) -> None:
    body = {"code": error.code, "message": error.message, "remedy": error.remedy, "limit": error.limit}
    _send(FAULT, json.dumps(body).encode())


def _send(kind: bytes, body: bytes) -> None:
    out = sys.stdout.buffer
    spent_ms = round(time.process_time() * 1000)
    out.write(HEAD.pack(kind, spent_ms, len(body)) + body)
    out.flush()


if __name__ == "__main__":
    main()
