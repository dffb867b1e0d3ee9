"""Leases: what a process holds for as long as it shows that it lives, and not longer.

A lease is kept in the store by the database's clock. Its holder renews it while it works; whoever comes after
a death waits for its end and for nothing else. The holder reckons from before it asked, so that it gives up
earlier than anybody could take its place.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import structlog

from app.domain.errors import Unavailable

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Lease:
    """How long something stays held without a sign of life, and how often one is given, in seconds."""

    seconds: float
    pause: float


KEY_LEASE: Final = Lease(8.0, 2.0)
"""Of an Idempotency-Key whose request is being answered: after a death the key works again so much later."""

UPLOAD_LEASE: Final = Lease(60.0, 10.0)
"""Of the pieces of an upload under way: once it is over they are anybody's to remove."""


@asynccontextmanager
async def held(lease: Lease, since: float, renew: Callable[[], Awaitable[bool]]) -> AsyncIterator[None]:
    """Renew the lease while the work inside goes on.

    Parameters
    ----------
    lease
        How long each renewal lasts, and the pause between two.
    since
        The loop's time before the lease was asked for.
    renew
        Asks for the lease anew; False: it is lost to somebody else. A failure to ask is no loss yet.

    Raises
    ------
    Unavailable
        The lease ended: the work inside was interrupted where it stood.
    """
    deadline = asyncio.timeout_at(since + lease.seconds)
    try:
        async with deadline:
            beating = asyncio.create_task(_beat(lease, deadline, renew))
            try:
                yield
            finally:
                beating.cancel()
                await asyncio.wait({beating})
    except TimeoutError:
        if not deadline.expired():
            raise
        raise Unavailable(
            "The request was interrupted: the database did not answer for too long.",
            "Send it again, with the same Idempotency-Key if it had one.",
        ) from None


async def _beat(lease: Lease, deadline: asyncio.Timeout, renew: Callable[[], Awaitable[bool]]) -> None:
    loop = asyncio.get_running_loop()
    while not deadline.expired():
        await asyncio.sleep(lease.pause)
        asked = loop.time()
        try:
            is_held = await renew()
        except Exception as error:
            log.warning("lease_not_renewed", error=type(error).__name__)
            continue
        if not deadline.expired():
            deadline.reschedule(asked + lease.seconds if is_held else asked)
