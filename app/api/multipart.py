"""The file of a multipart form as a stream."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from fastapi import Request
from starlette.exceptions import HTTPException

from app.domain.errors import InvalidInput
from app.multipart import MalformedMultipart, NotMultipart, PartHead, read_parts

FIELD: Final = "file"


async def form_file(request: Request) -> tuple[PartHead, AsyncIterator[bytes]]:
    """What the form says of its file, and the content; InvalidInput if it holds anything else."""
    found = _found(request)
    head = await anext(found, None)
    if not isinstance(head, PartHead):
        raise _no_file()
    return head, _content(found)


async def _content(found: AsyncIterator[PartHead | bytes]) -> AsyncIterator[bytes]:
    """What follows the first head; InvalidInput for a second one."""
    async for own in found:
        if isinstance(own, PartHead):
            raise _no_file()
        yield own


async def _found(request: Request) -> AsyncIterator[PartHead | bytes]:
    try:
        async for own in read_parts(request.headers.get("content-type"), request.stream()):
            if isinstance(own, PartHead) and own.field != FIELD:
                raise _no_file()
            yield own
    except NotMultipart:
        raise HTTPException(415, detail="The body must be multipart/form-data with a boundary.") from None
    except MalformedMultipart as broken:
        raise InvalidInput.of(
            "", "malformed-multipart", str(broken), "Send a complete multipart/form-data body."
        ) from None


def _no_file() -> InvalidInput:
    return InvalidInput.of(
        "", "unexpected-part", f"The form must hold one part, {FIELD}.", "Send options in the query."
    )
