"""Bodies of uploads: bytes, files and sources can be sent again after a failure, other streams only once."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Iterator
from pathlib import Path

from privacy_risk.sources import ArrowStream

_PIECE = 1 << 20

Content = bytes | Path | Iterable[bytes] | AsyncIterable[bytes]
"""What is sent; pieces that are awaited by the client that awaits only."""


def is_repeatable(content: Content) -> bool:
    """Whether the body can be sent from its beginning again."""
    return isinstance(content, bytes | Path | ArrowStream)


def pieces_of(content: Path | Iterable[bytes]) -> Iterator[bytes]:
    """The pieces of a body that is not held as a whole."""
    if isinstance(content, Path):
        with content.open("rb") as file:
            yield from iter(lambda: file.read(_PIECE), b"")
    else:
        yield from content
