"""The rows of a table's file as the service would keep them, piece by piece."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from app.cli.journey import format_of
from app.cli.table_header import TEXT_FORMATS, head_of
from app.domain.errors import InvalidInput
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits

if TYPE_CHECKING:
    from app.services.datasets.ingest.proposals import DialectProposal

_PIECE: Final = 1 << 20


def proposed_dialect(path: Path, format: str, said: Mapping[str, Any]) -> DialectProposal:
    """The dialect that fits the head of a table of text, with what is said; of others the usual one."""
    # Imported here and below: it loads what reads tables, which help and wrong arguments need nothing of.
    from app.services.datasets.ingest.proposals import DialectProposal, propose_dialect

    if format in TEXT_FORMATS:
        try:
            return propose_dialect(head_of(path, format), said)
        except InvalidInput as error:
            raise InvalidInput([replace(own, pointer=str(path)) for own in error.faults]) from None
    return DialectProposal(replace(Dialect(), **said), (), 0, ())


async def table_pieces(path: Path, dialect: Dialect | None = None) -> AsyncGenerator[bytes, None]:
    """The pieces in the file's order, each as :func:`read_piece` takes it; without a dialect by what fits.

    InvalidInput and TooLarge for a file that the service would refuse.
    """
    from app.services.datasets.ingest.intake import Intake

    format_ = format_of(path)
    dialect = dialect or proposed_dialect(path, format_, {}).dialect
    intake = Intake(UploadFormat(format_), dialect, UploadLimits(), hashed=False)
    async with aclosing(intake.pieces(_content(path))) as pieces:
        async for piece in pieces:
            yield piece.payload


async def _content(path: Path) -> AsyncIterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(_PIECE):
            yield data
