"""Pages for people: the interactive documentation and what each type of problem means."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from functools import partial
from html import escape
from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, StreamingResponse
from starlette.staticfiles import StaticFiles

from app.api.documents import document_of_group, list_of_operations, whole_document
from app.api.problems import BY_CODE, PROBLEM_TYPES

STATIC: Final = Path(__file__).parent / "static"

# The stylesheet of Swagger UI draws its icons from data: addresses.
_SWAGGER_POLICY: Final = (
    "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'; object-src 'none'"
)

_PART_BYTES: Final = 64 * 1024

router = APIRouter(include_in_schema=False)


def install_pages(app: FastAPI) -> None:
    """Serve the pages and the files that they are made of."""
    app.include_router(router)
    app.add_route("/openapi.json", document, include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC))


async def document(_: Request) -> StreamingResponse:
    """The OpenAPI document."""
    return await _sent(whole_document)


@router.get("/docs/operations.json")
async def operations() -> StreamingResponse:
    """What the documentation's page begins with: the operations by their names alone."""
    return await _sent(list_of_operations)


@router.get("/docs/groups/{group}.json")
async def group(group: str) -> StreamingResponse:
    """The document of one section of the page, which it loads when one of its operations is unfolded."""
    return await _sent(partial(document_of_group, group))


async def _sent(read: Callable[[], bytes | None]) -> StreamingResponse:
    """JSON of up to some megabytes, without a key: read beside the event loop, and sent in parts.

    No part is sent before the one before it has left.
    """
    content = await asyncio.to_thread(read)
    if content is None:
        raise HTTPException(404)
    headers = {"Content-Length": str(len(content))}
    return StreamingResponse(_parts(content), media_type="application/json", headers=headers)


async def _parts(content: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(content), _PART_BYTES):
        yield content[start : start + _PART_BYTES]


@router.get("/docs")
async def documentation() -> FileResponse:
    """Swagger UI from this server's own files."""
    return FileResponse(STATIC / "swagger.html", headers={"Content-Security-Policy": _SWAGGER_POLICY})


@router.get("/problems")
async def problems() -> HTMLResponse:
    """All types of problem."""
    items = "".join(
        f'<dt><a href="{problem.uri}">{problem.code}</a> ({problem.status})</dt>'
        f"<dd>{escape(problem.title)}.</dd>"
        for problem in PROBLEM_TYPES
    )
    return _page("Problems", f"<dl>{items}</dl>")


@router.get("/problems/{code}")
async def problem(code: str) -> HTMLResponse:
    """What one type of problem means, and its remedy."""
    found = BY_CODE.get(code)
    if found is None:
        raise HTTPException(404)
    parts = (
        ("Code", found.code),
        ("Status", found.status),
        ("Meaning", found.meaning),
        ("Remedy", found.remedy),
    )
    items = "".join(f"<dt>{term}</dt><dd>{_marked_up(str(text))}</dd>" for term, text in parts)
    return _page(found.title, f'<dl>{items}</dl><p><a href="/problems">All problems</a></p>')


def _page(title: str, content: str) -> HTMLResponse:
    return HTMLResponse(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<link rel="icon" type="image/png" href="/static/swagger-ui/favicon-32x32.png">'
        '<link rel="stylesheet" href="/static/problems.css"></head>'
        f"<body><h1>{escape(title)}</h1>{content}</body></html>"
    )


def _marked_up(text: str) -> str:
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
