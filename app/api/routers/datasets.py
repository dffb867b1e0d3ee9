"""Datasets over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Body, Path, Query, Response

from app.api.authentication import AnyKey, DataReader, DataWriter
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples.form import names
from app.api.examples.inputs import DATASETS
from app.api.routers.answers import MADE, made, problems
from app.api.routers.collection import Collection
from app.api.schemas.common import Ref
from app.api.schemas.datasets import (
    AttributeTree,
    Dataset,
    DatasetPreview,
    DatasetProfile,
    NewDataset,
    TableReading,
)
from app.api.services import UseCases
from app.services.datasets import attribute_trees
from app.services.datasets.attribute_trees import Shown
from app.services.datasets.dataset_profiles import Profile
from app.services.datasets.ingest.pieces import Preview

COLLECTION = Collection("dataset", Dataset, (*DATASETS, "example-members"))

router = COLLECTION.router()


@router.post(
    "",
    status_code=201,
    response_model=Dataset,
    responses=MADE | problems("invalid-input", "not-found", "too-large", "quota-exceeded"),
)
@takes_up_to(LARGEST_BYTES)
async def create_dataset(
    actor: DataWriter,
    services: UseCases,
    response: Response,
    body: Annotated[NewDataset, Body(openapi_examples=DATASETS)],
) -> Dataset:
    """Create a dataset.

    An upload with its schema: for each column its type, role, hierarchy, and what becomes of unknown
    values. Values outside their hierarchy make it `needs_attention`: it is stored, its profile shows them,
    and it cannot be scored. With `propose` the schema is what is proposed for the upload, and comes back with
    the reasons; `warnings` say what is unsure. Needs the scope `data:write`.
    """
    request = await asyncio.to_thread(body.request)
    if not body.propose:
        return made(Dataset, COLLECTION.path, await services.datasets.create(actor, request), response)
    found = await services.proposed_datasets.create(actor, request)
    warnings = [*found.created.resource.summary["warnings"], *found.unsure]
    more = {"proposal": found.proposal, "warnings": warnings}
    return made(Dataset, COLLECTION.path, found.created, response, **more)


COLLECTION.add_list(router)
COLLECTION.add_get(router)

DatasetRef = Annotated[Ref, Path(openapi_examples=names("members"))]


@router.get("/{ref}/preview", response_model=DatasetPreview, responses=problems("not-found"))
async def preview_dataset(
    actor: DataReader,
    services: UseCases,
    ref: DatasetRef,
    limit: Annotated[int, Query(ge=1, le=200, description="Most rows shown.")] = 20,
) -> Preview:
    """Preview a dataset.

    Its first rows as they are stored. Needs the scope `data:read`.
    """
    return await services.datasets.preview(actor, ref, limit)


@router.get("/{ref}/profile", response_model=DatasetProfile, responses=problems("not-found"))
async def profile_dataset(
    actor: AnyKey,
    services: UseCases,
    ref: DatasetRef,
    limit: Annotated[int, Query(ge=1, le=200, description="Most values per list.")] = 50,
) -> Profile:
    """Profile a dataset.

    Distinct, missing and unknown values of each column in numbers; with the scope `data:read` also the
    values themselves.
    """
    return await services.datasets.profile(actor, ref, limit)


@router.get("/{ref}/reading", responses=problems("not-found"), response_model_exclude_none=True)
async def get_dataset_reading(actor: AnyKey, services: UseCases, ref: DatasetRef) -> TableReading:
    """Tell how a dataset is read.

    Types, formats, hierarchies by definition and texts that mean a missing value, as the `schema` of a policy
    has them: with it another delivery of the table is read in the same way. Needs the scope `data:read` if
    cells are replaced.
    """
    return TableReading.model_validate(await services.datasets.reading(actor, ref))


@router.get(
    "/{ref}/attributes/{attribute}/tree", response_model=AttributeTree, responses=problems("not-found")
)
async def get_attribute_tree(
    actor: AnyKey,
    services: UseCases,
    ref: DatasetRef,
    attribute: Annotated[
        str,
        Path(
            max_length=1000,
            pattern=r"^[^\x00]*$",
            description="A disclosed attribute.",
            openapi_examples=names("city"),
        ),
    ],
    sensitivity: Annotated[
        Ref | None, Query(description="Profile whose weights are shown; default: none.")
    ] = None,
    node: Annotated[int, Query(ge=0, le=2**31 - 1, description="Code of a node; 0 is the top.")] = 0,
    depth: Annotated[int, Query(ge=0, le=10, description="Generations below the node.")] = 2,
    limit: Annotated[int, Query(ge=1, le=200, description="Most children shown of each node.")] = 50,
) -> attribute_trees.AttributeTree:
    """Count an attribute's values on its hierarchy.

    A node and the generations below it, with the dataset's records at or below each and its weight in a
    sensitivity profile. Without the scope `data:read` neither is told, and attributes whose values are those
    of the cells (no hierarchy declared, or unknown values attached to it) are refused.
    """
    shown = Shown(node, depth, limit)
    return await services.datasets.tree(actor, ref, attribute, shown, sensitivity)
