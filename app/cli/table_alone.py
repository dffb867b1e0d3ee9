"""What a service would answer about one small table, computed in the command's own process.

No database is made and no service is started, which takes several times as long as the measures of a small
table. What is answered here is what the interface answers: the same functions read, encode and measure. All
else, and everything that would be refused, is a service's to answer (:class:`NotHere`).
"""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

import httpx

from app.domain.errors import PrivacyRiskError
from privacy_risk import Client

if TYPE_CHECKING:
    from app.domain.models.entry import MeasureContext
    from app.services.datasets.dataset_profiles import Profile
    from app.services.datasets.ingest.dialect import Dialect
    from app.services.resources import JsonObject, Kind, Stored

MOST_BYTES: Final = 32 * 1024**2
"""Larger files are read by a service, which keeps limits of memory and time."""


class NotHere(Exception):
    """Raised for what a service has to answer."""


@contextmanager
def client_of_table() -> Iterator[Client]:
    """A client that is answered in this process, and only about tables that it sends."""
    # What is loaded is never garbage, and looking through it takes a sixth of the time.
    gc.disable()
    try:
        with Client("http://this-process", "none", transport=_Answers()) as client:
            yield client
    finally:
        gc.enable()


def is_small(path: Path) -> bool:
    """Whether a file is small enough to be looked at here."""
    return path.stat().st_size <= MOST_BYTES


