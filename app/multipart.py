"""A multipart body as it arrives: the head of each part, then its content; nothing goes to disk."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header


@dataclass(frozen=True)
class PartHead:
    """Where a part begins: its field, the name of the file that it is and its type, each None if not said."""

    field: str | None
    file_name: str | None
    content_type: str | None = None


class NotMultipart(Exception):
    """The body is no form with parts, or has no boundary between them."""


class MalformedMultipart(Exception):
    """The body is broken; the message says how."""


async def read_parts(content_type: str | None, body: AsyncIterator[bytes]) -> AsyncIterator[PartHead | bytes]:
    """Each part's head and then its content, piece by piece.

    Raises NotMultipart before anything is read, MalformedMultipart where the body breaks or ends too early.
    """
    media_type, options = parse_options_header(content_type)
    boundary = options.get(b"boundary")
    if media_type != b"multipart/form-data" or not boundary:
        raise NotMultipart
    try:
        parts = _Parts(boundary)
        async for data in body:
            for found in parts.write(data):
                yield found
    except FormParserError:  # of the boundary, if it is too long, or of the body
        raise MalformedMultipart("The multipart body is malformed.") from None
    if not parts.is_complete:
        raise MalformedMultipart("The multipart body ends before its last boundary.")


class _Parts:
    """Collects what the parser finds."""

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
        self._options: dict[bytes, bytes] = {}
        self._content_type: str | None = None
        self._found: list[PartHead | bytes] = []
        self.is_complete = False

    def write(self, data: bytes) -> list[PartHead | bytes]:
        """Parse some bytes; what they held."""
        self._parser.write(data)
        found, self._found = self._found, []
        return found

    def _on_part_begin(self) -> None:
        self._options, self._content_type = {}, None

    def _on_header_begin(self) -> None:
        self._name, self._value = b"", b""

    def _on_header_field(self, data: bytes, start: int, end: int) -> None:
        self._name += data[start:end]

    def _on_header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _on_header_end(self) -> None:
        if self._name.lower() == b"content-disposition":
            _, self._options = parse_options_header(self._value)
        elif self._name.lower() == b"content-type":
            self._content_type = self._value.decode("latin-1")

    def _on_headers_finished(self) -> None:
        self._found.append(PartHead(self._option(b"name"), self._option(b"filename"), self._content_type))

    def _option(self, name: bytes) -> str | None:
        value = self._options.get(name)
        return None if value is None else value.decode("utf-8", "replace")

    def _on_part_data(self, data: bytes, start: int, end: int) -> None:
        self._found.append(data[start:end])

    def _on_end(self) -> None:
        self.is_complete = True
