"""Use cases on uploads: immutable columns of text, read while they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Final
from uuid import uuid4

from app.domain.errors import TooLarge
from app.services.datasets.ingest.dialect import (
    Dialect,
    UploadFormat,
    UploadLimits,
    check_dialect,
    delimiter_note,
    dialect_document,
)
from app.services.datasets.ingest.hierarchy_proposals import with_hierarchies
from app.services.datasets.ingest.intake import Intake
from app.services.datasets.ingest.pieces import Piece, PieceWriter, Preview, first_rows
from app.services.datasets.ingest.proposals import (
    DialectProposal,
    SchemaProposal,
    propose_dialect,
    propose_schema,
)
from app.services.datasets.ingest.rows_hash import RowsHash
from app.services.datasets.ingest.table_hash import TableHash
from app.services.datasets.one_row_uploads import OneRowPerPerson, OneRowTable, one_row_table
from app.services.datasets.text_columns import read_columns
from app.services.fingerprints import new_resource, sha256_of
from app.services.leases import UPLOAD_LEASE, held
from app.services.named import NamedResources
from app.services.ports import Store
from app.services.resources import Actor, Created, JsonObject, Kind, NewResource, Scope, Stored, require

MAX_SAMPLE_BYTES: Final = 1024**2


@dataclass(frozen=True)
class CreateUpload:
    """A table to be uploaded under a name."""

    name: str
    format: UploadFormat = UploadFormat.CSV
    dialect: Dialect = field(default_factory=Dialect)


class UploadService(NamedResources):
    """Create and read uploads, and propose how to read them."""

    kind: ClassVar[Kind] = Kind.UPLOAD

    def __init__(self, store: Store, limits: UploadLimits) -> None:
        super().__init__(store)
        self._limits = limits

    async def create(self, actor: Actor, request: CreateUpload, body: AsyncIterator[bytes]) -> Created:
        """Read the body to its end or to the first fault; nothing is visible unless all of it is right."""
        self._admit(actor, request.name)
        check_dialect(request.dialect)
        intake = Intake(request.format, request.dialect, self._limits)
        new = partial(_resource, request, intake)
        return await self._add_pieces(actor, intake.pieces(body), new, lambda: intake.table_hashes)

    async def create_one_row_per_person(self, actor: Actor, ref: str, request: OneRowPerPerson) -> Created:
        """A new upload of the rows of another; InvalidInput or TooLarge for what cannot be reduced so."""
        self._admit(actor, request.name)
        async with self._store.work(actor.tenant) as work:
            upload = await work.resources.get(self.kind, ref)
            request.check(upload)
            columns = await read_columns(work, upload, upload.summary["columns"], "/columns")
        table = await asyncio.to_thread(one_row_table, upload, request, columns)
        hashes = TableHash(tuple(table.columns)), RowsHash(tuple(table.columns))
        new = partial(_one_row_resource, request, table)
        return await self._add_pieces(
            actor, _pieces_of(table, hashes), new, lambda: filter(None, [own.hexdigest() for own in hashes])
        )

    async def _add_pieces(
        self,
        actor: Actor,
        pieces: AsyncGenerator[Piece],
        new: Callable[[int, int], NewResource],
        table_hashes: Callable[[], Iterable[str]],
    ) -> Created:
        """Store the pieces, and once all have come what is made of their number and bytes."""
        upload_id, n_pieces, stored_bytes = uuid4().hex, 0, 0

        async def keep() -> bool:
            async with self._store.work(actor.tenant) as work:
                await work.pieces.keep(upload_id)
            return True

        try:
            async with held(UPLOAD_LEASE, asyncio.get_running_loop().time(), keep):
                async with aclosing(pieces) as stream:
                    async for piece in stream:
                        async with self._store.work(actor.tenant) as work:
                            await work.pieces.stage(upload_id, piece.number, piece.rows, piece.payload)
                            await work.commit()
                        n_pieces += 1
                        stored_bytes += len(piece.payload)
                made = new(n_pieces, stored_bytes)
                async with self._store.work(actor.tenant) as work:
                    stored, created = await work.pieces.publish(upload_id, made)
                    await work.same_tables.note(made.summary["content_sha256"], tuple(table_hashes()))
                    if created:
                        details = {"sha256": stored.sha256}
                        await work.audit.record(actor.key_id, "upload.create", stored.id, details)
                    await work.commit()
                return Created(stored, created)
        except BaseException:
            async with self._store.work(actor.tenant) as work:
                await work.pieces.discard(upload_id)
                await work.commit()
            raise

    async def propose_schema(self, actor: Actor, ref: str) -> SchemaProposal:
        """Types, roles and hierarchies that would fit the columns, from the first rows."""
        upload = await self.get(actor, ref)
        async with self._store.work(actor.tenant) as work:
            first = await anext(work.pieces.read(upload.id))
        return await asyncio.to_thread(_proposal, first, upload)

    async def preview(self, actor: Actor, ref: str, limit: int = 20) -> Preview:
        """The first rows; needs data:read."""
        require(actor, Scope.DATA_READ)
        upload = await self.get(actor, ref)
        names = tuple(upload.summary["columns"])
        async with self._store.work(actor.tenant) as work:
            first = await anext(work.pieces.read(upload.id))
        rows = await asyncio.to_thread(first_rows, first, names, limit)
        return Preview(names, rows, upload.summary["rows"])

    async def propose_dialect(self, actor: Actor, sample: bytes) -> DialectProposal:
        """The dialect that fits the sample (≤ 1 MiB) best."""
        require(actor, Scope.DATA_WRITE)
        if len(sample) > MAX_SAMPLE_BYTES:
            raise TooLarge(
                f"A sample has at most {MAX_SAMPLE_BYTES} bytes.",
                "Send the head of the file.",
                MAX_SAMPLE_BYTES,
            )
        return await asyncio.to_thread(propose_dialect, sample)


def _proposal(first: bytes, upload: Stored) -> SchemaProposal:
    proposal = propose_schema(first)
    is_whole = proposal.rows_in_sample == upload.summary["rows"]
    return with_hierarchies(proposal, first, upload.name, is_whole=is_whole)


def _resource(request: CreateUpload, intake: Intake, pieces: int, stored_bytes: int) -> NewResource:
    read = replace(request.dialect, sheet=intake.remarks.sheet)
    dialect = dialect_document(read, request.format)
    meaning = {"content_sha256": intake.content_sha256, "format": request.format.value, "dialect": dialect}
    summary: JsonObject = {
        "format": request.format.value,
        "dialect": dialect,
        "columns": intake.columns,
        "rows": intake.rows,
        "pieces": pieces,
        "bytes": intake.received,
        "stored_bytes": stored_bytes,
        "content_sha256": intake.content_sha256,
    }
    note = delimiter_note(intake.columns) if request.format.is_text else ""
    notes = (*intake.remarks.notes, *([note] if note else ()))
    if notes:
        summary["notes"] = notes
    return new_resource(Kind.UPLOAD, request.name, meaning, {}, summary, {}, ())


async def _pieces_of(table: OneRowTable, hashes: Sequence[TableHash | RowsHash]) -> AsyncGenerator[Piece]:
    """The table in pieces, which the hashes take on the way."""

    def made() -> Iterator[Piece]:
        writer = PieceWriter(tuple(table.columns))
        for part in table.parts():
            for own in hashes:
                own.add(part)
            yield from writer.add(part)
        yield from writer.finish()

    pieces = made()
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


def _one_row_resource(
    request: OneRowPerPerson, table: OneRowTable, pieces: int, stored_bytes: int
) -> NewResource:
    """Nothing was received: the hash of the content is that of what it was made from, and how."""
    made_from = {key: own for key, own in table.made_from.items() if key != "upload"}
    content: JsonObject = {
        "content_sha256": sha256_of({"one_row_per_person": 1, **made_from}),
        "format": "parquet",
    }
    content["dialect"] = dialect_document(Dialect(missing=()), UploadFormat.PARQUET)
    sizes = {"rows": table.rows, "pieces": pieces, "bytes": 0, "stored_bytes": stored_bytes}
    made = {"one_row_per": request.person, "made_from": table.made_from}
    summary = {**content, **sizes, **made, "columns": tuple(table.columns), "notes": table.notes}
    return new_resource(Kind.UPLOAD, request.name, content, {}, summary, {}, ())
