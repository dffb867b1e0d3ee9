"""Requests whose body is read within bounds, whose JSON is strict, and whose text is UTF-8."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Final, TypeVar

from fastapi import Depends
from pydantic import ValidationError
from starlette.requests import Request

from app.api.bodies.limits import FREE_BYTES, BodiesInFlight, body_too_large, declared_length
from app.api.bodies.validation import SlicedValidator
from app.api.faults import faults_of
from app.domain.errors import InvalidInput
from app.services.json_text import dismantle, sliced_json, whole_json

T = TypeVar("T")

SMALL_BYTES: Final = 16 * 1024
"""Bodies up to this size are parsed where they arrive: that takes a millisecond or two."""

# One thread: several that compute would take the processor from the event loop in turns.
_READER: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="bodies")


class _Consideration:
    """Lets others run sooner while a large body is being worked on.

    Each time the event loop has waited for anything it asks for the interpreter again, and gets it after the
    interval: several times for one small request. Whenever a body has grown by a quarter, Python's collector
    would look through everything else, too, and nothing of a body is what it looks for: JSON has no cycles.
    """

    def __init__(self) -> None:
        self._holders = 0
        self._threshold = gc.get_threshold()
        self._interval = sys.getswitchinterval()

    def begin(self) -> None:
        """Change places every millisecond, and look for cycles in what is new only."""
        if self._holders == 0:
            self._threshold, self._interval = gc.get_threshold(), sys.getswitchinterval()
            gc.set_threshold(*self._threshold[:2], _NEVER)
            sys.setswitchinterval(_SHORT_SECONDS)
        self._holders += 1

    def end(self) -> None:
        """As it was before, if no other large body is being worked on."""
        self._holders -= 1
        if self._holders == 0:
            gc.set_threshold(*self._threshold)
            sys.setswitchinterval(self._interval)


_SHORT_SECONDS: Final = 0.001
_NEVER: Final = 2**31 - 1
CONSIDERATION: Final = _Consideration()


class StrictRequest(Request):
    """A request whose JSON has no repeated keys and no NaN, which Python's parser would let pass."""

    _held = 0
    _is_large = False
    _value: Any = None
    _error: Exception | None = None

    async def read(self, limit: int, in_flight: BodiesInFlight) -> bytes:
        """The whole body; TooLarge above the limit, Unavailable if other bodies leave no memory for it."""
        declared = declared_length(self.headers)
        if declared is not None and declared > limit:
            raise body_too_large(limit)
        size, chunks = 0, []
        async for chunk in self.stream():
            size += len(chunk)
            if size > limit:
                raise body_too_large(limit)
            if (more := size - FREE_BYTES - self._held) > 0:
                await in_flight.take(more)
                self._held += more
            chunks.append(chunk)
        self._body = b"".join(chunks)
        return self._body

    def release(self, in_flight: BodiesInFlight) -> None:
        """Tell that the body is not needed any more."""
        held, self._held = self._held, 0
        in_flight.give_back(held)
        if self._is_large:
            self._is_large = False
            CONSIDERATION.end()

    @property
    def is_large(self) -> bool:
        """Whether the body was read beside the event loop."""
        return self._is_large

    async def check(self, validator: SlicedValidator) -> None:
        """Read a large body as JSON and check it, beside the event loop; InvalidInput if it is none."""
        self._is_large = True
        CONSIDERATION.begin()
        try:
            loop = asyncio.get_running_loop()
            self._value = await loop.run_in_executor(_READER, _checked, self._body, validator)
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            self._error = error

    async def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """The body as JSON, checked already if it is large; JSONDecodeError says what is wrong with it."""
        if self._error is not None:
            raise self._error
        if self._value is None:
            self._value = whole_json((await self.body()).decode("utf-8"))
        return self._value


async def off_loop_if_large(request: Request, work: Callable[[], T]) -> T:
    """Do work on what the body holds: here if that was read here, else in a thread."""
    if isinstance(request, StrictRequest) and not request.is_large:
        return work()
    return await asyncio.to_thread(work)


def _checked(body: bytes, validator: SlicedValidator) -> Any:  # noqa: ANN401 - of the type asked for
    value = sliced_json(body.decode("utf-8"))
    try:
        return validator.validate(value)
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
        refused = faults_of([{**fault, "loc": ("body", *fault["loc"])} for fault in faults], value)
    dismantle(value)
    raise refused


async def _text(request: Request) -> str:
    try:
        return (await request.body()).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput.of(
            "", "wrong-encoding", f"The body is not UTF-8: byte {error.start} is invalid.", "Send UTF-8."
        ) from None


TextBody = Annotated[str, Depends(_text)]
"""The whole body as UTF-8 text, a byte order mark left out."""
