"""The file of a multipart form as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from fastapi import Request
from starlette.exceptions import HTTPException

from app.domain.errors import InvalidInput
from app.multipart import MalformedMultipart, NotMultipart, PartHead, read_parts

FIELD: Final = "file"


async def form_file(request: Request) -> AsyncIterator[bytes]:
    """The content of the form's file; InvalidInput if the form is broken or holds anything else."""
    parts = 0
    try:
        async for found in read_parts(request.headers.get("content-type"), request.stream()):
            if isinstance(found, bytes):
                yield found
                continue
            parts += 1
            _require_the_file(found, parts)
    except NotMultipart:
        raise HTTPException(415, detail="The body must be multipart/form-data with a boundary.") from None
    except MalformedMultipart as broken:
        raise InvalidInput.of(
            "", "malformed-multipart", str(broken), "Send a complete multipart/form-data body."
        ) from None


def _require_the_file(head: PartHead, number: int) -> None:
    if number > 1 or head.field != FIELD:
        raise InvalidInput.of(
            "", "unexpected-part", f"The form must hold one part, {FIELD}.", "Send options in the query."
        )
