"""The rows of a table's file as the service would keep them, piece by piece."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Final

from app.cli.journey import TableFile
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits
from app.services.datasets.ingest.intake import Intake
from app.services.datasets.ingest.proposals import propose_dialect

_SAMPLE: Final = 1 << 18
_PIECE: Final = 1 << 20


async def table_pieces(path: Path, sheet: str | None = None) -> AsyncGenerator[bytes, None]:
    """The pieces in the file's order, each as :func:`read_piece` takes it.

    CSV is read by the dialect that fits, a workbook by the named sheet.

    InvalidInput and TooLarge for a file that the service would refuse.
    """
    format_ = UploadFormat(TableFile(path.name, path, None, {}).format)
    dialect = Dialect(sheet=sheet)
    if format_ is UploadFormat.CSV:
        with path.open("rb") as file:
            dialect = propose_dialect(file.read(_SAMPLE)).dialect
    intake = Intake(format_, dialect, UploadLimits())
    async with aclosing(intake.pieces(_content(path))) as pieces:
        async for piece in pieces:
            yield piece.payload


async def _content(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(_PIECE):
            yield data
