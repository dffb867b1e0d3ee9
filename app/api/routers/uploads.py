"""Uploads over HTTP: bodies are streamed, never held."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Final

from fastapi import APIRouter, Body, Path, Query, Request, Response
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from app.api.authentication import DataReader, DataWriter
from app.api.bodies.limits import takes_up_to
from app.api.examples.files import FORM_BODY, SAMPLE_BODY, UPLOAD_BODY
from app.api.examples.form import names
from app.api.examples.inputs import ONE_ROW_PER_PERSON
from app.api.idempotency import Once, key_of
from app.api.multipart import form_file
from app.api.routers.answers import COMMON, MADE, made, problems
from app.api.routers.collection import Collection
from app.api.routes import PREFIX, Operation, Route
from app.api.schemas.common import Ref
from app.api.schemas.uploads import (
    DialectProposalAnswer,
    NewOneRowPerPerson,
    SchemaProposalAnswer,
    TablePreview,
    Upload,
    UploadQuery,
)
from app.api.services import Services, UseCases
from app.services.datasets.ingest.dialect import CSV_TOO, MEDIA_TYPES, UploadFormat, format_of
from app.services.datasets.ingest.pieces import Preview
from app.services.datasets.uploads import CreateUpload
from app.services.resources import Actor

SAMPLE_BYTES: Final = 1024**2

_ANY: Final = "application/octet-stream"
"""Says nothing of a file: its format is declared, or CSV."""

COLLECTION = Collection(
    "upload",
    Upload,
    (
        "members",
        "members-by-form",
        "friendships",
        "census",
        "register",
        "members-by-city",
        "example-members",
        "example-census",
        "example-zip-city",
    ),
)

UploadRef = Annotated[Ref, Path(openapi_examples=names("members"))]

_MADE: Final = MADE | problems("too-large", "quota-exceeded", "too-costly")

# The routes of this router stream their bodies, which the route class of the others would read whole.
streams = APIRouter(
    prefix=PREFIX + COLLECTION.path, tags=[COLLECTION.plural], route_class=Operation, responses=COMMON
)
router = COLLECTION.router()


@streams.post("", status_code=201, response_model=Upload, responses=_MADE, openapi_extra=UPLOAD_BODY)
async def create_upload(
    actor: DataWriter, services: UseCases, parameters: UploadQuery, request: Request
) -> Response:
    """Upload a table.

    The body is the file itself: CSV, gzipped CSV, Parquet, an Arrow IPC stream or an Excel workbook, as
    `format` or the content type says. It is read while it arrives; nothing is stored unless all of it is
    right. Needs the scope `data:write`.
    """
    key = key_of(request)  # what is wrong with it is told before anything else
    content_type = request.headers.get("content-type", "")
    _require_sent_as(content_type, parameters.format)
    asked = parameters.request(format_of(content_type))
    return await _upload(actor, services, asked, request, key, request.stream())


@streams.post("/form", status_code=201, response_model=Upload, responses=_MADE, openapi_extra=FORM_BODY)
async def create_upload_from_form(
    actor: DataWriter, services: UseCases, parameters: UploadQuery, request: Request
) -> Response:
    """Upload a table from a form.

    The same as the raw upload, for browsers: one part, `file`. Without `format` the name of the file says
    what it is. Needs the scope `data:write`.
    """
    key = key_of(request)  # what is wrong with it is told before anything is read
    head, content = await form_file(request)
    asked = parameters.request(format_of(head.content_type or "", head.file_name or ""))
    return await _upload(actor, services, asked, request, key, content)


def _require_sent_as(content_type: str, format: UploadFormat | None) -> None:
    """Refuse a content type that no table has, or that is another's than the format that is declared."""
    essence = content_type.partition(";")[0].strip().lower()
    if essence.startswith("multipart/"):
        raise HTTPException(
            415, detail="The body must be the file itself; POST /v1/uploads/form takes forms."
        )
    if essence in ("", _ANY):
        return
    accepted = [*MEDIA_TYPES.values(), *CSV_TOO, _ANY]
    if essence not in accepted:
        raise HTTPException(
            415, detail=f"No table is sent as this Content-Type. Accepted are: {', '.join(accepted)}."
        )
    if format not in (None, format_of(essence)):
        raise HTTPException(
            415, detail=f"The Content-Type does not say {format}, as the parameter `format` does: send "
            f"{MEDIA_TYPES[format]}, or {_ANY}.",
        )  # fmt: skip


async def _upload(
    actor: Actor,
    services: Services,
    asked: CreateUpload,
    request: Request,
    key: str | None,
    chunks: AsyncIterator[bytes],
) -> Response:
    async def store(body: AsyncIterator[bytes]) -> Response:
        response = Response()
        created = await services.uploads.create(actor, asked, body)
        upload = made(Upload, "/uploads", created, response)
        headers = {"Location": response.headers["Location"]}
        return JSONResponse(upload.model_dump(mode="json"), response.status_code, headers)

    if key is None:
        return await store(chunks)
    return await Once(request, actor, key).answer_stream(chunks, store)


COLLECTION.add_list(router)
COLLECTION.add_get(router)


@router.post(
    "/{ref}/one-row-per-person",
    status_code=201,
    responses=MADE | problems("not-found", "too-large", "quota-exceeded"),
)
async def create_one_row_per_person(
    actor: DataWriter,
    services: UseCases,
    ref: UploadRef,
    sent: Annotated[NewOneRowPerPerson, Body(openapi_examples=ONE_ROW_PER_PERSON)],
    response: Response,
) -> Upload:
    """Make one row per person.

    A new upload of one in which persons have several rows, for the models of one row: a row per person in the
    order of their first rows, with the same columns. Needs the scope `data:write`.
    """
    asked = await asyncio.to_thread(sent.request)
    return made(
        Upload, "/uploads", await services.uploads.create_one_row_per_person(actor, ref, asked), response
    )


@router.get("/{ref}/proposal", responses=problems("not-found"))
async def propose_schema(actor: DataReader, services: UseCases, ref: UploadRef) -> SchemaProposalAnswer:
    """Propose a schema.

    Types, roles and hierarchies that would fit the columns, from the first rows. It is a proposal: correct
    it, create the hierarchies, and send the rest as the attributes of a dataset. Needs the scope `data:read`.
    """
    return SchemaProposalAnswer.model_validate(await services.uploads.propose_schema(actor, ref))


@router.get("/{ref}/preview", response_model=TablePreview, responses=problems("not-found"))
async def preview_upload(
    actor: DataReader,
    services: UseCases,
    ref: UploadRef,
    limit: Annotated[int, Query(ge=1, le=200, description="Most rows shown.")] = 20,
) -> Preview:
    """Preview an upload.

    Its first rows as they were read. Needs the scope `data:read`.
    """
    return await services.uploads.preview(actor, ref, limit)


proposals = APIRouter(prefix=f"{PREFIX}/dialect-proposals", tags=[COLLECTION.plural], route_class=Route)


@proposals.post("", openapi_extra=SAMPLE_BODY, responses=COMMON | problems("too-large"))
@takes_up_to(SAMPLE_BYTES)
async def propose_dialect(actor: DataWriter, services: UseCases, request: Request) -> DialectProposalAnswer:
    """Propose a dialect.

    How the beginning of a CSV file, at most 1 MiB of it, would be read best. Nothing is stored. Needs the
    scope `data:write`.
    """
    return DialectProposalAnswer.model_validate(
        await services.uploads.propose_dialect(actor, await request.body())
    )
