"""Dictionaries over HTTP."""

from __future__ import annotations

from app.api.bodies.limits import LARGEST_BYTES
from app.api.examples.inputs import DICTIONARIES
from app.api.routers.collection import Collection
from app.api.schemas.dictionaries import Dictionary, NewDictionary

COLLECTION = Collection("dictionary", Dictionary, (*DICTIONARIES, "example-census"), irregular="dictionaries")

router = COLLECTION.plain_router(
    NewDictionary,
    DICTIONARIES,
    """
    What an attacker can look up, such as a census: an upload whose columns are linked to attributes of a
    dataset, as they are, by a look-up table, or from ages to birth dates. Needs the scope `data:write`.
    """,
    largest=LARGEST_BYTES,
)

COLLECTION.add_definition(router)
