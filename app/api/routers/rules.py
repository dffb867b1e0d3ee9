"""Rules and previews of rules over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Body, Path, Response

from app.api.authentication import AnyKey, DataReader, DataWriter
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples.form import names
from app.api.examples.rules import RULE_PREVIEWS, RULES
from app.api.examples.searches import OPTIMISATIONS
from app.api.routers.answers import COMMON, MADE, made, problems
from app.api.routers.collection import Collection
from app.api.routes import PREFIX, Route
from app.api.schemas.common import Ref, shown
from app.api.schemas.rule_previews import NewRulePreview, RulePreview
from app.api.schemas.rules import NewRule, Rule
from app.api.services import UseCases
from app.services.rules import rules

_COMPARED: Final = "members-compared"
_FOUND: Final = (
    *(name for name in OPTIMISATIONS if name != _COMPARED),
    *(f"{_COMPARED}-{way}" for way in ("one-level-per-column", "levels-per-record", "important-columns")),
)
"""Rules that the examples of optimisations store."""

COLLECTION = Collection("rule", Rule, (*RULES, *_FOUND, "example-proposal"))

router = COLLECTION.router()


@router.post("", status_code=201, responses=MADE | problems("not-found"))
@takes_up_to(LARGEST_BYTES)
async def create_rule(
    actor: DataWriter,
    services: UseCases,
    response: Response,
    body: Annotated[NewRule, Body(openapi_examples=RULES)],
) -> Rule:
    """Create a disclosure rule.

    What is shown of whom: the same level of all records, other values in the whole table, levels or values
    record by record, what conditions say, or another rule with every record generalised further. Needs the
    scope `data:write`; conditions and values of single records ask the data a question and need `data:read`,
    too.
    """
    created = await services.rules.create(actor, await asyncio.to_thread(body.request))
    definition = services.rules.definition(actor, created.resource)
    return made(Rule, "/rules", created, response, definition=definition)


COLLECTION.add_list(router)
COLLECTION.add_definition(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_rule(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names("proposal", "careful"))],
) -> Rule:
    """Get a rule.

    The rule of this id or name. Without the scope `data:read` its definition is left out: conditions may name
    values.
    """
    rule = await services.rules.get(actor, ref)
    return shown(Rule, rule, definition=services.rules.definition(actor, rule))


previews = APIRouter(
    prefix=f"{PREFIX}/rule-previews", tags=[COLLECTION.plural], route_class=Route, responses=COMMON
)


@previews.post(
    "", response_model=RulePreview, responses=problems("not-found", "too-large", "unsupported-media-type")
)
@takes_up_to(LARGEST_BYTES)
async def preview_rule(
    actor: DataReader,
    services: UseCases,
    body: Annotated[NewRulePreview, Body(openapi_examples=RULE_PREVIEWS)],
) -> rules.RulePreview:
    """Preview a rule.

    Some records before and after a stored rule, or one that is only tried, and how far each cell is
    generalised. Nothing is stored. The records stand in their own order, each with its row: this is for the
    holder of the data and no release. Needs the scope `data:read`.
    """
    return await services.rules.preview(actor, await asyncio.to_thread(body.request))
