"""Writes down what the interface answers and the commands print while tests run.

A plugin of pytest: ``-p tests.record.plugin`` with the file in ``RECORD_FILE``; a process of xdist writes to
a file beside it. Each line is one answer, in the order in which its test got it.
"""

from __future__ import annotations

import functools
import io
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, TextIO

import httpx
import pytest

from app.cli import program

FILE = "RECORD_FILE"
HEADERS = ("content-type", "location", "retry-after", "deprecation", "link", "allow", "content-disposition")
"""The headers of an answer that are part of what it means."""


class Recorder:
    """Notes every answer under the test, or the fixture of the session, that asked for it."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._within = ["outside of tests"]
        self._numbers: Counter[str] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._within.append(item.nodeid)
        try:
            return (yield)
        finally:
            self._within.pop()
            self._file.flush()

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, object, object]:
        # Which test needs it first depends on how the tests are spread over processes.
        if fixturedef.scope != "session":
            return (yield)
        self._within.append(f"fixture {fixturedef.argname}")
        try:
            return (yield)
        finally:
            self._within.pop()

    def note(self, **answer: object) -> None:
        test = self._within[-1]
        self._numbers[test] += 1
        line = {"test": test, "number": self._numbers[test], **answer}
        self._file.write(json.dumps(line, ensure_ascii=False) + "\n")

    def pytest_unconfigure(self) -> None:
        self._file.close()


def pytest_configure(config: pytest.Config) -> None:
    place = Path(os.environ[FILE])
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    place = place if worker is None else place.with_name(f"{place.name}.{worker}")
    recorder = Recorder(place.open("w", encoding="utf-8"))
    config.pluginmanager.register(recorder, "recorder of answers")
    _note_answers(recorder)
    program.run = _noting_prints(recorder, program.run)


def _note_answers(recorder: Recorder) -> None:
    handle = httpx.ASGITransport.handle_async_request

    @functools.wraps(handle)
    async def noting(self: httpx.ASGITransport, request: httpx.Request) -> httpx.Response:
        response = await handle(self, request)
        body = await response.aread()
        recorder.note(
            asked=f"{request.method} {request.url.raw_path.decode()}",
            status=response.status_code,
            headers={name: response.headers[name] for name in HEADERS if name in response.headers},
            body=_read(body, response.headers.get("content-type", "")),
        )
        return response

    httpx.ASGITransport.handle_async_request = noting  # type: ignore[method-assign]


def _read(body: bytes, kind: str) -> object:
    if "json" in kind:
        try:
            return json.loads(body)
        except ValueError:
            pass
    return body.decode("utf-8", "backslashreplace")


def _noting_prints(recorder: Recorder, run: Callable[..., int]) -> Callable[..., int]:
    @functools.wraps(run)
    def noting(argv: Sequence[str], operations: Any) -> int:
        printed = _Copied(sys.stdout)
        status = None
        try:
            with redirect_stdout(printed):
                status = run(argv, operations)
            return status
        finally:
            asked = " ".join(["privacy-risk", *argv])
            recorder.note(asked=asked, status=status, headers={}, body=_read(printed.said(), "json"))

    return noting


class _Copied(io.TextIOWrapper):
    """Standard output, of which a copy is kept."""

    def __init__(self, real: TextIO) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="", write_through=True)
        self._real = real

    def write(self, text: str) -> int:
        self._real.write(text)
        return super().write(text)

    def said(self) -> bytes:
        kept = self.buffer
        assert isinstance(kept, io.BytesIO)
        return kept.getvalue()

    def isatty(self) -> bool:
        return self._real.isatty()
