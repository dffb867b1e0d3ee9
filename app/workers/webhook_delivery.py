"""Brings the messages of webhooks to their receivers, again and again until taken or too late."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime, timedelta
from typing import Final

import structlog

from app.services.ports import Clock, Registry, Store
from app.services.runs.webhook_values import DueDelivery, Shares
from app.workers.webhook_sender import SECONDS, WebhookSender

PAUSES: Final = tuple(
    timedelta(seconds=seconds) for seconds in (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
)
"""Between attempts, roughly three days in all, as Standard Webhooks recommends."""

SPREAD: Final = 0.1
"""Each pause is up to this share longer, so that a receiver that was away is not met by all at once."""

AT_ONCE: Final = 40
SHARES: Final = Shares(of_tenant=8, of_webhook=4)
"""A receiver that does not answer holds its own places for the whole time that it may take, and no others."""

HOLD_SECONDS: Final = 6 * SECONDS
POLL_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 15.0
PARTING_SECONDS: Final = 3.0
"""How long a stopping worker waits for receivers."""

log = structlog.get_logger(__name__)


class WebhookDelivery:
    """Takes due messages, sends them and notes what came of it; none waits for the answer to another."""

    def __init__(self, registry: Registry, store: Store, sender: WebhookSender, clock: Clock) -> None:
        self._registry = registry
        self._store = store
        self._sender = sender
        self._clock = clock
        self._under_way: set[asyncio.Task[None]] = set()

    async def serve(self, stop: asyncio.Event) -> None:
        """Deliver until ``stop``; whatever fails is tried again."""
        stopped = asyncio.create_task(stop.wait())
        while not stop.is_set():
            try:
                await self.begin_due()
            except Exception as error:
                log.warning("webhook_delivery_failed", error=type(error).__name__)
                await asyncio.wait({stopped}, timeout=LONGEST_PAUSE_SECONDS)
            else:  # whatever ends leaves a place for what is due
                ends = {stopped, *self._under_way}
                await asyncio.wait(ends, timeout=POLL_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        await self.drain(PARTING_SECONDS)

    async def begin_due(self) -> int:
        """Begin to send what is due now and has a place; how many messages that were."""
        free = AT_ONCE - len(self._under_way)
        due = await self._registry.due_deliveries(free, SHARES, HOLD_SECONDS) if free else ()
        for own in due:
            task = asyncio.create_task(self._try(own), name=f"delivery {own.id}")
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
        return len(due)

    async def drain(self, seconds: float | None = None) -> None:
        """Wait until nothing is under way any more; what takes longer is given up, to be sent later."""
        if self._under_way:
            _, late = await asyncio.wait(self._under_way, timeout=seconds)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def _try(self, due: DueDelivery) -> None:
        try:
            await self._deliver(due)
        except Exception as error:  # another attempt follows once it is held no more
            log.warning("webhook_delivery_failed", delivery=due.id, error=type(error).__name__)

    async def _deliver(self, due: DueDelivery) -> None:
        async with self._store.work(due.tenant) as work:
            message = await work.webhooks.message(due.id)
        if message is None:
            return
        attempt = await self._sender.send(message, int(self._clock().timestamp()))
        following = next_attempt(self._clock(), message.attempts)
        async with self._store.work(due.tenant) as work:
            await work.webhooks.record(due.id, attempt, following)
            await work.commit()
        log.info(
            "webhook_sent", delivery=due.id, attempt=message.attempts + 1, status=attempt.status,
            error=attempt.error,
        )  # fmt: skip


def next_attempt(now: datetime, attempts_before: int) -> datetime | None:
    """When to try again after the attempt that has just failed; None: not any more."""
    if attempts_before >= len(PAUSES):
        return None
    return now + PAUSES[attempts_before] * (1 + SPREAD * random.random())  # noqa: S311 - no secret
