"""Webhooks: messages about verdicts and finished runs."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Final

from fastapi import APIRouter, Body, Path, Request, Response

from app.api.authentication import Administrator
from app.api.examples.form import names
from app.api.routers.answers import COMMON, MADE, located, problems
from app.api.routers.collection import CLEAN_UP, CreatedIn, Cursor, Limit
from app.api.routes import PREFIX, Route
from app.api.schemas.common import Ref
from app.api.schemas.webhooks import (
    Delivery,
    DeliveryListing,
    NewWebhook,
    SecretRotation,
    Webhook,
    WebhookListing,
    WebhookWithSecret,
)
from app.api.services import UseCases
from app.services.runs import webhook_values

_EXAMPLE: Final = "gate-watcher"

router = APIRouter(prefix=f"{PREFIX}/webhooks", tags=["webhooks"], route_class=Route, responses=COMMON)
clean_up = APIRouter(prefix=f"{PREFIX}/webhooks", tags=[CLEAN_UP], route_class=Route, responses=COMMON)

WebhookRef = Annotated[Ref, Path(description="Id or name of the webhook.", openapi_examples=names(_EXAMPLE))]


@router.post("", status_code=201, responses=MADE)
async def create_webhook(
    actor: Administrator,
    services: UseCases,
    request: Request,
    response: Response,
    body: Annotated[
        NewWebhook,
        Body(
            openapi_examples={
                _EXAMPLE: {
                    "summary": "tell a receiver of every verdict and every failed run",
                    "value": {
                        "name": _EXAMPLE,
                        "url": "https://hooks.example.org/privacy",
                        "events": ["evaluation.completed", "run.failed"],
                    },
                }
            }
        ),
    ],
) -> WebhookWithSecret:
    """Create a webhook.

    From now on a message is posted to the address for every such event, until it is answered with a status
    of success: at once, then with growing pauses for about three days. A message is signed as
    [Standard Webhooks](https://www.standardwebhooks.com) says; its secret is shown this once. Needs the scope
    `admin`.
    """
    made = await services.webhooks.create(actor, body.request())
    located(response, f"/webhooks/{made.webhook.id}", made.created)
    return _answered(WebhookWithSecret.of(made), request)


@router.get("")
async def list_webhooks(actor: Administrator, services: UseCases) -> WebhookListing:
    """List webhooks.

    All of the tenant, newest first, without their secrets. Needs the scope `admin`.
    """
    return WebhookListing(items=[Webhook.model_validate(own) for own in await services.webhooks.list(actor)])


@router.get("/{ref}", responses=problems("not-found"))
async def get_webhook(actor: Administrator, services: UseCases, ref: WebhookRef) -> Webhook:
    """Get a webhook.

    Needs the scope `admin`.
    """
    return Webhook.model_validate(await services.webhooks.get(actor, ref))


@router.post(
    "/{ref}/tests", status_code=201, response_model=Delivery, responses=problems("not-found", "conflict")
)
async def test_webhook(actor: Administrator, services: UseCases, ref: WebhookRef) -> webhook_values.Delivery:
    """Test a webhook.

    Queue a message of the event `webhook.test`; the list of deliveries tells what became of it. Needs the
    scope `admin`.
    """
    return await services.webhooks.send_test(actor, ref)


@router.get("/{ref}/deliveries", responses=problems("not-found"))
async def list_webhook_deliveries(
    actor: Administrator,
    services: UseCases,
    ref: WebhookRef,
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> DeliveryListing:
    """List a webhook's deliveries.

    The messages of the last 30 days, newest first. Needs the scope `admin`.
    """
    page = await services.webhooks.deliveries(actor, ref, created=created, limit=limit, cursor=cursor)
    return DeliveryListing.model_validate(page)


@router.post(
    "/{ref}/secret-rotations",
    status_code=201,
    responses=problems("not-found", "too-large", "unsupported-media-type"),
)
async def rotate_webhook_secret(
    actor: Administrator,
    services: UseCases,
    request: Request,
    ref: WebhookRef,
    body: Annotated[
        SecretRotation,
        Body(openapi_examples={"a day": {"summary": "both for a day", "value": {"overlap_hours": 24}}}),
    ],
) -> WebhookWithSecret:
    """Rotate a webhook's secret.

    Messages are signed with a new secret, shown this once, and for as long as the overlap lasts with the old
    ones as well, so that a receiver misses none. Needs the scope `admin`.
    """
    made = await services.webhooks.rotate_secret(actor, ref, timedelta(hours=body.overlap_hours))
    return _answered(WebhookWithSecret.of(made), request)


@clean_up.delete("/{ref}", status_code=204, response_class=Response, responses=problems("not-found"))
async def delete_webhook(actor: Administrator, services: UseCases, ref: WebhookRef) -> None:
    """Delete a webhook.

    Nothing more is sent to it; its messages, sent or not, are deleted too. Needs the scope `admin`.
    """
    await services.webhooks.delete(actor, ref)


def _answered(answer: WebhookWithSecret, request: Request) -> WebhookWithSecret:
    """The answer; what is kept for repeated requests has no secret."""
    request.state.reply_to_keep = answer.model_copy(update={"secret": None}).model_dump_json().encode()
    return answer
