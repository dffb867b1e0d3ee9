"""Waivers: criteria that need not hold for a while."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any

from pydantic import Field

from app.api.schemas.common import Count, Hash, Name, Resource, is_none
from app.api.schemas.derived import Asking, request_of
from app.api.schemas.policies import PolicyRef
from app.services.gates import waivers

NewWaiver: Any = request_of(
    waivers.NewWaiver,
    "NewWaiver",
    None,
    instead={
        "name": (Name, ...),
        "policy": (Annotated[PolicyRef, Field(examples=["members-release", "members-release@1"])], ...),
        "views": (Annotated[Hash | None, Field(examples=[None])], None),
    },
    parts={bool: bool},
    base=Asking,
)


class Waiver(Resource):
    """A waiver; to delete it is to withdraw it."""

    policy: Annotated[str, Field(description="Name of the policy.", examples=["members-release"])]
    policy_version: Annotated[Count | None, Field(examples=[1])] = None
    """Version that was looked at; null: none was recorded."""
    criterion: Annotated[str, Field(description="Id of the criterion.", examples=["several-people"])]
    criterion_sha256: Hash | None = None
    """Hash of all that the policy asked by the criterion when the waiver was granted, and is for. Null of
    waivers that were granted before it was recorded: these are for the versions that were there then.
    """
    datasets: Annotated[list[str] | None, Field(examples=[["members"]])]
    """Datasets that it is for; null: all."""
    any_content: Annotated[bool, Field(examples=[False])] = False
    """Whether it is for whatever is stored under these names."""
    contents: dict[str, Hash] | None = None
    """Dataset → hash of what it held when the waiver was granted, and is for. Null with `any_content`, and of
    waivers that were granted before contents were recorded: these are for the datasets that were there then.
    """
    views: Annotated[Hash | None, Field(exclude_if=is_none)] = None
    """Hash of the schema and the views that it is for, if it is for views."""
    reason: Annotated[str, Field(description="Why the criterion need not hold.")]
    approved_by: Annotated[str, Field(description="Who takes it on himself.", examples=["A. Officer"])]
    until: Annotated[date, Field(description="Last day on which it is in force (UTC).")]
