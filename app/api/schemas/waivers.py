"""Waivers: criteria that need not hold for a while."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import Field, StringConstraints

from app.api.schemas.common import Count, Hash, Name, Ref, Resource, is_none
from app.api.schemas.derived import Asking
from app.api.schemas.policies import PolicyRef
from app.services.gates.waivers import CreateWaiver

Said = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"\S")]


class NewWaiver(Asking[CreateWaiver]):
    """A criterion of a policy to be waived."""

    name: Name
    policy: Annotated[PolicyRef, Field(examples=["members-release", "members-release@1"])]
    """Name of the policy, or `NAME@VERSION`; of the name alone the highest version. The waiver is for the
    criterion as it is there, and for all versions that have the very same.
    """
    criterion: Annotated[
        str, StringConstraints(min_length=1, max_length=100), Field(examples=["several-people"])
    ]
    """Id of the criterion."""
    datasets: Annotated[list[Ref] | None, Field(min_length=1, max_length=100, examples=[["members"]])] = None
    """Names of the datasets that it is for, as they are now; null: all (`any_content`)."""
    any_content: Annotated[bool, Field(examples=[False])] = False
    """Whether it is for whatever is stored under these names, now and later. Otherwise it is for what the
    datasets hold now, and for nothing else that will have their names.
    """
    views: Annotated[Hash | None, Field(examples=[None])] = None
    """Of a criterion about views, in place of datasets: the `views_sha256` of the verdict that was looked at.
    The waiver is for that schema and these views; of others, the criterion is judged plainly.
    """
    reason: Annotated[Said, Field(description="Why the criterion need not hold.")]
    approved_by: Annotated[
        str,
        StringConstraints(min_length=1, max_length=200, pattern=r"\S"),
        Field(description="Who takes it on himself.", examples=["A. Officer, data protection"]),
    ]
    until: Annotated[date, Field(examples=["2027-06-30"])]
    """Last day on which it is in force (UTC)."""


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
