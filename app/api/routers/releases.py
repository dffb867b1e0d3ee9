"""Releases over HTTP."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from starlette.responses import StreamingResponse

from app.api.authentication import AnyKey, DataReader
from app.api.examples.form import names
from app.api.examples.rules import RELEASES
from app.api.routers.answers import COMMON, problems, streamed, table_content
from app.api.routers.collection import Collection, CreatedIn, Cursor, Limit
from app.api.routes import PREFIX, Route
from app.api.schemas.common import Listing, Ref, listed
from app.api.schemas.releases import NewRelease, Release
from app.api.services import UseCases
from app.services.resources import DataFormat, Scope

COLLECTION = Collection("release", Release, tuple(RELEASES), write_scope=Scope.ASSESS)

router = COLLECTION.plain_router(
    NewRelease,
    RELEASES,
    """
    A dataset as a rule discloses it; identifiers and other columns are left out. Its rows leave in an order
    that says nothing of the records' order, unless `order` is `records`. Stores the manifest: the table is
    made when it is asked for. Needs the scope `assess`.
    """,
)

ledgers = APIRouter(
    prefix=f"{PREFIX}/datasets", tags=[COLLECTION.plural], route_class=Route, responses=COMMON
)


@router.get(
    "/{ref}/data",
    response_class=StreamingResponse,
    responses={**table_content(DataFormat.CSV, DataFormat.PARQUET), **problems("not-found")},
)
async def get_release_data(
    actor: DataReader,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names("members-release"))],
    format: Annotated[Literal["csv", "parquet"], Query(description="Form of the answer.")] = "csv",
) -> StreamingResponse:
    """Get the released table.

    As a stream, the same bytes at every download; `order` of the release says how its rows stand. Needs the
    scope `data:read`.
    """
    return streamed(await services.releases.data(actor, ref, DataFormat(format)))


@ledgers.get("/{ref}/releases", responses=problems("not-found"))
async def list_releases_of_dataset(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names("members"))],
    created: CreatedIn,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listing[Release]:
    """List the releases of a dataset.

    Its ledger: everything that was released of it, newest first, a page at a time. The measure
    `risk_given_releases` takes all of it into account; a release that is deleted is forgotten here too, so
    delete only what was never published.
    """
    page = await services.releases.of_dataset(actor, ref, created=created, limit=limit, cursor=cursor)
    return listed(Release, page)
