"""Rules over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Body, Path, Response

from app.api.authentication import AnyKey, DataWriter
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples.form import names
from app.api.examples.rules import RULES
from app.api.examples.searches import OPTIMISATIONS
from app.api.routers.answers import MADE, PREFIX, problems
from app.api.routers.collection import Collection
from app.api.schemas.common import Ref, shown
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
        "no-small-classes",
        "fewer-places",
        "careful",
        "exceptions-further",
        *OPTIMISATIONS,
        "example-proposal",
    ),
)

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
    response.status_code = 201 if created.created else 200
    response.headers["Location"] = f"{PREFIX}/rules/{created.resource.id}"
    return shown(Rule, created.resource, definition=services.rules.definition(actor, created.resource))


COLLECTION.add_list(router)


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
