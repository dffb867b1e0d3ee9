"""Waivers: criteria that need not hold for a while."""

from __future__ import annotations

from datetime import date
from typing import Annotated

from pydantic import Field, StringConstraints

from app.api.schemas.common import Count, Hash, Name, Ref, Resource
from app.api.schemas.derived import Asking
from app.api.schemas.policies import PolicyRef
from app.services.gates.waivers import CreateWaiver

Said = Annotated[str, StringConstraints(min_length=1, max_length=2000, pattern=r"\S")]


class NewWaiver(Asking[CreateWaiver]):
    """A criterion of a policy to be waived."""

    name: Name
    policy: Annotated[
        PolicyRef,
        Field(
            description="Name of the policy, or `NAME@VERSION`; of the name alone the highest version. The "
            "waiver is for the criterion as it is there, and for all versions that have the very same.",
            examples=["members-release", "members-release@1"],
        ),
    ]
    criterion: Annotated[
        str,
        StringConstraints(min_length=1, max_length=100),
        Field(description="Id of the criterion.", examples=["several-people"]),
    ]
    datasets: Annotated[
        list[Ref] | None,
        Field(
            min_length=1,
            max_length=100,
            description="Names of the datasets that it is for, as they are now; null: all (`any_content`).",
            examples=[["members"]],
        ),
    ] = None
    any_content: Annotated[
        bool,
        Field(
            description="Whether it is for whatever is stored under these names, now and later. Otherwise it "
            "is for what the datasets hold now, and for nothing else that will have their names.",
            examples=[False],
        ),
    ] = False
    reason: Annotated[Said, Field(description="Why the criterion need not hold.")]
    approved_by: Annotated[
        str,
        StringConstraints(min_length=1, max_length=200, pattern=r"\S"),
        Field(description="Who takes it on himself.", examples=["A. Officer, data protection"]),
    ]
    until: Annotated[
        date, Field(description="Last day on which it is in force (UTC).", examples=["2027-06-30"])
    ]


class Waiver(Resource):
    """A waiver; to delete it is to withdraw it."""

    policy: Annotated[str, Field(description="Name of the policy.", examples=["members-release"])]
    policy_version: Annotated[
        Count | None, Field(description="Version that was looked at; null: none was recorded.", examples=[1])
    ] = None
    criterion: Annotated[str, Field(description="Id of the criterion.", examples=["several-people"])]
    criterion_sha256: Annotated[
        Hash | None,
        Field(
            description="Hash of all that the policy asked by the criterion when the waiver was granted, and "
            "is for. Null of waivers that were granted before it was recorded: these are for the versions "
            "that were there then."
        ),
    ] = None
    datasets: Annotated[
        list[str] | None, Field(description="Datasets that it is for; null: all.", examples=[["members"]])
    ]
    any_content: Annotated[
        bool, Field(description="Whether it is for whatever is stored under these names.", examples=[False])
    ] = False
    contents: Annotated[
        dict[str, Hash] | None,
        Field(
            description="Dataset → hash of what it held when the waiver was granted, and is for. Null with "
            "`any_content`, and of waivers that were granted before contents were recorded: these are for "
            "the datasets that were there then."
        ),
    ] = None
    reason: Annotated[str, Field(description="Why the criterion need not hold.")]
    approved_by: Annotated[str, Field(description="Who takes it on himself.", examples=["A. Officer"])]
    until: Annotated[date, Field(description="Last day on which it is in force (UTC).")]
