"""Bodies of uploads: bytes and files can be sent again after a failure, other streams only once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from pathlib import Path

_PIECE = 1 << 20

Content = bytes | Path | Iterable[bytes]


def is_repeatable(content: Content) -> bool:
    """Whether the body can be sent from its beginning again."""
    return isinstance(content, bytes | Path)


def body_of(content: Content) -> bytes | Iterator[bytes]:
    """The body for a client that blocks."""
    return content if isinstance(content, bytes) else _pieces(content)


def async_body_of(content: Content) -> bytes | AsyncIterator[bytes]:
    """The body for a client that does not; reading a local file is taken to be quick."""
    return content if isinstance(content, bytes) else _async_pieces(content)


def _pieces(content: Path | Iterable[bytes]) -> Iterator[bytes]:
    if isinstance(content, Path):
        with content.open("rb") as file:
            yield from iter(lambda: file.read(_PIECE), b"")
    else:
        yield from content


async def _async_pieces(content: Path | Iterable[bytes]) -> AsyncIterator[bytes]:
    for piece in _pieces(content):
        yield piece
