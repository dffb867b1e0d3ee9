"""Forms: what was sent, what is wrong with which field, and a file beside the fields.

A field that becomes part of a request's body has the name of its place in it, as ``attributes/0/role``, so
that what the interface finds wrong there is told beside the field.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from app.multipart import MalformedMultipart, NotMultipart, PartHead, read_parts
from app.web.visits import Page, Visit
from privacy_risk import ProblemError

LARGEST_FORM: Final = 512 * 1024
"""Bytes of a form without a file: a table of 500 columns, each with its type, role and hierarchy."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
MOST_NAMED: Final = 80
"""Letters of a name that is made of what somebody wrote."""
MOST_FIELDS: Final = 5_000
MOST_SKIPPED: Final = 1024**3
"""Bytes of a refused file that are taken in and thrown away."""
TOKEN: Final = "form_token"  # noqa: S105 - the name of the field
"""The hidden field that shows that the form was made for this session."""


@dataclass(frozen=True)
class Fault:
    """What is wrong with a field, and what to do; the field is empty if it is the form as a whole."""

    field: str
    said: str
    remedy: str = ""
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """The fields that were sent, each with its values in order; none before anything was."""

    sent: Mapping[str, Sequence[str]] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    def text(self, name: str, default: str = "") -> str:
        """What stands in a field; ``default`` unless it was sent."""
        return self.sent[name][0].strip() if self.sent.get(name) else default

    def is_on(self, name: str, default: bool = False) -> bool:
        """Whether a box is ticked, ``default`` before anything was sent: a box that is not sends nothing."""
        return name in self.sent if self.sent else default

    def number(self, name: str, default: float | None = None) -> float | None:
        """The number in a field; ``default`` where nothing stands; ValueError where no number does."""
        written = self.text(name)
        if not written:
            return default
        number = float(written)
        if not math.isfinite(number):
            raise ValueError(f"{written} is no finite number")
        return number

    def with_faults(self, *faults: Fault) -> Form:
        """The same with more that is wrong."""
        return replace(self, faults=(*self.faults, *faults))

    def refused(self, problem: ProblemError, place: Callable[[str], str] = str) -> Form:
        """The same with what the interface found wrong; the problem itself if no form can mend it.

        ``place`` makes the name of a field of a place in the body, where they differ.
        """
        if problem.status not in (400, 404, 409, 413, 415, 422):
            raise problem
        document = problem.document
        errors = document.get("errors") or [{"message": document.get("detail") or document["title"]}]
        faults = [
            Fault(
                place(str(error.get("pointer") or "").lstrip("/")),
                str(error["message"]),
                str(error.get("remedy") or ""),
                tuple(error.get("choices", ())),
            )
            for error in errors
        ]
        return self.with_faults(*faults)

    def at(self, name: str) -> list[Fault]:
        """What is wrong with a field."""
        return [fault for fault in self.faults if fault.field == name]


def as_name(said: str) -> str:
    """What somebody calls a thing as a name that the interface takes: blanks become hyphens."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", said).strip("-._")[:MOST_NAMED]


def name_faults(form: Form, field: str = "name") -> tuple[Fault, ...]:
    """What is wrong with the name of a resource that is to be made, in words; nothing if none is said."""
    if not form.text(field) or _NAME.fullmatch(form.text(field)):
        return ()
    said = "This is no name that the service takes."
    return (
        Fault(field, said, "Write up to 100 letters, digits, points, hyphens or underscores, no blanks."),
    )


FormHandler = Callable[[Visit, Form], Awaitable[Page | Response]]


@dataclass(frozen=True)
class SentFile:
    """A file that is being sent, by which field; its name is empty if none was chosen."""

    name: str
    content: AsyncIterator[bytes]
    field: str = ""

    async def skip(self) -> None:
        """Take in what is left and keep none of it, so that the browser gets to read the answer."""
        skipped = 0
        with contextlib.suppress(MalformedMultipart, ClientDisconnect):
            async for piece in self.content:
                skipped += len(piece)
                if skipped > MOST_SKIPPED:
                    return


FileHandler = Callable[[Visit, Form, SentFile], Awaitable[Page | Response]]


async def form_of(request: Request) -> Form:
    """The fields of a form without a file; none of a body that is not one."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LARGEST_FORM:
            return Form()
    with contextlib.suppress(UnicodeDecodeError, ValueError):
        return _collected(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=MOST_FIELDS))
    return Form()


async def form_with_file(request: Request) -> tuple[Form, SentFile]:
    """The fields that stand before the file, and the file as it arrives; fields behind it are not read.

    The field of the file holds its name.
    """
    parts = read_parts(request.headers.get("content-type"), request.stream())
    pairs: list[tuple[str, str]] = []
    name, value, size = "", b"", 0
    with contextlib.suppress(NotMultipart, MalformedMultipart):
        async for found in parts:
            if isinstance(found, bytes):
                value, size = value + found, size + len(found)
                if size > LARGEST_FORM:
                    return Form(), SentFile("", _nothing())
                continue
            if name:
                pairs.append((name, value.decode("utf-8", "replace")))
            if found.file_name is not None:
                name = found.field or ""
                pairs.append((name, found.file_name))
                return _collected(pairs), SentFile(found.file_name, _rest_of_part(parts), name)
            name, value = found.field or "", b""
            if len(pairs) > MOST_FIELDS:
                return Form(), SentFile("", _nothing())
        if name:
            pairs.append((name, value.decode("utf-8", "replace")))
    return _collected(pairs), SentFile("", _nothing())


async def _rest_of_part(parts: AsyncIterator[PartHead | bytes]) -> AsyncIterator[bytes]:
    async for found in parts:
        if isinstance(found, bytes):
            yield found
        else:
            # To the end, so that a body that breaks off is no file that was whole.
            async for _ in parts:
                pass


async def _nothing() -> AsyncIterator[bytes]:
    return
    yield b""  # what makes it a generator


def _collected(pairs: Sequence[tuple[str, str]]) -> Form:
    sent: dict[str, list[str]] = {}
    for name, value in pairs:
        sent.setdefault(name, []).append(value)
    return Form(sent)


def is_of_this_site(request: Request) -> bool:
    """Whether a browser says that the form stood on a page of this service."""
    origin = request.headers.get("origin")
    return origin is not None and urlsplit(origin).netloc == request.headers.get("host")
