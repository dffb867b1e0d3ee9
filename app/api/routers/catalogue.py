"""The catalogue over HTTP."""

from __future__ import annotations

from fastapi import APIRouter

from app.api.authentication import AnyKey
from app.api.routers.answers import COMMON
from app.api.routes import PREFIX, Route
from app.api.schemas.catalogue import CATALOGUE, Catalogue

router = APIRouter(prefix=PREFIX, tags=["catalogue"], route_class=Route, responses=COMMON)


@router.get("/catalogue")
async def get_catalogue(actor: AnyKey) -> Catalogue:
    """What can be measured and chosen.

    Measures, searches, mechanisms, risk models, families of sensitivity and models of utility: each with
    where it is from, what it is worth, what it needs, and its parameters as JSON Schema.
    """
    return CATALOGUE
