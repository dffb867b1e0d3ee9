"""Reads JSON of any size in slices, so that the work of others goes on in between.

Python's own parser is fast, but reads a whole text in one go, during which no other thread may run. It is
given windows of the text here; only what does not fit into a window is taken apart by hand.

It exists because no parser does this. The standard library's and pydantic's hold the interpreter's lock for
a whole text, in whatever thread: 700,000 members, 8 MiB, take 0.7 s of processor time in one go, so that a
thread beside them helps nobody. Faster ones do the same, only shorter, and take repeated keys without a word.
A process of its own would have to send the value back, which is read in one go again. Here the whole takes
three times as long, in slices.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from typing import Any, Final

from app.domain.errors import TooLarge

WINDOW: Final = 64 * 1024
"""Characters that are parsed in one go: about a millisecond."""

SMALL: Final = 16 * 1024
"""Values and characters of a document that is written or kept without a second thought."""

MOST_PARTS: Final = 3_000_000
"""Commas, colons and opening brackets of a body: what bounds the memory that it becomes."""

_DEEPEST: Final = 8
"""Levels at which one value may be longer than a window; every one of them is read once more."""

_LAST_MARKS: Final = {'"': '"', "[": "]", "{": "}"}
"""By the first mark of an item its last one, where it has such: a list is cut at a comma behind that."""

_SPACE: Final = re.compile(r"[ \t\n\r]*")


class RepeatedKey(ValueError):
    """An object names a member twice: which one counts would depend on who reads it."""


def whole_json(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Parse a text in one go; JSONDecodeError says what is wrong with it."""
    return _read(
        lambda: json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant), text
    )


