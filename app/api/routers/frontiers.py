"""Frontiers over HTTP."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Body, Path, Response
from starlette.responses import JSONResponse

from app.api.authentication import AnyKey, Assessor
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples.form import first, names
from app.api.examples.searches import FRONTIERS
from app.api.frontier_map import draw_frontier
from app.api.routers.answers import QUEUED, REFUSED, DryRun, Responses, dry, problems, shown_answer
from app.api.routers.collection import Collection
from app.api.schemas.assessments import PlanAnswer
from app.api.schemas.common import Ref
from app.api.schemas.frontiers import Frontier, FrontierSummary, NewFrontier
from app.api.schemas.runs import StartedRun
from app.api.services import UseCases
from app.api.waiting import Asking
from app.services.questions import require_result
from app.services.resources import Scope

COLLECTION = Collection("frontier", FrontierSummary, tuple(FRONTIERS), write_scope=Scope.ASSESS)

FrontierRef = Annotated[Ref, Path(openapi_examples=names("members-frontier"))]

_PICTURE: Final[Responses] = {
    200: {"description": "The picture.", "content": {"image/svg+xml": {"schema": {"type": "string"}}}}
}

_PICTURE_HEADERS: Final = {
    # A picture brings its own styles and nothing else; a browser that opens it runs nothing.
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"
}

router = COLLECTION.router()


@router.post("", status_code=202, response_model=StartedRun, responses=QUEUED)
@takes_up_to(LARGEST_BYTES)
async def create_frontier(
    actor: Assessor,
    services: UseCases,
    ask: Asking,
    body: Annotated[NewFrontier, Body(openapi_examples=FRONTIERS)],
    dry_run: DryRun = False,
) -> StartedRun | JSONResponse:
    """Ask for all Pareto-optimal rules.

    The rules that no other beats in both risk and utility, each labelled with what is proven of it. The
    search is a run; Location is its address. Needs the scope `assess`.
    """
    if dry_run:
        return dry(PlanAnswer.model_validate(await services.frontiers.plan(actor, body.request())))
    return await ask.search(services.frontiers, actor, body.request())


@router.post("/plans", responses=REFUSED)
@takes_up_to(LARGEST_BYTES)
async def plan_frontier(
    actor: Assessor,
    services: UseCases,
    body: Annotated[NewFrontier, Body(openapi_examples=first(FRONTIERS))],
) -> PlanAnswer:
    """Estimate a search for all Pareto-optimal rules.

    What the work would cost, whether it is answered at once or by a run, and what stands in its way. Nothing
    is computed or stored. Needs the scope `assess`.
    """
    return PlanAnswer.model_validate(await services.frontiers.plan(actor, body.request()))


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_frontier(actor: AnyKey, services: UseCases, ref: FrontierRef) -> Frontier:
    """Get a frontier.

    With its points, which are null until its run has succeeded.
    """
    return shown_answer(Frontier, await services.frontiers.view(actor, ref))


@router.get(
    "/{ref}/map", response_class=Response, responses={**_PICTURE, **problems("not-found", "conflict")}
)
async def get_frontier_map(actor: AnyKey, services: UseCases, ref: FrontierRef) -> Response:
    """Get a frontier's picture.

    Its points by utility and risk as SVG. Refused with 409 until its run has succeeded.
    """
    view = await services.frontiers.view(actor, ref)
    picture = draw_frontier(view.resource.name, require_result(view.resource, view.result))
    return Response(picture, media_type="image/svg+xml", headers=_PICTURE_HEADERS)
