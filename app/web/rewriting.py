"""A released table written in another way, piece by piece: other delimiters, or without suppressed rows."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import AsyncIterator, Sequence, Set
from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """How a CSV text is written."""

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"


async def written(
    pieces: AsyncIterator[bytes], way: Way, nothing: Sequence[Set[str]] | None
) -> AsyncIterator[bytes]:
    """The same rows in this way; without those of which each cell is one of the texts that say nothing."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    # What an encoding has no letter for is written as an escape, so that no file ends in the middle.
    encoder = codecs.getincrementalencoder(way.encoding)("backslashreplace")
    rest = ""
    async for piece in pieces:
        whole, rest = _whole_records(rest + decoder.decode(piece))
        if whole:
            yield encoder.encode(_rewritten(whole, way, nothing))
    if rest:
        yield encoder.encode(_rewritten(rest, way, nothing))


def _whole_records(text: str) -> tuple[str, str]:
    """The text up to the end of its last whole record, and what is behind that."""
    end = text.rfind("\n")
    while end >= 0 and text.count('"', 0, end) % 2:  # a line break within a cell
        end = text.rfind("\n", 0, end)
    return text[: end + 1], text[end + 1 :]


def _rewritten(text: str, way: Way, nothing: Sequence[Set[str]] | None) -> str:
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, delimiter=way.delimiter, quotechar=way.quote, lineterminator="\n")
    rows = csv.reader(io.StringIO(text, newline=""))
    writer.writerows(row for row in rows if nothing is None or _says_something(row, nothing))
    return sink.getvalue()


def _says_something(row: Sequence[str], nothing: Sequence[Set[str]]) -> bool:
    return any(cell not in texts for cell, texts in zip(row, nothing, strict=True))
