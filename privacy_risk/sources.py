"""Tables that are not in memory: the rows of a database's query, and folders of Parquet pieces.

They are read batch by batch by this process, never by the service.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from privacy_risk.arguments import InvalidArgument

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS: Final = 10_000
"""Rows that are in memory at a time."""


@runtime_checkable
class Source(Protocol):
    """A table that is read when it is needed."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows in batches of one schema, the first of which has none; InvalidArgument if it fails."""


def library(argument: str, name: str) -> Any:  # noqa: ANN401 - a module
    """A library that reads a source; InvalidArgument if it is not installed."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise InvalidArgument(
            argument, f"{error.name} is not installed.", f"python -m pip install {error.name}"
        ) from None


@dataclass(frozen=True)
class ArrowStream:
    """A source as the bytes of an Arrow IPC stream, one batch in memory at a time; read anew each time."""

    source: Source

    def __iter__(self) -> Iterator[bytes]:
        ipc = library("source", "pyarrow.ipc")
        batches = self.source.batches()
        first = next(batches)
        sink = io.BytesIO()
        with ipc.new_stream(sink, first.schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
                yield sink.getvalue()
                sink.seek(0)
                sink.truncate()
        yield sink.getvalue()


def schema_batch(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows, which says what the columns are."""
    import pyarrow as pa

    return pa.RecordBatch.from_arrays([pa.array([], own) for own in schema.types], schema=schema)
