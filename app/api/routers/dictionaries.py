"""Dictionaries over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Response

from app.api.authentication import DataWriter
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples.inputs import DICTIONARIES
from app.api.routers.answers import MADE, made, problems
from app.api.routers.collection import Collection
from app.api.schemas.dictionaries import Dictionary, NewDictionary
from app.api.services import UseCases

COLLECTION = Collection("dictionary", Dictionary, (*DICTIONARIES, "example-census"), irregular="dictionaries")

router = COLLECTION.router()


@router.post("", status_code=201, responses=MADE | problems("not-found"))
@takes_up_to(LARGEST_BYTES)
async def create_dictionary(
    actor: DataWriter,
    services: UseCases,
    response: Response,
    body: Annotated[NewDictionary, Body(openapi_examples=DICTIONARIES)],
) -> Dictionary:
    """Create a dictionary.

    What an attacker can look up: an upload whose columns are linked to attributes of a dataset, as they
    are, by a look-up table, or from ages to birth dates. Needs the scope `data:write`.
    """
    return made(
        Dictionary, "/dictionaries", await services.dictionaries.create(actor, body.request()), response
    )


COLLECTION.add_list(router)
COLLECTION.add_get(router)
