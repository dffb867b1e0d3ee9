"""What processes tell each other through the database: news of runs, and deletions of data."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from types import TracebackType
from typing import Self

import psycopg

from app.persistence.addresses import libpq_url
from app.persistence.resources import DELETIONS_CHANNEL
from app.persistence.runs import NEWS_CHANNEL
from app.services.deletions import Erased, Forget
from app.services.resources import TenantId

_RECONNECT_SECONDS = 0.5

logger = logging.getLogger(__name__)


class PostgresRunSignals:
    """Implements the port ``RunSignals`` by one connection; listens while it is entered as a context manager.

    News that comes between a caller's look and its wait is not kept for it: callers look again after
    a while of their own accord. A lost connection wakes everybody once it is back.
    """

    def __init__(self, url: str, forget: Forget = lambda _: None) -> None:
        self._url = libpq_url(url)
        self._forget = forget
        self._waiting: dict[str, set[asyncio.Event]] = defaultdict(set)
        self._listener: asyncio.Task[None] | None = None

    async def wait(self, run_id: str, timeout_seconds: float) -> None:
        """Return at the next news of the run, or after the timeout."""
        news = asyncio.Event()
        self._waiting[run_id].add(news)
        try:
            async with asyncio.timeout(timeout_seconds):
                await news.wait()
        except TimeoutError:
            return
        finally:
            self._waiting[run_id].discard(news)
            if not self._waiting[run_id]:
                del self._waiting[run_id]

    async def __aenter__(self) -> Self:
        listening = asyncio.Event()
        self._listener = asyncio.create_task(self._listen(listening), name="run signals")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                await listening.wait()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listener is not None:
            self._listener.cancel()
            await asyncio.gather(self._listener, return_exceptions=True)
            self._listener = None

    async def _listen(self, listening: asyncio.Event) -> None:
        async for news in _heard(self._url, NEWS_CHANNEL, DELETIONS_CHANNEL):
            if news is None:
                listening.set()
                for run_id in self._waiting:
                    self._wake(run_id)
                self._forget(None)
            elif news.channel == DELETIONS_CHANNEL:
                self._forget(_erased(news))
            else:
                self._wake(news.payload)

    def _wake(self, run_id: str) -> None:
        for news in self._waiting.get(run_id, ()):
            news.set()


class PostgresDeletions:
    """Implements the port ``Deletions`` by one connection."""

    def __init__(self, url: str) -> None:
        self._url = libpq_url(url)

    async def follow(self, forget: Callable[[TenantId | None], Awaitable[None]]) -> None:
        """Tell of each tenant of which data are deleted, and of all whenever listening has begun."""
        async for news in _heard(self._url, DELETIONS_CHANNEL):
            await forget(None if news is None else _erased(news).tenant)


def _erased(news: psycopg.Notify) -> Erased:
    tenant, resource, sha256 = news.payload.split(" ")
    return Erased(TenantId(tenant), resource, sha256)


async def _heard(url: str, *channels: str) -> AsyncIterator[psycopg.Notify | None]:
    """What is said on the channels, without end; None whenever listening begins: earlier news are lost."""
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
                for channel in channels:
                    await connection.execute(f"LISTEN {channel}")
                yield None
                async for news in connection.notifies():
                    yield news
        except psycopg.OperationalError as error:
            logger.warning("listening on %s is interrupted: %s", channels, type(error).__name__)
        await asyncio.sleep(_RECONNECT_SECONDS)
