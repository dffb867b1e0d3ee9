"""How many costly requests of one tenant are worked on at once: the others wait a little, then come back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from fastapi import Depends
from starlette.requests import Request

from app.api.authentication import authenticate
from app.domain.errors import TooManyAtOnce
from app.services.resources import Actor

WAIT_SECONDS: Final = 2.0
"""How long a request waits for a place."""

RETRY_SECONDS: Final = 2
"""What Retry-After says to one that found none."""


class PlaceKind(StrEnum):
    """What places are counted apart for."""

    UPLOAD = "uploads"
    DIRECT = "direct computations"


_UPLOADS: Final = frozenset({"create_upload", "create_upload_from_form"})

_LIGHT: Final = frozenset(
    {
        "cancel_run", "create_api_key", "create_tenant", "create_waiver", "create_webhook",
        "rotate_signing_key", "rotate_webhook_secret", "stop_run", "test_webhook",
    }
)  # fmt: skip
"""POSTs that compute nothing. Whoever wants work to end must never wait for work that goes on."""

_COMPUTED: Final = frozenset(
    {
        "get_attribute_tree", "get_dataset_reading", "get_hierarchy_tree", "preview_dataset",
        "preview_upload", "profile_dataset", "propose_schema",
    }
)  # fmt: skip
"""GETs whose answers are not stored."""


def kind_of_place(method: str, operation: str) -> PlaceKind | None:
    """What an operation takes a place of, None if it needs none; a POST that nobody thought of needs one."""
    if operation in _UPLOADS:
        return PlaceKind.UPLOAD
    if operation in _COMPUTED or (method.upper() == "POST" and operation not in _LIGHT):
        return PlaceKind.DIRECT
    return None


@dataclass
class _Row:
    """The places of one tenant and kind, and how many requests hold or want one."""

    free: asyncio.Semaphore
    guests: int = 0


class Places:
    """The places of all tenants in this process; those that nobody uses take no memory."""

    def __init__(
        self, uploads_at_once: int = 4, direct_at_once: int = 8, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self._numbers = {PlaceKind.UPLOAD: uploads_at_once, PlaceKind.DIRECT: direct_at_once}
        self._wait_seconds = wait_seconds
        self._rows: dict[tuple[PlaceKind, str], _Row] = {}

    @asynccontextmanager
    async def taken(self, kind: PlaceKind, tenant: str) -> AsyncIterator[None]:
        """Hold a place inside, first come, first served; TooManyAtOnce if none gets free in time."""
        row = self._rows.setdefault((kind, tenant), _Row(asyncio.Semaphore(self._numbers[kind])))
        row.guests += 1
        try:
            await self._wait(row, kind)
            try:
                yield
            finally:
                row.free.release()
        finally:
            row.guests -= 1
            if row.guests == 0:
                del self._rows[kind, tenant]

    async def _wait(self, row: _Row, kind: PlaceKind) -> None:
        try:
            async with asyncio.timeout(self._wait_seconds):
                await row.free.acquire()
        except TimeoutError:
            raise TooManyAtOnce(
                f"The tenant has {self._numbers[kind]} {kind.value} in progress, as many as it may at once.",
                RETRY_SECONDS,
                f"Try again in {RETRY_SECONDS} s, and send fewer at once.",
            ) from None

    @property
    def is_empty(self) -> bool:
        """Whether no request holds or wants a place."""
        return not self._rows


async def take_place(request: Request, actor: Annotated[Actor, Depends(authenticate)]) -> AsyncIterator[None]:
    """Hold the place that the operation needs until its function has ended, however it does.

    The function may leave it before, see :func:`leave_place`.
    """
    kind = kind_of_place(request.method, request.scope["route"].name)
    async with AsyncExitStack() as place:
        if kind is not None:
            places: Places = request.app.state.places
            await place.enter_async_context(places.taken(kind, actor.tenant))
        request.state.place = place
        yield


async def leave_place(request: Request) -> None:
    """Leave the request's place to others: it only waits from now on."""
    place: AsyncExitStack = request.state.place
    await place.aclose()
