"""Pages for people: the interactive documentation and what each type of problem means."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from html import escape
from pathlib import Path
from typing import Final

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, StreamingResponse
from starlette.staticfiles import StaticFiles

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


async def document(request: Request) -> StreamingResponse:
    """The OpenAPI document.

    It takes seconds to make and a megabyte to send, without a key. So one thread makes it, once, while others
    are served; and it is sent in parts, none before the one before it has left.
    """
    state = request.app.state
    if not hasattr(state, "document"):
        state.document = asyncio.create_task(asyncio.to_thread(_document))
    content: bytes = await asyncio.shield(state.document)
    headers = {"Content-Length": str(len(content))}
    return StreamingResponse(_parts(content), media_type="application/json", headers=headers)


def _document() -> bytes:
    # Imported here: it loads the operations of all resources, and few ever look at it.
    from app.api.openapi import made_document

    return json.dumps(made_document(), ensure_ascii=False, separators=(",", ":")).encode()


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
