"""Files that are uploaded, and where to."""

from __future__ import annotations

import io
from collections.abc import AsyncIterator
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

from app.domain.errors import InvalidInput, TooLarge
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits, reading_of
from app.services.datasets.ingest.pieces import read_piece
from app.services.datasets.text_columns import columns_of
from app.services.datasets.uploads import CreateUpload, UploadService
from app.services.resources import Actor, Created
from tests.unit.services.memory_store import MemoryStore

LIMITS = UploadLimits()


async def chunks(data: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


class Uploading:
    def __init__(self, store: MemoryStore, actor: Actor) -> None:
        self.store, self.actor = store, actor

    async def send(
        self,
        data: bytes,
        format: UploadFormat = UploadFormat.CSV,
        limits: UploadLimits = LIMITS,
        name: str = "members",
        chunk: int = 1000,
        **dialect: Any,
    ) -> Created:
        request = CreateUpload(name, format, Dialect(**dialect))
        return await UploadService(self.store, limits).create(self.actor, request, chunks(data, chunk))

    def rows(self, created: Created) -> list[tuple[str | None, ...]]:
        pieces = self.store.data(self.actor.tenant).pieces[created.resource.id]
        tables = [read_piece(pieces[number]) for number in sorted(pieces)]
        columns = columns_of(tables, reading_of(created.resource.summary["dialect"]))
        return list(zip(*(own.cells() for own in columns.values()), strict=True))

    async def fault(self, data: bytes, **arguments: Any) -> str:
        with pytest.raises(InvalidInput) as caught:
            await self.send(data, **arguments)
        self.nothing_is_left()
        fault = caught.value.faults[0]
        assert fault.message
        assert fault.remedy
        return fault.code

    async def refusal(self, data: bytes, **arguments: Any) -> TooLarge:
        with pytest.raises(TooLarge) as caught:
            await self.send(data, **arguments)
        self.nothing_is_left()
        return caught.value

    def nothing_is_left(self) -> None:
        assert not self.store.data(self.actor.tenant).pieces
        assert not self.store.data(self.actor.tenant).resources


def as_parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def as_arrow(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
