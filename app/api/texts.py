"""Bodies of plain text."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request

from app.domain.errors import InvalidInput


async def _text(request: Request) -> str:
    try:
        return (await request.body()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput.of(
            "", "wrong-encoding", f"The body is not UTF-8: byte {error.start} is invalid.", "Send UTF-8."
        ) from None


TextBody = Annotated[str, Depends(_text)]
"""The whole body as UTF-8 text, a byte order mark left out."""
