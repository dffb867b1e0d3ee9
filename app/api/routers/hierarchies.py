"""Hierarchies over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Body, Path, Query, Response

from app.api.authentication import AnyKey, DataWriter
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.bodies.reading import TextBody
from app.api.examples.files import CSV_HIERARCHY_BODY
from app.api.examples.form import names
from app.api.examples.inputs import HIERARCHIES
from app.api.routers.answers import MADE, made, problems
from app.api.routers.collection import Collection
from app.api.schemas.common import Name, Ref
from app.api.schemas.hierarchies import Hierarchy, NewHierarchy, Node, shown_node
from app.api.services import UseCases

COLLECTION = Collection(
    "hierarchy",
    Hierarchy,
    (
        "city",
        "city-by-csv",
        "race",
        "birth-date",
        "income",
        "age",
        "diagnosis",
        "education",
        "example-city",
        "example-race",
        "example-birth-date",
        "example-income",
    ),
    irregular="hierarchies",
)

HierarchyRef = Annotated[Ref, Path(openapi_examples=names("city"))]

router = COLLECTION.router()


@router.post("", status_code=201, responses=MADE | problems("not-found"))
@takes_up_to(LARGEST_BYTES)
async def create_hierarchy(
    actor: DataWriter,
    services: UseCases,
    response: Response,
    body: Annotated[NewHierarchy, Body(openapi_examples=HIERARCHIES)],
) -> Hierarchy:
    """Create a hierarchy.

    From explicit parents, from rows, or from leaves by a kind: intervals, free bounds, groups of an order,
    masking, dates, flat, prefixes of codes, postcodes, diagnoses, countries, states, times, known words, rare
    values.
    Level 0 is the value as it is, level `height` the top. Needs the scope `data:write`, and `data:read` if
    the leaves are an upload's column: the hierarchy shows them to every key of the tenant.
    """
    request = await asyncio.to_thread(body.request)  # of a million values it takes a while
    return made(Hierarchy, "/hierarchies", await services.hierarchies.create(actor, request), response)


@router.post("/csv", status_code=201, responses=MADE, openapi_extra=CSV_HIERARCHY_BODY)
@takes_up_to(LARGEST_BYTES)
async def create_hierarchy_from_csv(
    actor: DataWriter,
    services: UseCases,
    response: Response,
    text: TextBody,
    name: Annotated[Name, Query(openapi_examples=names("city-by-csv"))],
    delimiter: Annotated[str, Query(min_length=1, max_length=1, description="Separates the labels.")] = ";",
) -> Hierarchy:
    """Create a hierarchy from CSV.

    One line per leaf, no header, from the leaf to its most general label. A label that is repeated on the
    next level counts as a level of its own. Needs the scope `data:write`.
    """
    created = await services.hierarchies.create_from_csv(actor, name, text, delimiter)
    return made(Hierarchy, "/hierarchies", created, response)


COLLECTION.add_list(router)
COLLECTION.add_definition(router)
COLLECTION.add_get(router)


@router.get("/{ref}/tree", responses=problems("not-found"))
async def get_hierarchy_tree(
    actor: AnyKey,
    services: UseCases,
    ref: HierarchyRef,
    node: Annotated[
        int | None, Query(ge=0, le=2**31 - 1, description="Code of a node; default: the top.")
    ] = None,
    depth: Annotated[int, Query(ge=0, le=10, description="Generations below the node.")] = 2,
    limit: Annotated[int, Query(ge=1, le=200, description="Most children shown of each node.")] = 50,
) -> Node:
    """Preview the tree.

    A node and the generations below it; each node says how many children it has in all.
    """
    return shown_node(await services.hierarchies.tree(actor, ref, node=node, depth=depth, limit=limit))
