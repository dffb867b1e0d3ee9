"""Sensitivity profiles over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Response

from app.api.authentication import DataWriter
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples.inputs import SENSITIVITY_PROFILES
from app.api.routers.answers import MADE, made, problems
from app.api.routers.collection import Collection
from app.api.schemas.sensitivity_profiles import NewSensitivityProfile, SensitivityProfile
from app.api.services import UseCases

COLLECTION = Collection("sensitivity profile", SensitivityProfile, (*SENSITIVITY_PROFILES, "example-harm"))

router = COLLECTION.router()


@router.post("", status_code=201, responses=MADE | problems("not-found"))
@takes_up_to(LARGEST_BYTES)
async def create_sensitivity_profile(
    actor: DataWriter,
    services: UseCases,
    response: Response,
    body: Annotated[NewSensitivityProfile, Body(openapi_examples=SENSITIVITY_PROFILES)],
) -> SensitivityProfile:
    """Create a sensitivity profile.

    How much harm the disclosure of each value does: weights per attribute, of values or nodes, and a
    family that joins them to one number. Weights may be "inf". Entities and groups may have weights of
    their own, sets of attributes may weigh more together, and everybody's weights may be normalised. A
    profile serves as the harm if the attacker succeeds (`sensitivity`) or fails (`failure`). Needs
    the scope `data:write`.
    """
    return made(
        SensitivityProfile,
        "/sensitivity-profiles",
        await services.sensitivity_profiles.create(actor, body.request()),
        response,
    )


COLLECTION.add_list(router)
COLLECTION.add_get(router)
