"""Brings the messages of webhooks to their receivers, again and again until taken or too late."""

from __future__ import annotations

import asyncio
import random
from datetime import datetime, timedelta
from typing import Final

import structlog

from app.services.ports import Clock, Registry, Store
from app.services.runs.webhook_values import DueDelivery
from app.workers.webhook_sender import SECONDS, WebhookSender

PAUSES: Final = tuple(
    timedelta(seconds=seconds) for seconds in (5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
)
"""Between attempts, roughly three days in all, as Standard Webhooks recommends."""

SPREAD: Final = 0.1
"""Each pause is up to this share longer, so that a receiver that was away is not met by all at once."""

AT_ONCE: Final = 10
HOLD_SECONDS: Final = 6 * SECONDS
POLL_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 15.0

log = structlog.get_logger(__name__)


class WebhookDelivery:
    """Takes due messages, sends them and notes what came of it."""

    def __init__(self, registry: Registry, store: Store, sender: WebhookSender, clock: Clock) -> None:
        self._registry = registry
        self._store = store
        self._sender = sender
        self._clock = clock

    async def serve(self, stop: asyncio.Event) -> None:
        """Deliver until ``stop``; whatever fails is tried again."""
        stopped = asyncio.create_task(stop.wait())
        while not stop.is_set():
            try:
                pause = 0.0 if await self.deliver_due() else POLL_SECONDS
            except Exception as error:
                log.warning("webhook_delivery_failed", error=type(error).__name__)
                pause = LONGEST_PAUSE_SECONDS
            await asyncio.wait({stopped}, timeout=pause)

    async def deliver_due(self) -> int:
        """Send what is due now, some at once; how many messages that were."""
        due = await self._registry.due_deliveries(AT_ONCE, HOLD_SECONDS)
        await asyncio.gather(*(self._deliver(own) for own in due))
        return len(due)

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
