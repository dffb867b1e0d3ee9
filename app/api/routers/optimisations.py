"""Optimisations over HTTP."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body, Path, Query, Response
from starlette.responses import JSONResponse

from app.api.authentication import AnyKey, Assessor
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples.form import names
from app.api.examples.searches import OPTIMISATIONS
from app.api.routers.answers import QUEUED, problems, shown_answer
from app.api.routers.collection import Collection
from app.api.schemas.assessments import PlanAnswer
from app.api.schemas.common import Ref
from app.api.schemas.optimisations import NewOptimisation, Optimisation, OptimisationSummary
from app.api.schemas.runs import Run
from app.api.services import UseCases
from app.api.waiting import RunStarter
from app.services.resources import Scope

COLLECTION = Collection("optimisation", OptimisationSummary, tuple(OPTIMISATIONS), write_scope=Scope.ASSESS)

router = COLLECTION.router()


@router.post("", status_code=202, response_model=Run | PlanAnswer, responses=QUEUED)
@takes_up_to(LARGEST_BYTES)
async def create_optimisation(
    actor: Assessor,
    services: UseCases,
    response: Response,
    start: RunStarter,
    body: Annotated[NewOptimisation, Body(openapi_examples=OPTIMISATIONS)],
    dry_run: Annotated[bool, Query(description="Only estimate: cost and missing inputs.")] = False,
) -> Run | PlanAnswer | JSONResponse:
    """Ask for the best rule.

    The search is a run; Location is its address. When it has succeeded, the best rule is stored as a rule
    of the optimisation's name. With `dry_run=true` the answer is 200 and says what the work would cost.
    Needs the scope `assess`.
    """
    if dry_run:
        response.status_code = 200
        return PlanAnswer.model_validate(await services.optimisations.plan(actor, body.request()))
    return await start(services.optimisations, actor, body.request())


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_optimisation(
    actor: AnyKey,
    services: UseCases,
    ref: Annotated[Ref, Path(openapi_examples=names("members-optimum"))],
) -> Optimisation:
    """Get an optimisation.

    With its result, which is null until its run has succeeded.
    """
    return shown_answer(Optimisation, await services.optimisations.view(actor, ref))
