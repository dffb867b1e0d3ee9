"""Releases over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Body, Path, Query, Response
from starlette.responses import JSONResponse, StreamingResponse

from app.api.authentication import AnyKey, Assessor, DataReader
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples.form import names
from app.api.examples.rules import (
    COUNT_QUERIES,
    MECHANISM_PLANS,
    MECHANISM_PREVIEWS,
    MECHANISM_RELEASES,
    RELEASES,
)
from app.api.routers.answers import (
    ASKED,
    COMMON,
    QUEUED,
    REFUSED,
    RUN_MEDIA_TYPE,
    DryRun,
    dry,
    made,
    problems,
    streamed,
    table_content,
)
from app.api.routers.collection import Collection, CreatedIn, Cursor, Limit
from app.api.routes import PREFIX, Route
from app.api.schemas.common import Listing, Ref, listed, shown
from app.api.schemas.count_queries import CountQueryAnswers, NewCountQueries
from app.api.schemas.mechanisms import ReleasePlanAnswer, ReleasePreviewAnswer
from app.api.schemas.releases import NewRelease, Release
from app.api.schemas.runs import StartedRun
from app.api.services import UseCases
from app.api.waiting import Asking
from app.services.releases.count_answers import CountAnswers
from app.services.resources import DataFormat, Scope

COLLECTION = Collection("release", Release, tuple(RELEASES), write_scope=Scope.ASSESS)

_DRAWN_BY_RUN: Final[dict[str, Any]] = {
    "description": "A run is to draw it: there is no release before, and the body is the run.",
    "content": {RUN_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Run"}}},
}

router = COLLECTION.router()


@router.post(
    "",
    status_code=201,
    response_model=Release,
    responses=ASKED
    | {202: _DRAWN_BY_RUN}
    | problems("invalid-input", "memory-limit", "not-supported", "not-found", "quota-exceeded"),
)
async def create_release(
    actor: Assessor,
    services: UseCases,
    response: Response,
    ask: Asking,
    body: Annotated[NewRelease, Body(openapi_examples=RELEASES)],
    dry_run: DryRun = False,
) -> Release | JSONResponse:
    """Create a release.

    A dataset as a rule discloses it, or as a mechanism draws it; identifiers and other columns are left out.
    Its rows leave in an order that says nothing of the records' order, unless `order` is `records`. Of a
    release under a rule the manifest is stored, and the table made when it is asked for. What a mechanism
    draws is drawn once and stored: the same question is answered with the release that there is, under its
    own name, and another draw of the same attribute of the same uploaded content, of people who are in it by
    their identifiers, or of whole records of it, is refused with 409 unless `independent_of_earlier` asks for
    it. A draw that is too large to be made at once becomes a run (202), whose body is the run; there is no
    release before it has succeeded, and its name is taken until then. Needs the scope `assess`.
    """
    request = await asyncio.to_thread(body.request)
    if dry_run:
        return dry(ReleasePlanAnswer.model_validate(await services.releases.plan(actor, request)))
    found = await ask.release(actor, request)
    if isinstance(found, JSONResponse):
        return found
    return made(Release, COLLECTION.path, found, response)


@router.post("/runs", status_code=202, deprecated=True, responses=QUEUED)
async def create_release_run(
    actor: Assessor,
    services: UseCases,
    ask: Asking,
    body: Annotated[NewRelease, Body(openapi_examples=MECHANISM_RELEASES)],
) -> StartedRun:
    """Create a release in the background.

    Use `POST /v1/releases`, where large work becomes a run by itself, and with `Prefer: respond-async` small
    work, too. What a mechanism draws, by a run; Location is the run's address, and `release` of its result
    the id of the release, which is there once the run has succeeded. Nothing is drawn or counted before the
    run begins: if it is cancelled before, nothing was. From then on there is one draw, whatever becomes of
    the run: the same question, by a run or without, goes on with it, and is answered with its release once
    that is stored. Needs the scope `assess`.
    """
    return await ask.in_background(services.releases, actor, await asyncio.to_thread(body.request))


@router.post("/plans", responses=REFUSED | problems("not-supported"))
async def plan_release(
    actor: Assessor,
    services: UseCases,
    body: Annotated[NewRelease, Body(openapi_examples=MECHANISM_PLANS)],
) -> ReleasePlanAnswer:
    """Plan a release.

    What a mechanism would make: numbers that follow from data and parameters, cost and the route that takes
    it, guarantees and warnings, what stands in its way, and what was drawn of the same data before. Of a
    differentially private one it follows from declarations alone: no record is looked at, and no cost told.
    Nothing is drawn or stored. Needs the scope `assess`.
    """
    request = await asyncio.to_thread(body.request)
    return ReleasePlanAnswer.model_validate(await services.releases.plan(actor, request))


@router.post("/previews", responses=REFUSED | problems("not-supported", "not-found"))
async def preview_release(
    actor: Assessor,
    services: UseCases,
    body: Annotated[NewRelease, Body(openapi_examples=MECHANISM_PREVIEWS)],
) -> ReleasePreviewAnswer:
    """Preview a release.

    What a sample of generalised records would be worth on average, beside the optimum; or how far people
    drawn by dirichlet_multinomial are from the real ones on average, and what the release tells, once it is
    drawn. It is computed from the records as they are, for whoever owns them: it is not differentially
    private, and is stored neither with the release nor in the audit trail. Needs the scopes `assess` and
    `data:read`.
    """
    request = await asyncio.to_thread(body.request)
    return ReleasePreviewAnswer.model_validate(await services.releases.preview(actor, request))


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_release(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names(*RELEASES))],
) -> Release:
    """Get a release.

    The manifest. Of a release under a rule it never changes; that of a mechanism's also says whether it is
    withdrawn, and how many draws of the same data are counted by now. Values of cells in its parameters and
    in what it publishes are null for keys without the scope `data:read`.
    """
    return shown(Release, await services.releases.get(actor, ref))


@router.post(
    "/{ref}/answers",
    response_model=CountQueryAnswers,
    responses=problems("not-found", "not-supported", "withdrawn", "too-large"),
)
@takes_up_to(LARGEST_BYTES)
async def ask_release(
    actor: DataReader,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names("residents-perturbed", "members-release"))],
    body: Annotated[NewCountQueries, Body(openapi_examples=COUNT_QUERIES)],
) -> CountAnswers:
    """Count in a release.

    How many records fulfil some predicates, told from the release alone, as anybody can who has its table and
    its manifest: no original record is looked at, and nothing is stored. Where a mechanism drew an attribute,
    the estimate undoes on average what it did and comes with its standard error over draws. Cells that a rule
    generalised are taken as evenly spread over the values below them: how far that is off, nothing tells.
    Needs the scope `data:read`, as the table does: counts of few records tell what single cells show.
    """
    request = await asyncio.to_thread(body.request)
    return await services.releases.answers(actor, ref, request)


@router.post("/{ref}/withdrawal", responses=problems("not-found", "not-supported"))
async def withdraw_release(
    actor: Assessor,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names("residents-perturbed"))],
) -> Release:
    """Withdraw a release.

    Of one that a mechanism made the table is given out no more, for good; the manifest says so, and its draw
    stays counted. A second time changes nothing. Needs the scope `assess`.
    """
    return shown(Release, await services.releases.withdraw(actor, ref))


ledgers = APIRouter(
    prefix=f"{PREFIX}/datasets", tags=[COLLECTION.plural], route_class=Route, responses=COMMON
)


@router.get(
    "/{ref}/data",
    response_class=StreamingResponse,
    responses={**table_content(DataFormat.CSV, DataFormat.PARQUET), **problems("not-found", "withdrawn")},
)
async def get_release_data(
    actor: DataReader,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names("trial-release", "members-release"))],
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
