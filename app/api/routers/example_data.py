"""Example data over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Response

from app.api.authentication import DataWriter
from app.api.examples.inputs import EXAMPLE_DATA
from app.api.routers.answers import COMMON, MADE, problems
from app.api.routes import PREFIX, Route
from app.api.schemas.example_data import ExampleDataAnswer, NewExampleData
from app.api.services import UseCases

TAG = "example data"

router = APIRouter(prefix=f"{PREFIX}/example-data", tags=[TAG], route_class=Route, responses=COMMON)


@router.post(
    "",
    status_code=201,
    responses=MADE | problems("too-large", "quota-exceeded"),
)
async def create_example_data(
    actor: DataWriter,
    services: UseCases,
    response: Response,
    body: Annotated[NewExampleData, Body(openapi_examples=EXAMPLE_DATA)],
) -> ExampleDataAnswer:
    """Create the example data set.

    The demonstration's members and census by one call: hierarchies, uploads, dataset, dictionary, sensitivity
    profile and a proposed rule, all generated. `next` holds the bodies of the requests that score the rule
    and look for the best one. Asked again it answers 200 with what is there; a name that something else has
    is a conflict, and what was created before it stays. With `tables` small tables of the founding works take
    their place, and `next` leads to what is printed of them. Needs the scope `data:write`.
    """
    found = await services.example_data.create(actor, body.request())
    response.status_code = 201 if found.created else 200
    return ExampleDataAnswer.of(found, body)
