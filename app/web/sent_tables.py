"""Tables that are sent with a form: streamed to an upload, with what is wrong told beside the file."""

from __future__ import annotations

import re
import secrets
from collections.abc import AsyncIterator
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from app.multipart import MalformedMultipart
from app.web.forms import Fault, Form, SentFile
from app.web.visits import Visit
from privacy_risk import ProblemError, Resource

FIELD: Final = "file"

_DELIMITERS: Final = {"comma": ",", "semicolon": ";", "tab": "\t", "vertical bar": "|"}
DELIMITERS: Final = tuple((name, name) for name in _DELIMITERS)
ENCODINGS: Final = (("utf-8", "UTF-8"), ("cp1252", "Windows-1252 (Western Europe)"), ("utf-16", "UTF-16"))
"""How files mostly are written; the interface takes others."""

_FORMATS: Final = ((".csv.gz", "csv.gz"), (".parquet", "parquet"), (".arrow", "arrow"), (".arrows", "arrow"))
_PLACES: Final = {"delimiter": "delimiter", "encoding": "encoding"}


def format_of(file_name: str) -> str:
    """The format that the end of a file's name says; CSV if it says none."""
    lower = file_name.lower()
    return next((kind for end, kind in _FORMATS if lower.endswith(end)), "csv")


def upload_name(beginning: str) -> str:
    """A name for an upload that nothing else has."""
    kept = re.sub(r"[^A-Za-z0-9._-]+", "-", beginning).strip("-._") or "file"
    return f"{kept[:80]}-{secrets.token_hex(4)}"


async def stored_table(visit: Visit, form: Form, file: SentFile, name: str) -> tuple[Form, Resource | None]:
    """The upload that the file has become; if there is none, the form says why."""
    if not file.name:
        return form.with_faults(Fault(FIELD, "No file was chosen.", "Choose a CSV file.")), None
    kind = format_of(file.name)
    dialect = {}
    if kind.startswith("csv"):
        named = form.text("delimiter", "comma")
        dialect = {"delimiter": _DELIMITERS.get(named, named), "encoding": form.text("encoding", "utf-8")}
    try:
        upload = await visit.client.uploads.create_from(name, _whole(file.content), kind, **dialect)
    except ProblemError as problem:
        return form.refused(problem, lambda place: _PLACES.get(place, FIELD)), None
    return form, upload


async def _whole(content: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The file, refused as the interface refuses if it breaks off."""
    is_first = True
    try:
        async for piece in content:
            if is_first and piece.startswith(b"%PDF-"):
                raise HTTPException(415, detail="The file is a PDF, not a table. Save the table as CSV.")
            is_first = False
            yield piece
    except (MalformedMultipart, ClientDisconnect):
        raise HTTPException(400, detail="The file did not arrive as a whole. Send it again.") from None
