"""Reading what is answered: whatever is not what the service answers is an error that says so.

A proxy, a page to log in at or another program may answer in the place of the service, and with success.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_REMEDY = "Is the address that of the service, or does something stand in between?"


class ClientError(Exception):
    """Root of all errors of the client but httpx.TransportError."""


class AnswerError(ClientError):
    """An answer of success that is not what the service answers."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what} {_REMEDY}")


def text_in(answer: object, key: str) -> str:
    """A text of an object."""
    value = object_of(answer).get(key)
    if not isinstance(value, str):
        raise AnswerError(f"The answer has no text {key!r}.")
    return value


def number_in(answer: object, key: str) -> int:
    """A whole number of an object."""
    value = object_of(answer).get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        raise AnswerError(f"The answer has no whole number {key!r}.")
    return value


def items_in(answer: object) -> Sequence[Mapping[str, Any]]:
    """The objects of a list's part."""
    items = object_of(answer).get("items")
    if not isinstance(items, list):
        raise AnswerError("The answer has no list of items.")
    return [object_of(item) for item in items]


def cursor_in(answer: object, before: str | None = None) -> str | None:
    """Where a list goes on, None at its end; that it goes on where it was asked from is an AnswerError."""
    cursor = object_of(answer).get("next_cursor")
    if cursor is None:
        return None
    if not isinstance(cursor, str) or cursor == before:
        raise AnswerError("The list does not go on.")
    return cursor


def object_of(answer: object) -> Mapping[str, Any]:
    """The answer, or a part of it, as an object."""
    if not isinstance(answer, Mapping):
        raise AnswerError("The answer is not a JSON object.")
    return answer
