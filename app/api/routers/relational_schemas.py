"""Relational schemas over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Body, Path, Response

from app.api.authentication import AnyKey, DataWriter
from app.api.bodies.limits import takes_up_to
from app.api.examples.form import names
from app.api.examples.view_checks import RELATIONAL_SCHEMAS
from app.api.routers.answers import MADE, located, problems
from app.api.routers.collection import Collection
from app.api.schemas.common import Ref
from app.api.schemas.relational_schemas import (
    NewRelationalSchema,
    RelationalSchema,
    RelationalSchemaSummary,
    shown_schema,
)
from app.api.services import UseCases

COLLECTION = Collection("relational schema", RelationalSchemaSummary, tuple(RELATIONAL_SCHEMAS))
MOST_BYTES = 1024**2

router = COLLECTION.router()


@router.post("", status_code=201, responses=MADE | problems("not-found"))
@takes_up_to(MOST_BYTES)
async def create_relational_schema(
    actor: DataWriter,
    services: UseCases,
    response: Response,
    body: Annotated[NewRelationalSchema, Body(openapi_examples=RELATIONAL_SCHEMAS)],
) -> RelationalSchema:
    """Create a relational schema.

    The relations that queries read, with their keys and with what their columns may hold: declared, read from
    `CREATE TABLE` statements, or made of stored datasets. Checks of views name it. Its warnings say what the
    verdicts of such checks rest on, and are repeated in their results. Needs the scope `data:write`.
    """
    request = await asyncio.to_thread(body.request)
    created = await services.relational_schemas.create(actor, request)
    located(response, f"{COLLECTION.path}/{created.resource.id}", created.created)
    return shown_schema(created.resource)


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_relational_schema(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names(next(iter(RELATIONAL_SCHEMAS))))],
) -> RelationalSchema:
    """Get a relational schema.

    The schema of this id or name, with its relations. It never changes, so its ETag never does.
    """
    return shown_schema(await services.relational_schemas.get(actor, ref))
