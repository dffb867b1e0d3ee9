"""Webhooks and their messages in PostgreSQL: an outbox that is filled in the transaction of what it tells.

A message that was written is sent at least once, however often a worker dies: whoever takes one holds it for
a while only. Addresses are encrypted as secrets are, for they may carry one of the receiver.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from sqlalchemy import delete, insert, select, update
from sqlalchemy.dialects import postgresql

from app.domain.errors import Conflict, NotFound
from app.persistence.repository import Repository
from app.persistence.resources import new_id
from app.persistence.tables import webhook_deliveries, webhooks
from app.services.resources import ALWAYS, JsonObject, Period
from app.services.runs.webhook_values import (
    TEST,
    Attempt,
    Delivery,
    DeliveryState,
    Message,
    Webhook,
    WebhookEvent,
)

KEPT: Final = timedelta(days=30)
"""Messages that are done are shown for so long."""

_SECRETS: Final = "webhook secrets"
_ADDRESS: Final = "webhook address"


class PostgresWebhooks(Repository):
    """Implements the port ``Webhooks``."""

    async def add(
        self, name: str, url: str, events: Sequence[WebhookEvent], secret: str
    ) -> tuple[Webhook, bool]:
        """Keep a webhook, or find the equal one of this name; see the port."""
        made = Webhook(new_id(), name, url, tuple(events), self._clock())
        statement = postgresql.insert(webhooks).values(
            tenant_id=self._transaction.tenant, id=made.id, name=name,
            address=await self._sealed_address(made.id, url),
            events=[event.value for event in events], created_at=made.created_at,
            secrets=await self._sealed(made.id, [(secret, None)]),
        ).on_conflict_do_nothing().returning(webhooks.c.id)  # fmt: skip
        if (await self._transaction.execute(statement)).scalar_one_or_none() is not None:
            return made, True
        existing = await self.get(name)
        if (existing.url, existing.events) != (url, made.events):
            raise Conflict(
                f"There is a webhook named {name!r} with another address or other events.",
                "Choose another name, or delete that one first.",
            )
        return existing, False

    async def list(self) -> Sequence[Webhook]:
        """All webhooks of the tenant, newest first."""
        query = select(webhooks).order_by(webhooks.c.serial.desc())
        return [await self._webhook(row) for row in (await self._transaction.execute(query)).all()]

    async def get(self, ref: str) -> Webhook:
        """The webhook of this id or name; NotFound otherwise."""
        return await self._webhook(await self._row(ref))

    async def delete(self, ref: str) -> Webhook:
        """Delete the webhook with its messages."""
        row = await self._row(ref)
        await self._transaction.execute(delete(webhooks).where(webhooks.c.id == row.id))
        return await self._webhook(row)

    async def rotate(self, ref: str, secret: str, old_until: datetime) -> Webhook:
        """Sign with a new secret; with those of before, too, until then."""
        row = await self._row(ref, lock=True)
        now = self._clock()
        held = [
            (own, old_until if until is None else min(until, old_until))
            for own, until in await self._secrets(row)
            if until is None or until > now
        ]
        sealed = await self._sealed(row.id, [(secret, None), *held])
        await self._transaction.execute(
            update(webhooks).where(webhooks.c.id == row.id).values(secrets=sealed)
        )
        return await self._webhook(row)

    async def emit(self, event: WebhookEvent, data: JsonObject) -> None:
        """Write a message for each webhook that wants to hear of this."""
        wanted = webhooks.c.events.contains([event.value]) & webhooks.c.disabled_at.is_(None)
        rows = (await self._transaction.execute(select(webhooks.c.id).where(wanted))).all()
        for row in rows:
            await self._write(row.id, event.value, data)

    async def send_test(self, ref: str) -> Delivery:
        """Write a test message for one webhook; Conflict if it is disabled."""
        row = await self._row(ref)
        if row.disabled_at is not None:
            raise Conflict(
                f"The webhook {row.name!r} is disabled: its receiver answered 410.",
                "Delete it, and create it again once the receiver is back.",
            )
        return await self._write(row.id, TEST, {"webhook": {"id": row.id, "name": row.name}})

    async def deliveries(
        self, ref: str, limit: int, cursor: str | None, created: Period = ALWAYS
    ) -> tuple[Sequence[Delivery], str | None]:
        """Its messages, newest first, and the next cursor."""
        row = await self._row(ref)
        table = webhook_deliveries.c
        query = select(webhook_deliveries).where(table.webhook_id == row.id)
        rows, following = await self._page(
            query, table.serial, table.created_at, created, limit, cursor, "webhook_deliveries", row.id
        )
        return [_delivery(own) for own in rows], following

    async def message(self, delivery_id: str) -> Message | None:
        """What to send; None if it is done, or its webhook gone or disabled."""
        table = webhook_deliveries.c
        query = (
            select(webhooks, table.payload, table.attempts)
            .join(webhooks, webhooks.c.id == table.webhook_id)
            .where(table.id == delivery_id, table.state == DeliveryState.PENDING.value)
            .where(webhooks.c.disabled_at.is_(None))
        )
        row = (await self._transaction.execute(query)).one_or_none()
        if row is None:
            return None
        now = self._clock()
        secrets = tuple(own for own, until in await self._secrets(row) if until is None or until > now)
        return Message(delivery_id, await self._address(row), secrets, row.payload, row.attempts)

    async def record(self, delivery_id: str, attempt: Attempt, next_attempt_at: datetime | None) -> None:
        """Note what came of sending; without a next attempt a message that was not taken has failed.

        A receiver that is gone gets nothing more.
        """
        now = self._clock()
        if attempt.succeeded:
            state, due = DeliveryState.DELIVERED, None
        else:
            due = None if attempt.is_gone else next_attempt_at
            state = DeliveryState.FAILED if due is None else DeliveryState.PENDING
        table = webhook_deliveries.c
        row = (
            await self._transaction.execute(
                update(webhook_deliveries)
                .where(table.id == delivery_id, table.state == DeliveryState.PENDING.value)
                .values(
                    state=state.value,
                    attempts=table.attempts + 1,
                    next_attempt_at=due,
                    held_until=None,
                    delivered_at=now if attempt.succeeded else None,
                    status=attempt.status,
                    error=attempt.error,
                )
                .returning(table.webhook_id)
            )
        ).one_or_none()
        if row is not None and attempt.is_gone:
            await self._transaction.execute(
                update(webhooks).where(webhooks.c.id == row.webhook_id).values(disabled_at=now)
            )
            table = webhook_deliveries.c
            await self._transaction.execute(
                update(webhook_deliveries)
                .where(table.webhook_id == row.webhook_id, table.state == DeliveryState.PENDING.value)
                .values(state=DeliveryState.FAILED.value, next_attempt_at=None, error="disabled")
            )

    async def encrypt_addresses(self) -> int:
        """Encrypt the addresses that are stored in clear; how many there were."""
        plain = select(webhooks.c.id, webhooks.c.url).where(webhooks.c.url.is_not(None)).with_for_update()
        rows = (await self._transaction.execute(plain)).all()
        for row in rows:
            sealed = await self._sealed_address(row.id, row.url)
            await self._transaction.execute(
                update(webhooks).where(webhooks.c.id == row.id).values(url=None, address=sealed)
            )
        return len(rows)

    async def _write(self, webhook_id: str, event: str, data: JsonObject) -> Delivery:
        now = self._clock()
        delivery = Delivery(
            f"msg_{new_id()}", event, DeliveryState.PENDING, 0, created_at=now, next_attempt_at=now
        )
        body = {"type": event, "timestamp": now.astimezone(UTC).isoformat(), "data": data}
        await self._transaction.execute(
            insert(webhook_deliveries).values(
                tenant_id=self._transaction.tenant, id=delivery.id, webhook_id=webhook_id, event=event,
                payload=json.dumps(body, separators=(",", ":")), state=delivery.state.value, created_at=now,
                next_attempt_at=now,
            )
        )  # fmt: skip
        # Done messages are dropped as new ones come, so that no webhook's list grows without bound.
        table = webhook_deliveries.c
        await self._transaction.execute(
            delete(webhook_deliveries).where(
                table.webhook_id == webhook_id,
                table.state != DeliveryState.PENDING.value,
                table.created_at <= now - KEPT,
            )
        )
        return delivery

    async def _row(self, ref: str, *, lock: bool = False) -> Any:  # noqa: ANN401 - a row
        query = select(webhooks).where((webhooks.c.id == ref) | (webhooks.c.name == ref))
        query = query.order_by((webhooks.c.id == ref).desc()).limit(1)
        row = (await self._transaction.execute(query.with_for_update() if lock else query)).one_or_none()
        if row is None:
            raise NotFound("webhook", ref)
        return row

    async def _webhook(self, row: Any) -> Webhook:  # noqa: ANN401 - a row
        events = tuple(map(WebhookEvent, row.events))
        return Webhook(row.id, row.name, await self._address(row), events, row.created_at, row.disabled_at)

    async def _address(self, row: Any) -> str:  # noqa: ANN401 - a row
        if row.address is None:
            return str(row.url)
        return (await self._vault.unseal_bytes(row.address, _ADDRESS, row.id)).decode()

    async def _sealed_address(self, webhook_id: str, url: str) -> bytes:
        return await self._vault.seal_bytes(url.encode(), _ADDRESS, webhook_id)

    async def _sealed(self, webhook_id: str, secrets: Sequence[tuple[str, datetime | None]]) -> bytes:
        held = [{"secret": own, "until": until and until.isoformat()} for own, until in secrets]
        return await self._vault.seal_json({"secrets": held}, _SECRETS, webhook_id)

    async def _secrets(self, row: Any) -> Sequence[tuple[str, datetime | None]]:  # noqa: ANN401 - a row
        document = await self._vault.unseal_json(row.secrets, _SECRETS, row.id)
        return [
            (own["secret"], own["until"] and datetime.fromisoformat(own["until"]))
            for own in document["secrets"]
        ]


def _delivery(row: Any) -> Delivery:  # noqa: ANN401 - a row
    return Delivery(
        row.id, row.event, DeliveryState(row.state), row.attempts, row.created_at,
        row.next_attempt_at, row.delivered_at, row.status, row.error,
    )  # fmt: skip
