"""Dictionary sets over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Response

from app.api.authentication import DataWriter
from app.api.examples.inputs import DICTIONARY_SETS
from app.api.routers.answers import MADE, made, problems
from app.api.routers.collection import Collection
from app.api.schemas.dictionary_sets import DictionarySet, NewDictionarySet
from app.api.services import UseCases

COLLECTION = Collection(
    path="/dictionary-sets",
    noun="dictionary set",
    plural="dictionary sets",
    answer=DictionarySet,
    service=lambda services: services.dictionary_sets,
    example="attackers",
    delete_examples=("attackers", "any-attacker"),
)

router = COLLECTION.router()


@router.post("", status_code=201, responses=MADE | problems("not-found"))
async def create_dictionary_set(
    actor: DataWriter,
    services: UseCases,
    response: Response,
    body: Annotated[NewDictionarySet, Body(openapi_examples=DICTIONARY_SETS)],
) -> DictionarySet:
    """Create a dictionary set.

    The dictionaries of which the attacker has one, where you do not know which. With a probability for each
    (their sum is 1) there is a Bayes risk, without them only worst cases. A set's name is accepted wherever
    an assessment takes a dictionary's. Needs the scope `data:write`.
    """
    created = await services.dictionary_sets.create(actor, body.request())
    return made(DictionarySet, "/dictionary-sets", created, response)


COLLECTION.add_list(router)
COLLECTION.add_get(router)
