"""Previews of rules over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Body

from app.api.authentication import DataReader
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples.rules import RULE_PREVIEWS
from app.api.routers.answers import COMMON, PREFIX, problems
from app.api.routes import Route
from app.api.schemas.rule_previews import NewRulePreview, RulePreview
from app.api.services import UseCases

router = APIRouter(prefix=f"{PREFIX}/rule-previews", tags=["rules"], route_class=Route, responses=COMMON)


@router.post("", responses=problems("not-found", "too-large", "unsupported-media-type"))
@takes_up_to(LARGEST_BYTES)
async def preview_rule(
    actor: DataReader,
    services: UseCases,
    body: Annotated[NewRulePreview, Body(openapi_examples=RULE_PREVIEWS)],
) -> RulePreview:
    """Preview a rule.

    Some records before and after a stored rule, or one that is only tried, and how far each cell is
    generalised. Nothing is stored. The records stand in their own order, each with its row: this is for the
    holder of the data and no release. Needs the scope `data:read`.
    """
    return RulePreview.model_validate(
        await services.rules.preview(actor, await asyncio.to_thread(body.request))
    )
