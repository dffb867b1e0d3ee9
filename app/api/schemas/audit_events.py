"""The audit trail."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import Field

from app.api.schemas.common import Answer, Count, Hash


class AuditEvent(Answer):
    """Who did what, and when."""

    number: Annotated[Count, Field(description="From 1, without gaps.", examples=[17])]
    at: Annotated[datetime, Field(description="When.", examples=["2026-11-20T09:00:00Z"])]
    key_id: Annotated[str, Field(max_length=600)]
    """Id of the API key, or issuer and subject of a person; `bootstrap`: the operator's command."""
    key_name: Annotated[str | None, Field(max_length=100, examples=["pipeline"])]
    """Name of the key; null: it was none."""
    action: Annotated[str, Field(max_length=100, examples=["evaluation.create"])]
    """What was done."""
    subject: Annotated[str, Field(max_length=200, description="Id of what it was done to.")]
    details: Annotated[dict[str, Any], Field(description="Hashes and names, never data.")]
    sha256: Annotated[Hash, Field(description="Hash of this event and of the one before.")]


class AuditListing(Answer):
    """Part of the audit trail, newest first."""

    items: Annotated[list[AuditEvent], Field(max_length=200, description="The events.")]
    next_cursor: Annotated[str | None, Field(max_length=500)]
    """Where the next page begins; null on the last one."""


class AuditVerification(Answer):
    """Whether the audit trail is whole."""

    events: Annotated[Count, Field(description="How many events there are.")]
    intact: Annotated[bool, Field(description="Whether each event follows from the one before.")]
    first_broken: Annotated[int | None, Field(description="Number of the first that does not; null: none.")]
    head_sha256: Hash | None
    """Hash of the last event: kept elsewhere, it shows later whether any were cut off."""
