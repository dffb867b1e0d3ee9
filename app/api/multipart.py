"""The file of a multipart form as a stream: parsed as it arrives, never spooled to disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.exceptions import HTTPException

from app.domain.errors import InvalidInput

FIELD: Final = "file"


class _FormFile:
    """Collects what the parser finds in the one part that is allowed."""

    def __init__(self, boundary: bytes) -> None:
        self._parser = MultipartParser(
            boundary,
            {
                "on_part_begin": self._on_part_begin,
                "on_header_begin": self._on_header_begin,
                "on_header_field": self._on_header_field,
                "on_header_value": self._on_header_value,
                "on_header_end": self._on_header_end,
                "on_headers_finished": self._on_headers_finished,
                "on_part_data": self._on_part_data,
                "on_end": self._on_end,
            },
        )
        self._name, self._value = b"", b""
        self._field: bytes | None = None
        self._chunks: list[bytes] = []
        self.parts = 0
        self.is_complete = False

    def write(self, data: bytes) -> list[bytes]:
        """Parse some bytes; the pieces of the file that they held."""
        self._parser.write(data)
        found, self._chunks = self._chunks, []
        return found

    def _on_part_begin(self) -> None:
        self.parts += 1
        self._field = None

    def _on_header_begin(self) -> None:
        self._name, self._value = b"", b""

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        if self._name.lower() == b"content-disposition":
            _, options = parse_options_header(self._value)
            self._field = options.get(b"name")

    def _on_headers_finished(self) -> None:
        if self.parts > 1 or self._field != FIELD.encode():
            raise InvalidInput.of(
                "", "unexpected-part", f"The form must hold one part, {FIELD}.", "Send options in the query."
            )

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        self._chunks.append(data[start:end])

    def _on_end(self) -> None:
        self.is_complete = True


async def form_file(request: Request) -> AsyncIterator[bytes]:
    """The content of the form's file; InvalidInput if the form is broken or holds anything else."""
    media_type, options = parse_options_header(request.headers.get("content-type"))
    boundary = options.get(b"boundary")
    if media_type != b"multipart/form-data" or not boundary:
        raise HTTPException(415, detail="The body must be multipart/form-data with a boundary.")
    try:
        form = _FormFile(boundary)
        async for data in request.stream():
            for chunk in form.write(data):
                yield chunk
    except FormParserError:  # of the boundary, if it is too long, or of the body
        raise _broken("The multipart body is malformed.") from None
    if not form.is_complete:
        raise _broken("The multipart body ends before its last boundary.")


def _broken(message: str) -> InvalidInput:
    return InvalidInput.of("", "malformed-multipart", message, "Send a complete multipart/form-data body.")
