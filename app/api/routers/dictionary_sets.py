"""Dictionary sets and the order of dictionaries over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body

from app.api.authentication import Assessor
from app.api.examples.inputs import DICTIONARY_ORDERS, DICTIONARY_SETS
from app.api.routers.answers import COMMON, problems
from app.api.routers.collection import Collection
from app.api.routes import PREFIX, Route
from app.api.schemas.dictionary_sets import (
    DictionaryOrder,
    DictionarySet,
    NewDictionaryOrder,
    NewDictionarySet,
)
from app.api.services import UseCases
from app.services.datasets import dictionary_orders

COLLECTION = Collection("dictionary set", DictionarySet, tuple(DICTIONARY_SETS))

router = COLLECTION.plain_router(
    NewDictionarySet,
    DICTIONARY_SETS,
    """
    The dictionaries of which the attacker has one, where you do not know which. With a probability for each
    (their sum is 1) there is a Bayes risk, without them only worst cases. A set's name is accepted wherever
    an assessment takes a dictionary's. Needs the scope `data:write`.
    """,
)


orders = APIRouter(
    prefix=f"{PREFIX}/dictionary-orders", tags=[COLLECTION.plural], route_class=Route, responses=COMMON
)


@orders.post(
    "", response_model=DictionaryOrder, responses=problems("not-found", "too-large", "unsupported-media-type")
)
async def compare_dictionaries(
    actor: Assessor,
    services: UseCases,
    body: Annotated[NewDictionaryOrder, Body(openapi_examples=DICTIONARY_ORDERS)],
) -> dictionary_orders.DictionaryOrder:
    """Compare two dictionaries.

    Whether every entity of the smaller one is in the larger one too, with the same or more general values;
    if not, the first entity that breaks it. Where it holds, the risk under the smaller one can be an upper
    bound of the risk under the larger: an assessment with `bounds` says whether it is. Nothing is stored.
    Needs the scope `assess`.
    """
    return await services.dictionary_orders.compare(actor, body.request())
