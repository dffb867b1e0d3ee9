"""``Prefer`` headers as RFC 7240 writes them: which say how long to wait."""

from __future__ import annotations

import pytest
from starlette.requests import Request
from starlette.responses import Response

from app.api.waiting import preferred_wait


def waited(*lines: str) -> tuple[int | None, str | None]:
    """Seconds that lines of the header ask for, and what the response says of them."""
    headers = [(b"prefer", line.encode()) for line in lines]
    response = Response()
    seconds = preferred_wait(Request({"type": "http", "headers": headers}), response)
    return seconds, response.headers.get("preference-applied")


@pytest.mark.parametrize(
    "lines",
    [
        ["wait=5"],
        ["WAIT=5"],
        ["wait = 5"],
        ['wait="5"'],
        ["wait=005"],
        ["wait=" + 300 * "0" + "5"],
        ["respond-async, wait=5"],
        ["respond-async", "wait=5"],
        ['handling="wait=9, \\" wait=8", wait=5'],
        ["wait=5; why=later, wait=9"],
        ["waits=9, wait=5"],
        [",, =, ;, x" + 300 * " " + ", wait=5"],
    ],
)
def test_a_wait_is_heeded_however_it_is_written(lines):
    assert waited(*lines) == (5, "wait=5")


@pytest.mark.parametrize(
    ("seconds", "granted"), [("0", 0), ("000", 0), ("60", 60), ("61", 60), (5_000 * "9", 60)]
)
def test_no_wait_is_longer_than_the_longest(seconds, granted):
    assert waited(f"wait={seconds}") == (granted, f"wait={granted}")


@pytest.mark.parametrize(
    "line",
    [
        "", "respond-async", "wait", "wait=", "wait=soon", "wait=-1", "wait=1.5", "waits=1", 'wait="1',
        "wait=\u0661", "wait=1 2", "return=minimal; wait=1", 'return="minimal, wait=1"', "wait=soon, wait=1",
        5_000 * 'x"\\',
    ],
)  # fmt: skip
def test_other_preferences_are_ignored(line):
    assert waited(line) == (None, None)


def test_without_the_header_nobody_waits():
    assert waited() == (None, None)
