"""Rules over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Response

from app.api import examples
from app.api.authentication import DataWriter
from app.api.routers.answers import MADE, made, problems
from app.api.routers.collection import Collection
from app.api.schemas.rules import NewRule, Rule
from app.api.services import UseCases

COLLECTION = Collection(
    path="/rules",
    noun="rule",
    plural="rules",
    answer=Rule,
    service=lambda services: services.rules,
    example="proposal",
    delete_examples=(
        "proposal",
        "exceptions",
        "members-optimum",
    ),
)

router = COLLECTION.router()


@router.post("", status_code=201, responses=MADE | problems("not-found"))
async def create_rule(
    actor: DataWriter,
    services: UseCases,
    response: Response,
    body: Annotated[NewRule, Body(openapi_examples=examples.RULES)],
) -> Rule:
    """Create a disclosure rule.

    Which level of each attribute is shown: of all records alike, or record by record. Needs the scope
    `data:write`.
    """
    return made(Rule, "/rules", await services.rules.create(actor, body.request()), response)


COLLECTION.add_list(router)
COLLECTION.add_get(router)
