"""What reads documents as values of a class: to make it takes longer than to read with it."""

from __future__ import annotations

from functools import cache
from typing import TypeVar

from pydantic import TypeAdapter

T = TypeVar("T")


def reader_of(type_: type[T]) -> TypeAdapter[T]:
    """The reader of a class of the program."""
    return _reader_of(type_)  # type: ignore[arg-type] # classes are hashable


@cache
def _reader_of(type_: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(type_)
