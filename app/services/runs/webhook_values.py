"""The plain values of webhooks, who wants to hear of what and what became of each message, and their port."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from http import HTTPStatus
from typing import Annotated, Final, Protocol

from annotated_types import Ge, MaxLen

from app.domain.catalogue.catalogue_types import Example
from app.services.resources import ALWAYS, JsonObject, Period, TenantId


class WebhookEvent(StrEnum):
    """What a webhook can be told of."""

    RUN_SUCCEEDED = "run.succeeded"
    RUN_FAILED = "run.failed"
    RUN_CANCELLED = "run.cancelled"
    EVALUATION_COMPLETED = "evaluation.completed"
    EVALUATION_REVOKED = "evaluation.revoked"


TEST: Final = "webhook.test"
"""The event of a test message, which goes to the webhook that is tested and to no other."""


class DeliveryState(StrEnum):
    """How a message stands."""

    PENDING = "pending"
    DELIVERED = "delivered"
    FAILED = "failed"


@dataclass(frozen=True)
class Webhook:
    """An address that is told of events; never with its secret.

    ``disabled_at``: since when nothing is sent any more, because the receiver said that it is gone.
    """

    id: str
    name: str
    url: str
    events: tuple[WebhookEvent, ...]
    created_at: datetime
    disabled_at: datetime | None = None


@dataclass(frozen=True)
class Delivery:
    """One message to a webhook."""

    id: Annotated[str, MaxLen(100)]
    """Its `webhook-id`, the same in every attempt: know repeats by it."""
    event: Annotated[str, MaxLen(100), Example("run.failed")]
    """What it tells of."""
    state: DeliveryState
    """How it stands."""
    attempts: Annotated[int, Ge(0)]
    """How often it was sent."""
    created_at: datetime
    """When it was written."""
    next_attempt_at: datetime | None = None
    """When it is sent next; null: never again."""
    delivered_at: datetime | None = None
    """When its receiver took it."""
    status: int | None = None
    """HTTP status of the last attempt; null: none came."""
    error: Annotated[str | None, MaxLen(100)] = None
    """Why no status came: `timeout`, `unreachable`, `unknown-host`, `address-not-allowed`, `disabled`."""


@dataclass(frozen=True)
class DueDelivery:
    """A message whose turn has come, taken by one worker for a while."""

    tenant: TenantId
    id: str


@dataclass(frozen=True)
class Shares:
    """How many messages of one tenant, and to one webhook of it, may be under way at once."""

    of_tenant: int
    of_webhook: int


@dataclass(frozen=True)
class Message:
    """What is to be sent: the secrets that hold at present, newest first, and the body as it is signed."""

    id: str
    url: str
    secrets: tuple[str, ...]
    body: str
    attempts: int


@dataclass(frozen=True)
class Attempt:
    """What came of sending: the status answered, or a word for why there was none."""

    status: int | None
    error: str | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the receiver has taken the message."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        """Whether the receiver asks to be left alone."""
        return self.status == HTTPStatus.GONE


class Webhooks(Protocol):
    """The tenant's webhooks and the messages to them."""

    async def add(
        self, name: str, url: str, events: Sequence[WebhookEvent], secret: str
    ) -> tuple[Webhook, bool]:
        """Keep it; the existing one and False if name, address and events agree, Conflict if they do not."""

    async def list(self) -> Sequence[Webhook]:
        """All webhooks, newest first."""

    async def get(self, ref: str) -> Webhook:
        """The webhook of this id or name; NotFound otherwise."""

    async def delete(self, ref: str) -> Webhook:
        """Delete the webhook with its messages, and answer what it was."""

    async def rotate(self, ref: str, secret: str, old_until: datetime) -> Webhook:
        """Sign with a new secret, and until then with those of before as well."""

    async def emit(self, event: WebhookEvent, data: JsonObject) -> None:
        """Write a message for each webhook that wants to hear of this, in this transaction."""

    async def send_test(self, ref: str) -> Delivery:
        """Write a test message for one webhook; Conflict if it is disabled."""

    async def deliveries(
        self, ref: str, limit: int, cursor: str | None, created: Period = ALWAYS
    ) -> tuple[Sequence[Delivery], str | None]:
        """Its messages, newest first, and the next cursor."""

    async def message(self, delivery_id: str) -> Message | None:
        """What is to be sent; None if nothing is any more."""

    async def record(self, delivery_id: str, attempt: Attempt, next_attempt_at: datetime | None) -> None:
        """Note what came of sending it; None: it is not tried again."""
