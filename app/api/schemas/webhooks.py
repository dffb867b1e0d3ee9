"""Webhooks and their messages."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from app.api.schemas.common import Answer, Name, Request
from app.api.schemas.derived import Asking, model_of
from app.services.runs import webhook_values
from app.services.runs.webhook_values import WebhookEvent
from app.services.runs.webhooks import MOST_URL, MOST_WEBHOOKS, CreateWebhook, WebhookMade

Events = Annotated[
    list[WebhookEvent],
    Field(
        min_length=1,
        max_length=len(WebhookEvent),
        description="What it is told of: verdicts of gates, and runs that have ended.",
        examples=[["evaluation.completed", "run.failed"]],
    ),
]


class NewWebhook(Asking[CreateWebhook]):
    """An address to be told of events."""

    name: Name
    url: Annotated[
        str, Field(min_length=1, max_length=MOST_URL, examples=["https://hooks.example.org/privacy"])
    ]
    """Where messages are posted: https, or http inside networks that the operator allows. Addresses that are
    not public are refused when a message is sent.
    """
    events: Events


class Webhook(Answer):
    """An address that is told of events."""

    id: Annotated[str, Field(max_length=100, description="Random public id.")]
    name: Annotated[str, Field(max_length=100, description="Its name.", examples=["gate-watcher"])]
    url: Annotated[str, Field(max_length=MOST_URL, description="Where messages are posted.")]
    events: Annotated[list[WebhookEvent], Field(max_length=20, description="What it is told of.")]
    created_at: Annotated[datetime, Field(description="When it was created.")]
    disabled_at: datetime | None
    """Since when nothing is sent, because its receiver answered 410; null: it is not."""


class WebhookWithSecret(Webhook):
    """A webhook with what its messages are signed with."""

    secret: Annotated[str | None, Field(max_length=100)]
    """Key of the messages' signatures (Standard Webhooks), shown this once: null where the webhook was there
    already, or the request is repeated with its Idempotency-Key.
    """

    @classmethod
    def of(cls, made: WebhookMade) -> WebhookWithSecret:
        """The use case's answer as a body."""
        return cls.model_validate({**vars(made.webhook), "secret": made.secret})


class WebhookListing(Answer):
    """The webhooks of the tenant."""

    items: Annotated[list[Webhook], Field(max_length=MOST_WEBHOOKS, description="The webhooks.")]


class SecretRotation(Request):
    """A new secret is wanted."""

    overlap_hours: Annotated[int, Field(ge=0, le=168, examples=[24])] = 24
    """Hours for which messages are signed with the old secrets as well."""


Delivery: Any = model_of(webhook_values.Delivery, "Delivery")


class DeliveryListing(Answer):
    """Part of a webhook's messages, newest first."""

    items: Annotated[list[Delivery], Field(max_length=200, description="The messages.")]
    next_cursor: Annotated[str | None, Field(max_length=500)]
    """Where the next page begins; null on the last one."""
