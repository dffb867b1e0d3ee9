"""Waivers over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Response

from app.api.authentication import Governor
from app.api.examples import gates as gate_examples
from app.api.routers.answers import MADE, made, problems
from app.api.routers.collection import Collection
from app.api.schemas.waivers import NewWaiver, Waiver
from app.api.services import UseCases
from app.services.resources import Scope

COLLECTION = Collection("waiver", Waiver, tuple(gate_examples.WAIVERS), write_scope=Scope.GOVERN)

router = COLLECTION.router()


@router.post("", status_code=201, responses=MADE | problems("not-found"))
async def create_waiver(
    actor: Governor,
    services: UseCases,
    response: Response,
    body: Annotated[NewWaiver, Body(openapi_examples=gate_examples.WAIVERS)],
) -> Waiver:
    """Waive a criterion.

    Up to and including a day, a criterion that fails does not block: who takes that on himself, and why, is
    in every verdict. A value that cannot be computed is not waived by it. Needs the scope `govern`.
    """
    return made(Waiver, "/waivers", await services.waivers.create(actor, body.request()), response)


COLLECTION.add_list(router)
COLLECTION.add_get(router)
