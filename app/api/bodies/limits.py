"""How large a body may be, declared beside the route, and how much of all bodies is held at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, TypeVar

from starlette.datastructures import Headers

from app.domain.errors import TooLarge, Unavailable

F = TypeVar("F", bound=Callable[..., Any])

USUAL_BYTES: Final = 256 * 1024
"""Most bytes of a body, where the route says nothing else: thousands of fields."""

LARGEST_BYTES: Final = 16 * 1024**2
"""Most bytes where every value of a table may be named: some hundred thousand of them."""

WITHOUT_KEY_BYTES: Final = 512 * 1024
"""Most bytes where no API key is asked for: a form of the pages, with all columns of a wide table."""

IN_FLIGHT_BYTES: Final = 32 * 1024**2
"""Most bytes of all bodies that are held at the same time."""

FREE_BYTES: Final = 64 * 1024
"""What every body may hold without waiting for others: large ones do not get in the way of small ones."""

PATIENCE_SECONDS: Final = 2.0
"""How long a body waits for others to be done before its request is refused."""

_LIMIT: Final = "largest_body"


def takes_up_to(size: int) -> Callable[[F], F]:
    """Declare that an operation takes bodies of up to ``size`` bytes; the usual ones do not need it."""

    def declare(endpoint: F) -> F:
        setattr(endpoint, _LIMIT, size)
        return endpoint

    return declare


def limit_of(endpoint: Callable[..., Any]) -> int:
    """Most bytes of a body of the operation."""
    limit: int = getattr(endpoint, _LIMIT, USUAL_BYTES)
    return limit


def declared_length(headers: Headers) -> int | None:
    """What Content-Length says; None if it says nothing that is a number."""
    declared = headers.get("content-length", "")
    return int(declared) if declared.isdecimal() and declared.isascii() and len(declared) < 20 else None


def body_too_large(limit: int) -> TooLarge:
    """The error of a body above the limit."""
    return TooLarge(
        f"The body is larger than the {limit} bytes that are accepted here.",
        "Send less at once. Tables belong into an upload, the rows of a large hierarchy into its CSV form.",
        limit,
    )


class BodiesInFlight:
    """Counts the bytes of all bodies that are held; who would exceed them waits for others to be done."""

    def __init__(self, size: int = IN_FLIGHT_BYTES, patience: float = PATIENCE_SECONDS) -> None:
        self._free = size
        self._patience = patience
        self._changed = asyncio.Event()

    async def take(self, size: int) -> None:
        """Hold ``size`` bytes more; Unavailable if they do not become free in time."""
        if self._free < size:
            try:
                async with asyncio.timeout(self._patience):
                    while self._free < size:
                        self._changed.clear()
                        await self._changed.wait()
            except TimeoutError:
                raise Unavailable(
                    "Other large bodies are being read, and there is no memory for one more.",
                    "Repeat the request after the time that the Retry-After header names.",
                ) from None
        self._free -= size

    def give_back(self, size: int) -> None:
        """Hold ``size`` bytes less."""
        self._free += size
        self._changed.set()
