"""Sensitivity profiles over HTTP."""

from __future__ import annotations

from app.api.bodies.limits import LARGEST_BYTES
from app.api.examples.inputs import SENSITIVITY_PROFILES
from app.api.routers.collection import Collection
from app.api.schemas.sensitivity_profiles import NewSensitivityProfile, SensitivityProfile

COLLECTION = Collection("sensitivity profile", SensitivityProfile, (*SENSITIVITY_PROFILES, "example-harm"))

router = COLLECTION.plain_router(
    NewSensitivityProfile,
    SENSITIVITY_PROFILES,
    """
    How much harm the disclosure of each value does: weights per attribute, of values or nodes, and a
    family that joins them to one number. Weights may be "inf". Entities and groups may have weights of
    their own, sets of attributes may weigh more together, and everybody's weights may be normalised. A
    profile serves as the harm if the attacker succeeds (`sensitivity`) or fails (`failure`). Needs
    the scope `data:write`.
    """,
    largest=LARGEST_BYTES,
)

COLLECTION.add_definition(router)
