"""YAML and JSON texts as plain values, with the line of every part.

Of YAML this is what JSON can say, in a friendlier spelling: objects with texts as keys, lists, and the plain
scalars of YAML 1.2 (``no`` is a text, ``1e-9`` a number, ``2026-01-31`` a text, ``.inf`` infinity). Anchors,
aliases and tags are refused, for with them a short text can stand for an endless value; so are repeated keys,
of which a reader sees one and a program takes the other.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from app.domain.errors import InvalidInput, TooLarge, joined

MOST_CHARACTERS: Final = 256 * 1024
_MOST_EVENTS: Final = 20_000
_HALF: Final = "A text holds half of a character (a lone surrogate)."
_MOST_DEEP: Final = 32

_NULL: Final = re.compile(r"~|null|Null|NULL|")
_BOOLEAN: Final = re.compile(r"true|True|TRUE|false|False|FALSE")
_WHOLE: Final = re.compile(r"[-+]?[0-9]{1,400}")
_REAL: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,5})?")
_INFINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)")
_NOT_A_NUMBER: Final = re.compile(r"\.(nan|NaN|NAN)")


@dataclass(frozen=True)
class StructuredText:
    """A value of objects, lists and scalars, and the line (from 1) of each part by its JSON pointer.

    ``lines`` is empty where the format does not tell, as JSON's parser does not.
    """

    value: Any
    lines: Mapping[str, int] = field(default_factory=dict)

    def line_of(self, pointer: str) -> int | None:
        """The line of a part, or of what it would be in if it is not there."""
        while pointer and pointer not in self.lines:
            pointer = pointer.rpartition("/")[0]
        return self.lines.get(pointer)


def read_json(text: str) -> StructuredText:
    """The value of a JSON text; InvalidInput for what is none, repeats a key or holds NaN."""
    _refuse_long(text)
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        json.dumps(value, ensure_ascii=False).encode()
        return StructuredText(value)
    except json.JSONDecodeError as error:
        raise _wrong(f"It is not JSON: {error.msg}.", error.lineno) from None
    except RecursionError:
        raise _wrong(f"It is nested deeper than {_MOST_DEEP} levels.", 1) from None
    except UnicodeEncodeError:
        raise _wrong(_HALF, None) from None
    except ValueError:
        raise _wrong("A number has too many digits.", None) from None


def read_yaml(text: str) -> StructuredText:
    """The value of a YAML text; InvalidInput for what is none, ambiguous or out of bounds."""
    _refuse_long(text)
    lines: dict[str, int] = {}
    try:
        events = _Events(yaml.parse(text, Loader=yaml.SafeLoader))
        events.expect(yaml.StreamStartEvent)
        if isinstance(events.peek(), yaml.StreamEndEvent):
            raise _wrong("The text is empty.", 1)
        events.expect(yaml.DocumentStartEvent)
        value = _node(events, "", lines, 0)
        events.expect(yaml.DocumentEndEvent)
        if not isinstance(events.peek(), yaml.StreamEndEvent):
            raise _wrong("There is more than one document.", events.line)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _wrong(f"It is not YAML: {error.problem}.", mark.line + 1 if mark else 1) from None
    except yaml.YAMLError:
        raise _wrong("It is not YAML: it holds characters that cannot be printed.", 1) from None
    return StructuredText(value, lines)


class _Events:
    """The parser's events, one ahead, as many as are allowed."""

    def __init__(self, events: Iterator[yaml.Event]) -> None:
        self._events = events
        self._next = next(events)
        self._left = _MOST_EVENTS

    @property
    def line(self) -> int:
        """Line of the next event, from 1."""
        mark = self._next.start_mark
        return mark.line + 1 if mark else 1

    def peek(self) -> yaml.Event:
        """The next event."""
        return self._next

    def take(self) -> yaml.Event:
        """The next event, which is then past."""
        taken, self._left = self._next, self._left - 1
        if not self._left:
            raise _wrong(f"It has more than {_MOST_EVENTS:,} parts.", self.line)
        self._next = next(self._events, taken)
        return taken

    def expect(self, kind: type[yaml.Event]) -> None:
        """Take an event that grammar says is next."""
        if not isinstance(self.take(), kind):
            raise _wrong("It is not YAML.", self.line)


def _node(events: _Events, pointer: str, lines: dict[str, int], depth: int) -> Any:  # noqa: ANN401
    line = events.line
    lines.setdefault(pointer, line)
    event = events.take()
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
        raise _wrong("Anchors and aliases are not read.", line, "Write the value where it is meant.")
    if getattr(event, "tag", None) is not None:
        raise _wrong("Tags are not read.", line, "Leave the tag out; put texts in quotes.")
    if depth == _MOST_DEEP:
        raise _wrong(f"It is nested deeper than {_MOST_DEEP} levels.", line)
    if isinstance(event, yaml.MappingStartEvent):
        return _members(events, pointer, lines, depth)
    if isinstance(event, yaml.SequenceStartEvent):
        items: list[Any] = []
        while not isinstance(events.peek(), yaml.SequenceEndEvent):
            items.append(_node(events, joined(pointer, len(items)), lines, depth + 1))
        events.take()
        return items
    if not isinstance(event, yaml.ScalarEvent):
        raise _wrong("It is not YAML.", line)
    return _text(event.value, line) if event.style else _scalar(event.value, line)


def _members(events: _Events, pointer: str, lines: dict[str, int], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while not isinstance(events.peek(), yaml.MappingEndEvent):
        line, key = events.line, events.peek()
        if not isinstance(key, yaml.ScalarEvent):
            raise _wrong("A key must be a text.", line)
        if key.anchor is not None or key.tag is not None:
            raise _wrong("Anchors and tags are not read.", line)
        events.take()
        name = _text(key.value, line)
        if name in found:
            raise _wrong(f"The key {name!r} is there twice.", line, "Keep one of the two.")
        inner = joined(pointer, name)
        lines[inner] = line
        found[name] = _node(events, inner, lines, depth + 1)
    events.take()
    return found


def _text(text: str, line: int) -> str:
    """The text; escapes of the two halves of a character, as JSON writes them, are that character."""
    if text.isascii():
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise _wrong(_HALF, line) from None


def _scalar(text: str, line: int) -> Any:  # noqa: ANN401
    """A plain scalar by the core schema of YAML 1.2, without octal and hexadecimal numbers."""
    if _NULL.fullmatch(text):
        return None
    if _BOOLEAN.fullmatch(text):
        return text.lower() == "true"
    if _WHOLE.fullmatch(text):
        return int(text)
    if _INFINITE.fullmatch(text):
        return -math.inf if text.startswith("-") else math.inf
    if _NOT_A_NUMBER.fullmatch(text):
        raise _wrong("NaN is no number.", line)
    if _REAL.fullmatch(text):
        number = float(text)
        if math.isinf(number):
            raise _wrong("The number is too large.", line, "Infinity is written .inf.")
        return number
    return text


def _refuse_long(text: str) -> None:
    if len(text) > MOST_CHARACTERS:
        raise TooLarge(f"The text has more than {MOST_CHARACTERS:,} characters.", limit=MOST_CHARACTERS)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise _wrong(f"The key {key!r} is there twice in one object.", None, "Keep one of the two.")
        found[key] = value
    return found


def _no_constant(name: str) -> Any:  # noqa: ANN401
    raise _wrong(f"{name} is not a JSON value.", None, 'Infinity is written "inf".')


def _wrong(message: str, line: int | None, remedy: str = "") -> InvalidInput:
    place = "" if line is None else f"Line {line}: "
    return InvalidInput.of("", "not-readable", place + message, remedy)