def sliced_json(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Parse a text in slices, with the same value or error as :func:`whole_json`.

    Raises
    ------
    JSONDecodeError
        If it is not JSON, repeats a key or holds NaN or Infinity.
    RecursionError
        If it is nested too deeply.
    TooLarge
        If it has more than MOST_PARTS parts.
    """
    if sum(text.count(mark) for mark in ",:[{") > MOST_PARTS:
        raise TooLarge(f"The body holds more than {MOST_PARTS:,} values.", "Send less at once.", MOST_PARTS)
    reader = _Reader(text)
    try:
        return _read(reader.read, text)
    except Exception:
        dismantle(reader.begun)
        raise


def sliced_document(text: str) -> Any:  # noqa: ANN401 - any JSON value
    """Parse a text of the service's own in slices, whatever its size and depth."""
    try:
        return _Reader(text).read()
    except RecursionError:
        return json.loads(text)


def dismantle(value: Any) -> None:  # noqa: ANN401 - any JSON value
    """Free a large value that nobody needs, piece by piece: in one go, no other thread may run meanwhile."""
    rest = [value]
    while rest:
        match rest.pop():
            case list() as items:
                rest.extend(items)
                items.clear()
            case dict() as members:
                rest.extend(members.values())
                members.clear()


def is_small(value: Any, most: int = SMALL) -> bool:  # noqa: ANN401 - any JSON value
    """Whether values and characters together are at most so many; no more of it is looked at."""
    rest = [value]
    while rest and most >= 0:
        part = rest.pop()
        most -= 1
        if isinstance(part, str):
            most -= len(part)
        elif isinstance(part, dict):
            most -= len(part)
            if most >= 0:
                rest.extend(part.values())
        elif isinstance(part, list | tuple):
            most -= len(part)
            if most >= 0:
                rest.extend(part)
    return most >= 0


def _read(read: Callable[[], Any], text: str) -> Any:  # noqa: ANN401
    try:
        return read()
    except json.JSONDecodeError:
        raise
    except RepeatedKey:
        raise json.JSONDecodeError("an object repeats a key", "", 0) from None
    except ValueError:
        most = sys.get_int_max_str_digits()
        message = f"a whole number has more than {most:,} digits"
        raise json.JSONDecodeError(message, text, _place_of_digits(most + 1, text)) from None


def _place_of_digits(number: int, text: str) -> int:
    """Where so many digits in a row begin, outside of texts."""
    found = re.finditer(rf'"[^"\\]*+(?:\\.[^"\\]*+)*"|(?P<digits>[0-9]{{{number}}})', text, re.DOTALL)
    return next((own.start() for own in found if own["digits"]), 0)


class _Reader:
    """A text, and the window of it that is being parsed."""

    def __init__(self, text: str) -> None:
        self._decoder = _decoder()
        self.begun: list[Any] = []
        self._text = text
        self._move(0)

    def read(self) -> Any:  # noqa: ANN401 - any JSON value
        value, end = self._value(self._skip(0), 1)
        if (end := self._skip(end)) != len(self._text):
            raise json.JSONDecodeError("Extra data", self._text, end)
        return value

    def _move(self, start: int) -> None:
        self._start, self._end = start, min(start + WINDOW, len(self._text))
        self._window = self._text[start : self._end]

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _value(self, at: int, depth: int) -> tuple[Any, int]:
        """The value that begins at a place, and where it ends."""
        if self._start < at < self._end and (found := self._in_window(at)) is not None:
            return found
        self._move(at)
        if (found := self._in_window(at)) is not None:
            return found
        match self._text[at : at + 1]:
            case "[" if depth <= _DEEPEST:
                return self._list(at + 1, depth)
            case "{" if depth <= _DEEPEST:
                return self._object(at + 1, depth)
            case '"':
                return self._decoder.raw_decode(self._text, at)
            case "[" | "{":
                raise RecursionError
        raise json.JSONDecodeError("Expecting value", self._text, at)

    def _in_window(self, at: int) -> tuple[Any, int] | None:
        """The same if the window certainly holds all of it: what may go on behind its end is left open."""
        is_last = self._end == len(self._text)
        try:
            value, end = self._decoder.raw_decode(self._window, at - self._start)
        except _NotJsonError:
            raise
        except json.JSONDecodeError as error:
            if is_last:
                raise json.JSONDecodeError(error.msg, self._text, self._start + error.pos) from None
            return None
        found = _SPACE.match(self._window, end)
        is_ended = found is not None and self._window[found.end() : found.end() + 1] in (",", "]", "}")
        return (value, self._start + end) if is_last or is_ended else None

    def _list(self, at: int, depth: int) -> tuple[list[Any], int]:
        values: list[Any] = []
        self.begun.append(values)
        at = self._skip(at)
        if self._text[at : at + 1] == "]":
            return values, at + 1
        are_several = True
        while True:
            while are_several:
                several, at = self._several(at)
                values += several
                are_several = bool(several)
            value, at = self._value(at, depth + 1)
            values.append(value)
            at = self._skip(at)
            mark = self._text[at : at + 1]
            if mark == "]":
                return values, at + 1
            if mark != ",":
                raise json.JSONDecodeError("Expecting ',' delimiter", self._text, at)
            at = self._skip(at + 1)

    def _several(self, at: int) -> tuple[list[Any], int]:
        """Items of a list that a window holds with the commas behind them, and where the next one begins.

        What is cut off before a comma is items only if it can be read as such: none if it cannot.
        """
        window = self._text[at : at + WINDOW]
        mark = _LAST_MARKS.get(window[:1], "") + ","
        end = window.rfind(mark) + len(mark)
        if end <= len(mark):
            return [], at
        try:
            values: list[Any] = self._decoder.decode(f"[{window[: end - 1]}]")
        except _NotJsonError:
            raise
        except json.JSONDecodeError:
            return [], at
        return values, self._skip(at + end)

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        members: dict[str, Any] = {}
        self.begun.append(members)
        at = self._skip(at)
        if self._text[at : at + 1] == "}":
            return members, at + 1
        while True:
            if self._text[at : at + 1] != '"':
                raise json.JSONDecodeError(
                    "Expecting property name enclosed in double quotes", self._text, at
                )
            key, at = self._decoder.raw_decode(self._text, at)
            at = self._skip(at)
            if self._text[at : at + 1] != ":":
                raise json.JSONDecodeError("Expecting ':' delimiter", self._text, at)
            value, at = self._value(self._skip(at + 1), depth + 1)
            if key in members:
                raise RepeatedKey
            members[key] = value
            at = self._skip(at)
            mark = self._text[at : at + 1]
            if mark == "}":
                return members, at + 1
            if mark != ",":
                raise json.JSONDecodeError("Expecting ',' delimiter", self._text, at)
            at = self._skip(at + 1)


def _decoder() -> json.JSONDecoder:
    return json.JSONDecoder(object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RepeatedKey
    return found


def _refuse_constant(name: str) -> None:
    raise _NotJsonError(f"{name} is not a JSON value", "", 0)


class _NotJsonError(json.JSONDecodeError):
    """A fault that no more text would mend."""
