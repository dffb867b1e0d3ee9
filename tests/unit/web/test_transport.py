"""The application as a client's transport: answers are handed on piece by piece and never held."""

from __future__ import annotations

import httpx
import pytest

from app.web.transport import AHEAD, StreamedTransport

pytestmark = pytest.mark.anyio

PIECE = b"x" * 65536
PIECES = 1600
"""Of 64 KiB each: 100 MiB."""


class Application:
    """Answers many pieces, and counts what it has made."""

    def __init__(self, pieces: int = PIECES, breaks_after: int | None = None) -> None:
        self.made = 0
        self.ended = ""
        self._pieces = pieces
        self._breaks_after = breaks_after

    async def __call__(self, scope, receive, send) -> None:
        if scope["path"] == "/echo":
            body = b""
            while (message := await receive())["more_body"]:
                body += message["body"]
            await send({"type": "http.response.start", "status": 201, "headers": [(b"x-of", b"echo")]})
            await send({"type": "http.response.body", "body": body})
            self.ended = "whole"
            return
        if self._breaks_after is None and not self._pieces:
            raise RuntimeError("before anything was said")
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(self._pieces):
                if self.made == self._breaks_after:
                    raise RuntimeError("in between")
                self.made += 1
                await send({"type": "http.response.body", "body": PIECE, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
            self.ended = "whole"
        finally:
            self.ended = self.ended or "broken off"


def client(application: Application) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=StreamedTransport(application), base_url="http://service")


async def test_a_hundred_megabytes_are_never_held():
    application = Application()
    read, furthest = 0, 0
    async with client(application) as http, http.stream("GET", "/table") as response:
        async for piece in response.aiter_raw():
            read += len(piece)
            furthest = max(furthest, application.made - read // len(PIECE))
    assert read == PIECES * len(PIECE)
    assert furthest <= AHEAD + 1
    assert application.ended == "whole"


async def test_an_answer_that_breaks_off_is_no_whole_answer():
    application = Application(breaks_after=3)
    async with client(application) as http, http.stream("GET", "/table") as response:
        with pytest.raises(httpx.ReadError):
            await response.aread()


async def test_who_stops_reading_ends_the_work():
    application = Application()
    async with client(application) as http, http.stream("GET", "/table") as response:
        await anext(response.aiter_raw())
    assert application.made < 10
    assert application.ended == "broken off"


async def test_what_fails_before_it_answers_is_status_500():
    async with client(Application(pieces=0)) as http:
        assert (await http.get("/table")).status_code == 500


async def test_bodies_and_headers_pass_and_the_application_comes_to_its_end():
    application = Application()
    async with client(application) as http:
        answer = await http.post("/echo", content=b"sent")
    assert (answer.status_code, answer.headers["x-of"], answer.content) == (201, "echo", b"sent")
    assert application.ended == "whole"
