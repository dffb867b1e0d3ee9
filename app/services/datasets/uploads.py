"""Use cases on uploads: immutable columns of text, read while they arrive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final
from uuid import uuid4

from app.domain.errors import TooLarge
from app.services.datasets.dataset_schema import AttributeDeclaration, RowsAre
from app.services.datasets.ingest.dialect import (
    Dialect,
    UploadFormat,
    UploadLimits,
    check_dialect,
    delimiter_note,
    dialect_document,
    reading_of,
)
from app.services.datasets.ingest.hierarchy_proposals import with_hierarchies
from app.services.datasets.ingest.intake import Intake
from app.services.datasets.ingest.pieces import Preview, first_rows
from app.services.datasets.ingest.proposals import (
    DialectProposal,
    SchemaProposal,
    propose_dialect,
    proposed_types,
    with_declared,
)
from app.services.datasets.one_row_uploads import OneRowPerPerson, one_row_table
from app.services.datasets.table_streams import arrow_chunks, in_threads
from app.services.datasets.text_columns import read_columns
from app.services.fingerprints import new_resource
from app.services.leases import UPLOAD_LEASE, held
from app.services.named import NamedResources
from app.services.ports import Store
from app.services.resources import Actor, Created, JsonObject, Kind, NewResource, Scope, require

MAX_SAMPLE_BYTES: Final = 1024**2


@dataclass(frozen=True)
class CreateUpload:
    """A table to be uploaded under a name; one that was made here says how, and whose rows it joined."""

    name: str
    format: UploadFormat = UploadFormat.CSV
    dialect: Dialect = field(default_factory=Dialect)
    notes: tuple[str, ...] = ()
    one_row_per: str | None = None


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
        upload_id = uuid4().hex

        async def keep() -> bool:
            async with self._store.work(actor.tenant) as work:
                await work.pieces.keep(upload_id)
            return True

        try:
            async with held(UPLOAD_LEASE, asyncio.get_running_loop().time(), keep):
                return await self._take_in(actor, request, upload_id, body)
        except BaseException:
            async with self._store.work(actor.tenant) as work:
                await work.pieces.discard(upload_id)
                await work.commit()
            raise

    async def create_one_row_per_person(self, actor: Actor, ref: str, request: OneRowPerPerson) -> Created:
        """A new upload of the rows of another; InvalidInput or TooLarge for what cannot be reduced so."""
        self._admit(actor, request.name)
        async with self._store.work(actor.tenant) as work:
            upload = await work.resources.get(self.kind, ref)
            request.check(upload)
            columns = await read_columns(work, upload, upload.summary["columns"], "/columns")
        table, notes = await asyncio.to_thread(one_row_table, upload, request, columns)
        made = CreateUpload(request.name, UploadFormat.ARROW, Dialect(missing=()), notes, request.person)
        return await self.create(actor, made, in_threads(arrow_chunks(table)))

    async def _take_in(
        self, actor: Actor, request: CreateUpload, upload_id: str, body: AsyncIterator[bytes]
    ) -> Created:
        async with self._store.work(actor.tenant) as work:
            with_names = not await work.same_tables.are_nameless()
        intake = Intake(request.format, request.dialect, self._limits, with_names=with_names)
        pieces = stored_bytes = 0
        async with aclosing(intake.pieces(body)) as stream:
            async for piece in stream:
                async with self._store.work(actor.tenant) as work:
                    await work.pieces.stage(upload_id, piece.number, piece.rows, piece.payload)
                    await work.commit()
                pieces += 1
                stored_bytes += len(piece.payload)
        new = _resource(request, intake, pieces, stored_bytes)
        async with self._store.work(actor.tenant) as work:
            stored, created = await work.pieces.publish(upload_id, new)
            await work.same_tables.note(intake.content_sha256, intake.table_hashes, intake.nameless_hash)
            if created:
                await work.audit.record(actor.key_id, "upload.create", stored.id, {"sha256": stored.sha256})
            await work.commit()
        return Created(stored, created)

    async def propose_schema(
        self,
        actor: Actor,
        ref: str,
        declared: Sequence[AttributeDeclaration] = (),
        rows_are: RowsAre | None = None,
    ) -> SchemaProposal:
        """Types, roles and hierarchies that would fit the columns, from the first rows, but as declared."""
        upload = await self.get(actor, ref)
        dialect = reading_of(upload.summary["dialect"])
        async with self._store.work(actor.tenant) as work:
            first = await anext(work.pieces.read(upload.id))
            proposal = await proposed_types(lambda: work.pieces.read(upload.id), upload.summary, dialect)
        proposal = with_declared(proposal, declared, rows_are_persons=rows_are is not None)
        is_whole = proposal.rows_in_sample == upload.summary["rows"]
        return await asyncio.to_thread(
            with_hierarchies, proposal, first, upload.name, dialect, is_whole=is_whole
        )

    async def preview(self, actor: Actor, ref: str, limit: int = 20) -> Preview:
        """The first rows; needs data:read."""
        require(actor, Scope.DATA_READ)
        upload = await self.get(actor, ref)
        names = tuple(upload.summary["columns"])
        async with self._store.work(actor.tenant) as work:
            first = await anext(work.pieces.read(upload.id))
        rows = await asyncio.to_thread(first_rows, first, names, limit, reading_of(upload.summary["dialect"]))
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
    if intake.canonical_sha256 is not None:
        summary["canonical_sha256"] = intake.canonical_sha256
    if request.one_row_per is not None:
        meaning["one_row_per"] = summary["one_row_per"] = request.one_row_per
    if intake.remarks.index is not None:
        summary["index"] = intake.remarks.index
    note = delimiter_note(intake.columns) if request.format.is_text else ""
    notes = (*request.notes, *intake.remarks.notes, *([note] if note else ()))
    if notes:
        summary["notes"] = notes
    kept = {"column_hashes": list(intake.column_hashes)}
    return new_resource(Kind.UPLOAD, request.name, meaning, {}, summary, kept, ())
