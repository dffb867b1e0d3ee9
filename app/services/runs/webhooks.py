"""Use cases on webhooks: who is told of verdicts and finished runs, and what became of the messages."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from app.domain.errors import Conflict, Fault, InvalidInput
from app.services.ports import Clock, Store
from app.services.resources import Actor, Page, Period, Scope, check_name, require
from app.services.runs.webhook_values import Delivery, Webhook, WebhookEvent

MOST_WEBHOOKS: Final = 20
MOST_URL: Final = 2000
_SECRET_BYTES: Final = 32
SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what every secret begins with


@dataclass(frozen=True)
class CreateWebhook:
    """An address to be told of events."""

    name: str
    url: str
    events: tuple[WebhookEvent, ...]


@dataclass(frozen=True)
class WebhookMade:
    """A webhook; with the only showing of its secret if the secret is new."""

    webhook: Webhook
    created: bool
    secret: str | None


class WebhookService:
    """Webhooks of a tenant; everything needs the scope admin, for messages leave the service."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def create(self, actor: Actor, request: CreateWebhook) -> WebhookMade:
        """Make a webhook with a secret of its own, or find the equal one."""
        require(actor, Scope.ADMIN)
        check_name(request.name)
        check_url(request.url)
        events = tuple(sorted(set(request.events)))
        secret = _new_secret()
        async with self._store.work(actor.tenant) as work:
            known = await work.webhooks.list()
            if len(known) >= MOST_WEBHOOKS and request.name not in {own.name for own in known}:
                raise Conflict(
                    f"The tenant has {MOST_WEBHOOKS} webhooks, which is the most.",
                    "Delete one of them first.",
                )
            webhook, created = await work.webhooks.add(request.name, request.url, events, secret)
            if created:
                # The address is not noted: it may carry a secret of the receiver.
                details = {"name": webhook.name, "events": list(events)}
                await work.audit.record(actor.key_id, "webhook.create", webhook.id, details)
            await work.commit()
        return WebhookMade(webhook, created, secret if created else None)

    async def list(self, actor: Actor) -> Sequence[Webhook]:
        """All webhooks, newest first."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            return await work.webhooks.list()

    async def get(self, actor: Actor, ref: str) -> Webhook:
        """One webhook."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            return await work.webhooks.get(ref)

    async def delete(self, actor: Actor, ref: str) -> None:
        """Delete it with its messages, sent or not."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            gone = await work.webhooks.delete(ref)
            await work.audit.record(actor.key_id, "webhook.delete", gone.id, {"name": gone.name})
            await work.commit()

    async def rotate_secret(self, actor: Actor, ref: str, overlap: timedelta) -> WebhookMade:
        """Sign with a new secret; for as long as ``overlap`` with the old ones, too."""
        require(actor, Scope.ADMIN)
        secret = _new_secret()
        async with self._store.work(actor.tenant) as work:
            webhook = await work.webhooks.rotate(ref, secret, self._clock() + overlap)
            await work.audit.record(actor.key_id, "webhook.rotate-secret", webhook.id, {"name": webhook.name})
            await work.commit()
        return WebhookMade(webhook, True, secret)

    async def send_test(self, actor: Actor, ref: str) -> Delivery:
        """Queue a test message."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            delivery = await work.webhooks.send_test(ref)
            await work.commit()
        return delivery

    async def deliveries(
        self, actor: Actor, ref: str, *, created: Period, limit: int, cursor: str | None
    ) -> Page[Delivery]:
        """What was sent or is to be sent, of the last 30 days."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            return Page(*await work.webhooks.deliveries(ref, limit, cursor, created))


def check_url(url: str) -> None:
    """Raise InvalidInput unless it is an address that messages could be sent to.

    Whether its host may be reached is asked each time that something is sent.
    """
    fault = _fault_of(url)
    if fault is not None:
        message, remedy = fault
        raise InvalidInput([Fault("/url", "invalid-url", message, remedy)])


def _fault_of(url: str) -> tuple[str, str] | None:
    example = "Give one such as https://hooks.example.org/privacy."
    if len(url) > MOST_URL or not url.isascii() or any(c.isspace() or not c.isprintable() for c in url):
        return f"The address has more than {MOST_URL} characters, or some that no address has.", example
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "The address cannot be read.", example
    if parts.scheme not in ("https", "http") or not parts.hostname or port == 0:
        return "The address is none of http or https.", example
    if "@" in parts.netloc:
        return "The address holds a user name or password.", "Receivers verify the signature instead."
    if parts.fragment:
        return "The address has a fragment, which is never sent.", "Leave out what follows the #."
    return None


def _new_secret() -> str:
    return SECRET_PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()
