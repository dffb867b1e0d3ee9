"""One set of calls for two clients: one whose calls are awaited, and one whose calls block.

A call is written once, as a coroutine function or an asynchronous generator. The client that is awaited
has it as it stands. The one that blocks runs it: nothing that it awaits there waits for an event loop, as its
pool of connections blocks, so that it comes to its end, or to its next item, in one go.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from types import MethodType
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from privacy_risk.connection import VERSION, Connection
from privacy_risk.pools import AwaitedPool, BlockingPool, Pool

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Made = TypeVar("_Made", bound=Awaitable[Any] | AsyncIterator[Any])


class Calls(Generic[Pool]):
    """What calls of the service are methods of: they go over one connection, to addresses below ``path``."""

    def __init__(self, connection: Connection[Pool], path: str = "") -> None:
        self._connection = connection
        self._path = VERSION + path

    @property
    def blocks(self) -> bool:
        """Whether its calls block."""
        return self._connection.blocks


class _Call(Generic[_P, _Made]):
    """A method that blocks if its client does; asked of the class, the function that it was made of."""

    def __init__(self, function: Callable[Concatenate[Any, _P], _Made], run: Callable[[_Made], Any]) -> None:
        self._function = function

        @functools.wraps(function)
        def blocking(*arguments: _P.args, **named: _P.kwargs) -> Any:  # noqa: ANN401 - what ``run`` says
            return run(function(*arguments, **named))

        self._blocking = blocking

    def _of(self, instance: Calls[Any] | None) -> Any:  # noqa: ANN401 - see the overloads below
        if instance is None:
            return self._function
        return MethodType(self._blocking if instance.blocks else self._function, instance)


class call(_Call[_P, Coroutine[Any, Any, _T]]):
    """Makes a coroutine function a call that answers once."""

    def __init__(self, function: Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]) -> None:
        super().__init__(function, outcome)

    @overload
    def __get__(
        self, instance: None, owner: type
    ) -> Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]]: ...
    @overload
    def __get__(self, instance: Calls[BlockingPool], owner: type) -> Callable[_P, _T]: ...
    @overload
    def __get__(self, instance: Calls[AwaitedPool], owner: type) -> Callable[_P, Coroutine[Any, Any, _T]]: ...
    def __get__(self, instance: Calls[Any] | None, owner: type) -> Any:
        return self._of(instance)


class stream(_Call[_P, AsyncIterator[_T]]):
    """Makes an asynchronous generator a call that answers item by item."""

    def __init__(self, function: Callable[Concatenate[Any, _P], AsyncIterator[_T]]) -> None:
        super().__init__(function, _items)
        asked = inspect.signature(function)
        shown = str(asked.return_annotation).removeprefix("Async")
        self._blocking.__signature__ = asked.replace(return_annotation=shown)  # type: ignore[attr-defined]

    @overload
    def __get__(self, instance: None, owner: type) -> Callable[Concatenate[Any, _P], AsyncIterator[_T]]: ...
    @overload
    def __get__(self, instance: Calls[BlockingPool], owner: type) -> Callable[_P, Iterator[_T]]: ...
    @overload
    def __get__(self, instance: Calls[AwaitedPool], owner: type) -> Callable[_P, AsyncIterator[_T]]: ...
    def __get__(self, instance: Calls[Any] | None, owner: type) -> Any:
        return self._of(instance)


def outcome(awaitable: Awaitable[_T]) -> _T:
    """What comes of something that never waits; RuntimeError if it does."""
    try:
        next(awaitable.__await__())
    except StopIteration as end:
        value: _T = end.value
        return value
    raise RuntimeError("A call that blocks has waited for an event loop.")


def _items(iterator: AsyncIterator[_T]) -> Iterator[_T]:
    try:
        while True:
            yield outcome(anext(iterator))
    except StopAsyncIteration:
        return
    finally:
        if isinstance(iterator, AsyncGenerator):
            outcome(iterator.aclose())
