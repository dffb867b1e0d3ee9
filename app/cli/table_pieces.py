"""The rows of a table's file as the service would keep them, piece by piece."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Final

from app.cli.journey import format_of
from app.cli.table_header import TEXT_FORMATS, head_of
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits
from app.services.datasets.ingest.intake import Intake
from app.services.datasets.ingest.proposals import propose_dialect

_PIECE: Final = 1 << 20


def proposed_dialect(path: Path, format: str, sheet: str | None = None) -> Dialect:
    """The dialect that fits the head of a table of text; of other formats the usual one, with the sheet."""
    return propose_dialect(head_of(path, format)).dialect if format in TEXT_FORMATS else Dialect(sheet=sheet)


async def table_pieces(path: Path, dialect: Dialect | None = None) -> AsyncGenerator[bytes, None]:
    """The pieces in the file's order, each as :func:`read_piece` takes it; without a dialect by what fits.

    InvalidInput and TooLarge for a file that the service would refuse.
    """
    format_ = format_of(path)
    intake = Intake(UploadFormat(format_), dialect or proposed_dialect(path, format_), UploadLimits())
    async with aclosing(intake.pieces(_content(path))) as pieces:
        async for piece in pieces:
            yield piece.payload


async def _content(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(_PIECE):
            yield data
