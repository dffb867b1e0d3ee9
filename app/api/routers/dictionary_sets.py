"""Dictionary sets and the order of dictionaries over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Response

from app.api.authentication import Assessor, DataWriter
from app.api.examples.inputs import DICTIONARY_ORDERS, DICTIONARY_SETS
from app.api.routers.answers import COMMON, MADE, PREFIX, made, problems
from app.api.routers.collection import Collection
from app.api.routes import Route
from app.api.schemas.dictionary_orders import DictionaryOrder, NewDictionaryOrder
from app.api.schemas.dictionary_sets import DictionarySet, NewDictionarySet
from app.api.services import UseCases

COLLECTION = Collection("dictionary set", DictionarySet, tuple(DICTIONARY_SETS))

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


orders = APIRouter(
    prefix=f"{PREFIX}/dictionary-orders", tags=[COLLECTION.plural], route_class=Route, responses=COMMON
)


@orders.post("", responses=problems("not-found", "too-large", "unsupported-media-type"))
async def compare_dictionaries(
    actor: Assessor,
    services: UseCases,
    body: Annotated[NewDictionaryOrder, Body(openapi_examples=DICTIONARY_ORDERS)],
) -> DictionaryOrder:
    """Compare two dictionaries.

    Whether every entity of the smaller one is in the larger one too, with the same or more general values;
    if not, the first entity that breaks it. Where it holds, the risk under the smaller one can be an upper
    bound of the risk under the larger: an assessment with `bounds` says whether it is. Nothing is stored.
    Needs the scope `assess`.
    """
    return DictionaryOrder.model_validate(await services.dictionary_orders.compare(actor, body.request()))