class _Answers(httpx.BaseTransport):
    """Answers the requests of one client, one after another."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._upload: Stored | None = None
        self._profile: Profile | None = None
        self._context: MeasureContext | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer; NotHere where it is a service's to give."""
        word, *rest = request.url.path.removeprefix("/v1/").split("/")
        answer = self._known().get((request.method, word, *rest[1:]))
        if answer is None:
            raise NotHere
        try:
            return httpx.Response(200, json=answer(request))
        except PrivacyRiskError as error:
            raise NotHere from error

    def _known(self) -> Mapping[tuple[str, ...], Callable[[httpx.Request], JsonObject]]:
        return {
            ("POST", "uploads"): self._read,
            ("GET", "uploads", "proposal"): self._propose,
            ("POST", "datasets"): self._encode,
            ("GET", "datasets", "profile"): self._counted,
            ("POST", "measurements"): self._measure,
        }

    def _read(self, request: httpx.Request) -> JsonObject:
        from app.services.datasets.ingest.dialect import UploadFormat, UploadLimits, dialect_document
        from app.services.datasets.ingest.intake import Intake
        from app.services.resources import Kind

        parameters = request.url.params
        format_, dialect = UploadFormat(parameters["format"]), _dialect(parameters)
        intake = Intake(format_, dialect, UploadLimits(), hashed=False)

        async def content() -> AsyncIterator[bytes]:
            for piece in request.stream:  # type: ignore[union-attr] # of a client that does not wait
                yield piece

        async def read() -> None:
            async with aclosing(intake.pieces(content())) as pieces:
                async for piece in pieces:
                    self._pieces.append(piece.payload)

        asyncio.run(read())
        summary: dict[str, Any] = {
            "columns": intake.columns,
            "rows": intake.rows,
            "dialect": dialect_document(dialect, format_),
        }
        if intake.remarks.index is not None:
            summary["index"] = intake.remarks.index
        self._upload = _stored(Kind.UPLOAD, parameters["name"], summary)
        return _shown(self._upload)

    def _propose(self, request: httpx.Request) -> JsonObject:
        """Types and roles; no hierarchies, along which nothing is generalised here."""
        from app.services.datasets.ingest.dialect import reading_of
        from app.services.datasets.ingest.proposals import proposed_types
        from app.services.fingerprints import plain

        summary = self._sent().summary
        dialect = reading_of(summary["dialect"])
        proposal: JsonObject = plain(asdict(asyncio.run(proposed_types(self._kept, summary, dialect))))
        return proposal

    def _encode(self, request: httpx.Request) -> JsonObject:
        from app.domain.models.entry import MeasureContext
        from app.services.datasets.dataset_making import (
            CreateDataset,
            DatasetSource,
            encoded_dataset,
            new_dataset,
        )
        from app.services.datasets.dataset_schema import AttributeDeclaration, DatasetStatus
        from app.services.datasets.ingest.dialect import reading_of
        from app.services.datasets.ingest.pieces import read_piece
        from app.services.datasets.text_columns import columns_of
        from app.services.readers import reader_of
        from app.services.resources import Kind
        from app.services.scoring.scoring_options import ScoringOptions

        body, upload = json.loads(request.read()), self._sent()
        known = {own.name for own in fields(AttributeDeclaration)} - {"hierarchy"}
        if any(not own.keys() <= known for own in body["attributes"]):
            raise NotHere
        reader = reader_of(AttributeDeclaration)
        declared = tuple(reader.validate_python(own) for own in body["attributes"])
        asked = CreateDataset(body["name"], upload.name, declared, body.get("rows_are"))
        asked, is_said = asked.of_upload(upload)
        names = tuple(asked.columns_read(upload, is_said=is_said))
        tables = [read_piece(piece, names) for piece in self._pieces]
        columns = columns_of(tables, reading_of(upload.summary["dialect"]))
        source = DatasetSource(asked, is_said, upload, columns, {})
        encoded, table, self._profile = encoded_dataset(source)
        new = new_dataset(source, encoded, table)
        if new.summary["status"] != DatasetStatus.READY:
            raise NotHere
        options = ScoringOptions()
        self._context = MeasureContext(
            table=table,
            rule=None,
            dictionary=None,
            sensitivity=None,
            failure=None,
            utility=options.utility.on(table),
            model=options.risk_model,
            absent_policy=options.absent_policy,
        )
        return _shown(_stored(Kind.DATASET, new.name, new.summary))

    def _counted(self, request: httpx.Request) -> JsonObject:
        if self._profile is None:
            raise NotHere
        return self._profile.shown(int(request.url.params["limit"])).to_json()

    def _measure(self, request: httpx.Request) -> JsonObject:
        from app.domain.analyses import privacy_profile
        from app.services.resources import Kind
        from app.services.scoring.measurement_documents import document_of_result, parameters_of

        body, measure, context = json.loads(request.read()), privacy_profile.PRIVACY_PROFILE, self._context
        asked = body["measure"]
        if body.keys() != {"name", "dataset", "measure"} or asked.pop("kind") != measure.name:
            raise NotHere
        parameters = parameters_of(measure, asked)
        if context is None or measure.supports(context, parameters) is not None:
            raise NotHere
        found = measure.compute(context, parameters, lambda _: None)
        result = {"result": document_of_result(measure, found)}
        return _shown(_stored(Kind.MEASUREMENT, body["name"], result))

    def _sent(self) -> Stored:
        if self._upload is None:
            raise NotHere
        return self._upload

    async def _kept(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


def _dialect(parameters: httpx.QueryParams) -> Dialect:
    """The dialect that the address says."""
    from app.services.datasets.ingest.dialect import Dialect, check_dialect
    from app.services.readers import reader_of

    said: dict[str, Any] = {
        own.name: parameters.get_list(own.name) if own.name == "missing" else parameters[own.name]
        for own in fields(Dialect)
        if own.name in parameters
    }
    if said.get("quote") == "":
        said["quote"] = None
    dialect = reader_of(Dialect).validate_python(said)
    check_dialect(dialect)
    return dialect


def _stored(kind: Kind, name: str, summary: JsonObject) -> Stored:
    from app.services.resources import Stored

    return Stored(uuid4().hex, kind, name, "", datetime.now(UTC), summary)


def _shown(stored: Stored) -> JsonObject:
    """The resource as the interface shows it, as far as profiles look at it."""
    from app.services.fingerprints import plain

    shown: JsonObject = plain({"id": stored.id, "name": stored.name, "sha256": "", **stored.summary})
    return shown
