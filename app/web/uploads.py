"""The way in: a table is sent by a form, read as it is recognised, and handed on while it arrives."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import AsyncIterator, Mapping
from pathlib import PurePath
from typing import Any, Final

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import RedirectResponse, Response

from app.multipart import MalformedMultipart
from app.web.forms import Fault, Form, SentFile, as_name, name_faults
from app.web.visits import Page, Visit, found
from app.web.words import address
from privacy_risk import Json, ProblemError, Resource

HEAD_BYTES: Final = 256 * 1024
"""How much of a file is looked at to recognise how it is to be read."""

DELIMITERS: Final = (
    ("", "recognise it"),
    (",", "comma ,"),
    (";", "semicolon ;"),
    ("tab", "tab"),
    ("|", "bar |"),
)
ENCODINGS: Final = (
    ("", "recognise it"),
    ("utf-8", "UTF-8"),
    ("latin-1", "Latin-1 (ISO 8859-1)"),
    ("cp1252", "Windows-1252"),
    ("utf-16", "UTF-16"),
)
HEADERS: Final = (
    ("", "recognise it"),
    ("true", "names of the columns"),
    ("false", "a record like the others"),
)
"""What the first line may be."""
MISSING: Final = (
    ("", "recognise it"),
    ("empty", "empty cells alone"),
    ("usual", "empty cells, NA, N/A, NULL, NaN, None, ? and -"),
)
"""Which cells mean that a value is missing."""

_BEGINNINGS: Final = ((b"PAR1", "parquet"), (b"\x1f\x8b", "csv.gz"), (b"\xff\xff\xff\xff", "arrow"))
_WORKBOOK: Final = (b"PK\x03\x04", "xlsx")
_SUFFIXES: Final = re.compile(r"(?:\.(?:csv|tsv|txt|gz|parquet|arrow|xlsx|data))+$", re.IGNORECASE)
_DIALECT: Final = ("delimiter", "encoding", "header", "missing")
_OF_WORKBOOKS: Final = ("sheet", "leading_zeros")
_CALLED: Final = {"keep": "read the zeros", "drop": "leave them out"}
_USUAL: Final = ("", "NA", "N/A", "n/a", "NULL", "null", "NaN", "nan", "None", "?", "-")
_MEANT: Final[Mapping[str, Any]] = {"tab": "\t", "empty": ("",), "usual": _USUAL}
"""What fields stand for; a blank alone is not kept by forms."""
_NO_RECORDS: Final = Fault(
    "file",
    "The file names columns and has no record below them.",
    "Send a table with one record at least; if the first line is one, say so.",
)
_BROKE_OFF: Final = Fault(
    "file", "The file broke off before its end; nothing of it was kept.", "Choose it once more, and send it."
)


async def start(visit: Visit) -> Page:
    """The form; the query may say how the file is to be read, where it was read wrongly before."""
    asked = visit.request.query_params
    said = {name: [asked[name]] for name in ("name", *_DIALECT) if name in asked}
    return _form_page(visit, Form(said))


async def send(visit: Visit, form: Form, file: SentFile) -> Page | Response:
    """Hand the file on to the interface; the page of what was recognised, or the form with what is wrong."""
    if not file.name:
        return _form_page(visit, form.with_faults(Fault("file", "No file was chosen.", "Choose the table.")))
    if name_faults(form):
        await file.skip()
        return _form_page(visit, form.with_faults(*name_faults(form)))
    arriving = _Arriving(file.content)
    try:
        upload = await _taken_in(visit, form, file, arriving)
    except ProblemError as problem:
        broke_off = arriving.broke_off
        await file.skip()
        if broke_off:
            return _form_page(visit, form.with_faults(_BROKE_OFF))
        return _form_page(visit, form.refused(_with_remedy(problem), _place))
    if upload.document["rows"] == 0:
        await visit.client.uploads.delete(upload.name)
        return _form_page(visit, form.with_faults(_NO_RECORDS))
    goal = address("uploads", upload.name)
    if visit.request.headers.get("prefer") == "return=minimal":
        # A script that shows how far the upload is could not tell a redirection from its goal.
        return Response(status_code=201, headers={"Location": goal})
    return RedirectResponse(goal, 303)


async def _taken_in(visit: Visit, form: Form, file: SentFile, arriving: _Arriving) -> Resource:
    """The upload; ProblemError where the interface refuses it."""
    head = await arriving.head(HEAD_BYTES)
    said = {name: _MEANT.get(form.text(name), form.text(name)) for name in _DIALECT if form.text(name)}
    format_ = format_of(head)
    dialect: dict[str, Any] = {}
    if format_ == "xlsx":
        dialect = {name: form.text(name) for name in _OF_WORKBOOKS if form.text(name)}
    if format_ in ("csv", "csv.gz"):
        text = unpacked(head) if format_ == "csv.gz" else head
        dialect = {**await _recognised(visit, text, said), **said}
    name = form.text("name") or await _free_name(visit, proposed_name(file.name))
    return await visit.client.uploads.create_from(name, arriving.all(), format_, **dialect)


async def _recognised(visit: Visit, head: bytes, said: Mapping[str, Any]) -> dict[str, Any]:
    """How a text is read best; where it is read in no way, the one whose faults say most.

    ProblemError for what has to be said of it, and is not.
    """
    columns: list[str] = []
    doubts: list[Json] = []
    dialect: dict[str, Any] = {"encoding": likely_encoding(head)}
    try:
        proposed = await visit.client.propose_dialect(head)
    except ProblemError as problem:
        if problem.status != 422:
            raise
    else:
        columns = proposed["columns"]
        doubts = [own for own in proposed.get("doubts", ()) if own["decides"] not in said]
        # What is null is said by an empty text: no quotes.
        dialect = {key: "" if value is None else value for key, value in proposed["dialect"].items()}
    if len(columns) <= 1 or said:
        delimiter = said.get("delimiter") or likely_delimiter(head)
        if len(columns) <= 1 and delimiter:
            return {"encoding": dialect["encoding"], "delimiter": delimiter}
    if doubts:
        remedy = "Say it here, or mend the file; and choose the file once more."
        told = [
            {"pointer": f"/{own['decides']}", "message": own["sentence"], "remedy": remedy} for own in doubts
        ]
        raise ProblemError(
            {"status": 422, "title": "It has to be said how the file is read.", "errors": told}
        )
    return dialect


async def _free_name(visit: Visit, name: str) -> str:
    """The name, with a number behind it if an upload is called so."""
    for number in range(1, 1000):
        free = name if number == 1 else f"{name}-{number}"
        if await found(visit.client.uploads.get(free)) is None:
            return free
    return name


class _Arriving:
    """A file as it arrives: its head first, then all of it."""

    def __init__(self, content: AsyncIterator[bytes]) -> None:
        self._content = content
        self._head = b""
        self.broke_off = False

    async def head(self, size: int) -> bytes:
        """At least so many of the first bytes, unless the file has fewer."""
        while len(self._head) < size and (piece := await self._next()) is not None:
            self._head += piece
        return self._head[:size]

    async def all(self) -> AsyncIterator[bytes]:
        """Every byte, once; HTTPException where the file breaks off, so that it is not taken for whole."""
        head, self._head = self._head, b""
        if head:
            yield head
        while (piece := await self._next()) is not None:
            yield piece
        if self.broke_off:
            raise HTTPException(400, detail="The body breaks off before its end.")

    async def _next(self) -> bytes | None:
        try:
            return await anext(self._content, None)
        except (MalformedMultipart, ClientDisconnect):
            self.broke_off = True
            return None


def format_of(head: bytes) -> str:
    """The format that a file begins like; text if it begins like none."""
    return next((name for first, name in (*_BEGINNINGS, _WORKBOOK) if head.startswith(first)), "csv")


def unpacked(head: bytes) -> bytes:
    """The text that the beginning of a gzip file stands for, nothing if it is damaged."""
    try:
        return zlib.decompressobj(wbits=31).decompress(head, HEAD_BYTES)
    except zlib.error:
        return b""


def likely_encoding(head: bytes) -> str:
    """UTF-8 where it can be; bytes of other texts are read as Latin-1."""
    try:
        codecs.getincrementaldecoder("utf-8")("strict").decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def likely_delimiter(head: bytes) -> str:
    """The usual delimiter that the first line holds most often; none if it holds none."""
    line = head.partition(b"\n")[0].decode("latin-1")
    most = max((_MEANT.get(own, own) for own, _ in DELIMITERS if own), key=line.count)
    return most if most in line else ""


def proposed_name(file_name: str) -> str:
    """A name that the interface takes, made of that of the file."""
    stem = _SUFFIXES.sub("", PurePath(file_name.replace("\\", "/")).name)
    return as_name(stem) or "table"


def _with_remedy(problem: ProblemError) -> ProblemError:
    """The refusal; of a file that is too large as a whole, with what can be done about a table."""
    if problem.status != 413 or problem.document.get("errors"):
        return problem
    remedy = "Send fewer rows or columns, or ask whoever runs the service for a higher limit."
    said = {"pointer": "/body", "message": problem.document.get("detail", ""), "remedy": remedy}
    return ProblemError({**problem.document, "errors": [said]})


def _place(pointer: str) -> str:
    """The field of the form that a place of the upload's request is filled in by."""
    field = pointer.rpartition("/")[2]
    return field if field in ("name", *_OF_WORKBOOKS, *_DIALECT) else "file"


def _choices(form: Form, name: str) -> list[tuple[str, str]]:
    """What may be said of a workbook, once it was refused because that was not said."""
    said = [own for fault in form.at(name) for own in fault.choices]
    return [(own, _CALLED.get(own, own)) for own in said or [form.text(name)] if own]


def _form_page(visit: Visit, form: Form) -> Page:
    shown = {
        "form": form,
        "delimiters": DELIMITERS,
        "encodings": ENCODINGS,
        "headers": HEADERS,
        "missing": MISSING,
        **{name: _choices(form, name) for name in _OF_WORKBOOKS},
        "may_write": "data:write" in visit.key["scopes"],
    }
    return Page("start.html", shown, 422 if form.faults else 200)
