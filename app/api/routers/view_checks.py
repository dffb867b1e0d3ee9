"""Checks of query views over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Body

from app.api.authentication import Assessor
from app.api.bodies.limits import takes_up_to
from app.api.examples.view_checks import VIEW_CHECKS
from app.api.routers.answers import COMMON, problems
from app.api.routes import PREFIX, Route
from app.api.schemas.view_checks import NewViewCheck, ViewCheckAnswer
from app.services.views.view_checks import checked

MOST_BYTES = 1024**2

router = APIRouter(
    prefix=f"{PREFIX}/view-checks",
    tags=["query views"],
    route_class=Route,
    responses=COMMON | problems("too-large"),
)


@router.post("")
@takes_up_to(MOST_BYTES)
async def check_views(
    actor: Assessor,
    body: Annotated[NewViewCheck, Body(openapi_examples=VIEW_CHECKS)],
) -> ViewCheckAnswer:
    """Check whether views disclose anything about secrets.

    Queries are written in Datalog or in SQL, the schema as relations or as `CREATE TABLE` statements. Each
    view is checked against each secret, by the queries and the schema alone: no data are looked at.
    Private means that seeing the view's whole answer changes no belief about the secret's answer, for any
    reader to whom rows are independent of each other except for the declared keys and dependencies. A
    disclosure comes with an example of a row that decides both answers. A pair that is not decided within
    five seconds, or ten for all pairs together, is `UNKNOWN`, which denies. Nothing is stored. Needs the
    scope `assess`.
    """
    return ViewCheckAnswer.model_validate(await asyncio.to_thread(checked, body.request()))
