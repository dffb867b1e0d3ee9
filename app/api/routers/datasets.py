"""Datasets over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path, Query, Response

from app.api import examples
from app.api.authentication import AnyKey, DataReader, DataWriter
from app.api.routers.answers import MADE, made, problems
from app.api.routers.collection import Collection
from app.api.schemas.common import Ref
from app.api.schemas.datasets import Dataset, DatasetPreview, DatasetProfile, NewDataset
from app.api.services import UseCases

COLLECTION = Collection(
    path="/datasets",
    noun="dataset",
    plural="datasets",
    answer=Dataset,
    service=lambda services: services.datasets,
    example="members",
    delete_examples=("members",),
)

router = COLLECTION.router()


@router.post("", status_code=201, responses=MADE | problems("not-found"))
async def create_dataset(
    actor: DataWriter,
    services: UseCases,
    response: Response,
    body: Annotated[NewDataset, Body(openapi_examples=examples.DATASETS)],
) -> Dataset:
    """Create a dataset.

    An upload with its schema: for each column its type, role, hierarchy, and what becomes of unknown
    values. Values outside their hierarchy make it `needs_attention`: it is stored, its profile shows them,
    and it cannot be scored. Needs the scope `data:write`.
    """
    return made(Dataset, "/datasets", await services.datasets.create(actor, body.request()), response)


COLLECTION.add_list(router)
COLLECTION.add_get(router)


DatasetRef = Annotated[Ref, Path(openapi_examples=examples.names("members"))]


@router.get("/{ref}/preview", responses=problems("not-found"))
async def preview_dataset(
    actor: DataReader,
    services: UseCases,
    ref: DatasetRef,
    limit: Annotated[int, Query(ge=1, le=200, description="Most rows shown.")] = 20,
) -> DatasetPreview:
    """Preview a dataset.

    Its first rows as they are stored. Needs the scope `data:read`.
    """
    return DatasetPreview.model_validate(await services.datasets.preview(actor, ref, limit))


@router.get("/{ref}/profile", responses=problems("not-found"))
async def profile_dataset(
    actor: AnyKey,
    services: UseCases,
    ref: DatasetRef,
    limit: Annotated[int, Query(ge=1, le=200, description="Most values per list.")] = 50,
) -> DatasetProfile:
    """Profile a dataset.

    Distinct, missing and unknown values of each column in numbers; with the scope `data:read` also the
    values themselves.
    """
    return DatasetProfile.model_validate(await services.datasets.profile(actor, ref, limit))
