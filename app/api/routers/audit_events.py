"""The audit trail over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from app.api.authentication import Administrator
from app.api.routers.answers import COMMON
from app.api.routers.collection import CreatedIn, Cursor, Limit
from app.api.routes import PREFIX, Route
from app.api.schemas.audit_events import AuditListing, AuditVerification
from app.api.services import UseCases

router = APIRouter(prefix=f"{PREFIX}/audit-events", tags=["audit trail"], route_class=Route, responses=COMMON)


@router.get("")
async def list_audit_events(
    actor: Administrator,
    services: UseCases,
    created: CreatedIn,
    action: Annotated[
        str | None,
        Query(
            max_length=100,
            description="Only actions that begin so, such as `evaluation` or `release.create`.",
            openapi_examples={"releases": {"value": "release"}},
        ),
    ] = None,
    subject: Annotated[
        str | None, Query(max_length=200, description="Only what was done to the resource of this id.")
    ] = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> AuditListing:
    """List audit events.

    Who evaluated, released, created and deleted what, newest first. The events are written in the transaction
    of what they tell, and nobody who uses the service can change or delete them. Needs the scope `admin`.
    """
    page = await services.audit_trail.list(
        actor, action=action, subject=subject, created=created, limit=limit, cursor=cursor
    )
    return AuditListing.model_validate(page)


@router.get("/verification")
async def verify_audit_events(actor: Administrator, services: UseCases) -> AuditVerification:
    """Verify the audit trail.

    Recomputes the chain of hashes: each event's covers the one before, so that a changed, removed or inserted
    event shows. Needs the scope `admin`.
    """
    found = await services.audit_trail.verify(actor)
    return AuditVerification(
        events=found.events,
        intact=found.first_broken is None,
        first_broken=found.first_broken,
        head_sha256=found.head_sha256,
    )
