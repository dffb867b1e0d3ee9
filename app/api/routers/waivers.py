"""Waivers over HTTP."""

from __future__ import annotations

from app.api.examples import gates as gate_examples
from app.api.routers.collection import Collection
from app.api.schemas.waivers import NewWaiver, Waiver
from app.services.resources import Scope

COLLECTION = Collection("waiver", Waiver, tuple(gate_examples.WAIVERS), write_scope=Scope.GOVERN)

router = COLLECTION.plain_router(
    NewWaiver,
    gate_examples.WAIVERS,
    """
    Up to and including a day, a criterion that fails does not block: who takes that on himself, and why, is
    in every verdict. A value that cannot be computed is not waived by it. Needs the scope `govern`.
    """,
    summary="Waive a criterion",
)
