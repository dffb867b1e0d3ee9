"""The child process that parses Parquet and Arrow, so that a hostile file can harm nothing but it.

``python -m app.services.ingest.parsing_child`` reads one line of JSON with the job from standard input
(followed, for Arrow, by the stream itself) and writes frames to standard output: one byte of kind, four
bytes of length, and the body. Kinds: ``T`` a batch of text columns as an Arrow stream, ``E`` the end,
``F`` a fault as JSON. Its memory is limited before the first byte of the file is looked at.
"""

from __future__ import annotations

import base64
import json
import resource
import sys
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc
import pyarrow.parquet as pq

from app.domain.errors import Fault, InvalidInput, TooLarge
from app.services.ingest import faults
from app.services.ingest.columns import with_missing
from app.services.ingest.dialect import Dialect
from app.services.ingest.spool import SpoolReader

TABLE: Final = b"T"
END: Final = b"E"
FAULT: Final = b"F"

_ARROW_MESSAGE: Final = b"\xff\xff\xff\xff"
_CELLS_PER_BATCH: Final = 2**17


def main() -> None:
    """Do the job on standard input; every outcome is a frame."""
    job = json.loads(sys.stdin.buffer.readline())
    _limit_memory(job["max_memory_bytes"])
    try:
        for table in _tables(job):
            _send(TABLE, _serialised(table))
        _send(END, b"")
    except InvalidInput as error:
        _send(FAULT, json.dumps({"faults": [vars(fault) for fault in error.faults]}).encode())
    except TooLarge as error:
        _send_too_large(error)
    except (MemoryError, pa.ArrowMemoryError):
        _send_too_large(faults.needs_too_much_memory(job["max_memory_bytes"]))
    except (pa.ArrowException, OSError, ValueError):
        # Their messages may repeat what is in the file.
        damaged = faults.damaged(job["format"])
        _send(FAULT, json.dumps({"faults": [vars(fault) for fault in damaged.faults]}).encode())


def _limit_memory(extra_bytes: int) -> None:
    with open("/proc/self/statm", "rb") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + extra_bytes, used + extra_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _tables(job: dict[str, Any]) -> Iterator[pa.Table]:
    """Tables of text columns with their missing cells, counted against the limits; the first has no rows."""
    pa.set_cpu_count(1)
    rows = 0
    dialect = Dialect(trim=job["trim"], missing=tuple(job["missing"]))
    source = _parquet(job) if job["format"] == "parquet" else _arrow(job)
    for table in source:
        rows += table.num_rows
        if rows > job["max_rows"]:
            raise faults.too_many("rows", job["max_rows"])
        yield with_missing(table, dialect)


def _parquet(job: dict[str, Any]) -> Iterator[pa.Table]:
    reader = SpoolReader(job["fileno"], base64.b64decode(job["key"]), job["size"])
    file = pq.ParquetFile(pa.PythonFile(reader, mode="r"), buffer_size=2**20, pre_buffer=False)
    schema = file.schema_arrow
    _check_schema(schema, job)
    yield _as_text([], schema)
    step = max(1, min(8192, _CELLS_PER_BATCH // len(schema)))
    for batch in file.iter_batches(batch_size=step, use_threads=False):
        yield _as_text([batch], schema)


def _arrow(job: dict[str, Any]) -> Iterator[pa.Table]:
    stream: Any = sys.stdin.buffer
    # Anything else would be read as the length of a message, and refused for its size.
    if stream.peek(4)[:4] != _ARROW_MESSAGE:
        raise ValueError("not an Arrow IPC stream")
    reader = pyarrow.ipc.open_stream(pa.PythonFile(stream, mode="r"))
    schema = reader.schema
    _check_schema(schema, job)
    yield _as_text([], schema)
    step = max(1, min(8192, _CELLS_PER_BATCH // len(schema)))
    for batch in reader:
        batch.validate(full=True)  # offsets of a hostile stream may point anywhere
        for start in range(0, batch.num_rows, step):
            yield _as_text([batch.slice(start, step)], schema)


def _check_schema(schema: pa.Schema, job: dict[str, Any]) -> None:
    if not len(schema):
        raise faults.empty_file()
    faults.check_columns(schema.names, job["max_columns"])
    wrong = [
        Fault(
            f"/columns/{index}",
            "unsupported-type",
            f"Column {field.name!r} has the type {field.type}, which is no single value per cell.",
            "Send text, numbers, booleans, dates or times.",
        )
        for index, field in enumerate(schema)
        if not _is_supported(field.type)
    ]
    if wrong:
        raise InvalidInput(wrong)


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
        or pa.types.is_temporal(type_)
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
    body = {"too_large": error.message, "remedy": error.remedy, "limit": error.limit}
    _send(FAULT, json.dumps(body).encode())


def _send(kind: bytes, body: bytes) -> None:
    out = sys.stdout.buffer
    out.write(kind + len(body).to_bytes(4, "big") + body)
    out.flush()


if __name__ == "__main__":
    main()
